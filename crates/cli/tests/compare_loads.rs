//! `punctual compare` of sides whose recordings were made under several loads.

mod support;

use std::path::Path;
use support::{code, golden, run, stderr, stdout};

/// Copies one of the golden recordings.
fn copy(from: &str, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(golden().join(from)).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        } else {
            std::fs::create_dir_all(to.join(entry.file_name())).unwrap();
            for inner in std::fs::read_dir(entry.path()).unwrap() {
                let inner = inner.unwrap();
                std::fs::copy(inner.path(), to.join(entry.file_name()).join(inner.file_name())).unwrap();
            }
        }
        files += 1;
    }
    assert!(files > 1, "{from} is no recording");
}

#[test]
fn idle_and_loaded_runs_are_compared_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    for side in ["a", "b"] {
        for load in ["idle", "loaded"] {
            let name = format!("{load}.punctual");
            copy(&format!("check/{name}"), &directory.path().join(side).join(&name));
        }
    }
    let refused = run(directory.path(), &["compare", "a", "b"]);
    assert_eq!((code(&refused), stderr(&refused).lines().count()), (129, 1), "{}", stderr(&refused));
    for load in ["idle", "loaded"] {
        let command = format!("compare a/{load}.punctual b/{load}.punctual");
        assert!(stderr(&refused).contains(&format!("`punctual {command}`")), "{}", stderr(&refused));
        let words: Vec<&str> = command.split(' ').collect();
        let compared = run(directory.path(), &words);
        assert_eq!(code(&compared), 0, "{}", stderr(&compared));
    }
    // Different loads on two sides are what is compared.
    let compared = run(directory.path(), &["compare", "a/idle.punctual", "a/loaded.punctual"]);
    assert_eq!(code(&compared), 0, "{}", stderr(&compared));
    assert!(stdout(&compared).contains("What else differs"), "{}", stdout(&compared));
}
