//! `punctual reserve run` as a unit of systemd has it: `examples/control-loop.service`.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/control-loop.service");
    std::fs::read_to_string(path).unwrap()
}

/// The values of a setting, in the order of the file.
fn values<'a>(unit: &'a str, setting: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('=')).collect()
}

/// What the page on reservations shows are lines of the unit.
#[test]
fn the_page_shows_lines_of_the_unit() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reserve.md")).unwrap();
    let shown = page.split_once("```ini\n").and_then(|(_, rest)| rest.split_once("\n```")).unwrap().0;
    let unit = unit();
    for line in shown.lines() {
        assert!(unit.lines().any(|other| other == line), "{line}");
    }
    assert!(shown.lines().count() > 5, "{shown}");
}

#[test]
fn systemd_takes_the_unit_without_a_word() {
    const TEST: &str = "systemd_takes_the_unit_without_a_word";
    let directory = tempfile::tempdir().unwrap();
    // The programs that it names must be there.
    let programs =
        [("/usr/local/bin/punctual", env!("CARGO_BIN_EXE_punctual")), ("/usr/local/bin/control-loop", "/bin/sleep")];
    let text = programs.iter().fold(unit(), |text, (named, there)| text.replace(named, there));
    // Manual pages are not installed here.
    let text: String =
        text.lines().filter(|line| !line.starts_with("Documentation=")).map(|line| format!("{line}\n")).collect();
    let path: PathBuf = directory.path().join("control-loop.service");
    std::fs::write(&path, &text).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&path).stdin(Stdio::null()).output();
    let Ok(output) = verified else {
        return punctual_testing::skip(TEST, "there is no systemd-analyze");
    };
    let said = stderr(&output);
    assert_eq!((code(&output), said.as_str()), (0, ""), "{said}");
    // It would say something about a unit with a fault.
    std::fs::write(&path, text.replace("RestartSec=1s", "RestartSec=soon")).unwrap();
    let output = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
    assert!(stderr(&output).contains("soon"), "{}", stderr(&output));
}

/// As the unit starts it: another user with the unit's capabilities and no way to more. Each start reserves again.
#[test]
fn each_start_with_the_units_capabilities_reserves_again() {
    const TEST: &str = "each_start_with_the_units_capabilities_reserves_again";
    requires!("each_start_with_the_units_capabilities_reserves_again", "deadline reservation");
    let Some(nobody) = Nobody::of(TEST) else { return };
    let unit = unit();
    let set = |setting: &str| {
        let names = values(&unit, setting)[0].split(' ');
        names
            .map(|name| format!("+{}", name.strip_prefix("CAP_").unwrap().to_lowercase()))
            .collect::<Vec<_>>()
            .join(",")
    };
    let (ambient, bounding) = (set("AmbientCapabilities"), set("CapabilityBoundingSet"));
    assert_eq!((ambient.as_str(), bounding.as_str()), ("+sys_nice", "+sys_nice"));
    let options = [
        format!("--inh-caps=-all,{ambient}"),
        format!("--ambient-caps=-all,{ambient}"),
        format!("--bounding-set=-all,{bounding}"),
        "--no-new-privs".to_owned(),
    ];
    let options = options.each_ref().map(String::as_str);
    // The policy is the 41st field; 6 is that of reservations. It ends as a program that failed does.
    let script = "read -r all </proc/$$/stat; echo $all | cut -d' ' -f41; kill -KILL $$";
    let mut met = 0;
    for start in 0..3 {
        let mut command = nobody.punctual(&options);
        command.args(["reserve", "run", "2.2ms/10ms", "--", "sh", "-c", script]);
        let output = command.output().unwrap();
        let said = stderr(&output);
        if said.contains("Device or resource busy") {
            // The kernel has no room beside what else is reserved now.
            support::skip(TEST, &said);
            continue;
        }
        assert_eq!((stdout(&output).trim(), code(&output)), ("6", 128 + libc::SIGKILL), "start {start}: {said}");
        met += 1;
    }
    eprintln!("{met} of 3 starts had their reservation");
}
