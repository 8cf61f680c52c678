//! The answer of `punctual why` as a page: causes, a flame graph of the lateness, a section for each cause.

use super::advice::Advice;
use super::cost::recorder_lines;
use super::flame::{self, flame_graph};
use super::model::{EpisodeView, WhyReport};
use super::notes::Notes;
use super::waits::rows;
use super::words::{as_detail, part_of_wait};
use super::{explain, processes};
use crate::encode::head::{Head, Part, standing};
use crate::encode::html::setting::{context, provenance};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::plain_page::{code, escape, prose};
use crate::layout::{as_percent, counted, microseconds, thousands};
use punctual_blame::{CallTree, Kind};
use punctual_recording::{Document, Stage, printable_path};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Causes with a section of their own.
const SECTIONS: usize = 12;

/// The page. `lateness` has weights in ns, below causes; `document` is the recording's own.
pub fn html(report: &WhyReport<'_>, lateness: &CallTree, document: &Document) -> String {
    let title = format!("Why late: {}", printable_path(report.recording));
    let warnings = Notes::of(report).of_this_recording();
    let mut parts = vec![Part::new("causes", "Causes", causes(report))];
    if lateness.count() > 0 {
        let mut body = "<p class=\"soft\">The width is time of lateness; causes at the top, the code that samples saw below them. \
             A click or Enter zooms in, Escape out; arrow keys move.</p>\n"
            .to_owned();
        flame_graph(&mut body, lateness);
        parts.push(Part::new("flames", "Flame graph", body));
    }
    let mut body = String::new();
    sections(&mut body, report);
    if !body.is_empty() {
        parts.push(Part::new("each", "Each leading cause", body));
    }
    let mut body = String::new();
    let costs = report.recorder.as_ref().map(|recorder| recorder_lines(recorder, report.cut)).unwrap_or_default();
    for cost in costs.lines() {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", prose(cost));
    }
    provenance(&[("recording".to_owned(), document)]).0.html(&mut body);
    parts.push(Part::new("provenance", "Provenance", body));
    let head = Head {
        title: &title,
        context: &context("punctual why", Some(document)),
        verdict: &report.verdict(),
        next: &super::steps::next(report),
        warnings: &warnings,
        blind: report.blind,
    };
    standing(&head, &parts, flame::STYLE)
}

/// All causes, with their shares.
fn causes(report: &WhyReport<'_>) -> String {
    let late_ns = report.late_ns();
    let share = |ns: u64| Value::text(as_percent(ns, late_ns));
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for cause in report.shown_causes() {
        let code = cause.detail.as_ref().map(|detail| as_detail(detail) + &part_of_wait(cause)).unwrap_or_default();
        rows.push(vec![
            Value::text(report.named(cause).to_string()),
            if cause.kind == Kind::Idle { Value::text("") } else { share(cause.total_ns) },
            Value::text(cause.kind.name()),
            Value::text(code),
            Value::Count(Some(cause.episodes)),
            Value::Ns(Some(cause.typical_ns)),
            Value::Ns(Some(cause.max_ns)),
        ]);
    }
    let (others, rest) = report.rest();
    if others > 0 {
        let nothing = || Value::text("");
        rows.push(vec![
            Value::text(counted(others, "further cause")),
            share(rest),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
        ]);
    }
    // A telephone has room for the first ones only.
    let mut columns = vec![Column::words("name"), Column::numbers("share")];
    columns.extend(["kind", "code"].map(Column::words));
    columns.extend(["episodes", "typical us", "longest us"].map(Column::numbers));
    let mut out = String::new();
    let (_, what) = report.nouns();
    Table { caption: format!("Who made {what} late"), columns, rows }.html(&mut out);
    let by_process = processes::cells(report, processes::SHOWN);
    if !by_process.is_empty() {
        let [process, late, in_all, share, most] = processes::TITLES;
        let numbers = [late, in_all, share].map(Column::numbers);
        let columns = [Column::words(process)].into_iter().chain(numbers).chain([Column::words(most)]).collect();
        let rows = by_process.into_iter().map(|cells| Vec::from(cells.map(Value::text))).collect();
        Table { caption: format!("Late {what} by process"), columns, rows }.html(&mut out);
    }
    out
}

/// The sections of the leading causes, each with an example.
fn sections(body: &mut String, report: &WhyReport<'_>) {
    let mut explained = BTreeSet::new();
    for cause in report.causes().iter().filter(|cause| cause.kind != Kind::Idle).take(SECTIONS) {
        let Some(example) = report.episodes.iter().find(|episode| episode.id == cause.example) else { continue };
        let _ = writeln!(body, "<h3>{}</h3>", escape(&cause.kind.cause(&cause.who)));
        let Advice { happened, remedy, kind } = Advice::in_report(report, cause);
        let _ = writeln!(body, "<p>{} {}</p>", prose(&happened), prose(&remedy.unwrap_or_default()));
        if explained.insert(kind) {
            explanation(body, kind);
        }
        let _ = writeln!(
            body,
            "<p>In {}, {} us of the lateness in all. The example is episode {}, in which it had most:</p>",
            counted(cause.episodes, "episode"),
            thousands(&microseconds(Some(cause.total_ns))),
            example.id
        );
        episode(body, example, &cause.kind.cause(&cause.who));
    }
}

/// A kind's page, folded away: it is part of the file, so that it can be read wherever the file is sent.
fn explanation(body: &mut String, kind: Kind) {
    let command = code(&explain::command(kind));
    let text = escape(kind.page_text());
    let _ = writeln!(
        body,
        "<details><summary>How to be sure, and what helps ({command})</summary>\n<pre>{text}</pre></details>"
    );
}

/// An episode of this cause: its parts, and what else is known of it.
fn episode(body: &mut String, episode: &EpisodeView, cause: &str) {
    let row = |kind: &str, ns: u64, name: &str, code: String| {
        vec![Value::text(kind), Value::Ns(Some(ns)), Value::text(name), Value::text(code)]
    };
    let parts = episode.split.parts.iter().map(|part| {
        let code = part.detail.as_ref().map(as_detail).unwrap_or_default();
        row(part.kind.label(), part.ns, part.who.name(), code)
    });
    let rows = parts.chain([row("total", episode.total_ns, "", String::new())]).collect();
    let columns = vec![Column::words("kind"), Column::numbers("us"), Column::words("name"), Column::words("code")];
    Table { caption: format!("The parts of episode {}, an example of {cause}", episode.id), columns, rows }.html(body);
    waits(body, episode);
    for stack in &episode.late_stacks {
        let _ = writeln!(body, "<p class=\"soft\">Below a late timer interrupt: {}</p>", escape(&stack.join(" < ")));
    }
    if episode.tree.count() > 0 {
        let _ = writeln!(
            body,
            "<div class=\"wide\" tabindex=\"0\"><pre>{}</pre></div>",
            escape(&super::tree::text(&episode.tree, 200))
        );
    }
}

/// What those who were waited for within a request did, each below whoever waited.
fn waits(body: &mut String, episode: &EpisodeView) {
    let rows = if episode.stage == Stage::Request { rows(episode) } else { Vec::new() };
    if rows.is_empty() {
        return;
    }
    body.push_str("<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><thead><tr><th scope=\"col\" class=\"n\">us</th><th scope=\"col\">waits, and what delayed the thread waited for</th></tr></thead><tbody>\n");
    for row in rows {
        let words = format!("{}{}", "\u{a0}\u{a0}\u{a0}".repeat(row.depth), row.words());
        let _ = writeln!(
            body,
            "<tr><td class=\"n\">{}</td><td>{}</td></tr>",
            thousands(&microseconds(Some(row.ns))),
            escape(&words)
        );
    }
    body.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::encode::plain_page::tests::assert_well_formed;
    use punctual_recording::RecorderSummary;
    use std::path::Path;

    /// A recording's document.
    pub(crate) fn document() -> Document {
        serde_json::from_str(include_str!("../../../cli/tests/golden/why.punctual/recording.json")).unwrap()
    }

    #[test]
    fn a_load_that_failed_is_a_note_beside_those_of_the_recording() {
        let mut document = document();
        document.provenance.load.failure = Some("stress ended with 1".to_owned());
        document.provenance.fallbacks = vec!["memory is not locked".to_owned()];
        // Why it failed is trouble, too, and said once.
        document.provenance.load.trouble = ["stress ended with 1", "the load rested"].map(str::to_owned).to_vec();
        let report =
            WhyReport::new(Path::new("a"), 0, None, Vec::new(), false, None, &[]).under_conditions_of(&document);
        let failed = "the load failed, so this was not measured under it: stress ended with 1";
        assert_eq!(Notes::of(&report).first, [failed, "memory is not locked", "the load rested"]);
    }

    #[test]
    fn a_table_of_late_requests_is_headed_so() {
        let told = |stage| {
            let recorder = RecorderSummary { stage, ..RecorderSummary::default() };
            let report = WhyReport::new(Path::new("a"), 0, Some(recorder), Vec::new(), false, None, &[]);
            html(&report, &CallTree::default(), &document())
        };
        let headed = |stage, what: &str| told(stage).contains(&format!("Who made {what} late"));
        assert!(headed(Stage::Request, "requests") && !headed(Stage::Request, "wakeups"));
        assert!(headed(Stage::Response, "wakeups"));
    }

    #[test]
    fn a_page_is_well_formed_whatever_the_names() {
        let mut tree = CallTree::default();
        let mut room = punctual_blame::Room::of(1 << 20);
        tree.add(&["irq".into(), "a<b>&\"".into(), "f".into()], 700, &mut room);
        tree.add(&["steal".into(), "the host".into()], 300, &mut room);
        let report = WhyReport::new(Path::new("<a>"), 0, None, Vec::new(), false, None, &[]);
        let html = html(&report, &tree, &document());
        // Its only script is part of it, and loads nothing.
        let (before, rest) = html.split_once("<script>").unwrap();
        let (script, after) = rest.split_once("</script>").unwrap();
        assert_well_formed(&format!("{before}{after}"));
        assert!(!script.contains("</") && !script.contains("http") && !script.contains("import"));
        assert!(html.contains("a&lt;b&gt;") && html.contains("<rect"));
        // Where, when and with what, as on every page.
        for said in ["punctual why · ", "<a href=\"#provenance\">", "<th scope=\"row\">kernel</th>"] {
            assert!(html.contains(said), "{said}");
        }
    }
}
