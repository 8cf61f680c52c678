//! A page in a headless browser, and what it contains there.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories).flat_map(|at| names.map(|name| at.join(name))).find(|path| path.is_file())
}

/// A page, with a script added at its end, as the browser has it after a while in the light theme, and what the browser
/// complained about.
pub(crate) fn opened(browser: &Path, page: &Path, script: &str) -> (String, String) {
    let html = std::fs::read_to_string(page).unwrap();
    let copy = page.with_extension("opened.html");
    std::fs::write(&copy, html.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let open = || {
        let profile = tempfile::tempdir().unwrap();
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            // A frame's page is another file, and only this option lets the page around it look inside.
            .arg("--allow-file-access-from-files")
            .args(["--enable-logging=stderr", "--window-size=1000,900", "--virtual-time-budget=5000", "--dump-dom"])
            .arg("--blink-settings=preferredColorScheme=1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", copy.display()))
            .stdin(Stdio::null())
            .output()
            .expect("the browser starts")
    };
    // One whose processes a busy machine keeps from one another for long gives up, and has nothing to say of the page.
    let mut output = open();
    for _ in 0..2 {
        if output.stdout.is_empty() {
            output = open();
        }
    }
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}

/// The text between two others.
pub(crate) fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split(from).nth(1).unwrap_or_else(|| panic!("no {from}")).split(to).next().unwrap()
}

/// All values of an attribute, in order.
pub(crate) fn attributes<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.split(&format!("{name}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// What the page is drawn from.
pub(crate) fn data_of(dom: &str) -> Value {
    serde_json::from_str(between(dom, "id=\"data\">", "</script>")).unwrap()
}

/// The page after its script has run without a complaint: every picture is drawn, and it holds the whole answer.
pub(crate) fn drawn(browser: &Path, page: &Path, answer: &Value, script: &str) -> String {
    let (dom, complaints) = opened(browser, page, script);
    assert!(dom.contains("data-ready-ms"), "the script came to its end: {complaints}");
    assert!(!complaints.contains("CONSOLE"), "{complaints}");
    let errors = between(&dom, "<pre id=\"errors\"", "</pre>");
    assert!(errors.contains("hidden") && errors.ends_with('>'), "{errors}");
    let data = data_of(&dom);
    assert_eq!(data["report"], *answer);
    let pictures = data["pictures"].as_array().unwrap();
    assert!(!pictures.is_empty());
    assert_eq!(dom.matches("class=\"drawing\"").count(), pictures.len());
    for picture in pictures {
        let figure = between(&dom, &format!("id=\"{}\"", picture["id"].as_str().unwrap()), "</figure>");
        assert!(figure.contains("<svg") && figure.contains("aria-label"), "{figure}");
        assert!(!figure.contains("NaN"), "{figure}");
    }
    dom
}
