//! The page of a recording of soft devices: what became of them, then what happened to the bystander.

use super::answer::{DeviceAnswer, DeviceRunRow};
use super::came::came;
use super::pending::in_blocks;
use super::run::Run;
use super::text::{how, notes, pc99_words};
use crate::NextStep;
use crate::answer::value;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::verdict::device::device_run_verdict;
use punctual_device::keeps_up;
use punctual_recording::{DeviceSummary, printable_path};

/// Makes the page of a device's run from the one for the bystander's wakeups.
pub fn device_page(bystander: Page, run: &Run<'_>, next: &[NextStep]) -> Page {
    let devices = &run.activations.devices;
    let beside = run.activations.competitors.join(" and ");
    let beside = if beside.is_empty() { String::new() } else { format!(" Beside them ran {beside}.") };
    let load = run.load_sentence().map_or_else(String::new, |load| format!(" {load}"));
    let control = match run.activations.control.as_str() {
        "" => String::new(),
        control => format!(", and of the control, {control}, which shows what the machine kept from everybody"),
    };
    let section = Section {
        id: "kept-up".into(),
        title: "Whether the devices kept up".into(),
        lead: format!(
            "A device keeps up if it has no underrun but those of the machine, at which even FIFO 99 was kept from the CPU. All that \
             follows is of the bystander, {} every 1 ms on the same CPU{control}.{beside}{load}",
            run.activations.bystander
        ),
        blocks: [Block::Table(blocks(devices)), Block::Table(times(devices))]
            .into_iter()
            .chain(decoded(devices).map(Block::Table))
            .chain(devices.iter().map(|device| {
                let (name, pc99) = (&device.device, pc99_words(device));
                Block::Text(format!("{name} in {}: PC 99 {pc99}. {}.", device.context, how(run, device)))
            }))
            .collect(),
    };
    let mut sections = vec![section];
    sections.extend(bystander.sections);
    let host = run.document.provenance.host.name.as_ref();
    let on = host.map_or_else(String::new, |host| format!(" on {host}"));
    Page {
        title: format!("Soft devices in their contexts{on}"),
        verdict: device_run_verdict(run),
        next: next.to_vec(),
        warnings: bystander.warnings.into_iter().chain(notes(run)).collect(),
        sections,
        report: value(&DeviceAnswer::new(run, next)),
        ..bystander
    }
}

/// Adds what became of the devices of several runs to the page of the wakeups beside them, and to the answer that it
/// carries.
pub fn with_device_runs(mut page: Page, runs: &[Run<'_>]) -> Page {
    if runs.is_empty() {
        return page;
    }
    let blocks = runs.iter().flat_map(|run| {
        let (devices, name) = (&run.activations.devices, printable_path(run.path));
        let tables = [blocks(devices), times(devices)].into_iter().chain(decoded(devices));
        // Each by its own name, for those who go from table to table.
        let tables = tables.map(|table| Block::Table(Table { caption: format!("{}, {name}", table.caption), ..table }));
        let tables: Vec<Block> = tables.collect();
        [Block::Heading(name), Block::Text(device_run_verdict(run))].into_iter().chain(tables)
    });
    let section = Section {
        id: "kept-up".into(),
        title: "Whether the devices kept up".into(),
        lead: "A device keeps up if it has no underrun but those of the machine, at which even FIFO 99 was kept from the CPU. What was \
               tested differs from run to run and is not added up. All that follows is of the bystanders beside them."
            .into(),
        blocks: blocks.collect(),
    };
    page.sections.insert(0, section);
    for note in runs.iter().flat_map(notes) {
        if !page.warnings.contains(&note) {
            page.warnings.push(note);
        }
    }
    if let Some(answer) = page.report.as_object_mut() {
        let rows = serde_json::to_value(DeviceRunRow::all(runs)).unwrap_or_default();
        answer.insert("device_runs".to_owned(), rows);
    }
    page
}

/// What became of the blocks of each device.
fn blocks(devices: &[DeviceSummary]) -> Table {
    let mut columns = vec![Column::words("device"), Column::words("context"), Column::words("keeps up")];
    columns.extend(["blocks", "underruns", "the machine's", "overruns", "CPU %"].map(Column::numbers));
    let rows = devices.iter().map(|device| {
        let kept = match keeps_up(device) {
            Some(true) => Value::Good("keeps up".to_owned()),
            Some(false) => Value::Bad("does not keep up".to_owned()),
            None if device.processed == 0 => Value::text("processed nothing"),
            None => Value::text("not judged"),
        };
        vec![
            Value::text(device.device.clone()),
            Value::text(device.context.clone()),
            kept,
            Value::Count(Some(came(device))),
            Value::Count(Some(device.underruns)),
            Value::Count(Some(device.underruns_outside)),
            Value::Count(Some(device.overruns)),
            Value::text(format!("{:.1}", device.share_millionths as f64 / 1e4)),
        ]
    });
    Table { caption: "What became of each device".into(), columns, rows: rows.collect() }
}

/// How long each device took per block.
fn times(devices: &[DeviceSummary]) -> Table {
    let heads = ["elapsed p50", "elapsed max", "executed p50", "executed max", "pending p99, blocks"];
    let columns = std::iter::once(Column::words("device")).chain(heads.map(Column::numbers)).collect();
    let rows = devices.iter().map(|device| {
        vec![
            Value::text(device.device.clone()),
            Value::Ns(device.elapsed.quantile(0.5)),
            Value::Ns(device.elapsed.max()),
            Value::Ns(device.executed.quantile(0.5)),
            Value::Ns(device.executed.max()),
            Value::text(in_blocks(device.pending.quantile(0.99), device)),
        ]
    });
    Table { caption: "How long each took for a block, us".into(), columns, rows: rows.collect() }
}

/// What became of the signals, if any device decoded one.
fn decoded(devices: &[DeviceSummary]) -> Option<Table> {
    let heads = ["units", "skipped", "bits", "wrong", "missing", "frames", "lost", "connections lost"];
    let columns =
        [Column::words("device"), Column::words("signal")].into_iter().chain(heads.map(Column::numbers)).collect();
    let rows: Vec<_> = devices
        .iter()
        .filter_map(|device| Some((device, device.decoded.as_ref()?)))
        .map(|(device, decoded)| {
            let lost = decoded.frames.saturating_sub(decoded.frames_right);
            let counts =
                [decoded.symbols, decoded.skipped, decoded.bits, decoded.wrong, decoded.missing, decoded.frames, lost];
            let words = [Value::text(device.device.clone()), Value::text(decoded.signal.clone())];
            let counts = counts.into_iter().chain([decoded.connections_lost]).map(|count| Value::Count(Some(count)));
            words.into_iter().chain(counts).collect()
        })
        .collect();
    (!rows.is_empty()).then(|| Table { caption: "What became of each signal".into(), columns, rows })
}
