//! The papers' figures: which run each is drawn from, and which of the ledger's rows are beside it.

use crate::encode::plain_page::escape;
use crate::encode::svg::Plot;
use crate::layout::{counted, grouped};
use crate::sim::rows::table;
use punctual_sim::Error;
use punctual_sim::experiment::{Experiment, LedgerRow, Series, Value};
use punctual_sim::ledger::builtin;
use std::fmt::Write;

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Intervals,
    BlockIntervals,
    Elapsed,
    Pending,
    Load,
}

impl Kind {
    fn series(self) -> Series {
        match self {
            Kind::Intervals => Series::Intervals { thread: "callback".to_owned() },
            Kind::BlockIntervals => Series::BlockIntervals,
            Kind::Elapsed => Series::Elapsed,
            Kind::Pending => Series::Pending,
            Kind::Load => Series::Load,
        }
    }

    /// Label to the right, label upwards, unit to the right, unit upwards.
    fn labels(self) -> [&'static str; 4] {
        let time = "time, s";
        match self {
            Kind::Intervals => ["time between callbacks, us", "callbacks", "us", ""],
            Kind::BlockIntervals => [time, "between interrupts, ms", "s", "ms"],
            Kind::Elapsed => [time, "elapsed, ms", "s", "ms"],
            Kind::Pending => [time, "samples pending", "s", "samples"],
            Kind::Load => [time, "CPU, %", "s", "%"],
        }
    }
}

/// One figure of a paper.
pub(crate) struct Figure {
    pub(crate) paper: &'static str,
    /// Its name here: the paper's number, then what it shows.
    pub(crate) title: &'static str,
    pub(crate) experiment: &'static str,
    case: &'static str,
    kind: Kind,
    /// Rows of the ledger whose names begin like this are beside it.
    rows: &'static [&'static str],
}

const fn figure(
    paper: &'static str,
    title: &'static str,
    experiment: &'static str,
    case: &'static str,
    kind: Kind,
    rows: &'static [&'static str],
) -> Figure {
    Figure { paper, title, experiment, case, kind, rows }
}

const NT: &str = "nt-timers-1998";
const MODEM: &str = "soft-modem-2000";
const DIAL: &str = "soft-modem-dialup";
const CALLBACKS: &str = "soft-modem-callbacks";
const RIALTO: &str = "soft-modem-rialto";

/// Those that have points. Figure 17 is a plane and is drawn elsewhere; Figure 9 does not come out.
pub(crate) const FIGURES: &[Figure] = &[
    figure(
        NT,
        "Tables 1 and 2, PPro NT4",
        "nt-timers-table2",
        "PPro NT4",
        Kind::Intervals,
        &["Table 1, PPro NT4:", "Table 2, PPro NT4:"],
    ),
    figure(
        NT,
        "Tables 1 and 2, PPro NT5",
        "nt-timers-table2",
        "PPro NT5",
        Kind::Intervals,
        &["Table 1, PPro NT5:", "Table 2, PPro NT5:"],
    ),
    figure(
        NT,
        "Tables 1 and 2, P2 NT4",
        "nt-timers-table2",
        "P2 NT4",
        Kind::Intervals,
        &["Table 1, P2 NT4:", "Table 2, P2 NT4:"],
    ),
    figure(
        NT,
        "Tables 1 and 2, P2 NT5",
        "nt-timers-table2",
        "P2 NT5",
        Kind::Intervals,
        &["Table 1, P2 NT5:", "Table 2, P2 NT5:"],
    ),
    figure(NT, "Table 3, before the fix", "nt-timers-table3", "as it was", Kind::Intervals, &["Table 3, before:"]),
    figure(
        NT,
        "Table 3, fixed",
        "nt-timers-table3",
        "fixed",
        Kind::Intervals,
        &["Table 3, fixed:", "Section 4.1: share"],
    ),
    figure(
        NT,
        "Section 4.1, the periodic kernel timer instead",
        "nt-timers-table3",
        "periodic kernel timer",
        Kind::Intervals,
        &["Section 4.1: the alternative"],
    ),
    figure(
        MODEM,
        "Figure 1: time between interrupts, INT",
        DIAL,
        "INT",
        Kind::BlockIntervals,
        &["Figure 1:", "Figures 1 and 3:", "Section 6.2.3"],
    ),
    figure(MODEM, "Figure 2: elapsed time in the handler, INT", DIAL, "INT", Kind::Elapsed, &["Figure 2:"]),
    figure(MODEM, "Figure 3: load, INT", DIAL, "INT", Kind::Load, &["Figure 3:", "Figures 1 and 3:"]),
    figure(MODEM, "Figure 4: elapsed time in the deferred procedure, DPC", DIAL, "DPC", Kind::Elapsed, &["Figure 4:"]),
    figure(MODEM, "Figure 5: samples pending, INT", DIAL, "INT", Kind::Pending, &["Figure 5:"]),
    figure(MODEM, "Figure 6: samples pending, THR 24", DIAL, "THR 24", Kind::Pending, &["Figure 6:"]),
    figure(MODEM, "Figure 7: samples pending, THR 8", DIAL, "THR 8", Kind::Pending, &["Figure 7:", "Section 4:"]),
    figure(
        MODEM,
        "Figure 8: elapsed time of a run of the thread, THR 24",
        DIAL,
        "THR 24",
        Kind::Elapsed,
        &["Figure 8:"],
    ),
    figure(MODEM, "Figure 10: callbacks without the modem", CALLBACKS, "control", Kind::Intervals, &["Figure 10:"]),
    figure(MODEM, "Figure 11: callbacks beside the modem, INT", CALLBACKS, "INT", Kind::Intervals, &["Figure 11:"]),
    figure(MODEM, "Figure 12: callbacks beside the modem, DPC", CALLBACKS, "DPC", Kind::Intervals, &["Figure 12:"]),
    figure(
        MODEM,
        "Figure 13: callbacks beside the modem, THR 24",
        CALLBACKS,
        "THR 24",
        Kind::Intervals,
        &["Figure 13:"],
    ),
    figure(MODEM, "Figure 14: samples pending, reservation 2/8", RIALTO, "2/8", Kind::Pending, &["Figure 14:"]),
    figure(MODEM, "Figure 15: elapsed time, reservation 2/8", RIALTO, "2/8", Kind::Elapsed, &["Figure 15:"]),
    figure(
        MODEM,
        "Figure 16: callbacks beside the modem, RES 2/8",
        CALLBACKS,
        "RES 2/8",
        Kind::Intervals,
        &["Figure 16:"],
    ),
    figure(
        MODEM,
        "Figure 18: samples pending, reservation 1/4",
        RIALTO,
        "1/4",
        Kind::Pending,
        &["Figure 18: most samples pending with 1/4"],
    ),
    figure(
        MODEM,
        "Figure 18: samples pending, reservation 3/16",
        RIALTO,
        "3/16",
        Kind::Pending,
        &["Figure 18: most samples pending with 3/16"],
    ),
    figure(
        MODEM,
        "Figure 18: samples pending, reservation 1/8",
        RIALTO,
        "1/8",
        Kind::Pending,
        &["Figure 18: buffer overflows with 1/8"],
    ),
    figure(
        MODEM,
        "Figure 19: time between interrupts, research server",
        DIAL,
        "research server",
        Kind::BlockIntervals,
        &["Figure 19:"],
    ),
    figure(
        MODEM,
        "Figure 20: elapsed time in the handler, research server",
        DIAL,
        "research server",
        Kind::Elapsed,
        &["Figure 20:"],
    ),
];

/// The published numbers of these rows that can stand on an axis with this unit.
fn said(rows: &[&LedgerRow], unit: &str) -> Vec<f64> {
    let numbers =
        rows.iter().filter(|row| !unit.is_empty() && row.unit == unit).filter_map(|row| match row.published {
            Some(Value::Number(value)) => Some(value),
            _ => None,
        });
    numbers.collect()
}

/// Points as a figure with its caption.
fn draw(title: &str, kind: Kind, points: &[(f64, f64)], rows: &[&LedgerRow], out: &mut String) {
    let [x, y, x_unit, y_unit] = kind.labels();
    let histogram = kind == Kind::Intervals;
    let (mut said_x, said_y) = (said(rows, x_unit), said(rows, y_unit));
    if histogram {
        // A standard deviation is also in microseconds, but has no place on the axis.
        said_x = said(&rows.iter().copied().filter(|row| !row.item.contains("deviation")).collect::<Vec<_>>(), x_unit);
    }
    said_x.sort_by(f64::total_cmp);
    said_x.dedup();
    let plot = Plot { title, x, y, histogram, said_y: &said_y, said_x: &said_x };
    let (svg, drawn) = plot.svg(points);
    let caption = if drawn < points.len() {
        format!("{} of {} drawn.", grouped(drawn as u64), counted(points.len(), "point"))
    } else if histogram {
        format!("{} of 50 us.", counted(points.len(), "bucket"))
    } else {
        format!("{}.", counted(points.len(), "point"))
    };
    let _ = writeln!(out, "<h3>{}</h3>", escape(title));
    let _ = writeln!(
        out,
        "<figure class=\"wide\" tabindex=\"0\">{svg}<figcaption class=\"soft\">{caption}</figcaption></figure>"
    );
}

/// These figures, each with the rows that belong to it.
///
/// # Errors
/// A built-in experiment that does not run: a fault of the program.
pub(crate) fn figures_of(figures: &[&Figure], rows: &[&LedgerRow], out: &mut String) -> Result<(), Error> {
    for figure in figures {
        let Some(experiment) = builtin(figure.experiment) else { continue };
        let points = experiment?.series(Some(figure.case), &figure.kind.series())?;
        let own: Vec<&LedgerRow> = rows
            .iter()
            .copied()
            .filter(|row| {
                figure
                    .rows
                    .iter()
                    .any(|begin| row.point().starts_with(begin) || row.point().contains(&format!(" and {begin}")))
            })
            .collect();
        draw(figure.title, figure.kind, &points, &own, out);
        if !own.is_empty() {
            beside(figure.title, &own, out);
        }
    }
    Ok(())
}

/// The readings beside a figure: if there are many, they can be folded away, and are open for printing.
fn beside(title: &str, rows: &[&LedgerRow], out: &mut String) {
    let fold = rows.len() > 6;
    if fold {
        let _ = writeln!(out, "<details open=\"open\"><summary>{} readings</summary>", rows.len());
    }
    table(&format!("{title}: published and simulated"), rows.iter().copied(), out);
    if fold {
        out.push_str("</details>\n");
    }
}

/// The most figures of an experiment that is not built in.
const MAX_OWN_FIGURES: usize = 12;

/// What can be drawn of an experiment without a figure in a paper: its device's blocks in every case.
pub(crate) fn own_figures(experiment: &Experiment, out: &mut String) {
    let mut drawn = 0;
    for case in experiment.cases() {
        for kind in [Kind::Elapsed, Kind::Pending, Kind::Load] {
            let name = (!case.is_empty()).then_some(case);
            // Without a device there are no points, which is not an error.
            let Ok(points) = experiment.series(name, &kind.series()) else { return };
            if drawn < MAX_OWN_FIGURES && !points.is_empty() {
                let [_, what, ..] = kind.labels();
                draw(&format!("{} {what}", name.unwrap_or("as written")), kind, &points, &[], out);
                drawn += 1;
            }
        }
    }
}
