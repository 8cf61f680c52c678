//! The page of `punctual report --html` in a headless browser: what it shows is what the recordings hold.

mod support;

use punctual_recording::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{json, punctual, run, skip, stderr};

const MS: u64 = 1_000_000;

/// Wakeups on two CPUs, a third of them unlike the others, and one very late.
fn write(path: &Path, run_id: &str, load: &str, scale: u64) {
    let provenance = Provenance {
        run_id: run_id.into(),
        started_ns: 1_000 * MS,
        configuration: Configuration { interval_ns: MS, policy: "fifo".into(), bpf: true, ..Configuration::default() },
        load: LoadInfo { name: load.into(), trouble: vec!["</script><b>a load's words".into()], ..LoadInfo::default() },
        blind: vec!["who made a wakeup late".into()],
        ..Provenance::default()
    };
    let task = |cpu| Task {
        measure: "fifo:80".into(),
        tid: 7 + cpu,
        cpu: Some(cpu),
        period_ns: MS,
        counters: Counters { missed: Some(0), ..Counters::default() },
    };
    let mut writer = Writer::create(path, provenance, vec![task(0), task(1)]).unwrap();
    for index in 0..12_000u64 {
        let cpu = (index % 2) as u32;
        let expected = (1_000 + index / 2) * MS;
        let late = scale * (1_000 + index % 3_000 * 37 + if index == 7_777 { 3 * MS } else { 0 });
        let stamps = Stamps {
            expected,
            irq: expected + late / 2,
            softirq: 0,
            waking: expected + late / 2 + 300,
            switch_in: expected + late + 400,
            user: expected + late + 900,
        };
        writer.push(cpu as usize, &Wakeup::from_stamps(&stamps, cpu, 7 + cpu));
    }
    writer.flush().unwrap();
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 7_000 * MS }, Vec::new()).unwrap();
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories).flat_map(|at| names.map(|name| at.join(name))).find(|path| path.is_file())
}

/// A page, with a script added at its end, as the browser has it after a while; and what the browser complained about.
fn opened(browser: &Path, page: &Path, script: &str) -> (String, String) {
    let html = std::fs::read_to_string(page).unwrap();
    let copy = page.with_extension("opened.html");
    std::fs::write(&copy, html.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        // A frame's page is another file, which only this lets the page around it look at.
        .arg("--allow-file-access-from-files")
        .args(["--enable-logging=stderr", "--window-size=1000,900", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", copy.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}

/// The text between two others.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split(from).nth(1).unwrap_or_else(|| panic!("no {from}")).split(to).next().unwrap()
}

/// All values of an attribute, in order.
fn attributes<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.split(&format!("{name}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// As the page reads times out.
fn microseconds(ns: u64) -> String {
    let tenths = (ns + 50) / 100;
    let whole = (tenths / 10).to_string();
    let grouped: Vec<&str> = whole.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    format!("{}.{} us", grouped.join(","), tenths % 10)
}

/// What the page is drawn from.
fn data_of(dom: &str) -> Value {
    serde_json::from_str(between(dom, "id=\"data\">", "</script>")).unwrap()
}

/// The page after its script has run without a complaint: every picture is drawn, and it holds the whole answer.
fn drawn(browser: &Path, page: &Path, answer: &Value, script: &str) -> String {
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

const PRESS: &str = "
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'selftest';
  const place = document.querySelector('#share-0-all .drawing');
  place.focus();
  const press = (key) => place.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const tip = () => place.querySelector('.tip').textContent;
  press('Home');
  out.append(`home:${tip()}\\n`);
  press('End');
  out.append(`end:${tip()}\\n`);
  press('Escape');
  out.append(`gone:${place.querySelector('.tip').hidden}\\n`);
  const heat = document.querySelector('#time-0-cpus .drawing');
  const box = heat.getBoundingClientRect();
  heat.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 25, bubbles: true }));
  out.append(`hover:${heat.querySelector('.tip').textContent}\\n`);
  const button = document.querySelector('#share-0-all .legend button');
  button.click();
  out.append(`pressed:${button.getAttribute('aria-pressed')}\\n`);
  press('End');
  const said = () => document.getElementById('reading').textContent;
  const wait = (left) => (said() || !left ? out.append(`said:${said()}\\n`) : setTimeout(() => wait(left - 1), 100));
  setTimeout(() => wait(30), 300);
}, 100));";

#[test]
#[expect(clippy::too_many_lines, reason = "one look at one page: each number on it in turn")]
fn the_page_shows_what_the_recordings_hold() {
    const NAME: &str = "the_page_shows_what_the_recordings_hold";
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), "1", "none", 1);
    write(&directory.path().join("b.punctual"), "2", "mixed", 3);
    let made = run(directory.path(), &["report", "a.punctual", "b.punctual", "--html", "page.html", "--json"]);
    if support::stdout(&made).contains("Node.js") {
        return skip(NAME, "the program was built without the script of the pages");
    }
    let report = json(&made);
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let dom = drawn(&browser, &directory.path().join("page.html"), &report, PRESS);
    assert!(!dom.contains("<b>a load's words"), "words are not markup");
    let steps = report["next"].as_array().unwrap();
    assert_eq!(between(&dom, "<ul class=\"next\">", "</ul>").matches("<code>").count(), steps.len());
    assert!(dom.contains(&format!("<code>{}</code>", steps[0]["command"].as_str().unwrap())), "{steps:?}");

    // The stage tables: those of all CPUs first, then those of each, as in the report.
    let rows = report["stages"].as_array().unwrap();
    let keys = ["min_ns", "mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"];
    let cell = |value: &Value| value.as_u64().map_or_else(String::new, |value| value.to_string());
    let mut expected: Vec<String> = Vec::new();
    let mut counts: Vec<String> = Vec::new();
    for load in ["none", "mixed"] {
        for all in [true, false] {
            for row in rows.iter().filter(|row| row["load"] == load && row["cpu"].is_null() == all) {
                expected.extend(keys.map(|key| cell(&row[key])));
                counts.push(cell(&row["count"]));
            }
        }
    }
    let stages = between(&dom, "<h2 id=\"stages\">", "</section>");
    assert_eq!(attributes(stages, "data-ns"), expected);
    assert_eq!(attributes(stages, "data-count"), counts);

    // The devices' wakeups that came too late, load by load.
    let devices = report["devices"].as_array().unwrap();
    let of = |id: &Value, load: &str| {
        devices.iter().find(|row| row["device"] == *id && row["load"] == load).map(|row| cell(&row["late_wakeups"]))
    };
    let late: Vec<String> = devices
        .iter()
        .filter(|row| row["load"] == "none")
        .flat_map(|row| [of(&row["device"], "none").unwrap(), of(&row["device"], "mixed").unwrap()])
        .collect();
    assert_eq!(attributes(between(&dom, "<h2 id=\"devices\">", "</section>"), "data-count"), late);
    assert!(late.iter().any(|count| count != "0"), "{late:?}");

    let data = data_of(&dom);
    let pictures = data["pictures"].as_array().unwrap();
    for picture in pictures.iter().filter(|picture| picture["value"] == "count") {
        let cells = picture["cells"].as_array().unwrap();
        assert_eq!(cells.chunks(3).filter_map(|cell| cell[2].as_u64()).sum::<u64>(), 12_000);
    }

    // What is read by key and pointer, and what is said to those who do not see it.
    let total = |load: &str, key: &str| {
        let row = rows.iter().find(|row| row["stage"] == "total" && row["load"] == load && row["cpu"].is_null());
        row.unwrap()[key].as_u64().unwrap()
    };
    let told = |what: &str| {
        between(&dom, "<pre id=\"selftest\">", "</pre>")
            .lines()
            .find_map(|line| line.strip_prefix(what))
            .unwrap()
            .to_owned()
    };
    let home = told("home:");
    assert!(home.starts_with(&microseconds(total("none", "min_ns"))) && home.contains("100 % (12,000)"), "{home}");
    let end = told("end:");
    let longest = microseconds(total("mixed", "max_ns"));
    assert!(end.starts_with(&longest) && end.contains("idle: none") && end.contains("(1)"), "{end}");
    assert_eq!((told("gone:"), told("pressed:")), ("true".into(), "false".into()));
    assert!(told("hover:").contains("CPU 0") && told("hover:").contains(" us"), "{}", told("hover:"));
    assert!(told("said:").starts_with(&longest) && !told("said:").contains("idle"), "{}", told("said:"));
}

#[test]
fn comparisons_and_forecasts_have_pages_too() {
    const NAME: &str = "comparisons_and_forecasts_have_pages_too";
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), "1", "none", 1);
    write(&directory.path().join("b.punctual"), "2", "mixed", 3);
    let made = |words: &[&str]| run(directory.path(), &[words, &["--html", "page.html", "--json"]].concat());
    let compared = made(&["compare", "a.punctual", "b.punctual"]);
    if support::stdout(&compared).contains("Node.js") {
        return skip(NAME, "the program was built without the script of the pages");
    }
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let page = directory.path().join("page.html");
    let answer = json(&compared);
    let dom = drawn(&browser, &page, &answer, "");
    // The maxima of both sides stand beside each other in the table, for each stage.
    let stages = between(&dom, "<h2 id=\"stages\">", "</section>");
    let shown = attributes(stages, "data-ns");
    for stage in answer["stages"].as_array().unwrap() {
        for side in ["a", "b"] {
            assert!(shown.contains(&stage[side]["max_ns"].to_string().as_str()), "{stage}");
        }
    }
    // Both sides over time, with all their wakeups, on the same axes.
    let data = data_of(&dom);
    let drawn_over_time = |id: &str| {
        let found = data["pictures"].as_array().unwrap().iter().find(|picture| picture["id"] == id);
        found.unwrap_or_else(|| panic!("no {id}")).clone()
    };
    let both = ["time-0-latency", "time-1-latency"].map(drawn_over_time);
    for picture in &both {
        let cells = picture["cells"].as_array().unwrap();
        assert_eq!(cells.chunks(3).filter_map(|cell| cell[2].as_u64()).sum::<u64>(), 12_000);
    }
    assert_eq!((&both[0]["range"], &both[0]["bounds_ns"]), (&both[1]["range"], &both[1]["bounds_ns"]));
    let time = between(&dom, "<h2 id=\"time\">", "</section>");
    assert!(time.contains(">A: fifo:80<") && time.contains(">B: fifo:80<"), "{time}");
    let ratios = &data_of(&dom)["pictures"][0]["rows"];
    assert_eq!(
        ratios[0]["interval"]["low"],
        answer["stages"].as_array().unwrap().iter().find(|stage| stage["stage"] == "total").unwrap()["ratios"][0]["low"]
    );

    let forecast = made(&["forecast", "a.punctual", "b.punctual"]);
    let answer = json(&forecast);
    let dom = drawn(&browser, &page, &answer, "");
    let pictures = data_of(&dom)["pictures"].clone();
    let points = &pictures[0]["lines"][0];
    let curve = &answer["groups"][0]["curves"][0]["points"];
    assert_eq!(points["ns"].as_array().unwrap().len(), curve.as_array().unwrap().len());
    assert_eq!(points["seconds"][0]["low"], curve[0]["mttf_s"]["low"]);
}

/// Gaps on two CPUs over 4 s, a third of them by a thread, and one of 2 ms.
fn write_gaps(path: &Path) {
    let provenance = Provenance {
        run_id: "1".into(),
        started_ns: 1_000 * MS,
        configuration: Configuration { policy: "idle".into(), cpus: vec![0, 1], ..Configuration::default() },
        blind: vec!["anything shorter than the threshold".into()],
        ..Provenance::default()
    };
    let writer = Writer::create_of(RecordingKind::Gaps, path, provenance, Vec::new()).unwrap();
    let mut gaps = GapWriter::create(writer.directory()).unwrap();
    let mut document = GapDocument {
        schema: "punctual.gaps/1".into(),
        threshold_ns: 5_000,
        clock: "tsc".into(),
        ticks_per_second: 1_000_000_000,
        followed: true,
        names: vec!["local_timer".into(), "<b>a thread".into()],
        bin_ns: 100 * MS,
        ..GapDocument::default()
    };
    let mut cpus =
        [0, 1].map(|cpu| CpuGaps { cpu, profile: vec![0; 40], runtime_ns: 4_000 * MS, ..CpuGaps::default() });
    let mut sums = [0, 1].map(|name| {
        let kind = if name == 0 { CauseKind::Irq } else { CauseKind::Thread };
        CauseSum { kind, name, count: 0, total_ns: 0, max_ns: 0 }
    });
    for index in 0..2_000u64 {
        let cause = usize::from(index % 3 == 2);
        let length_ns = if index == 1_234 { 2 * MS } else { 6_000 + index % 500 * 97 };
        let start_ns = (1_000 + index * 2) * MS;
        let cpu = (index % 2) as u32;
        let (kind, name) = (sums[cause].kind, sums[cause].name);
        let gap = Gap { start_ns, length_ns, cpu, kind, name, cause_ns: Some(length_ns) };
        gaps.push(&gap);
        document.lengths.record(length_ns);
        document.longest.push(gap);
        sums[cause].count += 1;
        sums[cause].total_ns += length_ns;
        sums[cause].max_ns = sums[cause].max_ns.max(length_ns);
        let about = &mut cpus[cpu as usize];
        about.noise_ns += length_ns;
        about.gaps += 1;
        about.max_single_ns = about.max_single_ns.max(length_ns);
        about.profile[(index / 50) as usize] += length_ns;
    }
    document.longest.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns));
    document.longest.truncate(20);
    (document.cpus, document.causes) = (cpus.to_vec(), sums.to_vec());
    gaps.finish(&document).unwrap();
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 5_000 * MS }, Vec::new()).unwrap();
}

const READ_TAKEN: &str = "
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'selftest';
  for (const id of ['time-taken', 'lengths-all']) {
    const place = document.querySelector(`#${id} .drawing`);
    place.focus();
    place.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true, cancelable: true }));
    out.append(`${id}:${place.querySelector('.tip').textContent}\\n`);
  }
}, 100));";

#[test]
fn gaps_have_a_page_too() {
    const NAME: &str = "gaps_have_a_page_too";
    let directory = tempfile::tempdir().unwrap();
    write_gaps(&directory.path().join("i.punctual"));
    let made = run(directory.path(), &["report", "i.punctual", "--html", "page.html", "--json"]);
    if support::stdout(&made).contains("Node.js") {
        return skip(NAME, "the program was built without the script of the pages");
    }
    let answer = json(&made);
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let dom = drawn(&browser, &directory.path().join("page.html"), &answer, READ_TAKEN);
    assert!(!dom.contains("<b>a thread"), "names are not markup");

    // Tables: the histogram, the causes and the CPUs are those of the answer.
    let number = |value: &Value| value.as_u64().unwrap().to_string();
    let section = |id: &str| between(&dom, &format!("<h2 id=\"{id}\">"), "</section>").to_owned();
    let rows =
        |key: &str, of: &str| answer[key].as_array().unwrap().iter().map(|row| number(&row[of])).collect::<Vec<_>>();
    assert_eq!(attributes(&section("lengths"), "data-count"), rows("histogram", "count"));
    assert_eq!(attributes(&section("causes"), "data-count"), rows("causes", "count"));
    let causes = section("causes");
    assert!(rows("causes", "total_ns").iter().all(|total| attributes(&causes, "data-ns").contains(&total.as_str())));
    let cpus = section("cpus");
    assert!(rows("cpus", "noise_ns").iter().all(|noise| attributes(&cpus, "data-ns").contains(&noise.as_str())));

    // Pictures: every gap is in them, and the taken time adds up to that of the CPUs.
    let data = data_of(&dom);
    let picture = |id: &str| data["pictures"].as_array().unwrap().iter().find(|picture| picture["id"] == id).unwrap();
    let cells = |id: &str| {
        let cells = picture(id)["cells"].as_array().unwrap();
        cells.chunks(3).map(|cell| cell[2].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(cells("time-lengths"), 2_000);
    assert_eq!(cells("time-taken"), answer["noise_ns"].as_u64().unwrap());
    let lines = picture("lengths-all")["lines"].as_array().unwrap();
    let counts: Vec<(&str, u64)> =
        lines.iter().map(|line| (line["name"].as_str().unwrap(), line["count"].as_u64().unwrap())).collect();
    assert_eq!(counts, [("all gaps", 2_000), ("interrupts", 1_334), ("threads", 666)]);
    assert_eq!(
        picture("time-lines")["lines"][0]["ns"].as_array().unwrap().iter().filter_map(Value::as_u64).max(),
        Some(2 * MS)
    );

    // What is read by key is said of gaps.
    let told = between(&dom, "<pre id=\"selftest\">", "</pre>");
    assert!(told.contains("CPU 0") && told.contains("taken") && told.contains(" %"), "{told}");
    assert!(told.contains("6.0 us or more") && told.contains("100 % (2,000)") && !told.contains("wakeup"), "{told}");
}

#[test]
fn a_page_that_cannot_be_written_is_one_line_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 1);
    let output = punctual().current_dir(directory.path()).args(["report", "a", "--html", "no/such/page.html"]).output();
    let output = output.unwrap();
    assert_eq!(support::code(&output), 1);
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("cannot write no/such/page.html") || said.contains("Node.js"), "{said}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

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

/// A page, its name and the command that writes it from a golden recording.
const PAGES: [(&str, &str); 11] = [
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
    ("forecast", "forecast check --curve"),
];

/// What axe-core says of a page, each fault with the first element that has it.
const FIND_BARRIERS: &str = r#"
addEventListener('load', () => setTimeout(() => axe.run(document).then(({ violations, passes }) => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'barriers';
  out.append(`${passes.length} passes\n`);
  for (const { id, nodes } of violations) out.append(`${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 120)}\n`);
}), 800));"#;

/// axe-core is not ours and not small, so whoever wants this test fetches it: `npm pack axe-core`, and `PUNCTUAL_AXE` is where
/// its `axe.min.js` lies.
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

/// The page of a device's run says what its text says, and that of followed threads speaks of no stage that they have not.
#[test]
fn pages_of_devices_and_followed_threads_say_what_is_there() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let page = |recording: &str| {
        let page = directory.path().join(format!("{recording}.html"));
        let words = ["report", recording, "--json", "--html"];
        let output = punctual().current_dir(&golden).args(words).arg(&page).output().unwrap();
        let written = std::fs::read_to_string(&page).unwrap_or_default();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), written)
    };
    let (answer, device) = page("device.punctual");
    let (_, followed) = page("comm.punctual");
    if device.is_empty() {
        return skip("pages of devices", "the program was built without the script of the pages");
    }
    assert!(device.contains(answer["verdict"].as_str().unwrap()), "{}", answer["verdict"]);
    for said in ["does not keep up</strong>", "Whether the devices kept up", "PC 99"] {
        assert!(device.contains(said), "{said}");
    }
    assert!(device.contains(answer["next"][0]["command"].as_str().unwrap()));
    assert!(followed.contains("response is both") && !followed.contains("first five stages"));
}

/// What is missing stands on the page of `why` as in its text.
#[test]
fn the_page_of_causes_says_what_left_no_evidence() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(golden.join("why.punctual")).arg(directory.path()).status();
    assert!(copied.unwrap().success());
    let file = directory.path().join("why.punctual/events/recorder.json");
    let mut summary: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let late = summary["late"].as_u64().unwrap();
    (summary["late"], summary["over_budget"]) = ((late + 114).into(), 114.into());
    std::fs::write(&file, summary.to_string()).unwrap();
    let output =
        punctual().current_dir(directory.path()).args(["why", "why.punctual", "--html", "a.html"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = format!("of {} late wakeups 114 left no evidence", late + 114);
    assert!(text.contains(&said), "{text}{}", stderr(&output));
    assert!(std::fs::read_to_string(directory.path().join("a.html")).unwrap().contains(&said));
}

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

const USE_FLAMES: &str = r#"
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'used';
  const frames = [...document.querySelectorAll('.flames g')];
  const shown = () => frames.filter((frame) => frame.style.display !== 'none').length;
  const wide = (frame) => Number(frame.querySelector('rect').getAttribute('width'));
  const press = (frame, key) => frame.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const at = () => document.activeElement.querySelector('title').textContent;
  const small = frames.find((frame) => frame.dataset.level === '1' && Number(frame.dataset.size) < 0.5);
  const all = shown();
  small.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  out.append(`zoomed:${wide(small)}:${shown() < all}:${at() === small.querySelector('title').textContent}\n`);
  press(small, 'ArrowUp');
  out.append(`up:${document.activeElement.dataset.level}\n`);
  press(document.activeElement, 'Escape');
  out.append(`back:${shown() === all}:${wide(small) < 600}\n`);
  frames[0].focus();
  press(frames[0], 'ArrowDown');
  out.append(`down:${document.activeElement.dataset.level}\n`);
  const search = document.querySelector('.flames input');
  search.value = frames[0].querySelector('title').textContent.split(':')[0].toUpperCase();
  search.dispatchEvent(new Event('input'));
  out.append(`found:${frames[0].classList.contains('found')}:${document.querySelector('.said-of').textContent}\n`);
}, 300));"#;

#[test]
fn a_flame_graph_is_zoomed_searched_and_walked_with_keys() {
    const NAME: &str = "a_flame_graph_is_zoomed_searched_and_walked_with_keys";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("why.html");
    let output = punctual().current_dir(golden).args(["why", "why.punctual", "--html"]).arg(&page).output().unwrap();
    assert_eq!(support::code(&output), 0, "{}", stderr(&output));
    let (dom, complaints) = opened(&browser, &page, USE_FLAMES);
    assert!(!complaints.contains("CONSOLE"), "{complaints}");
    let used = between(&dom, "<pre id=\"used\">", "</pre>");
    for told in ["zoomed:1099.5:true:true", "up:0", "back:true:true", "down:1", "found:true:"] {
        assert!(used.lines().any(|line| line.starts_with(told)), "{told}: {used}");
    }
    assert!(used.contains(" found, ") && used.contains(" % of the lateness"), "{used}");
}
