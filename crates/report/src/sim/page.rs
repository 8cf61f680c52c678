//! The ledger of the papers as one HTML file, with the papers' figures redrawn from the simulated machine.

use crate::encode::head::{Head, Part, standing};
use crate::encode::plain_page::{escape, prose};
use crate::sim::cases::cases;
use crate::sim::figures::{FIGURES, figures_of, own_figures};
use crate::sim::plane::{Cell, legend, plane_svg};
use crate::sim::rows::{STYLE, shown, table};
use crate::sim::timeline;
use crate::sim::{CLASSES, class_name};
use crate::verdict::sim::{ledger_verdict, outcome_verdict};
use punctual_sim::Error;
use punctual_sim::experiment::{AssumptionNote, Class, Experiment, FittedNote, LedgerRow, Moved, Outcome, Value};
use punctual_sim::ledger::{Ledger, builtin};
use punctual_sim::sweep::{Axis, Sweep};
use punctual_sim::time::MICROSECOND;
use std::fmt::Write;

pub use crate::sim::plane::plane_html;

/// Every assumption once, even if several experiments depend on it.
fn assumptions(known: &[AssumptionNote]) -> Option<Part> {
    if known.is_empty() {
        return None;
    }
    let mut out = String::new();
    out.push_str(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>What the papers leave open</caption>\n\
         <thead><tr><th scope=\"col\">name</th><th scope=\"col\">what is assumed</th></tr></thead>\n<tbody>\n",
    );
    let mut told: Vec<&str> = Vec::new();
    for first in known {
        if told.contains(&first.name.as_str()) {
            continue;
        }
        told.push(&first.name);
        let mut what: Vec<&str> =
            known.iter().filter(|other| other.name == first.name).map(|other| other.what.as_str()).collect();
        what.dedup();
        let name = escape(&first.name);
        let what = what.iter().map(|what| prose(what)).collect::<Vec<_>>().join("<br/>");
        let _ = writeln!(out, "<tr id=\"assumed-{name}\"><th scope=\"row\">{name}</th><td>{what}</td></tr>");
    }
    out.push_str("</tbody></table></div>\n");
    Some(Part::new("assumed", "What is assumed", out))
}

/// Every value that was chosen to make rows come out, and how its rows move over its range.
fn fitted(ranges: &[(FittedNote, Vec<Moved>)]) -> Option<Part> {
    if ranges.is_empty() {
        return None;
    }
    let mut out = String::new();
    out.push_str(
        "<p>These values were chosen to make rows come out. Beside each is what its rows become at other values: a \
         row that moves much is known only as well as the value is.</p>\n",
    );
    for (note, moved) in ranges {
        let _ = writeln!(
            out,
            "<div class=\"wide\" tabindex=\"0\"><table><caption>{}, <code>{}</code> of {}: {}</caption>\n<thead><tr><th scope=\"col\">value</th>",
            escape(&note.name),
            escape(&note.key),
            escape(&note.experiment),
            escape(&note.what)
        );
        let rows = moved.first().map_or(&[][..], |moved| &moved.rows);
        for (id, _) in rows {
            let _ = write!(out, "<th scope=\"col\" class=\"n\">{}</th>", escape(id));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for moved in moved {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&moved.value));
            for (_, value) in &moved.rows {
                let _ = write!(out, "<td class=\"n\">{}</td>", shown(value.as_ref(), ""));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
    Some(Part::new("fitted", "What is fitted", out))
}

/// Figure 17 of soft-modem-2000: its twelve reservations, as published, as simulated, and by the paper's own rule.
fn figure_17(ledger: &Ledger, out: &mut String) -> Result<(), Error> {
    let sweep = Sweep::new(vec![Axis::whole("time reserved, ms", 1..=8), Axis::whole("of every, ms", 7..=20)])?;
    let cells = |prefix: &str, published: bool| -> Vec<(u64, Cell)> {
        let points = ledger.rows.iter().filter_map(|row| {
            let (runtime, period) = row.id.strip_prefix(prefix)?.split_once('-')?;
            let (runtime, period) = (runtime.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
            if !(1..=8).contains(&runtime) || !(7..=20).contains(&period) {
                return None;
            }
            let value = if published { row.published.as_ref() } else { row.simulated.as_ref() };
            let Some(Value::Text(word)) = value else { return None };
            Some(((runtime - 1) * 14 + period - 7, Cell::of_class(word)?))
        });
        points.collect()
    };
    out.push_str("<h3>Figure 17: which reservations suffice</h3>\n<div class=\"planes\">\n");
    let planes = [
        ("published", cells("modem-table3-", true)),
        ("simulated", cells("modem-table3-", false)),
        ("the paper's own rule of share and gap, calculated", cells("modem-fig17-rule-", false)),
    ];
    for (name, cells) in planes {
        let words = ["sufficient", "marginal", "insufficient"].map(|word| {
            let of = Cell::of_class(word);
            format!("{} {word}", cells.iter().filter(|(_, cell)| Some(cell) == of.as_ref()).count())
        });
        let title = format!("Figure 17, {name}: {}; the table gives every point", words.join(", "));
        if let Some(svg) = plane_svg(&sweep, &cells, 0, &title) {
            let _ = writeln!(out, "<figure>{svg}<figcaption>{name}: {}</figcaption></figure>", words.join(", "));
        }
    }
    out.push_str("</div>\n");
    out.push_str(legend(false));
    let rows = ledger.rows.iter().filter(|row| row.printed.contains("Figure 17"));
    out.push_str("<details open=\"open\"><summary>The points of Figure 17</summary>\n");
    table("Figure 17 and the classes of Table 3", rows, out);
    out.push_str("</details>\n");
    Ok(())
}

/// Figures 1 to 3 of wdm-latency-1999 are time lines of one wakeup without numbers: this is one of the simulated
/// machine.
fn a_wakeup(out: &mut String) -> Result<(), Error> {
    let experiment = builtin("wdm-latency").expect("it comes with the program")?;
    let (from, to) = (2_999_990 * MICROSECOND, 3_000_050 * MICROSECOND);
    let timeline = experiment.timeline(Some("NT under load"), from, to)?;
    let _ = writeln!(
        out,
        "<h3>Figures 1 to 3: one wakeup</h3>\n<p class=\"soft\">The clock's interrupt comes at 3,000 ms; its handler \
         queues the deferred procedure, and that makes two threads ready. Lines below their lanes run from the time \
         they were due to the time they began: the interrupt latency, the procedure's and the thread's, one after the \
         other. <code>punctual sim timeline wdm-latency</code> shows any other.</p>\n{}",
        timeline::figure(&timeline, from, to)
    );
    Ok(())
}

const DRAWN: &str = "Dots are drawn from one run of the simulated machine; dashed lines are numbers that the paper \
    prints. Of points that fall on the same dot one is drawn, and of a crowded pixel column twelve, with its lowest \
    and highest among them: extremes are always shown. Counts in histograms are on a logarithmic scale.";

/// The ledger of the papers as a page of its own, figures included. Runs the built-in experiments' cases once more
/// for the figures: a few seconds.
///
/// # Errors
/// A built-in experiment that does not run: a fault of the program.
pub fn papers_html(ledger: &Ledger, ranges: &[(FittedNote, Vec<Moved>)]) -> Result<String, Error> {
    let mut papers: Vec<&str> = Vec::new();
    for row in &ledger.rows {
        if !papers.contains(&row.paper.as_str()) {
            papers.push(&row.paper);
        }
    }
    let mut parts = vec![Part::new("counts", "Counts", counts(ledger))];
    for paper in &papers {
        let rows: Vec<&LedgerRow> = ledger.rows.iter().filter(|row| row.paper == *paper).collect();
        let drawn = figures_of_paper(paper, &rows, ledger)?;
        parts.push(Part::new(format!("figures-{paper}"), format!("{paper}: figures"), drawn));
        let mut body = String::new();
        table(&format!("Every table and figure of {paper}"), rows.into_iter(), &mut body);
        parts.push(Part::new(format!("ledger-{paper}"), format!("{paper}: ledger"), body));
    }
    parts.extend(assumptions(&ledger.assumptions));
    parts.extend(fitted(ranges));
    let head = Head {
        title: "Four papers on latency, and a simulated machine",
        context: "punctual sim papers",
        verdict: &ledger_verdict(ledger),
        next: &[],
        warnings: &[],
        blind: &[],
    };
    Ok(standing(&head, &parts, STYLE))
}

/// A paper's figures redrawn, and what is left out of them.
fn figures_of_paper(paper: &str, rows: &[&LedgerRow], ledger: &Ledger) -> Result<String, Error> {
    let mut body = String::new();
    let figures: Vec<_> = FIGURES.iter().filter(|figure| figure.paper == paper).collect();
    if !figures.is_empty() {
        let _ = writeln!(body, "<p class=\"soft\">{DRAWN}</p>");
    }
    let after = figures.iter().position(|figure| figure.title.starts_with("Figure 18")).unwrap_or(figures.len());
    figures_of(&figures[..after], rows, &mut body)?;
    if paper == "wdm-latency-1999" {
        a_wakeup(&mut body)?;
    }
    if paper == "soft-modem-2000" {
        figure_17(ledger, &mut body)?;
    }
    figures_of(&figures[after..], rows, &mut body)?;
    not_drawn(rows, &mut body);
    Ok(body)
}

/// How many points of each class there are, and those that do not hold.
fn counts(ledger: &Ledger) -> String {
    let mut out = String::new();
    out.push_str(
        "<table class=\"short\"><caption>Points by class</caption>\n<thead><tr><th scope=\"col\">class</th>\
         <th scope=\"col\" class=\"n\">points</th><th scope=\"col\">means</th></tr></thead>\n<tbody>\n",
    );
    let meanings = [
        "a mechanism goes in and the number comes out; nothing was fitted to it; only these are counted",
        "it comes out because a value was chosen to make it so",
        "what the paper measured goes in",
        "arithmetic on printed numbers, or another row restated",
        "this machine cannot produce it; the row says why",
    ];
    for (class, meaning) in CLASSES.iter().zip(meanings) {
        let count = ledger.counts.get(class).copied().unwrap_or(0);
        let name = class_name(*class).replace('_', " ");
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td class=\"n\">{count}</td><td>{meaning}</td></tr>");
    }
    out.push_str("</tbody></table>\n");
    let failing: Vec<&LedgerRow> = ledger.rows.iter().filter(|row| row.fails()).collect();
    if !failing.is_empty() {
        table("What fails", failing.into_iter(), &mut out);
    }
    let is_contradicted = |row: &&LedgerRow| row.class == Class::Prediction && row.holds == Some(false) && !row.fails();
    let contradicted: Vec<&LedgerRow> = ledger.rows.iter().filter(is_contradicted).collect();
    if !contradicted.is_empty() {
        table(
            "Predictions that the papers contradict, each with the measured reason",
            contradicted.into_iter(),
            &mut out,
        );
    }
    out
}

/// Figures that are not drawn, with the reason that their rows give.
fn not_drawn(rows: &[&LedgerRow], out: &mut String) {
    let missing: Vec<&&LedgerRow> = rows
        .iter()
        .filter(|row| row.printed.contains("Figure") && row.simulated.is_none() && row.published.is_none())
        .collect();
    if missing.is_empty() {
        return;
    }
    out.push_str("<h3>What the figures leave out, and why</h3>\n<ul>\n");
    for row in missing {
        let because = row.because.as_deref().unwrap_or("");
        let _ = writeln!(out, "<li>{}. {}</li>", escape(&row.point()), escape(because));
    }
    out.push_str("</ul>\n");
}

/// One experiment as a page: its figures, paper beside simulated, cases, assumptions. A built-in one is drawn as the
/// paper's figures; of another, every case's blocks.
///
/// # Errors
/// A machine that is impossible.
pub fn experiment_html(experiment: &Experiment, outcome: &Outcome) -> Result<String, Error> {
    let mut figures = format!("<p>{}</p>\n<p class=\"soft\">{DRAWN}</p>\n", prose(&outcome.about));
    let rows: Vec<&LedgerRow> = outcome.rows.iter().collect();
    let known: Vec<_> = FIGURES.iter().filter(|figure| figure.experiment == outcome.name).collect();
    if known.is_empty() {
        own_figures(experiment, &mut figures);
    } else {
        figures_of(&known, &rows, &mut figures)?;
    }
    let mut points = String::new();
    table("Paper beside simulated", rows.into_iter(), &mut points);
    let mut parts = vec![
        Part::new("figures", "Figures", figures),
        Part::new("points", "Point by point", points),
        Part::new("cases", "Cases", cases(outcome)),
    ];
    parts.extend(assumptions(&outcome.assumptions));
    parts.extend(fitted_names(&outcome.fitted));
    let head = Head {
        title: &outcome.name,
        context: "punctual sim run",
        verdict: &outcome_verdict(outcome),
        next: &[],
        warnings: &[],
        blind: &[],
    };
    Ok(standing(&head, &parts, STYLE))
}

/// The values that were chosen to make rows come out, by name; the ledger's page shows how their rows move over a
/// range.
fn fitted_names(notes: &[FittedNote]) -> Option<Part> {
    if notes.is_empty() {
        return None;
    }
    let mut out = "<div class=\"wide\" tabindex=\"0\"><table><caption>Values chosen to make rows come out; \
         <code>punctual sim papers --html</code> shows their rows over a range</caption>\n<thead><tr><th \
         scope=\"col\">name</th><th scope=\"col\">key</th><th scope=\"col\">what it is</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for note in notes {
        let (name, key, what) = (escape(&note.name), escape(&note.key), prose(&note.what));
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td><code>{key}</code></td><td>{what}</td></tr>");
    }
    out.push_str("</tbody></table></div>\n");
    Some(Part::new("fitted", "What is fitted", out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::assert_well_formed;
    use crate::sim::rows::shown;
    use crate::sim::{PapersAnswer, ledger_text};
    use punctual_sim::ledger::papers;

    #[test]
    fn the_page_the_answer_and_the_text_hold_the_whole_ledger() {
        let mut ledger = papers(2, &punctual_sim::watch::ToTheEnd).unwrap();
        let answer = crate::answer::value(&PapersAnswer::new(&ledger, &[], None));
        let counted: u64 = answer["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted as usize, answer["rows"].as_array().unwrap().len());
        let text = ledger_text(&ledger, &[], None);
        let begin = format!("{} predictions: ", ledger.predictions());
        assert!(text.starts_with(&begin) && text.contains("nt-timers-1998"), "{text}");
        let html = papers_html(&ledger, &[]).unwrap();
        assert_well_formed(&html);
        assert!(html.len() < 3_000_000, "{} bytes", html.len());
        assert!(html.contains(&escape(&ledger_verdict(&ledger))));
        let lines: Vec<&str> = html.lines().collect();
        for row in &ledger.rows {
            let id = format!("<span class=\"id\">{}</span>", row.id);
            let line = lines.iter().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{} is missing", row.id));
            for (name, value) in [("published", &row.published), ("simulated", &row.simulated)] {
                let cell = format!("<td class=\"n\" data-name=\"{name}\">{}</td>", shown(value.as_ref(), &row.unit));
                assert!(line.contains(&cell), "{}: {cell}", row.id);
            }
        }
        for known in &ledger.assumptions {
            assert!(html.contains(&format!("id=\"assumed-{}\"", known.name)), "{}", known.name);
            assert!(html.contains(&prose(&known.what)));
        }
        for number in 1..=20 {
            assert!(html.contains(&format!("Figure {number}")), "Figure {number}");
        }
        for lane in ["CPU 0 interrupts", "CPU 0 deferred procedures", "CPU 0 high", "CPU 0 default"] {
            assert!(html.contains(lane), "{lane}");
        }
        // A failing row says so in words, at the top and at its place.
        ledger.rows[0].holds = Some(false);
        ledger.rows[0].class = Class::Prediction;
        ledger.rows[0].contradicted = None;
        let mut out = String::new();
        table("t", ledger.rows.iter().take(2), &mut out);
        assert_eq!(out.matches("✗ FAILS").count(), 1);
    }

    #[test]
    fn an_experiment_is_a_page() {
        let experiment = builtin("soft-modem-callbacks").unwrap().unwrap();
        let html = experiment_html(&experiment, &experiment.run().unwrap()).unwrap();
        assert_well_formed(&html);
        assert!(html.contains("Figure 10") && html.contains("<figure class=\"wide\" tabindex=\"0\"><svg"));
        let text = "schema = \"punctual.experiment/1\"\nname = \"own\"\nduration = \"1s\"\n[[thread]]\nname = \"t\"\n\
                    policy = { priority = 8 }\nactivity = \"spinning\"\n";
        let own = Experiment::parse("own.toml", text).unwrap();
        let html = experiment_html(&own, &own.run().unwrap()).unwrap();
        assert_well_formed(&html);
    }
}
