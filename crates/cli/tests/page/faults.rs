//! What every page must be free of: faults of layout and of accessibility.

use crate::browser::{between, browser, opened};
use crate::support::{self, punctual, skip, stderr};
use std::path::{Path, PathBuf};

/// A page's name, and where it is.
pub(crate) type Page<'a> = (&'a str, PathBuf);

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
/// has. Two runs a point give each point of the classes the same class as ten.
const SIMULATED: [(&str, &str); 6] = [
    ("experiment", "sim run nt-timers-table3"),
    ("timeline", "sim timeline soft-modem-callbacks"),
    (
        "classes",
        "sim run soft-modem-table3 --set runs=2 --sweep device.policy.reservation.runtime=1..4 --sweep device.policy.reservation.period=7..14",
    ),
    ("counts", "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..9 --sweep compute=1..4"),
    ("one-axis", "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..40"),
    (
        "cubes",
        "sim whatif --device modem --duration 1s --context slots:1/4 --sweep period=4..6 --sweep compute=1..2 --sweep buffers=2..3",
    ),
];

/// The browser opens this many pages at a time: to start it takes as long as to look at several, and each takes memory.
const PAGES_AT_ONCE: usize = 6;

/// Opens each page in a frame for each way to see it: the way's words, and the frame's style. The script writes lines of
/// `NAME WAY: ` into an element `found`: first how much it looked at, which ends with the way that it met, then each fault.
fn found(browser: &Path, pages: &[Page<'_>], ways: [(&str, &str); 2], script: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for pages in pages.chunks(PAGES_AT_ONCE) {
        let mut frames = String::new();
        for (name, page) in pages {
            let file = page.file_name().unwrap().to_string_lossy();
            for (way, style) in ways {
                // All in the window, as a page by itself would be.
                let style = format!("position:absolute;top:0;left:0;height:900px;border:0;{style}");
                frames += &format!("<iframe name=\"{name} {way}\" src=\"{file}\" style=\"{style}\"></iframe>");
            }
        }
        let around = pages[0].1.with_file_name("framed.html");
        std::fs::write(&around, format!("<html><body>{frames}</body></html>")).unwrap();
        let (dom, complaints) = opened(browser, &around, script);
        assert!(dom.contains("<pre id=\"found\">"), "the script did not end: {complaints}");
        let told = between(&dom, "<pre id=\"found\">", "</pre>");
        for (name, _) in pages {
            for (way, _) in ways {
                let about = format!("{name} {way}: ");
                let mut lines = told.lines().filter_map(|line| line.strip_prefix(&about));
                let first = lines.next().unwrap_or_default();
                assert!(!first.starts_with("0 ") && first.ends_with(way), "{name} was not seen {way}: {told}");
                faults.extend(lines.map(|fault| format!("{about}{fault}")));
            }
        }
    }
    faults
}

/// Looks at pages in frames of each width, so that 400 means 400 even where a window cannot be that narrow.
const FIND_FAULTS: &str = r#"
const faultsOf = (document, width) => {
  const faults = [];
  const told = (what, element) => faults.push(`${what}: ${(element.textContent || element.tagName).trim().slice(0, 40)}`);
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
  return [`${texts} texts at ${width}`, ...faults];
};
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'found';
  for (const frame of document.querySelectorAll('iframe')) {
    for (const line of faultsOf(frame.contentDocument, frame.clientWidth)) out.append(`${frame.name}: ${line}\n`);
  }
}, 1500));"#;

/// Faults of pages at both widths.
pub(crate) fn layout_of(browser: &Path, pages: &[Page<'_>]) -> Vec<String> {
    found(browser, pages, [("at 400", "width:400px"), ("at 1280", "width:1280px")], FIND_FAULTS)
}

/// Writes the pages and looks for their faults; `false` if the program cannot draw.
fn look_at_all(pages: &[(&str, &str)], looked_for: impl Fn(&[Page<'_>]) -> Vec<String>) -> bool {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let mut written = Vec::new();
    for (name, words) in pages {
        let page = directory.path().join(format!("{name}.html"));
        let output =
            punctual().current_dir(&golden).args(words.split_whitespace()).arg("--html").arg(&page).output().unwrap();
        if stderr(&output).contains("Node.js") {
            return false;
        }
        assert!(page.exists(), "{name}: {}", stderr(&output));
        written.push((*name, page));
    }
    let all = looked_for(&written);
    assert!(all.is_empty(), "{}", all.join("\n"));
    true
}

const UNDRAWN: &str = "the program was built without the script of the pages";

fn look_for_layout(name: &str, pages: &[(&str, &str)]) {
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    if !look_at_all(pages, |written| layout_of(&browser, written)) {
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
  out.append(`${passes.length} passes in the ${isDark ? 'dark' : 'light'} theme\n`);
  for (const { id, nodes } of violations) out.append(`${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 120)}\n`);
}), 800));"#;

/// Gathers what axe-core has said in each frame, once all of them have it or it is late.
const GATHER_BARRIERS: &str = r#"
addEventListener('load', () => {
  const frames = [...document.querySelectorAll('iframe')];
  const barriers = (frame) => frame.contentDocument.getElementById('barriers');
  let tries = 40;
  const gather = () => {
    if (tries-- > 0 && !frames.every(barriers)) return setTimeout(gather, 100);
    const out = document.body.appendChild(document.createElement('pre'));
    out.id = 'found';
    for (const frame of frames) {
      for (const line of (barriers(frame)?.textContent ?? 'nothing').trim().split('\n')) out.append(`${frame.name}: ${line}\n`);
    }
  };
  gather();
});"#;

/// What axe-core finds on pages in both themes; `axe` is its script. A frame's page has the theme of the frame's
/// `color-scheme`, and is examined in the frame as it would be by itself.
pub(crate) fn barriers_of(browser: &Path, axe: &str, pages: &[Page<'_>]) -> Vec<String> {
    std::fs::write(pages[0].1.with_file_name("axe.js"), format!("{axe}\n{FIND_BARRIERS}")).unwrap();
    let examined: Vec<Page<'_>> = pages
        .iter()
        .map(|(name, page)| {
            let examined = page.with_extension("examined.html");
            let html = std::fs::read_to_string(page).unwrap();
            std::fs::write(&examined, html.replace("</body>", "<script src=\"axe.js\"></script></body>")).unwrap();
            (*name, examined)
        })
        .collect();
    let ways = [
        ("in the light theme", "width:1000px;color-scheme:light"),
        ("in the dark theme", "width:1000px;color-scheme:dark"),
    ];
    found(browser, &examined, ways, GATHER_BARRIERS)
}

/// axe-core is not ours and not small: `scripts/setup --test` fetches it if there is npm, and `PUNCTUAL_AXE` says where
/// its `axe.min.js` is.
pub(crate) fn axe() -> Option<String> {
    Some(std::fs::read_to_string(std::env::var_os("PUNCTUAL_AXE")?).unwrap())
}

fn look_for_barriers(name: &str, pages: &[(&str, &str)]) {
    let Some(axe) = axe() else { return skip(name, "PUNCTUAL_AXE does not say where axe.min.js is") };
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    if !look_at_all(pages, |written| barriers_of(&browser, &axe, written)) {
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
