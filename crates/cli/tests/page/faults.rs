//! What every page must be free of: faults of layout and of accessibility.

use crate::browser::{between, browser, opened};
use crate::support::{self, punctual, skip, stderr, tests_all};
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
const PAGES_AT_ONCE: usize = 5;

/// A way to see a page: its words, and the style of a frame.
type Way = (&'static str, &'static str);

/// Opens each page in a frame for each way to see it, of which `ways_of` has those of the page with a number. The script
/// writes lines of `NAME WAY: ` into an element `found`: first how much it looked at, which ends with the way that it met,
/// then each fault.
fn found(browser: &Path, pages: &[Page<'_>], ways_of: impl Fn(usize) -> &'static [Way], script: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let numbered: Vec<(usize, &Page<'_>)> = pages.iter().enumerate().collect();
    for pages in numbered.chunks(PAGES_AT_ONCE) {
        let mut frames = String::new();
        for (number, (name, page)) in pages {
            let file = page.file_name().unwrap().to_string_lossy();
            for (way, style) in ways_of(*number) {
                // All in the window, as a page by itself would be.
                let style = format!("position:absolute;top:0;left:0;height:900px;border:0;{style}");
                frames += &format!("<iframe name=\"{name} {way}\" src=\"{file}\" style=\"{style}\"></iframe>");
            }
        }
        let around = pages[0].1.1.with_file_name("framed.html");
        std::fs::write(&around, format!("<html><body>{frames}</body></html>")).unwrap();
        let (dom, complaints) = opened(browser, &around, script);
        assert!(dom.contains("<pre id=\"found\">"), "the script did not end: {complaints}");
        let told = between(&dom, "<pre id=\"found\">", "</pre>");
        for (number, (name, _)) in pages {
            for (way, _) in ways_of(*number) {
                let about = format!("{name} {way}: ");
                let mut lines = told.lines().filter_map(|line| line.strip_prefix(&about));
                let first = lines.next().unwrap_or_default();
                assert!(!first.starts_with("0 ") && first.ends_with(*way), "{name} was not seen {way}: {told}");
                eprintln!("{about}{first}");
                faults.extend(lines.map(|fault| format!("{about}{fault}")));
            }
        }
    }
    faults
}

/// Looks at pages in frames of each width, so that 400 means 400 even where a window cannot be that narrow.
///
/// A label of a drawing may not stand where a line, a curve or a point of that drawing goes, grid lines included, unless
/// it is painted over that and its letters have a halo of the page's colour: then the line ends before the letters, and
/// they can be read. What only fills an area, such as the cell or the bar that a label belongs to, is no line.
const FIND_FAULTS: &str = r#"
// Where a point of an element is in the window.
const placing = (element) => {
  const { a, b, c, d, e, f } = element.getScreenCTM();
  return (x, y) => [a * x + c * y + e, b * x + d * y + f];
};
// Where the letters of a label stand: without the room that a font keeps above and below them.
const lettersOf = (text) => {
  const { x, y, width, height } = text.getBBox();
  const at = placing(text);
  const [one, other] = [at(x + 0.5, y + 0.2 * height), at(x + width - 0.5, y + 0.8 * height)];
  const sides = (way) => [Math.min(one[way], other[way]), Math.max(one[way], other[way])];
  return [sides(0), sides(1)];
};
// The straight pieces of which a line, a curve or a point is drawn, in the window.
const piecesOf = (shape) => {
  const [at, pieces] = [placing(shape), []];
  let [x, y, beginX, beginY] = [0, 0, 0, 0];
  const go = (toX, toY) => {
    pieces.push([at(x, y), at(toX, toY)]);
    [x, y] = [toX, toY];
  };
  const begin = (toX, toY) => ([x, y, beginX, beginY] = [toX, toY, toX, toY]);
  const of = (name) => shape[name].baseVal.value;
  const path = shape.getAttribute('d') ?? '';
  if (shape.tagName === 'line') {
    begin(of('x1'), of('y1'));
    go(of('x2'), of('y2'));
  } else if (shape.tagName === 'circle') {
    begin(of('cx') - of('r'), of('cy'));
    go(of('cx') + of('r'), of('cy'));
    begin(of('cx'), of('cy') - of('r'));
    go(of('cx'), of('cy') + of('r'));
  } else if (shape.tagName === 'rect') {
    begin(of('x'), of('y'));
    go(of('x') + of('width'), of('y'));
    go(of('x') + of('width'), of('y') + of('height'));
    go(of('x'), of('y') + of('height'));
    go(of('x'), of('y'));
  } else if (shape.points) {
    [...shape.points].forEach((point, index) => (index ? go : begin)(point.x, point.y));
  } else if (/[acqst]/i.test(path)) {
    for (let along = 0; along <= shape.getTotalLength(); along++) {
      const point = shape.getPointAtLength(along);
      begin(point.x, point.y);
      go(point.x, point.y);
    }
  } else for (const [, command, rest] of path.matchAll(/([mlhvz])([^mlhvz]*)/gi)) {
    const numbers = (rest.match(/-?[\d.]+(?:e[+-]?\d+)?/gi) ?? []).map(Number);
    const isRelative = command > 'Z';
    const [right, down] = [(value) => (isRelative ? x : 0) + value, (value) => (isRelative ? y : 0) + value];
    const kind = command.toLowerCase();
    if (kind === 'z') go(beginX, beginY);
    else if (kind === 'h') numbers.forEach((value) => go(right(value), y));
    else if (kind === 'v') numbers.forEach((value) => go(x, down(value)));
    else for (let index = 0; index + 1 < numbers.length; index += 2) {
      (kind === 'm' && index === 0 ? begin : go)(right(numbers[index]), down(numbers[index + 1]));
    }
  }
  return pieces;
};
// Whether a straight piece goes through a box.
const goesThrough = ([from, to], box) => {
  let [first, last] = [0, 1];
  for (const way of [0, 1]) {
    const [length, [low, high]] = [to[way] - from[way], box[way]];
    if (length === 0) {
      if (from[way] <= low || from[way] >= high) return false;
      continue;
    }
    const ends = [(low - from[way]) / length, (high - from[way]) / length];
    first = Math.max(first, Math.min(...ends));
    last = Math.min(last, Math.max(...ends));
  }
  return first <= last;
};
// Each line, curve and point of a drawing, with its pieces.
const linesOf = (picture, view) => {
  const shapes = [...picture.querySelectorAll('path, line, polyline, polygon, circle, rect')].filter((shape) => shape.getClientRects().length);
  const isLine = (shape) => shape.tagName === 'circle' || view.getComputedStyle(shape).stroke !== 'none';
  return shapes.filter(isLine).map((shape) => {
    const pieces = piecesOf(shape);
    const extent = [0, 1].map((way) =>
      pieces.reduce(([low, high], ends) => ends.reduce(([low, high], end) => [Math.min(low, end[way]), Math.max(high, end[way])], [low, high]), [Infinity, -Infinity]),
    );
    return { shape, pieces, extent };
  });
};
// Whether a label can be read although this shape goes where it stands.
const isClearOf = (text, shape, view) => {
  const style = view.getComputedStyle(text);
  const page = view.getComputedStyle(text.ownerDocument.body).backgroundColor;
  const isOver = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
  return Boolean(isOver) && /^stroke/.test(style.paintOrder) && style.stroke === page && parseFloat(style.strokeWidth) >= 2;
};
const faultsOf = (document, width) => {
  const faults = [];
  const view = document.defaultView;
  // What is folded away must fit, too; values of pictures are tables of thousands of rows, which are made when they are opened.
  for (const folded of document.querySelectorAll('details:not(.values)')) folded.open = true;
  const told = (what, element) => faults.push(`${what}: ${(element.textContent || element.tagName).trim().slice(0, 40)}`);
  if (document.scrollingElement.scrollWidth > width) told(`${document.scrollingElement.scrollWidth} wide`, document.querySelector('h1'));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node; (node = walk.nextNode()); ) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.getClientRects().length) continue;
    texts++;
    let size = parseFloat(view.getComputedStyle(element).fontSize);
    const matrix = element.closest('svg') && element.getScreenCTM && element.getScreenCTM();
    if (matrix) size *= Math.hypot(matrix.a, matrix.b);
    if (size < 9.99) told(`text of ${size.toFixed(1)} px`, element);
  }
  let [drawings, labelled, haloed] = [0, 0, 0];
  for (const picture of document.querySelectorAll('svg')) {
    const labels = [...picture.querySelectorAll('text')].map((text) => [text, text.getBoundingClientRect()]);
    const shown = labels.filter(([, box]) => box.width > 0).slice(0, 1000);
    if (!picture.closest('.legend') && picture.getClientRects().length) drawings++;
    labelled += shown.length;
    shown.forEach(([text, a], index) => {
      for (const [other, b] of shown.slice(index + 1)) {
        const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
        if (!apart) told(`over "${other.textContent}"`, text);
      }
    });
    const lines = shown.length ? linesOf(picture, view) : [];
    for (const [text] of shown) {
      const letters = lettersOf(text);
      const isNear = ({ extent }) => [0, 1].every((way) => extent[way][0] <= letters[way][1] && extent[way][1] >= letters[way][0]);
      const under = lines.filter((line) => isNear(line) && line.pieces.some((piece) => goesThrough(piece, letters)));
      const unclear = under.find(({ shape }) => !isClearOf(text, shape, view));
      if (unclear) told(`on a ${unclear.shape.tagName} "${unclear.shape.getAttribute('class') ?? ''}"`, text);
      else if (under.length) haloed++;
    }
    if (view.getComputedStyle(picture).overflowX !== 'visible') {
      const edge = picture.getBoundingClientRect();
      for (const [text, box] of shown) if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 2 || box.bottom > edge.bottom + 2) told('cut off', text);
    }
    const bars = [...picture.querySelectorAll('.interval')].map((bar) => [Number(bar.dataset.place), bar.getBoundingClientRect()]);
    const isCovered = ([place, box]) => bars.some(([other, next]) => other === place + 1 && next.left < box.right);
    if (bars.some(isCovered)) told('intervals over those of the next amount', picture);
    for (const [text, box] of shown) if (box.right > width && !picture.closest('figure, .wide')) told('out of the page', text);
  }
  if (drawings && !labelled) told('no label was met in its drawings', document.querySelector('h1'));
  return [`${texts} texts, ${labelled} labels in drawings, ${haloed} of them over a line with a halo, at ${width}`, ...faults];
};
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'found';
  for (const frame of document.querySelectorAll('iframe')) {
    for (const line of faultsOf(frame.contentDocument, frame.clientWidth)) out.append(`${frame.name}: ${line}\n`);
  }
}, 1500));"#;

/// Faults of pages on a telephone, in half of a window, and in a whole one.
fn layout_of(browser: &Path, pages: &[Page<'_>]) -> Vec<String> {
    static WIDTHS: [Way; 3] = [("at 400", "width:400px"), ("at 1000", "width:1000px"), ("at 1280", "width:1280px")];
    found(browser, pages, |_| &WIDTHS, FIND_FAULTS)
}

/// A drawing with faults, and with what looks like one: each label's words say what is wrong with it.
const FAULTY: &str = r##"<html><head><style>
body{margin:0;background:#fff}svg text{font:12px sans-serif}svg path{stroke:#00f;fill:none}
.halo{stroke:#fff;stroke-width:3px;paint-order:stroke}.tint{stroke:#fd8;stroke-width:3px;paint-order:stroke}
</style></head><body><h1>Labels</h1><svg width="380" height="400">
<text x="20" y="40">crossed</text><path d="M0 36h200"/>
<path class="curve" d="M0 80C50 60 60 90 200 76"/><text x="20" y="80">on a curve</text>
<text x="20" y="120">on a point</text><circle cx="30" cy="116" r="3"/>
<path class="dots" d="M32 156h0M36 300h0"/><text x="20" y="160">on a dot</text>
<path d="M0 196l200 0"/><text class="halo" x="20" y="200">has a halo</text>
<text class="halo" x="20" y="240">halo below its line</text><path class="above" d="M0 236H200"/>
<path class="tinted" d="M0 276L200,276"/><text class="tint" x="20" y="280">halo of another colour</text>
<text x="20" y="320">underlined</text><path d="M0 325v0h200"/>
<rect x="10" y="340" width="90" height="18" fill="#ccc"/><text x="20" y="354">in its bar</text>
<g transform="translate(300 40)"><line x1="0" y1="-4" x2="50" y2="-4" class="moved" stroke="#00f"/></g><text x="300" y="40">moved</text>
<text x="250" y="80">one</text><text x="260" y="82">two</text>
<text transform="translate(300 120) rotate(-90)" text-anchor="middle">turned</text><path class="upright" d="M200 120h150"/>
<text x="-20" y="380">cut</text>
</svg><details><summary>More</summary><p style="font-size:8px">folded</p></details></body></html>"##;

#[test]
fn faults_of_drawings_are_found() {
    const NAME: &str = "faults_of_drawings_are_found";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("faulty.html");
    std::fs::write(&page, FAULTY).unwrap();
    let mut found = layout_of(&browser, &[("faulty", page)]);
    found.sort_unstable();
    let expected = [
        "cut off: cut",
        "on a circle \"\": on a point",
        "on a line \"moved\": moved",
        "on a path \"\": crossed",
        "on a path \"above\": halo below its line",
        "on a path \"curve\": on a curve",
        "on a path \"dots\": on a dot",
        "on a path \"tinted\": halo of another colour",
        "on a path \"upright\": turned",
        "over \"two\": one",
        "text of 8.0 px: folded",
    ];
    let all = ["at 1000", "at 1280", "at 400"].into_iter();
    let expected: Vec<String> = all.flat_map(|way| expected.map(|fault| format!("faulty {way}: {fault}"))).collect();
    assert_eq!(found, expected);
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

static THEMES: [Way; 2] = [
    ("in the light theme", "width:1000px;color-scheme:light"),
    ("in the dark theme", "width:1000px;color-scheme:dark"),
];

/// What axe-core finds on pages; `axe` is its script. By default it looks at the first page and at every third after it in
/// the dark theme too, with `PUNCTUAL_TEST_ALL=1` at all of them. A frame's page has the theme of the frame's `color-scheme`,
/// and is examined in the frame as it would be by itself.
fn barriers_of(browser: &Path, axe: &str, pages: &[Page<'_>]) -> Vec<String> {
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
    // All pages share the colours of a theme, though not each of them has every colour.
    let themes = |number: usize| if tests_all() || number.is_multiple_of(3) { &THEMES[..] } else { &THEMES[..1] };
    found(browser, &examined, themes, GATHER_BARRIERS)
}

/// axe-core is not ours and not small: `scripts/setup --test` fetches it if there is npm, and `PUNCTUAL_AXE` says where
/// its `axe.min.js` is.
fn axe() -> Option<String> {
    Some(std::fs::read_to_string(std::env::var_os("PUNCTUAL_AXE")?).unwrap())
}

/// Faults of pages: of layout and, if axe-core is there, of accessibility.
pub(crate) fn faults_of(browser: &Path, pages: &[Page<'_>]) -> Vec<String> {
    let mut faults = layout_of(browser, pages);
    let axe = axe();
    faults.extend(axe.iter().flat_map(|axe| barriers_of(browser, axe, pages)));
    let barriers = if axe.is_some() { ", and for barriers" } else { "" };
    let names: Vec<&str> = pages.iter().map(|(name, _)| *name).collect();
    eprintln!("{}: looked at all widths{barriers}", names.join(", "));
    faults
}

/// Writes each of these pages once, and looks for their faults.
fn look_at_all(test: &str, pages: &[(&str, &str)]) {
    let Some(browser) = browser() else { return skip(test, "there is no chromium") };
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let mut written = Vec::new();
    for (name, words) in pages {
        let page = directory.path().join(format!("{name}.html"));
        let output =
            punctual().current_dir(&golden).args(words.split_whitespace()).arg("--html").arg(&page).output().unwrap();
        if stderr(&output).contains("Node.js") {
            return skip(test, "the program was built without the script of the pages");
        }
        assert!(page.exists(), "{name}: {}", stderr(&output));
        written.push((*name, page));
    }
    let faults = faults_of(&browser, &written);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    if axe().is_none() {
        skip(test, "PUNCTUAL_AXE does not say where axe.min.js is, so only the layout was looked at");
    }
}

#[test]
fn no_page_has_faults_of_layout_or_accessibility() {
    look_at_all("no_page_has_faults_of_layout_or_accessibility", &PAGES);
}

#[test]
fn no_page_of_a_simulation_has_faults_of_layout_or_accessibility() {
    look_at_all("no_page_of_a_simulation_has_faults_of_layout_or_accessibility", &SIMULATED);
}
