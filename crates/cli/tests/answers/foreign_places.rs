//! Places that another user has prepared: no command writes through what that user owns.

use crate::support::{self, code, run, stderr};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;

const ANOTHER: u32 = 65_534;

/// Every command that writes a file or a directory, except those of `recording/tests/own_directory.rs`. `LINK` and
/// `THEIRS` lead where the other user wants.
const COMMANDS: [&[&str]; 14] = [
    &["interact", "-q", "--no-bpf", "-o", "PLACE", "--", "true"],
    &["interact", "-q", "--no-bpf", "--via", "x11", "-o", "PLACE", "--", "true"],
    &["reserve", "-q", "-o", "PLACE", "v90"],
    &["reserve", "-q", "-o", "PLACE", "--", "sleep", "1000"],
    &["device", "run", "audio64", "-q", "--context", "thread:other", "-D", "1s", "-o", "PLACE"],
    &["device", "mix", "audio64,modem", "-q", "--context", "thread:other", "-D", "1s", "-o", "PLACE"],
    &["device", "verify", "audio64", "-q", "--context", "thread:other", "-D", "1s", "-o", "PLACE"],
    &["device", "study", "modem", "-q", "-D", "60s", "-o", "PLACE"],
    &["modem", "study", "-q", "--row", "1/8", "--bytes", "100", "--attempts", "1", "-o", "PLACE"],
    &["sim", "run", "nt-timers-table3", "-o", "PLACE"],
    &["sim", "run", "nt-timers-table3", "--html", "PLACE/page.html"],
    &["sim", "timeline", "nt-timers-table3", "--perfetto", "PLACE/trace"],
    &["sim", "papers", "--html", "PLACE/page.html"],
    &["device", "list", "--export-markdown", "PLACE/page.html"],
];

/// What the other user has put there: a link to a directory, a link to something in it that does not exist yet, and a
/// link to root's directory through a directory of their own.
fn prepare(top: &Path) {
    std::fs::create_dir(top.join("victim")).unwrap();
    std::fs::write(top.join("victim/page.html"), "precious").unwrap();
    std::fs::set_permissions(top, std::fs::Permissions::from_mode(0o1777)).unwrap();
    std::fs::create_dir(top.join("theirs")).unwrap();
    for (link, target) in [("link", "victim"), ("dangling", "victim/new"), ("theirs/link", "../victim")] {
        symlink(target, top.join(link)).unwrap();
    }
    for theirs in ["theirs", "link", "dangling", "theirs/link"] {
        lchown(top.join(theirs), Some(ANOTHER), Some(ANOTHER)).unwrap();
    }
}

#[test]
fn what_another_user_has_prepared_is_not_written_through() {
    if !support::is_root() {
        return support::skip("places of another user", "only root can give a link away");
    }
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    prepare(top);
    let mut refusals = 0;
    for words in COMMANDS {
        let is_file = words.iter().any(|word| word.starts_with("PLACE/"));
        for place in ["link", "dangling", "theirs/link"] {
            let words: Vec<String> = words.iter().map(|word| word.replace("PLACE", place)).collect();
            if is_file && place == "dangling" {
                continue;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = run(top, &words);
            let (code, said) = (code(&output), stderr(&output));
            // Without privilege, the command may say something else first.
            assert_eq!(code, 1, "{words:?}: {said}");
            assert!(said.contains("belongs to another user"), "{words:?}: {said}");
            refusals += 1;
        }
    }
    let left: Vec<_> = std::fs::read_dir(top.join("victim")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["page.html"]);
    assert_eq!(std::fs::read_to_string(top.join("victim/page.html")).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(top.join("theirs")).unwrap().count(), 1);
    eprintln!("{refusals} places of another user were refused");
    assert_eq!(refusals, 38);
}

/// Kernels are kept in, and booted from, a directory that nobody else can change.
#[test]
fn kernels_are_kept_in_no_place_of_another_user() {
    if !support::is_root() {
        return support::skip("kernels in places of another user", "only root can give a link away");
    }
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    prepare(top);
    std::fs::write(top.join("kernel"), b"\x7fELF").unwrap();
    // The other user's kernel under a name that the lab knows.
    std::fs::create_dir(top.join("theirs/6.12")).unwrap();
    std::fs::write(top.join("theirs/6.12/vmlinux"), b"\x7fELF").unwrap();
    let package = r#"{"package":"linux-image","version":"6.12","sha256":""}"#;
    std::fs::write(top.join("theirs/6.12/package.json"), package).unwrap();
    let lab = |kernels: &str, words: &[&str]| {
        support::punctual().current_dir(top).env("PUNCTUAL_KERNELS", kernels).args(words).output().unwrap()
    };
    let own = ["lab", "run", "--kernel", "./kernel", "--seeds", "1", "-o", "x", "--", "capabilities"];
    for place in ["link", "dangling", "theirs", "theirs/link", "theirs/new"] {
        let output = lab(place, &own);
        assert_eq!(code(&output), 1, "{place}");
        assert!(
            stderr(&output).contains("belongs to another user, or others may write into it"),
            "{}",
            stderr(&output)
        );
    }
    let listed =
        |kernels: &str| support::json(&lab(kernels, &["lab", "kernels", "6.12", "--json"]))["kernels"][0].clone();
    assert_eq!(listed("theirs")["is_here"], false);
    std::fs::rename(top.join("theirs/6.12"), top.join("6.12")).unwrap();
    std::fs::create_dir(top.join("own")).unwrap();
    std::fs::rename(top.join("6.12"), top.join("own/6.12")).unwrap();
    assert_eq!(listed("own")["is_here"], true);
    assert_eq!(std::fs::read_dir(top.join("victim")).unwrap().count(), 1);
}

/// Loads have their files in, and run in, a directory that nobody else can replace.
#[test]
fn loads_run_in_no_place_of_another_user() {
    if !support::is_root() {
        return support::skip("loads in places of another user", "only root can give a directory away");
    }
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    prepare(top);
    let load = "about = \"a trifle\"\nwarm_up = \"0s\"\n[[command]]\nname = \"trifle\"\nrun = \"touch ran\"\n";
    std::fs::write(top.join("trifle.toml"), load).unwrap();
    let run = |place: &str| {
        let words = ["load", "run", "trifle.toml", "-q", "-D", "300ms"];
        support::punctual().current_dir(top).env("TMPDIR", place).args(words).output().unwrap()
    };
    let output = run("theirs");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("belongs to another user (that is TMPDIR)"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(top.join("theirs")).unwrap().count(), 1);
    std::fs::create_dir(top.join("own")).unwrap();
    for place in ["own", "", "."] {
        let output = run(place);
        assert_eq!(code(&output), 0, "{place}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(top.join("own")).unwrap().count(), 0);
}
