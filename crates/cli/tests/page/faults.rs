//! What every page must be free of: faults of layout and of accessibility.

use crate::browser::{Theme, between, browser, opened, opened_in};
use crate::support::{self, punctual, skip, stderr};
use std::path::Path;

/// A page of each kind: its name, and the command that writes it without measuring anything.
const PAGES: [(&str, &str); 17] = [
    ("record", "report record.punctual"),
    ("softirq", "report softirq.punctual"),
    ("simulated", "report sim.punctual"),
    ("followed", "report comm.punctual"),
    ("idle", "report idle.punctual"),
    ("validate", "report validate.punctual"),
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
    ("compare-inputs", "compare interact.punctual interact.punctual"),
    ("forecast", "forecast check --curve"),
    ("modem-study", "modem study --row 3/17 --bytes 100 --attempts 1"),
];

/// Pages of simulations. The page of all papers takes a minute: it only has more of what the page of one experiment
/// has.
const SIMULATED: [(&str, &str); 6] = [
    ("experiment", "sim run nt-timers-table3"),
    ("timeline", "sim timeline soft-modem-callbacks"),
    (
        "classes",
        "sim run soft-modem-table3 --sweep device.policy.reservation.runtime=1..4 --sweep device.policy.reservation.period=7..14",
    ),
    ("counts", "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..9 --sweep compute=1..4"),
    ("one-axis", "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..40"),
    (
        "cubes",
        "sim whatif --device modem --duration 1s --context slots:1/4 --sweep period=4..6 --sweep compute=1..2 --sweep buffers=2..3",
    ),
];

/// Looks at the page in frames of each width, so that 400 means 400 even where a window cannot be that narrow.
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
    const bars = [...picture.querySelectorAll('.interval')].map((bar) => [Number(bar.dataset.place), bar.getBoundingClientRect()]);
    const isCovered = ([place, box]) => bars.some(([other, next]) => other === place + 1 && next.left < box.right);
    if (bars.some(isCovered)) told('intervals over those of the next amount', picture);
    for (const [text, box] of shown) if (box.right > width && !picture.closest('figure, .wide')) told('out of the page', text);
  }
  return [`${width}: ${texts} texts`, ...faults];
};
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'faults';
  for (const frame of document.querySelectorAll('iframe')) out.append(faultsOf(frame.contentDocument, frame.clientWidth).join('\n') + '\n');
}, 1500));"#;

/// Faults of a page at both widths.
pub(crate) fn layout_of(browser: &Path, name: &str, page: &Path) -> Vec<String> {
    let file = page.file_name().unwrap().to_string_lossy();
    let frame = |width| format!("<iframe src=\"{file}\" style=\"width:{width}px;height:900px;border:0\"></iframe>");
    let around = page.with_file_name(format!("{name}-framed.html"));
    std::fs::write(&around, format!("<html><body>{}{}</body></html>", frame(400), frame(1280))).unwrap();
    let (dom, _) = opened(browser, &around, FIND_FAULTS);
    let told = between(&dom, "<pre id=\"faults\">", "</pre>");
    let texts = told.lines().filter(|line| line.ends_with(" texts") && !line.ends_with(": 0 texts")).count();
    assert_eq!(texts, 2, "{name} was not seen at both widths: {told}");
    told.lines().filter(|line| !line.ends_with(" texts")).map(|fault| format!("{name} at {fault}")).collect()
}

/// Writes each page and looks for its faults; `false` if the program cannot draw.
fn look_at_all(pages: &[(&str, &str)], looked_for: impl Fn(&str, &Path) -> Vec<String>) -> bool {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let mut all: Vec<String> = Vec::new();
    for (name, words) in pages {
        let page = directory.path().join(format!("{name}.html"));
        let output =
            punctual().current_dir(&golden).args(words.split_whitespace()).arg("--html").arg(&page).output().unwrap();
        if stderr(&output).contains("Node.js") {
            return false;
        }
        assert!(page.exists(), "{name}: {}", stderr(&output));
        all.extend(looked_for(name, &page));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    true
}

const UNDRAWN: &str = "the program was built without the script of the pages";

fn look_for_layout(name: &str, pages: &[(&str, &str)]) {
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    if !look_at_all(pages, |name, page| layout_of(&browser, name, page)) {
        skip(name, UNDRAWN);
    }
}

#[test]
fn no_page_has_faults_of_layout() {
    look_for_layout("no_page_has_faults_of_layout", &PAGES);
}

#[test]
fn no_page_of_a_simulation_has_faults_of_layout() {
    look_for_layout("no_page_of_a_simulation_has_faults_of_layout", &SIMULATED);
}

/// What axe-core says about a page: each fault with the first element that has it. For a dark page, only what its
/// colours change.
const FIND_BARRIERS: &str = r#"
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
const asked = isDark ? { runOnly: ['color-contrast'] } : {};
addEventListener('load', () => setTimeout(() => axe.run(document, asked).then(({ violations, passes }) => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'barriers';
  out.append(`${passes.length} passes, ${isDark ? 'Dark' : 'Light'}\n`);
  for (const { id, nodes } of violations) out.append(`${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 120)}\n`);
}), 800));"#;

/// What axe-core finds on a page in both themes; `axe` is its script.
pub(crate) fn barriers_of(browser: &Path, axe: &str, name: &str, page: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for theme in [Theme::Light, Theme::Dark] {
        let (dom, complaints) = opened_in(browser, page, &format!("{axe}\n{FIND_BARRIERS}"), theme);
        assert!(dom.contains("id=\"barriers\""), "{name}: {complaints}");
        let told = between(&dom, "<pre id=\"barriers\">", "</pre>");
        let first = told.lines().next().unwrap_or_default();
        assert!(!first.starts_with("0 ") && first.ends_with(&format!(" passes, {theme:?}")), "{name}: {told}");
        faults.extend(told.lines().skip(1).map(|fault| format!("{name}, {theme:?}: {fault}")));
    }
    faults
}

/// axe-core is not ours and not small: `scripts/setup --test` fetches it if there is npm, and `PUNCTUAL_AXE` says where
/// its `axe.min.js` is.
pub(crate) fn axe() -> Option<String> {
    let script = std::fs::read_to_string(std::env::var_os("PUNCTUAL_AXE")?).unwrap();
    Some(script.replace("</script", "<\\/script"))
}

fn look_for_barriers(name: &str, pages: &[(&str, &str)]) {
    let Some(axe) = axe() else { return skip(name, "PUNCTUAL_AXE does not say where axe.min.js is") };
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    if !look_at_all(pages, |name, page| barriers_of(&browser, &axe, name, page)) {
        skip(name, UNDRAWN);
    }
}

#[test]
fn no_page_has_faults_of_accessibility() {
    look_for_barriers("no_page_has_faults_of_accessibility", &PAGES);
}

#[test]
fn no_page_of_a_simulation_has_faults_of_accessibility() {
    look_for_barriers("no_page_of_a_simulation_has_faults_of_accessibility", &SIMULATED);
}
