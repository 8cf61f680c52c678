//! The page of `punctual lab run --html`: kernels side by side.

use super::answer::LabAnswer;
use super::model::{GuestEnd, LabReport, MODELLED};
use super::text::{cause_rows, guests_in_words, trouble};
use crate::answer::value;
use crate::compare;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::{counted, grouped, thousandths};
use crate::recording::page::{Panel, load_pictures, provenance_section, share_pictures, warnings};
use punctual_recording::{Document, Stage};

/// The page of a lab's run.
pub fn page(report: &LabReport<'_>) -> Page {
    let together = report.systems.iter().filter_map(|system| Some((system.name.clone(), system.together()?)));
    let systems: Vec<(String, Document)> = together.collect();
    let parts: Vec<(String, &Document)> = systems.iter().map(|(name, document)| (name.clone(), document)).collect();
    let mut sections = Vec::new();
    sections.extend(shares(&parts));
    sections.extend(by_load(report, &systems));
    sections.extend(ranks(report));
    sections.extend(stages(report));
    sections.extend(causes(report));
    sections.extend(comparisons(report));
    sections.extend(loads(report));
    sections.push(guests(report));
    if !parts.is_empty() {
        sections.push(provenance_section(&parts));
    }
    let names: Vec<&str> = report.systems.iter().map(|system| system.name.as_str()).collect();
    Page {
        title: format!("The same work on {}", names.join(", ")),
        context: context(report),
        verdict: report.verdict(),
        next: Vec::new(),
        warnings: report.notes.iter().cloned().chain(warnings(&parts)).collect(),
        blind: vec![MODELLED.to_owned()],
        sections,
        report: value(&LabAnswer::new(report)),
    }
}

fn context(report: &LabReport<'_>) -> String {
    let module = report.module.as_ref().map_or_else(String::new, |module| format!(" · module {module}"));
    format!("punctual lab run{module} · punctual {}", report.words.join(" "))
}

fn shares(parts: &[(String, &Document)]) -> Option<Section> {
    let (_, first) = parts.first()?;
    let mut blocks = Vec::new();
    for (number, measure) in first.distributions.measures().iter().take(4).enumerate() {
        let beside: Vec<(&str, &str, &Document)> =
            parts.iter().map(|(name, document)| (name.as_str(), measure.as_str(), *document)).collect();
        blocks.extend(share_pictures(&format!("share-{number}"), &beside, Vec::new()));
    }
    Some(Section {
        id: "share".into(),
        title: "Latency distribution".into(),
        lead: "All runs of a kernel together. x: latency; y: share of wakeups at least that late; both logarithmic."
            .into(),
        blocks,
    })
}

/// Figure 4 of the paper that began this: for each system and each stage, a line for each load.
fn by_load(report: &LabReport<'_>, systems: &[(String, Document)]) -> Option<Section> {
    let mut kernels: Vec<&str> = Vec::new();
    for system in report.systems.iter().filter(|system| system.load.is_some()) {
        if !kernels.contains(&system.kernel.as_str()) {
            kernels.push(&system.kernel);
        }
    }
    let document = |name: &str| systems.iter().find(|(other, _)| other == name).map(|(_, document)| document);
    let measure = systems.first()?.1.distributions.measures().first()?.clone();
    let panel = |kernel: &&str| {
        let own = report.systems.iter().filter(|system| system.kernel == **kernel);
        let lines = own.filter_map(|system| Some((system.load.as_deref()?, document(&system.name)?)));
        Panel { name: (*kernel).to_owned(), lines: lines.collect() }
    };
    let panels: Vec<Panel<'_>> = kernels.iter().map(panel).collect();
    (!kernels.is_empty()).then(|| Section {
        id: "by-load".into(),
        title: "By load".into(),
        lead: "The figure in which Cota-Robles and Held (OSDI 1999, Figure 4) put Windows NT and Windows 98 side by side, drawn for \
               these kernels: a picture for each stage of each kernel, a line for each load. All pictures have the same axes."
            .into(),
        blocks: load_pictures(&measure, &panels),
    })
}

fn ranks(report: &LabReport<'_>) -> Option<Section> {
    let first = report.ranks.first()?;
    let rows = report.ranks.iter().map(|rank| {
        let mut cells = vec![Value::text(rank.system.clone()), Value::Count(Some(rank.rank as u64))];
        cells.extend([rank.ns, rank.low_ns, rank.high_ns].map(|ns| Value::Ns(Some(ns))));
        cells.push(Value::Count(Some(rank.runs as u64)));
        cells
    });
    let mut columns = vec![Column::words("kernel")];
    let level = format!("{} us", first.figure);
    columns.extend(["rank", &level, "from us", "to us", "seeds"].map(Column::numbers));
    Some(Section {
        id: "ranks".into(),
        title: "Ranked".into(),
        lead: "By the furthest quantile of the total that all of them have wakeups enough for, with 95 % intervals over the seeds. Where \
               intervals overlap, the order may be chance."
            .into(),
        blocks: vec![Block::Table(Table { caption: "The least first".into(), columns, rows: rows.collect() })],
    })
}

fn causes(report: &LabReport<'_>) -> Option<Section> {
    let rows: Vec<Vec<Value>> = (cause_rows(report).into_iter())
        .map(|(system, cause, share)| {
            let words = [system, cause.who.clone(), cause.kind.to_owned(), format!("{share:.1} %")].map(Value::text);
            let mut cells = Vec::from(words);
            cells.extend([Value::Count(Some(cause.episodes)), Value::Ns(Some(cause.max_ns))]);
            cells
        })
        .collect();
    let mut columns: Vec<Column> = ["kernel", "who", "kind"].map(Column::words).into();
    columns.extend(["share", "episodes", "longest us"].map(Column::numbers));
    let evidence: Vec<String> = (report.systems.iter())
        .filter_map(|system| system.causes.as_ref().map(|causes| (system, causes)))
        .map(|(system, causes)| {
            let void = if causes.void > 0 { format!(" and {} void", grouped(causes.void)) } else { String::new() };
            format!("{}: {}{void}", system.name, counted(causes.episodes, "late wakeup"))
        })
        .collect();
    (!rows.is_empty()).then(|| Section {
        id: "causes".into(),
        title: "Who made wakeups late".into(),
        lead: format!("The share of all lateness in the evidence of `record --why`. {}.", evidence.join("; ")),
        blocks: vec![Block::Table(Table { caption: "On each kernel, most first".into(), columns, rows })],
    })
}

fn stages(report: &LabReport<'_>) -> Option<Section> {
    let rows = report.stages();
    let first = rows.first()?;
    let several = rows.iter().any(|row| row.row.measure != first.row.measure);
    let mut columns = vec![Column::words("stage"), Column::words("kernel")];
    if several {
        columns.push(Column::words("threads"));
    }
    columns.extend(
        ["wakeups", "p50 us", "p99 us", "p99.9 us", "max us", "least max us", "greatest max us"].map(Column::numbers),
    );
    let cells = rows.iter().map(|stage| {
        let row = &stage.row;
        let mut cells = vec![Value::text(row.stage.name().replace('_', " ")), Value::text(stage.system.name.clone())];
        if several {
            cells.push(Value::text(row.measure.clone()));
        }
        cells.push(Value::Count(Some(row.count)));
        let between = stage.max_between;
        let times = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.max_ns];
        cells.extend(times.into_iter().chain([between.map(|ends| ends.0), between.map(|ends| ends.1)]).map(Value::Ns));
        cells
    });
    Some(Section {
        id: "stages".into(),
        title: "Stages".into(),
        lead: "Times in microseconds; – where there are too few wakeups to say. The last two columns are of the seeds' maxima.".into(),
        blocks: vec![Block::Table(Table { caption: "Each stage on each kernel".into(), columns, rows: cells.collect() })],
    })
}

fn comparisons(report: &LabReport<'_>) -> Option<Section> {
    let first = &report.systems[report.comparisons.first()?.0];
    let several = report.comparisons.iter().any(|(index, ..)| report.systems[*index].name != first.name);
    let title = if several { format!("the first kernel of each load, {}", first.kernel) } else { first.name.clone() };
    let rows: Vec<Vec<Value>> = (report.comparisons.iter())
        .flat_map(|(_, other, comparison)| {
            let name = &report.systems[*other].name;
            let shown = comparison.stages.iter().filter_map(move |stage| Some((stage, stage.shown()?)));
            shown.map(move |(stage, ratio)| {
                let factor = |ratio: f64| compare::factor(ratio);
                vec![
                    Value::text(name.clone()),
                    Value::text(stage.stage.name().replace('_', " ")),
                    Value::text(ratio.figure.name),
                    Value::text(factor(ratio.estimate)),
                    Value::text(format!("{} to {}", factor(ratio.low), factor(ratio.high))),
                    Value::text(if stage.stage == Stage::Total { comparison.standing.name() } else { "" }),
                ]
            })
        })
        .collect();
    let columns = ["kernel", "stage", "figure", "times as late", "95 %", "standing"].map(Column::words).into();
    let caption = format!("Beside {title}");
    (!rows.is_empty()).then(|| Section {
        id: "beside".into(),
        title: format!("How many times as late as {title}"),
        lead:
            "An interval that does not reach 1 shows a difference. A verdict of the systems takes three seeds or more."
                .into(),
        blocks: vec![Block::Table(Table { caption, columns, rows })],
    })
}

fn loads(report: &LabReport<'_>) -> Option<Section> {
    let rows: Vec<Vec<Value>> = (report.systems.iter())
        .flat_map(|system| {
            let rates = system.load_rates().into_iter();
            rates.map(|(name, unit, rate)| {
                [name, unit, system.name.clone(), thousandths(rate)].map(Value::text).to_vec()
            })
        })
        .collect();
    let mut columns: Vec<Column> = ["load", "a second", "kernel"].map(Column::words).into();
    columns.push(Column::numbers("done"));
    (!rows.is_empty()).then(|| Section {
        id: "load".into(),
        title: "What the load got done".into(),
        lead: "Throughput hardly tells how late a system runs.".into(),
        blocks: vec![Block::Table(Table { caption: "The mean of the seeds".into(), columns, rows })],
    })
}

fn guests(report: &LabReport<'_>) -> Section {
    let rows = report.guests().map(|(system, guest)| {
        let end = match guest.end {
            GuestEnd::Ran if guest.is_kept => "ran before",
            GuestEnd::Ran => "ran",
            GuestEnd::Failed => "failed",
            GuestEnd::NotRun => "not run",
        };
        let trouble = trouble(guest).join("; ");
        vec![
            Value::text(system.name.clone()),
            Value::Count(Some(u64::from(guest.seed))),
            if trouble.is_empty() { Value::text(end) } else { Value::Bad(end.to_owned()) },
            Value::text(trouble),
            Value::text(system.package.clone().unwrap_or_default()),
        ]
    });
    let rows = rows.collect();
    let mut columns = vec![Column::words("kernel"), Column::numbers("seed")];
    columns.extend(["end", "trouble", "package"].map(Column::words));
    Section {
        id: "guests".into(),
        title: "Guests".into(),
        lead: guests_in_words(report),
        blocks: vec![Block::Table(Table { caption: "A guest each".into(), columns, rows })],
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::SystemReport;
    use super::*;
    use crate::encode::html::Drawing;
    use crate::why::page::tests::document;
    use std::path::Path;

    fn system(kernel: &str, load: Option<&str>, documents: Vec<Document>) -> SystemReport {
        let name = load.map_or_else(|| kernel.to_owned(), |load| format!("{kernel} under {load}"));
        SystemReport {
            directory: name.clone(),
            name,
            kernel: kernel.to_owned(),
            load: load.map(str::to_owned),
            causes: None,
            package: None,
            guests: Vec::new(),
            documents,
        }
    }

    fn report(words: &[String], systems: Vec<SystemReport>) -> LabReport<'_> {
        LabReport {
            words,
            module: None,
            directory: Path::new("lab"),
            systems,
            comparisons: Vec::new(),
            ranks: Vec::new(),
            is_interrupted: false,
            notes: Vec::new(),
            exit_code: 0,
        }
    }

    #[test]
    fn the_figure_of_1999_has_a_picture_for_each_kernel_and_a_line_for_each_load() {
        let words = ["record".to_owned()];
        let of = |kernel: &str| ["network", "disk"].map(|load| system(kernel, Some(load), vec![document()]));
        let with_loads = report(&words, of("6.12").into_iter().chain(of("6.12-rt")).collect());
        let drawn = page(&with_loads);
        let section = drawn.sections.iter().find(|section| section.id == "by-load").unwrap();
        let mut galleries = 0;
        let mut axes = Vec::new();
        for block in &section.blocks {
            let Block::Gallery(pictures) = block else { continue };
            galleries += 1;
            let titles: Vec<&str> = pictures.iter().map(|picture| picture.title.as_str()).collect();
            assert_eq!(titles, ["6.12", "6.12-rt"]);
            for picture in pictures {
                let Drawing::Curve(curve) = &picture.drawing else { panic!("{}: no curve", picture.id) };
                let names: Vec<&str> = curve.lines.iter().map(|line| line.name.as_str()).collect();
                assert_eq!(names, ["network", "disk"], "{}", picture.id);
                axes.push((curve.latency_ns, curve.most));
            }
        }
        assert!(galleries >= 2, "interrupt and thread are drawn: {galleries}");
        axes.dedup();
        assert_eq!(axes.len(), 1, "the same axes everywhere: {axes:?}");
        // Without a grid of loads there is nothing to draw so.
        let without = page(&report(&words, vec![system("6.12", None, vec![document()])]));
        assert!(without.sections.iter().all(|section| section.id != "by-load"));
    }

    #[test]
    fn a_page_says_where_the_recordings_of_each_kernel_come_from() {
        let mut other = document();
        other.provenance.host.kernel_release = Some("6.12.0-rt".to_owned());
        let words = ["record".to_owned()];
        let systems = vec![
            system("6.12", None, vec![document()]),
            system("6.12-rt", None, vec![other]),
            system("absent", None, Vec::new()),
        ];
        let page = page(&report(&words, systems));
        let section = page.sections.iter().find(|section| section.id == "provenance").unwrap();
        assert_eq!(section.lead, "1 line differs between the recordings, set in bold.");
        let [Block::Table(table)] = &section.blocks[..] else { panic!("one table") };
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(columns, ["what", "6.12", "6.12-rt"], "a kernel without a recording has none to show");
        let kernel = table.rows.iter().find(|row| row[0] == Value::text("kernel")).unwrap();
        assert_eq!(kernel[2], Value::Marked("6.12.0-rt".to_owned()));
    }
}
