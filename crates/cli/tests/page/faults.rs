//! What every page is held to: faults of layout, and of accessibility.

use crate::browser::{between, browser, opened};
use crate::support::{punctual, skip, stderr};
use std::path::Path;

/// A page, its name and the command that writes it from a golden recording.
const PAGES: [(&str, &str); 13] = [
    ("record", "report record.punctual"),
    ("followed", "report comm.punctual"),
    ("idle", "report idle.punctual"),
    ("device", "report device.punctual"),
    ("log", "report log.punctual"),
    ("interact", "report interact.punctual"),
    ("timers", "report timers.punctual"),
    ("check", "report check"),
    ("why", "why why.punctual"),
    ("compare", "compare check/idle.punctual check/loaded.punctual"),
    (
        "compare-sides",
        "compare check/idle.punctual check/loaded.punctual again=check/loaded.punctual --device audio64 --device modem",
    ),
    ("forecast", "forecast check --curve"),
    ("modem-study", "modem study --row 3/17 --bytes 100 --attempts 1"),
];

/// Looks at the page in a frame of each width, so that 400 are 400 also where a window cannot be that narrow.
const FIND_FAULTS: &str = r#"
const faultsOf = (document, width) => {
  const faults = [];
  const told = (what, element) => faults.push(`${width}: ${what}: ${(element.textContent || element.tagName).trim().slice(0, 40)}`);
  if (document.scrollingElement.scrollWidth > width) told(`${document.scrollingElement.scrollWidth} wide`, document.querySelector('h1'));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node; (node = walk.nextNode()); ) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.getClientRects().length) continue;
    texts++;
    let size = parseFloat(document.defaultView.getComputedStyle(element).fontSize);
    const matrix = element.closest('svg') && element.getScreenCTM && element.getScreenCTM();
    if (matrix) size *= Math.hypot(matrix.a, matrix.b);
    if (size < 9.99) told(`text of ${size.toFixed(1)} px`, element);
  }
  for (const picture of document.querySelectorAll('svg')) {
    const labels = [...picture.querySelectorAll('text')].slice(0, 300).map((text) => [text, text.getBoundingClientRect()]);
    const shown = labels.filter(([, box]) => box.width > 0);
    shown.forEach(([text, a], index) => {
      for (const [other, b] of shown.slice(index + 1)) {
        const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
        if (!apart) told(`over "${other.textContent}"`, text);
      }
    });
    for (const [text, box] of shown) if (box.right > width && !picture.closest('figure, .wide')) told('out of the page', text);
  }
  return [`${width}: ${texts} texts`, ...faults];
};
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'faults';
  for (const frame of document.querySelectorAll('iframe')) out.append(faultsOf(frame.contentDocument, frame.clientWidth).join('\n') + '\n');
}, 1500));"#;
#[test]
fn no_page_has_faults_of_layout() {
    const NAME: &str = "no_page_has_faults_of_layout";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let mut all: Vec<String> = Vec::new();
    for (name, words) in PAGES {
        let page = directory.path().join(format!("{name}.html"));
        let mut command = punctual();
        command.current_dir(&golden).args(words.split_whitespace()).arg("--html").arg(&page);
        let output = command.output().unwrap();
        if stderr(&output).contains("Node.js") {
            return skip(NAME, "the program was built without the script of the pages");
        }
        let frame =
            |width| format!("<iframe src=\"{name}.html\" style=\"width:{width}px;height:900px;border:0\"></iframe>");
        let around = directory.path().join(format!("{name}-framed.html"));
        std::fs::write(&around, format!("<html><body>{}{}</body></html>", frame(400), frame(1280))).unwrap();
        let (dom, _) = opened(&browser, &around, FIND_FAULTS);
        let told = between(&dom, "<pre id=\"faults\">", "</pre>");
        let texts = told.lines().filter(|line| line.ends_with(" texts") && !line.ends_with(": 0 texts")).count();
        assert_eq!(texts, 2, "{name} was not seen at both widths: {told}");
        all.extend(told.lines().filter(|line| !line.ends_with(" texts")).map(|fault| format!("{name} at {fault}")));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// What axe-core says of a page, each fault with the first element that has it.
const FIND_BARRIERS: &str = r#"
addEventListener('load', () => setTimeout(() => axe.run(document).then(({ violations, passes }) => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'barriers';
  out.append(`${passes.length} passes\n`);
  for (const { id, nodes } of violations) out.append(`${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 120)}\n`);
}), 800));"#;
/// axe-core is not ours and not small: `scripts/setup --test` fetches it where there is npm, and `PUNCTUAL_AXE` says where its
/// `axe.min.js` lies.
#[test]
fn no_page_has_faults_of_accessibility() {
    const NAME: &str = "no_page_has_faults_of_accessibility";
    let Some(axe) = std::env::var_os("PUNCTUAL_AXE") else {
        return skip(NAME, "PUNCTUAL_AXE does not say where axe.min.js is");
    };
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let axe = std::fs::read_to_string(axe).unwrap().replace("</script", "<\\/script");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let mut all: Vec<String> = Vec::new();
    for (name, words) in PAGES {
        let page = directory.path().join(format!("{name}.html"));
        let output =
            punctual().current_dir(&golden).args(words.split_whitespace()).arg("--html").arg(&page).output().unwrap();
        if stderr(&output).contains("Node.js") {
            return skip(NAME, "the program was built without the script of the pages");
        }
        let (dom, complaints) = opened(&browser, &page, &format!("{axe}\n{FIND_BARRIERS}"));
        assert!(dom.contains("id=\"barriers\""), "{name}: {complaints}");
        let told = between(&dom, "<pre id=\"barriers\">", "</pre>");
        assert!(told.lines().next().is_some_and(|line| !line.starts_with("0 ")), "{name}: {told}");
        all.extend(told.lines().skip(1).map(|fault| format!("{name}: {fault}")));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
