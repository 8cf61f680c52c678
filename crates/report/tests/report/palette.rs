//! A colour of a page has one meaning, on every page: it is used where this table says and nowhere else, and
//! docs/page.md says what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Colours with a meaning, and all that has them: rules of the pages' styles, and files that draw. A new use belongs
/// here only if it means the same as the others of its colour.
const USES: [(&str, &[&str]); 14] = [
    ("bad", &["tr.fails", ".bad", "svg .worse", "svg .late", "intervals.ts"]),
    ("badback", &["tr.fails"]),
    ("good", &[".good", "intervals.ts"]),
    ("yes", &["svg .yes"]),
    ("some", &["svg .some"]),
    ("no", &["svg .no"]),
    ("heat", &["heat.ts", ".flames .code"]),
    ("paper", &["svg .said", "svg text.saidtext"]),
    (
        "mark",
        &[
            "a",
            "header .verdict",
            ".skip:focus",
            ".drawing:focus-visible,.legend button:focus-visible,.wide:focus-visible,summary:focus-visible,a:focus-visible",
            ".flames g:focus rect",
        ],
    ),
    // Lines have the numbered ones by what `encode/html/colours.rs` says.
    ("c", &["axes.ts"]),
    ("c0", &[":root"]),
    ("c1", &["svg .irq"]),
    ("c2", &["svg .thread"]),
    ("c4", &["svg .deferred"]),
];

/// Colours of words, paper, grids and what values are compared with, and of letters on a coloured cell: they are
/// everywhere.
const EVERYWHERE: [&str; 8] = ["page", "ink", "soft", "line", "panel", "onyes", "onsome", "onno"];

/// Classes of drawings that stand for something, and the files that draw it.
const CLASSES: [(&str, &[&str]); 7] = [
    ("said", &["svg.rs", "reserve/plane.rs"]),
    ("late", &["timeline.rs", "picture.rs"]),
    ("worse", &["sim/plane.rs"]),
    ("yes", &["sim/plane.rs"]),
    ("some", &["sim/plane.rs"]),
    ("no", &["sim/plane.rs"]),
    ("deferred", &["timeline.rs"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// All files below a folder with one of these extensions: their paths, and what they hold.
fn sources(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let (mut ahead, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(next) = ahead.pop() {
        if next.is_dir() {
            ahead.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
        } else if next.extension().and_then(|extension| extension.to_str()).is_some_and(|one| extensions.contains(&one))
        {
            found.push((next.display().to_string(), std::fs::read_to_string(&next).unwrap()));
        }
    }
    found
}

/// The rules of all styles in a source: selector and declarations.
fn rules(source: &str) -> Vec<(&str, &str)> {
    let styles = source.split("STYLE: &str = \"").skip(1).filter_map(|rest| rest.split("\";\n").next());
    styles
        .flat_map(|style| style.split('}'))
        .filter_map(|rule| {
            let (selectors, declarations) = rule.rsplit_once('{')?;
            Some((selectors.rsplit('{').next()?.trim(), declarations))
        })
        .collect()
}

/// The names of the colours that a text uses.
fn colours(text: &str) -> impl Iterator<Item = &str> {
    text.split("var(--")
        .skip(1)
        .map(|rest| rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or(""))
}

/// Each colour's uses.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, source) in sources("src", &["rs"]) {
        for (selector, declarations) in rules(&source) {
            for colour in colours(declarations) {
                uses.entry(colour.to_owned()).or_default().insert(selector.to_owned());
            }
        }
    }
    for (path, source) in sources("page/src", &["ts"]) {
        let file = path.rsplit('/').next().unwrap_or(&path);
        for colour in colours(&source) {
            uses.entry(colour.to_owned()).or_default().insert(file.to_owned());
        }
    }
    uses
}

#[test]
fn a_colour_has_one_meaning() {
    let met = uses();
    for (colour, expected) in USES {
        let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(met.get(colour), Some(&expected), "--{colour}");
    }
    for colour in met.keys() {
        let is_known = EVERYWHERE.contains(&colour.as_str()) || USES.iter().any(|(known, _)| known == colour);
        assert!(is_known, "--{colour} is used, and has no meaning");
    }
    assert!(met.len() > 20, "{met:?}");
}

#[test]
fn a_colour_is_written_once_and_documented() {
    let document = std::fs::read_to_string(root().join("../../docs/page.md")).unwrap();
    let documented = document.split("## Colours").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let mut defined = BTreeSet::new();
    for (path, source) in sources("src", &["rs"]) {
        for (selector, declarations) in rules(&source) {
            if selector == ":root" {
                let names = declarations.split("--").skip(1).filter_map(|rest| rest.split_once(':'));
                defined.extend(names.map(|(name, _)| name.to_owned()));
            } else {
                // By its name only, so that it is right in every theme.
                assert!(!declarations.contains('#'), "{path}: {selector}: {declarations}");
            }
        }
    }
    assert!(defined.len() > 20, "{defined:?}");
    for colour in &defined {
        assert!(documented.contains(&format!("`--{colour}`")), "docs/page.md does not say what --{colour} means");
    }
    for colour in documented.split("`--").skip(1).filter_map(|rest| rest.split('`').next()) {
        assert!(defined.contains(colour), "docs/page.md has --{colour}, which no style has");
    }
}

#[test]
fn a_class_of_drawings_has_one_meaning() {
    let all = sources("src", &["rs"]);
    let drawing: Vec<_> =
        all.iter().filter(|(_, source)| source.contains("<path") || source.contains("<rect")).collect();
    for (class, files) in CLASSES {
        // As it stands in a tag, and where code chooses it.
        let written = [format!("class=\\\"{class}\\\""), format!("\"{class}\"")];
        let draws = |source: &str| written.iter().any(|word| source.contains(word.as_str()));
        let met: Vec<&str> =
            drawing.iter().filter(|(_, source)| draws(source)).map(|(path, _)| path.as_str()).collect();
        for path in &met {
            assert!(files.iter().any(|file| path.ends_with(file)), "{path} draws something as {class}");
        }
        assert_eq!(met.len(), files.len(), "{class}: {met:?}");
    }
}
