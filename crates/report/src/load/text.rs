//! Which loads there are, and what they got done.

use crate::layout::{rate, table, thousandths};
use crate::verdict::tools::loads_verdict;
use punctual_recording::{LoadScore, format_ns};

/// A load that could be run.
#[derive(Debug, Clone)]
pub struct LoadRow {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Whether it consists of real programs.
    pub real: bool,
    /// Hours of use that an hour of it stands for, times 1,000.
    pub compression_thousandths: Option<u64>,
    /// Programs that are not installed.
    pub missing: Vec<String>,
}

/// The result of running a load by itself.
#[derive(Debug, Clone)]
pub struct LoadResult {
    /// Its name.
    pub name: String,
    /// How long it was counted, ns.
    pub elapsed_ns: u64,
    /// How long it had run before, ns.
    pub warm_up_ns: u64,
    /// What it got done.
    pub scores: Vec<LoadScore>,
    /// What was not as asked for.
    pub notes: Vec<String>,
    /// What went wrong.
    pub trouble: Vec<String>,
}

impl LoadResult {
    /// 1 where something went wrong.
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.trouble.is_empty())
    }
}

/// A score as people say it: `render 0.41 iterations/s`.
fn score_in_words(score: &LoadScore) -> String {
    let rate = rate(score.count_thousandths as f64 * 1e6 / score.elapsed_ns.max(1) as f64);
    let pace = score.pace_ns.map(|pace| format!(" (paced, one every {})", format_ns(pace))).unwrap_or_default();
    format!("{} {rate} {}/s{pace}", score.name, score.unit)
}

/// All scores in a line.
pub(crate) fn scores_in_words(scores: &[LoadScore]) -> String {
    scores.iter().map(score_in_words).collect::<Vec<_>>().join(", ")
}

/// The loads there are, for people.
pub fn load_list_text(rows: &[LoadRow]) -> String {
    let header = ["load", "installed", "an hour stands for", "what it is"];
    let cells = rows.iter().map(|row| {
        let installed = match (row.missing.is_empty(), row.real) {
            (true, _) => "yes".to_owned(),
            (false, true) => format!("no: {}", row.missing.join(", ")),
            (false, false) => "built in, small".to_owned(),
        };
        let hours = |compression: u64| format!("{} h of use", thousandths(compression));
        let compression = row.compression_thousandths.map_or_else(|| "-".to_owned(), hours);
        vec![row.name.clone(), installed, compression, row.about.clone()]
    });
    format!("{}\n\n{}", loads_verdict(rows), table(&header, 2..3, cells))
}

/// The result of running a load, for people.
pub fn load_result_text(result: &LoadResult) -> String {
    let mut text = result.verdict();
    for note in result.notes.iter().chain(result.trouble.iter().skip(1)) {
        text += &format!("\nnote: {note}");
    }
    if !result.trouble.is_empty() && !result.scores.is_empty() {
        text += &format!("\nIt did {}.", scores_in_words(&result.scores));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(count_thousandths: u64, pace_ns: Option<u64>) -> LoadScore {
        LoadScore {
            name: "render".into(),
            unit: "iterations".into(),
            count_thousandths,
            elapsed_ns: 2_000_000_000,
            pace_ns,
        }
    }

    #[test]
    fn a_score_has_three_digits_or_so() {
        let words = |count| score_in_words(&score(count, None));
        assert_eq!(words(500), "render 0.250 iterations/s");
        assert_eq!(words(5_000), "render 2.50 iterations/s");
        assert_eq!(words(50_000), "render 25.0 iterations/s");
        assert_eq!(words(199_950), "render 100 iterations/s");
        assert_eq!(words(500_000), "render 250 iterations/s");
        assert_eq!(words(99_405_634), "render 49,703 iterations/s");
        assert!(score_in_words(&score(5_000, Some(400_000_000))).contains("one every 400 ms"));
    }

    #[test]
    fn what_went_wrong_is_said_first() {
        let mut result = LoadResult {
            name: "office".into(),
            elapsed_ns: 2_000_000_000,
            warm_up_ns: 0,
            scores: vec![score(5_000, None)],
            notes: vec!["a note".into()],
            trouble: Vec::new(),
        };
        assert_eq!(result.exit_code(), 0);
        assert!(load_result_text(&result).starts_with("The load office ran well for"));
        result.trouble = vec!["`a` failed".into(), "`b` failed".into()];
        let text = load_result_text(&result);
        assert!(text.starts_with("The load office did not run well: `a` failed.\n"), "{text}");
        assert!(text.contains("note: `b` failed") && text.contains("2.50"), "{text}");
        assert_eq!(result.exit_code(), 1);
    }

    #[test]
    fn the_list_says_what_to_install() {
        let row = |name: &str, real, missing: &[&str]| LoadRow {
            name: name.into(),
            about: "something".into(),
            real,
            compression_thousandths: real.then_some(2_500),
            missing: missing.iter().map(|&text| text.to_owned()).collect(),
        };
        let rows = [row("cpu", false, &["stress-ng"]), row("office", true, &["soffice"]), row("web", true, &[])];
        let text = load_list_text(&rows);
        assert!(
            text.starts_with(
                "1 of 2 loads of real programs is installed; `punctual load install office` gets what it needs."
            ),
            "{text}"
        );
        assert!(text.contains("built in") && text.contains("2.5"), "{text}");
        let answer = crate::answer::value(&crate::load::LoadListAnswer::new(&rows));
        assert_eq!(answer["loads"][1]["installed"], false);
    }
}
