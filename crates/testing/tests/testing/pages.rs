//! What the pages name is there: the files of the repository, and the headings of other pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All files of the repository by their paths from its root, without what is built, fetched or made by a fuzzer.
fn files() -> Vec<PathBuf> {
    const NOT_OURS: [&str; 5] = [".git", ".tools", "target", "node_modules", "corpus"];
    let (mut found, mut ahead) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = ahead.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if !entry.file_type().unwrap().is_dir() {
                found.push(path);
            } else if !NOT_OURS.iter().any(|name| path.ends_with(name)) {
                ahead.push(path);
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Where the links of a page lead, without those to other sites.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains([' ', ':', '\n']))
}

/// The names by which the headings of a page are linked: in lower case, with hyphens for spaces and no other signs.
fn headings(page: &str) -> BTreeSet<String> {
    let of_a_name = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    };
    let lines = page.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| line.trim_matches(['#', ' ']).to_lowercase().chars().filter_map(of_a_name).collect()).collect()
}

#[test]
fn a_heading_is_linked_as_forges_do_it() {
    let found = headings("# A page\n\n## Who asked for it, or for a worker's `work`\ntext\n");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a-page", "who-asked-for-it-or-for-a-workers-work"]);
    let page = "[a](b.md#c), [d](https://e.f/g), `h[0](i j)`";
    assert_eq!(links(page).collect::<Vec<_>>(), ["b.md#c"]);
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = files().into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "md"));
    let (mut met, mut lost) = (0, Vec::new());
    for page in pages {
        let text = read(&page);
        for link in links(&text) {
            met += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().unwrap_or(Path::new(""));
            let to = root().join(if file.is_empty() { page.clone() } else { folder.join(file) });
            let is_there = match heading {
                "" => to.exists(),
                _ => std::fs::read_to_string(to).is_ok_and(|other| headings(&other).contains(heading)),
            };
            if !is_there {
                lost.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(met > 150, "only {met} links were met");
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn pages_for_developers_name_files_that_there_are() {
    const ENDINGS: [&str; 5] = [".rs", ".h", ".c", ".ts", ".toml"];
    // They stand for what the reader chooses.
    const CHOSEN: [&str; 4] = ["NAME", "KIND", "FORM", "FEATURE"];
    let files: Vec<String> = files().iter().map(|file| format!("/{}", file.display())).collect();
    let (mut met, mut missing) = (0, Vec::new());
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/promises.md"] {
        let text = read(Path::new(page));
        let quoted = text.split('`').skip(1).step_by(2);
        for word in quoted.filter(|word| !word.contains([' ', '\n', '*'])) {
            let is_path = word.contains("/src") || ENDINGS.iter().any(|ending| word.ends_with(ending));
            if !is_path || CHOSEN.iter().any(|chosen| word.contains(chosen)) {
                continue;
            }
            met += 1;
            let file = format!("/{}", word.trim_end_matches('/'));
            let folder = format!("{file}/");
            if !files.iter().any(|one| one.ends_with(&file) || one.contains(&folder)) {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(met > 300, "only {met} names were met");
    assert!(missing.is_empty(), "{missing:#?}");
}
