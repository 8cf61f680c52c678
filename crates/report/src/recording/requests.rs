//! How long requests took, late or not, for a recording or a side of several: a table, rows.

use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{capitalized, grouped, microseconds, table};
use crate::why::request_times::cut_in_words;
use punctual_comparison::SideRequests;
use punctual_recording::Document;
use serde::Serialize;

const COLUMNS: [&str; 6] = ["recognised", "beyond --why", "p50 us", "p99 us", "longest us", "may include a wait"];

/// The requests of each of these, below their names.
pub(crate) fn requests_table(rows: &[(&str, SideRequests)]) -> String {
    let header: Vec<&str> = std::iter::once("requests").chain(COLUMNS).collect();
    let cells = rows.iter().map(|(name, of)| {
        let times = [of.p50_ns, of.p99_ns, of.max_ns].map(microseconds);
        let counts = [of.recognised, of.late].map(grouped);
        let all = counts.into_iter().chain(times).chain([grouped(of.unsure)]);
        std::iter::once((*name).to_owned()).chain(all).collect::<Vec<String>>()
    });
    table(&header, 1..1 + COLUMNS.len(), cells)
}

/// The same on a page.
pub(crate) fn requests_block(rows: &[(&str, SideRequests)]) -> Block {
    let columns = std::iter::once(Column::words("requests")).chain(COLUMNS.map(Column::numbers)).collect();
    let cells = rows.iter().map(|(name, of)| {
        let [p50, p99, longest] = [of.p50_ns, of.p99_ns, of.max_ns].map(Value::Ns);
        let [recognised, late, unsure] = [of.recognised, of.late, of.unsure].map(|count| Value::Count(Some(count)));
        vec![Value::text(*name), recognised, late, p50, p99, longest, unsure]
    });
    Block::Table(Table { caption: "How long requests took".into(), columns, rows: cells.collect() })
}

/// The section of a page on these recordings, if some are of requests.
pub(crate) fn requests_section(parts: &[(String, &Document)]) -> Option<Section> {
    let row = |(name, document): &(String, &Document)| Some((name.clone(), SideRequests::of([*document])?));
    let rows: Vec<(String, SideRequests)> = parts.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let rows: Vec<(&str, SideRequests)> = rows.iter().map(|(name, of)| (name.as_str(), *of)).collect();
    let cut =
        parts.iter().filter(|(name, _)| rows.iter().any(|(row, _)| row == name)).filter_map(|(name, document)| {
            let cut = cut_in_words(document.recorder.as_ref()?);
            let cut = cut.strip_prefix("; ")?;
            Some(Block::Text(if rows.len() > 1 { format!("{name}: {cut}.") } else { format!("{}.", capitalized(cut)) }))
        });
    Some(Section {
        id: "requests".into(),
        title: "Requests".into(),
        lead: "How long all requests took that were recognised, late or not. A request ends where a thread waits for more work; \
               the stages of wakeups, below, end where it first sleeps."
            .into(),
        blocks: std::iter::once(requests_block(&rows)).chain(cut).collect(),
    })
}

/// How long requests took, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RequestsRow {
    /// How many were recognised.
    recognised: u64,
    /// How many of them were beyond the threshold.
    late: u64,
    /// How many of them may include a wait for the next one.
    unsure: u64,
    /// The geometric mean of the runs' medians; null if a run recognised none.
    p50_ns: Option<u64>,
    /// The same of the 99th percentile; null also if a run recognised fewer than a hundred.
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl From<SideRequests> for RequestsRow {
    fn from(of: SideRequests) -> RequestsRow {
        let SideRequests { recognised, late, unsure, p50_ns, p99_ns, max_ns } = of;
        RequestsRow { recognised, late, unsure, p50_ns, p99_ns, max_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{RecorderSummary, RequestTimes, Stage};

    fn requests(p99_ns: Option<u64>) -> SideRequests {
        let (p50_ns, max_ns) = (Some(2_660_000), Some(94_500_000));
        SideRequests { recognised: 1_478, late: 43, unsure: 1_180, p50_ns, p99_ns, max_ns }
    }

    #[test]
    fn a_page_of_a_recording_of_requests_has_them() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        assert!(requests_section(&[("idle".to_owned(), &document)]).is_none());
        document.recorder = Some(RecorderSummary {
            stage: Stage::Request,
            requests: Some(1_103),
            late: 11,
            request_times: Some(RequestTimes {
                p50_ns: 1_200_000,
                max_ns: 31_000_000,
                sure: 1_000,
                ..RequestTimes::default()
            }),
            cut_requests: 3,
            ..RecorderSummary::default()
        });
        let blocks = |parts: &[(String, &Document)]| requests_section(parts).unwrap().blocks;
        let found = blocks(&[("idle".to_owned(), &document)]);
        let [Block::Table(table), Block::Text(cut)] = &found[..] else { panic!("{} blocks", found.len()) };
        assert_eq!(cut, "Another 3 were not followed to the end.");
        let expected = [
            Value::text("idle"),
            Value::Count(Some(1_103)),
            Value::Count(Some(11)),
            Value::Ns(Some(1_200_000)),
            Value::Ns(None),
            Value::Ns(Some(31_000_000)),
            Value::Count(Some(103)),
        ];
        assert_eq!(table.rows, [expected]);
        let found = blocks(&["idle", "mixed"].map(|name| (name.to_owned(), &document)));
        let [Block::Table(table), Block::Text(cut), _] = &found[..] else { panic!("{} blocks", found.len()) };
        assert_eq!((table.rows.len(), cut.as_str()), (2, "idle: another 3 were not followed to the end."));
    }

    #[test]
    fn each_has_a_row_with_its_quantiles() {
        let text = requests_table(&[("A", requests(Some(28_800_000))), ("B", requests(None))]);
        let cells =
            |line: &str| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|");
        let lines: Vec<String> = text.lines().map(cells).collect();
        assert_eq!(
            lines,
            [
                "requests|recognised|beyond --why|p50 us|p99 us|longest us|may include a wait",
                "A|1,478|43|2660.0|28800.0|94500.0|1,180",
                "B|1,478|43|2660.0|-|94500.0|1,180",
            ]
        );
        let Block::Table(page) = requests_block(&[("A", requests(None))]) else { panic!("no table") };
        assert_eq!(page.rows[0].len(), page.columns.len());
        assert_eq!(page.rows[0][3..6], [Value::Ns(Some(2_660_000)), Value::Ns(None), Value::Ns(Some(94_500_000))]);
    }
}
