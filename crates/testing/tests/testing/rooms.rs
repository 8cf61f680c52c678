//! Crates use one another as ARCHITECTURE.md says, and those that it calls pure use nothing outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the page's table: a crate, what it is, and what it may use.
fn rooms(page: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let (_, rooms) = page.split_once("\n## Rooms\n").unwrap();
    let rows = rooms.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [name, is, may_use] = cells[..] else { panic!("not three cells: {row}") };
        (quoted(name).next().unwrap(), is, may_use.trim_end_matches(" |"))
    })
}

/// The crates of ours that a crate uses, without those of its tests and its build script.
fn used(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]\n"));
    let lines = section.unwrap_or_default().lines();
    lines.filter_map(|line| line.strip_prefix("punctual-")?.split(['.', ' ']).next())
}

#[test]
fn crates_use_one_another_as_the_page_says() {
    let directories = std::fs::read_dir(root().join("crates")).unwrap();
    let crates: BTreeSet<String> =
        directories.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let page = read("ARCHITECTURE.md");
    let mut may_use: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, _, words) in rooms(&page) {
        let mut names: BTreeSet<&str> = quoted(words).chain(["random"]).collect();
        match words {
            "all" => names.extend(crates.iter().map(String::as_str)),
            _ if words.starts_with("all above") => names.extend(may_use.keys().copied()),
            _ => {}
        }
        may_use.insert(name, names);
    }
    let (mut met, mut faults) = (0, Vec::new());
    for name in &crates {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let Some(may_use) = may_use.get(name.as_str()) else {
            faults.push(format!("{name} has no row"));
            continue;
        };
        for used in used(&manifest) {
            met += 1;
            if !may_use.contains(used) {
                faults.push(format!("{name} uses {used}"));
            }
        }
    }
    let gone = may_use.keys().filter(|name| !crates.contains(**name));
    faults.extend(gone.map(|name| format!("there is no crate {name}")));
    assert!(met > 50, "only {met} uses were met");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The Rust files of a folder, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut ahead) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = ahead.pop() {
        if next.is_dir() {
            ahead.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = next.to_string_lossy().into_owned();
        if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(next);
        }
    }
    found
}

#[test]
fn pure_crates_reach_for_nothing_outside() {
    const OUTSIDE: [&str; 9] = [
        "std::fs",
        "std::io",
        "std::net",
        "std::env",
        "std::process",
        "Instant::now",
        "SystemTime",
        "thread::sleep",
        "println!",
    ];
    let page = read("ARCHITECTURE.md");
    let (mut met, mut faults) = (0, Vec::new());
    for (name, _, _) in rooms(&page).filter(|(_, is, _)| is.starts_with("pure")) {
        for file in sources(&root().join("crates").join(name).join("src")) {
            met += 1;
            let text = std::fs::read_to_string(&file).unwrap();
            let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = program.lines().map(|line| line.split("//").next().unwrap_or_default());
            for line in code {
                let used = OUTSIDE.iter().filter(|outside| line.contains(**outside));
                faults.extend(used.map(|outside| format!("{}: {outside}", file.display())));
            }
        }
    }
    assert!(met > 150, "only {met} files were met");
    assert!(faults.is_empty(), "{faults:#?}");
}
