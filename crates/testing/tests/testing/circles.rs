//! The modules of a crate depend on one another in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of a module in its crate; empty for the crate itself.
type Module = Vec<String>;

/// The modules of a crate by path, each with its code, without comments and tests.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![source.to_owned()];
    while let Some(next) = ahead.pop() {
        if next.is_dir() {
            ahead.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = next.strip_prefix(source).unwrap().display().to_string();
        let Some(name) = name.strip_suffix(".rs").filter(|name| !name.ends_with("tests")) else { continue };
        let mut path: Module = name.split('/').map(str::to_owned).collect();
        if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            path.pop();
        }
        let text = std::fs::read_to_string(&next).unwrap();
        let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code: Vec<&str> = program.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        found.insert(path, code.join(" "));
    }
    found
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Reads the paths at the beginning of a text, several if there are braces; returns what comes after them.
fn read<'code>(text: &'code str, before: &[&'code str], found: &mut Vec<Vec<&'code str>>) -> &'code str {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(mut inside) = rest.strip_prefix('{') {
            loop {
                inside = read(inside, &path, found).trim_start();
                match inside.strip_prefix(',') {
                    Some(more) => inside = more,
                    None => return inside.strip_prefix('}').unwrap_or(inside),
                }
            }
        }
        let (name, after) = rest.split_at(rest.find(|letter: char| !is_of_a_name(letter)).unwrap_or(rest.len()));
        if !name.is_empty() {
            path.push(name);
        }
        match after.strip_prefix("::") {
            Some(more) => rest = more,
            None => {
                rest = after.strip_prefix('*').unwrap_or(after);
                break;
            }
        }
    }
    found.push(path);
    match rest.trim_start().strip_prefix("as ") {
        Some(renamed) => renamed.trim_start().trim_start_matches(is_of_a_name),
        None => rest,
    }
}

/// The module to which a path leads from another module.
fn named(path: &[&str], from: &Module, modules: &BTreeMap<Module, String>) -> Option<Module> {
    let mut at = from.clone();
    for name in path {
        match *name {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            name => at.push(name.to_owned()),
        }
    }
    while !modules.contains_key(&at) {
        at.pop()?;
    }
    Some(at)
}

/// The modules that a module uses, except those that contain it and those that it contains.
fn used(from: &Module, code: &str, modules: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let is_within = |before: char| is_of_a_name(before) || before == ':';
        if !code[..at].ends_with(is_within) {
            read(&code[at..], &[], &mut paths);
        }
    }
    let modules = paths.iter().filter_map(|path| named(path, from, modules));
    modules.filter(|module| !module.starts_with(from) && !from.starts_with(module)).collect()
}

/// Whether a module ends up using itself.
fn is_in_a_circle(module: &Module, uses: &BTreeMap<Module, BTreeSet<Module>>) -> bool {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&Module> = uses[module].iter().collect();
    while let Some(next) = ahead.pop() {
        if next == module {
            return true;
        }
        if seen.insert(next) {
            ahead.extend(&uses[next]);
        }
    }
    false
}

#[test]
fn paths_are_read_with_all_that_is_in_braces() {
    let mut found = Vec::new();
    let rest = read("super::{a::{self, B as C}, d::*, super::E,}; code", &[], &mut found);
    let paths: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["super::a::self", "super::a::B", "super::d", "super::super::E", "super"]);
    assert_eq!(rest, "; code");
}

#[test]
fn no_modules_of_a_crate_use_one_another_in_a_circle() {
    let (mut met, mut circles) = (0, Vec::new());
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        let entry = entry.unwrap();
        let modules = modules(&entry.path().join("src"));
        let uses: BTreeMap<Module, BTreeSet<Module>> =
            modules.iter().map(|(module, code)| (module.clone(), used(module, code, &modules))).collect();
        met += uses.values().map(BTreeSet::len).sum::<usize>();
        let found = uses.keys().filter(|module| is_in_a_circle(module, &uses));
        circles.extend(found.map(|module| format!("{}: {}", entry.file_name().display(), module.join("::"))));
    }
    eprintln!("{met} uses of modules were followed");
    assert!(met > 1_000, "{met}");
    assert!(circles.is_empty(), "{circles:#?}");
}
