//! The study of a soft device in its contexts, as text and a page.

use crate::device::{INTERVAL_BIN_NS, Run, bins, bystander_max, keeps_up};
use crate::encode::head::{Head, Part, standing};
use crate::encode::html::setting::{context, provenance};
use crate::encode::html::table::thousands;
use crate::encode::plain_page::escape;
use crate::layout::{counted, grouped, table};
use crate::microseconds;
use punctual_device::{Profile, pc99};
use punctual_recording::{DeviceSummary, Distribution, Stage, format_ns};
use std::fmt::Write as _;

/// One run of a study.
pub struct Row<'a> {
    /// Which part of the study: `control`, `contexts`, `priorities`, `competing`, `slots`.
    pub group: &'static str,
    /// The device's context; `none` for the control.
    pub context: String,
    /// What competed.
    pub competitor: Option<String>,
    /// What the paper says about it.
    pub paper: Option<&'static str>,
    /// Whether it worked in the paper.
    pub paper_works: Option<bool>,
    /// Whether the simulator sees it keep up.
    pub predicted: Option<bool>,
    /// Whether it kept up here.
    pub holds: Option<bool>,
    /// The share of the bystander's callbacks more than 100 us away from 1 ms.
    pub off: Option<f64>,
    /// The recording, or why there is none.
    pub run: Result<Run<'a>, &'a str>,
}

impl Row<'_> {
    fn device(&self) -> Option<&DeviceSummary> {
        self.run.as_ref().ok().and_then(|run| run.activations.devices.first())
    }

    fn name(&self) -> String {
        match &self.competitor {
            Some(competitor) => format!("{} beside {competitor}", self.context),
            None => self.context.clone(),
        }
    }
}

/// A study.
pub struct StudyReport<'a> {
    /// The device.
    pub profile: &'a Profile,
    /// What was asked for, if the device stands for something else.
    pub asked: Option<&'a str>,
    /// Its runs.
    pub rows: Vec<Row<'a>>,
    /// The lowest thread that keeps up beside a spinning competitor.
    pub lowest_sufficient: Option<&'a str>,
    /// The context that holds beside every competitor and disturbs the bystander least.
    pub least_intrusive: Option<&'a str>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

const GROUPS: [(&str, &str); 5] = [
    ("control", "Without the device (Figure 10)"),
    ("contexts", "The contexts, alone and beside competitors (Figures 2 to 8 and 10 to 16)"),
    ("priorities", "Thread priorities from low to high beside a spinning thread (sections 6.2.5, 6.2.6)"),
    ("competing", "Reservations that compete outside their time, beside a spinning thread (Table 1)"),
    ("slots", "Reservations that never run outside their slots, only the newest block processed (Table 3)"),
];

/// The study in a few sentences.
pub fn verdict(study: &StudyReport<'_>) -> String {
    let least = match study.least_intrusive {
        Some(context) => {
            format!("The least intrusive context that holds {} on this machine is {context}.", study.profile.id)
        }
        None if is_untried(study) => untried_verdict(study),
        None if study.rows.iter().any(|row| row.group == "contexts" && row.run.is_err()) => format!(
            "No context that could be tried holds {} beside every competitor on this machine.",
            study.profile.id
        ),
        None => format!("No context holds {} beside every competitor on this machine.", study.profile.id),
    };
    let lowest = match study.lowest_sufficient {
        Some(thread) => format!(" The lowest priority that suffices beside a spinning thread is {thread}."),
        None => String::new(),
    };
    let mut broken: Vec<&str> = Vec::new();
    for row in study.rows.iter().filter(|row| row.group == "contexts") {
        if row.device().is_some_and(|device| pc99(device).keeps == Some(false))
            && !broken.contains(&row.context.as_str())
        {
            broken.push(&row.context);
        }
    }
    let pc99 = if broken.is_empty() { String::new() } else { format!(" PC 99 is broken in {}.", broken.join(" and ")) };
    if study.interrupted {
        // What was not tried cannot be said to hold or to be the least.
        let ran = study.rows.iter().filter(|row| row.run.is_ok()).count();
        let tried = contexts_tried(study);
        return format!(
            "The study was ended early, after {}, of which the last was cut: nothing is concluded for {} on \
             this machine. It tried {tried}.{pc99}",
            counted(ran, "run"),
            study.profile.id
        );
    }
    let refused = contexts_refused(study);
    let untried = if refused.is_empty() || is_untried(study) {
        String::new()
    } else {
        let names: Vec<&str> = refused.iter().map(|(context, _)| *context).collect();
        format!(" Not tried, because this machine refused: {}.", names.join(", "))
    };
    let asked = match study.asked {
        Some(asked) => format!(
            " {} stands for {asked} here, as the modem of the paper: {} of {}, {} of computing each.",
            study.profile.id,
            counted(study.profile.buffers, "buffer"),
            format_ns(study.profile.period_ns),
            format_ns(study.profile.compute_ns)
        ),
        None => String::new(),
    };
    format!("{least}{lowest}{pc99}{untried}{}{asked}", unjudged(study))
}

/// Says in which contexts a run was no test: far fewer blocks than were due came to be processed, for no fault of the device's.
fn unjudged(study: &StudyReport<'_>) -> String {
    let rows = study.rows.iter().filter(|row| row.group == "contexts");
    let names: Vec<String> = rows.filter(|row| row.device().is_some() && row.holds.is_none()).map(Row::name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" Not judged, because too few of the blocks due came to it: {}.", names.join(", ")),
    }
}

/// Whether no context could be tried, so that nothing was found out.
pub fn is_untried(study: &StudyReport<'_>) -> bool {
    !study.interrupted && !study.rows.iter().any(|row| row.group == "contexts" && row.run.is_ok())
}

/// Says that nothing was found out, and why: what the first context lacked is what most lack.
fn untried_verdict(study: &StudyReport<'_>) -> String {
    let refused = contexts_refused(study);
    let reason = refused.first().map_or_else(String::new, |(context, reason)| format!(" {context}: {reason}."));
    let others = match refused.len() {
        0 | 1 => String::new(),
        count => format!(" The other {} were refused as well.", count - 1),
    };
    format!("No context could be tried, so none is known to hold {} on this machine.{reason}{others}", study.profile.id)
}

/// The contexts that this machine or this user may not have, each with the first reason given.
fn contexts_refused<'a>(study: &'a StudyReport<'_>) -> Vec<(&'a str, &'a str)> {
    let mut refused: Vec<(&str, &str)> = Vec::new();
    for row in study.rows.iter().filter(|row| row.group == "contexts") {
        if let Err(reason) = row.run
            && !refused.iter().any(|(context, _)| *context == row.context)
        {
            refused.push((&row.context, reason));
        }
    }
    refused
}

fn contexts_tried(study: &StudyReport<'_>) -> String {
    let mut tried: Vec<&str> = Vec::new();
    for row in study.rows.iter().filter(|row| row.run.is_ok() && row.context != "none") {
        if !tried.contains(&row.context.as_str()) {
            tried.push(&row.context);
        }
    }
    if tried.is_empty() { "no context".to_owned() } else { format!("only {}", tried.join(", ")) }
}

const HEADER: [&str; 13] = [
    "context",
    "competitor",
    "here",
    "paper",
    "simulated",
    "blocks",
    "underruns",
    "machine's",
    "pending",
    "elapsed p50",
    "max",
    "off 1 ms",
    "longest",
];

/// The column of the number of blocks.
const BLOCKS: usize = 5;
/// The columns of the page, where blocks stand beside underruns; first what a telephone has room for.
const ON_PAGE: [usize; 12] = [0, 2, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12];
/// The columns of times.
const TIMES: [usize; 3] = [9, 10, 12];

fn word(works: Option<bool>) -> &'static str {
    match works {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "-",
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

fn cells(row: &Row<'_>) -> Vec<String> {
    let competitor = row.competitor.clone().unwrap_or_else(|| "-".to_owned());
    let mut cells = vec![
        row.context.clone(),
        competitor,
        word(row.holds).to_owned(),
        word(row.paper_works).to_owned(),
        word(row.predicted).to_owned(),
    ];
    match row.device() {
        Some(device) => cells.extend([
            grouped(device.processed),
            grouped(device.underruns),
            grouped(device.underruns_outside),
            grouped(device.pending_max),
            microseconds(device.elapsed.quantile(0.5)),
            microseconds(device.elapsed.max()),
        ]),
        None => cells.extend(std::iter::repeat_n("-".to_owned(), 6)),
    }
    let longest = row.run.as_ref().ok().and_then(|run| run.activations.bystander_intervals.max());
    cells.extend([percent(row.off), microseconds(longest)]);
    cells
}

/// The study as text.
pub fn text(study: &StudyReport<'_>) -> String {
    let mut text = verdict(study);
    let _ = writeln!(
        text,
        "\n\n{}: {} of every {}, {} buffers; the bystander is FIFO 95 every 1 ms on the same CPU; us.\n\
         \"machine's\" are underruns while even FIFO 99 was kept from the CPU; \"off 1 ms\" is the share of the\n\
         bystander's callbacks that came more than 100 us away from 1 ms.",
        study.profile.name,
        format_ns(study.profile.compute_ns),
        format_ns(study.profile.period_ns),
        study.profile.buffers
    );
    for (group, title) in GROUPS {
        let rows = study.rows.iter().filter(|row| row.group == group);
        if rows.clone().next().is_none() {
            continue;
        }
        let _ = writeln!(text, "\n{title}\n\n{}", table(&HEADER, 5..13, rows.clone().map(cells)));
        for row in rows {
            if let Err(reason) = row.run {
                let _ = writeln!(text, "{} is unavailable: {reason}", row.name());
            }
        }
    }
    for row in study.rows.iter().filter(|row| row.group == "contexts" && row.competitor.is_none()) {
        if let Some(device) = row.device() {
            let _ = writeln!(text, "PC 99: {}: {}", row.context, pc99(device).why);
        }
    }
    text
}

/// The study as a page.
pub fn html(study: &StudyReport<'_>) -> String {
    let documents = || study.rows.iter().filter_map(|row| Some((row, row.run.as_ref().ok()?.document)));
    let about = format!(
        "<p>The study of Jones and Saroiu, <i>Predictable Scheduling for a Soft Modem</i> (MSR-TR-2000-88), section 6, with \
         Linux's contexts: {} of work every {}, {} buffers. The bystander is a FIFO 95 thread that wakes every 1 ms on \
         the same CPU. Times are in microseconds. <i>Machine's</i> underruns came while even a FIFO 99 thread was kept from the \
         CPU. The simulator was asked about a machine without interference.</p>\n",
        escape(&format_ns(study.profile.compute_ns)),
        escape(&format_ns(study.profile.period_ns)),
        study.profile.buffers
    );
    let mut parts = vec![Part::new("about", "What was tried", about)];
    for (group, title) in GROUPS {
        let rows: Vec<&Row<'_>> = study.rows.iter().filter(|row| row.group == group).collect();
        if rows.is_empty() {
            continue;
        }
        let mut body = String::new();
        table_html(&rows, title, &mut body);
        match group {
            "contexts" | "control" => rows.iter().for_each(|row| pictures(row, &mut body)),
            "priorities" => rows.iter().for_each(|row| pending_picture(row, &mut body)),
            _ => {}
        }
        parts.push(Part::new(group, title, body));
    }
    if let Some((row, document)) = documents().next() {
        let mut body =
            "<p class=\"soft\">Of the first run; the others differ in their context and what competes.</p>\n"
                .to_owned();
        provenance(&[(row.name(), document)]).0.html(&mut body);
        parts.push(Part::new("provenance", "Provenance", body));
    }
    let head = Head {
        title: &format!("{} in its contexts", study.profile.name),
        context: &context("punctual device study", documents().next().map(|(_, document)| document)),
        verdict: &verdict(study),
        next: &[],
        warnings: &[],
        blind: &[],
    };
    standing(&head, &parts, "")
}

/// Columns of the page's tables: those of the text, with the paper's words below the context, and the blocks beside the
/// underruns.
fn table_html(rows: &[&Row<'_>], title: &str, body: &mut String) {
    let numbers = 5;
    let title = escape(title);
    let _ = write!(
        body,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {title}\"><table><thead><tr>"
    );
    for column in ON_PAGE {
        let class = if column >= numbers { " class=\"n\"" } else { "" };
        let unit = if TIMES.contains(&column) { " us" } else { "" };
        let _ = write!(body, "<th scope=\"col\"{class}>{}{unit}</th>", escape(HEADER[column]));
    }
    body.push_str("</tr></thead><tbody>\n");
    let mut said_before = None;
    for row in rows {
        let differs = row.holds.zip(row.paper_works).is_some_and(|(here, paper)| here != paper);
        body.push_str(if differs { "<tr class=\"fails\">" } else { "<tr>" });
        let mut cells = cells(row);
        if row.device().is_some() {
            cells[BLOCKS + 1] = format!("{} of {}", cells[BLOCKS + 1], cells[BLOCKS]);
        }
        let said = match row.run {
            Err(reason) => format!("unavailable here: {reason}"),
            // Told once for runs of the same context.
            Ok(_) => row.paper.filter(|paper| said_before != Some(*paper)).map_or_else(String::new, |paper| {
                said_before = Some(paper);
                format!("paper: {paper}")
            }),
        };
        for column in ON_PAGE {
            let (cell, tag) = (&cells[column], if column == 0 { "th scope=\"row\"" } else { "td" });
            let class = if column >= numbers { " class=\"n\"" } else { "" };
            let more = match column {
                0 if !said.is_empty() => format!("<span class=\"id\">{}</span>", escape(&said)),
                _ => String::new(),
            };
            let cell = if TIMES.contains(&column) { thousands(cell) } else { cell.clone() };
            let _ = write!(body, "<{tag}{class}>{}{more}</{}>", escape(&cell), &tag[..2]);
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
}

fn pictures(row: &Row<'_>, body: &mut String) {
    let Ok(run) = &row.run else { return };
    let stage = |stage| microseconds(bystander_max(run, stage));
    let _ = writeln!(
        body,
        "<h3>{}</h3><p class=\"soft\">The bystander's worst: irq {} us, thread {} us.{}</p>",
        escape(&row.name()),
        stage(Stage::Irq),
        stage(Stage::Thread),
        row.device().map_or_else(String::new, |device| format!(" PC 99: {}.", escape(&pc99(device).why)))
    );
    let bars = bins(&run.activations.bystander_intervals);
    histogram("Times between the bystander's callbacks, ms", &bars, INTERVAL_BIN_NS, 1e6, Some(6_000_000), body);
    if let Some(device) = row.device() {
        let bin = 100_000;
        histogram("Elapsed in each activation, ms", &binned(&device.elapsed, bin), bin, 1e6, None, body);
    }
    pending_picture(row, body);
}

fn pending_picture(row: &Row<'_>, body: &mut String) {
    let Some(device) = row.device() else { return };
    let kept = if keeps_up(device) == Some(true) { "" } else { ", rings of 512 overflow or buffers came late" };
    let title = format!("Samples pending after each activation{kept}: {}", row.name());
    histogram(&title, &binned(&device.pending, 10), 10, 1.0, None, body);
}

fn binned(distribution: &Distribution, bin: u64) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (value, count) in distribution.buckets() {
        let from = value / bin * bin;
        match bins.last_mut() {
            Some(last) if last.0 == from => last.1 += count,
            _ => bins.push((from, count)),
        }
    }
    bins
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;

/// The smallest of 1, 2, 5, 10, ... times a power of ten that is not below this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= least).unwrap_or(power * 10.0)
}

/// Bars with a logarithmic height, so that one in thousands can be seen. `unit`: what the axis counts in.
/// Values above `most` are drawn in the last bar, which says so.
fn histogram(title: &str, bars: &[(u64, u64)], bin: u64, unit: f64, most: Option<u64>, body: &mut String) {
    let Some(&(last, _)) = bars.last() else { return };
    let end = most.unwrap_or(last + bin).max(bin);
    let beyond: u64 = bars.iter().filter(|(from, _)| *from >= end).map(|(_, count)| count).sum();
    let tallest = bars.iter().map(|(_, count)| *count).max().unwrap_or(1) as f64;
    let height = |count: u64| ((count as f64).ln() + 1.0) / (tallest.ln() + 1.0) * (HEIGHT - 30.0);
    let x = |value: u64| 40.0 + value.min(end) as f64 / end as f64 * (WIDTH - 60.0);
    let _ = write!(
        body,
        "<figure><svg viewBox=\"0 0 {WIDTH} {0}\" width=\"{WIDTH}\" height=\"{0}\" role=\"img\" aria-label=\"{1}\">",
        HEIGHT + 20.0,
        escape(title)
    );
    for &(from, count) in bars.iter().filter(|(from, _)| *from < end) {
        let (left, right) = (x(from), x(from + bin).max(x(from) + 1.0));
        let tall = height(count).max(1.0);
        let _ = write!(
            body,
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>",
            HEIGHT - tall,
            (right - left - 0.3).max(0.7)
        );
    }
    let _ = write!(body, "<path class=\"axis\" d=\"M40 {HEIGHT}H{}\"/>", WIDTH - 20.0);
    let step = round_step(end as f64 / unit / 8.0) * unit;
    let mut value = 0.0;
    while value <= end as f64 {
        let _ = write!(
            body,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(value as u64),
            HEIGHT + 15.0,
            crate::encode::plain_page::number(value / unit)
        );
        value += step;
    }
    let _ = write!(
        body,
        "<text class=\"soft\" x=\"36\" y=\"{:.1}\" text-anchor=\"end\">{}</text><text class=\"soft\" x=\"36\" y=\"{:.1}\" \
         text-anchor=\"end\">1</text></svg>",
        HEIGHT - height(tallest as u64) + 10.0,
        grouped(tallest as u64),
        HEIGHT - height(1) + 4.0
    );
    let more = if beyond > 0 { format!("; {} further to the right", grouped(beyond)) } else { String::new() };
    let _ = writeln!(body, "<figcaption>{}{more}</figcaption></figure>", escape(title));
}

/// A forecast beside a count.
pub struct VerifiedRow<'a> {
    /// The runs with the device, one per round.
    pub runs: Vec<Run<'a>>,
    /// The forecast mean time between underruns, s: low, estimate, high.
    pub mttf_s: (Option<f64>, Option<f64>, Option<f64>),
    /// How long the device ran, s.
    pub exposure_s: f64,
    /// Stalls to expect in that time: fewest and, if there is a limit, most.
    pub expected: (f64, Option<f64>),
    /// Stalls that were counted.
    pub counted: u64,
    /// The factor by which the machine itself may have changed the rate, judged by how rounds without a device differ from each other;
    /// `None` for fewer than three rounds.
    pub range: Option<f64>,
    /// Whether the two agree.
    pub agrees: bool,
}

impl VerifiedRow<'_> {
    /// Buffers that the device missed, in all rounds.
    fn underruns(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.activations.devices.first()).map(|device| device.underruns).sum()
    }
}

/// What a verification says, in a sentence.
pub fn verified_verdict(rows: &[VerifiedRow<'_>]) -> String {
    let agree = rows.iter().filter(|row| row.agrees).count();
    format!("{agree} of {} agree with the underruns that were counted.", counted(rows.len(), "forecast"))
}

/// A verification as text.
pub fn verified_text(rows: &[VerifiedRow<'_>], exposure_s: f64) -> String {
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let lines = rows.iter().map(|row| {
        let device = row.runs.first().and_then(|run| run.activations.devices.first());
        vec![
            device.map_or_else(String::new, |device| device.device.clone()),
            device.map_or_else(String::new, |device| device.context.clone()),
            seconds(row.mttf_s.0),
            seconds(row.mttf_s.1),
            seconds(row.mttf_s.2),
            format!("{:.1}", row.exposure_s),
            format!("{:.1} to {}", row.expected.0, seconds(row.expected.1)),
            grouped(row.counted),
            grouped(row.underruns()),
            row.range.map_or_else(|| "-".to_owned(), |range| format!("{range:.2}")),
            if row.agrees { "yes" } else { "no" }.to_owned(),
        ]
    });
    let header = [
        "device",
        "context",
        "MTTF low s",
        "estimate",
        "high",
        "ran s",
        "stalls forecast",
        "counted",
        "buffers",
        "changes by",
        "agrees",
    ];
    let rounds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
    let in_turn = if rounds > 1 {
        format!("in {rounds} rounds, in turn with the devices; *changes by* is how much rounds differ beyond chance")
    } else {
        "in one round, which does not tell how much the machine changes meanwhile: from 45 s on there are more"
            .to_owned()
    };
    format!(
        "{}\n\nForecast from {exposure_s:.0} s without a device, {in_turn}.\nOne stall may cost several buffers.\n\n{}\n",
        verified_verdict(rows),
        table(&header, 2..10, lines)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::assert_well_formed;

    #[test]
    fn axes_have_round_steps() {
        for (least, step) in [(0.7, 1.0), (1.0, 1.0), (1.3, 2.0), (30.0, 50.0), (64.0, 100.0)] {
            assert_eq!(round_step(least), step);
        }
    }

    #[test]
    fn a_page_of_a_study_that_could_not_be_is_well_formed_and_says_so() {
        let profile = punctual_device::Catalogue::shipped().find("v90").unwrap();
        let row = Row {
            group: "contexts",
            context: "softirq".to_owned(),
            competitor: Some("spin:normal".to_owned()),
            paper: Some("the paper's <words>"),
            paper_works: Some(true),
            predicted: Some(true),
            holds: None,
            off: None,
            run: Err("PREEMPT_RT kernels refuse bpf_timer"),
        };
        let study = StudyReport {
            profile,
            asked: Some("modem"),
            rows: vec![row],
            lowest_sufficient: None,
            least_intrusive: None,
            interrupted: false,
        };
        let html = html(&study);
        assert_well_formed(&html);
        assert!(html.contains("unavailable here: PREEMPT_RT") && !html.contains("<words>"));
        assert!(html.contains("context</th><th scope=\"col\">here</th><th scope=\"col\">competitor</th>"), "{html}");
        assert!(text(&study).contains("unavailable: PREEMPT_RT"));
        let answer = crate::answer::value(&crate::device::StudyAnswer::new(&study));
        assert_eq!(answer["contexts"][0]["unavailable"], "PREEMPT_RT kernels refuse bpf_timer");
        assert!(verdict(&study).contains("No context could be tried"));
        assert!(verdict(&study).contains(" stands for modem here"));
        let cut = verdict(&StudyReport { interrupted: true, least_intrusive: Some("irq"), ..study });
        assert!(cut.contains("nothing is concluded") && cut.contains("no context") && !cut.contains("least"), "{cut}");
    }

    #[test]
    fn a_histogram_is_well_formed() {
        let mut body = String::new();
        histogram("a < b", &[(0, 3), (950_000, 1_000), (7_000_000, 1)], 50_000, 1e6, Some(6_000_000), &mut body);
        assert_well_formed(&crate::encode::plain_page::frame("x", "", &body));
        assert!(body.contains("1 further to the right") && body.contains("a &lt; b"));
    }
}
