//! What recordings side by side are called.

use crate::{load_name, load_words};
use punctual_recording::{Document, printable, printable_path};
use std::path::{Component, Path, PathBuf};

/// What tells recordings apart by where they are: the name of each file, with as many directories before it as that takes.
pub fn names_apart<P: AsRef<Path>>(paths: &[P]) -> Vec<String> {
    let all: Vec<Vec<String>> = paths.iter().map(|path| parts_of(path.as_ref())).collect();
    let name = |(own, path): (&Vec<String>, &P)| {
        let is_alone =
            |length: &usize| all.iter().filter(|other| end(other, *length) == end(own, *length)).count() == 1;
        let length = (1..=own.len()).find(is_alone);
        length.map_or_else(|| printable_path(path.as_ref()), |length| end(own, length).join("/"))
    };
    all.iter().zip(paths).map(name).collect()
}

/// The last of the parts of a path, so many or all.
fn end(parts: &[String], length: usize) -> &[String] {
    &parts[parts.len().saturating_sub(length)..]
}

/// The directories of a path and the name of its file.
fn parts_of(path: &Path) -> Vec<String> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(printable(&name.to_string_lossy())),
        Component::ParentDir => Some("..".to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<String> = parts.collect();
    if let (Some(last), Some(stem)) = (parts.last_mut(), path.file_stem()) {
        *last = printable(&stem.to_string_lossy());
    }
    parts
}

/// What the parts of a report are called by their files, if their loads do not tell them apart.
pub(crate) fn files_apart(parts: &[(PathBuf, Document)]) -> Option<Vec<String>> {
    let loads: Vec<&str> = parts.iter().map(|(_, document)| load_of(document)).collect();
    let told_apart = loads.iter().enumerate().all(|(index, load)| !loads[..index].contains(load));
    let paths = || parts.iter().map(|(path, _)| path).collect::<Vec<&PathBuf>>();
    (!told_apart).then(|| names_apart(&paths()))
}

/// What each part of a report is called: by its load if that tells them apart, otherwise by its file.
pub fn part_names(parts: &[(PathBuf, Document)]) -> Vec<String> {
    let loads = parts.iter().map(|(_, document)| load_of(document));
    match files_apart(parts) {
        None => loads.map(str::to_owned).collect(),
        Some(files) => files.iter().zip(loads).map(|(file, load)| format!("{file} ({load})")).collect(),
    }
}

fn load_of(document: &Document) -> &str {
    load_words(load_name(document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn as_much_of_each_path_is_told_as_sets_it_apart() {
        for (paths, expected) in [
            (&["before/1.punctual", "after/1.punctual"][..], &["before/1", "after/1"][..]),
            (&["before/1.punctual", "after/2.punctual"], &["1", "2"]),
            (&["/x/a/1.punctual", "/y/a/1.punctual", "/y/a/2.punctual"], &["x/a/1", "y/a/1", "2"]),
            (&["1.punctual", "./after/1.punctual"], &["1.punctual", "after/1"]),
            (&["a.punctual", "a.copy"], &["a.punctual", "a.copy"]),
            (&["../1.punctual", "b/1.punctual"], &["../1", "b/1"]),
            (&["a/"], &["a"]),
            (&["/"], &["/"]),
            (&[], &[]),
        ] {
            let names = names_apart(paths);
            assert_eq!(names, expected, "{paths:?}");
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), paths.len(), "{names:?}");
        }
    }

    #[test]
    fn parts_under_one_load_are_told_apart_by_their_files_in_the_verdict_too() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let mut loaded = document.clone();
        loaded.provenance.load.name = "mixed".to_owned();
        let part = |path: &str, document: &Document| (PathBuf::from(path), document.clone());
        let by_load = [part("before/1.punctual", &document), part("after/1.punctual", &loaded)];
        assert_eq!(part_names(&by_load), ["no load added", "mixed"]);
        assert!(crate::recordings_verdict(&by_load).starts_with("In 1.00 s with no load added, "));
        let alike = [part("before/1.punctual", &loaded), part("after/1.punctual", &loaded)];
        assert_eq!(part_names(&alike), ["before/1 (mixed)", "after/1 (mixed)"]);
        let said = crate::recordings_verdict(&alike);
        let named = ["before/1: In 1.00 s under load (mixed), ", " after/1: In 1.00 s under load (mixed), "];
        assert!(said.starts_with(named[0]) && said.contains(named[1]), "{said}");
    }
}
