//! What a page shows is what the recordings hold.

use crate::browser::{attributes, between, browser, data_of, drawn};
use crate::recordings::{MS, write, write_gaps};
use crate::support::{self, json, run, skip};
use serde_json::Value;

/// As the page prints times.
fn microseconds(ns: u64) -> String {
    let tenths = (ns + 50) / 100;
    let whole = (tenths / 10).to_string();
    let grouped: Vec<&str> = whole.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    format!("{}.{} us", grouped.join(","), tenths % 10)
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
    let next =
        between(&dom, "<ul class=\"next\">", "</ul>").replace("<span class=\"option\">", "").replace("</span>", "");
    assert!(next.contains(&format!("<code>{}</code>", steps[0]["command"].as_str().unwrap())), "{next}: {steps:?}");

    // The stage tables: first those of all CPUs, then those of each, as in the report.
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

    // What the reader gets by key and pointer, and what the page says to a reader who does not see it.
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
    assert!(end.starts_with(&longest) && end.contains("no load added: none") && end.contains("(1)"), "{end}");
    assert_eq!((told("gone:"), told("pressed:")), ("true".into(), "false".into()));
    assert!(told("hover:").contains("CPU 0") && told("hover:").contains(" us"), "{}", told("hover:"));
    assert!(told("said:").starts_with(&longest) && !told("said:").contains("no load added"), "{}", told("said:"));
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
    // The maxima of both sides stand next to each other in the table, for each stage.
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

    // Pictures: they contain every gap, and the time taken adds up to that of the CPUs.
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

    // What the reader gets by key is about gaps.
    let told = between(&dom, "<pre id=\"selftest\">", "</pre>");
    assert!(told.contains("CPU 0") && told.contains("taken") && told.contains(" %"), "{told}");
    assert!(told.contains("6.0 us or more") && told.contains("100 % (2,000)") && !told.contains("wakeup"), "{told}");
}

/// Shares from 0 to 100 %, because on a logarithmic axis the line would be flat: nearly all of the waiting is in few inputs.
#[test]
fn waiting_for_inputs_is_drawn_as_it_was() {
    const NAME: &str = "waiting_for_inputs_is_drawn_as_it_was";
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    let words = ["report", "paces/human/01.punctual", "--html", page.to_str().unwrap(), "--json"];
    let made = run(&support::golden(), &words);
    if support::stdout(&made).contains("Node.js") {
        return skip(NAME, "the program was built without the script of the pages");
    }
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let dom = drawn(&browser, &page, &json(&made), "");
    let figure = between(&dom, "id=\"cumulative\"", "</figure>");
    for tick in ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"] {
        assert!(figure.contains(&format!(">{tick}<")), "no {tick}: {figure}");
    }
    // A bar for each range of latency in which there is an input.
    let answer = json(&made);
    let ranges = answer["histogram"].as_array().unwrap();
    let filled = ranges.iter().filter(|range| range["inputs"].as_u64() > Some(0)).count();
    assert_eq!(between(&dom, "id=\"latency-histogram\"", "</figure>").matches("<rect").count(), filled);
    // Both machines, one above the other.
    let both = between(&dom, "id=\"think-wait\"", "</figure>");
    assert!(both.contains(">until seen<") && both.contains(">1996<"), "{both}");
}
