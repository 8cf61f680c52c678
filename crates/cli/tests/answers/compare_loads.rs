//! `punctual compare` of sides whose recordings were made under several loads.

use crate::support::{code, copy_golden, run, stderr, stdout};

#[test]
fn idle_and_loaded_runs_are_compared_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    for side in ["a", "b"] {
        for load in ["idle", "loaded"] {
            let name = format!("{load}.punctual");
            copy_golden(&format!("check/{name}"), &directory.path().join(side).join(&name));
        }
    }
    let refused = run(directory.path(), &["compare", "a", "b"]);
    assert_eq!((code(&refused), stderr(&refused).lines().count()), (129, 1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("no load added"), "{}", stderr(&refused));
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
