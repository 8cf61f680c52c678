//! How many times as late one side is as the other, on a page: intervals drawn against 1.

use super::words::{MAX_TOLD, told};
use crate::encode::html::intervals::{Interval, IntervalRow, Intervals, Judged, Unit};
use crate::encode::html::{Block, Drawing, Picture, Section};
use punctual_comparison::{Outcome, Ratio};

/// How to read a picture of ratios, if it is about the systems.
const SHOWS_A_DIFFERENCE: &str = "An interval that does not reach 1 shows a difference; one that does leaves it open.";

fn judged(outcome: Outcome) -> Judged {
    match outcome {
        Outcome::Worse => Judged::Bad,
        Outcome::Better => Judged::Good,
        Outcome::NoDifference => Judged::Open,
    }
}

/// A ratio as a line of a picture.
pub(crate) fn row_of(name: String, ratio: &Ratio) -> IntervalRow {
    // A limit that says nothing would stretch the axis until nothing else could be distinguished; without both limits
    // there is nothing to draw.
    let low = Some(ratio.low).filter(|low| *low > 1.0 / MAX_TOLD);
    let high = Some(ratio.high).filter(|high| *high < MAX_TOLD);
    let estimate = low.or(high).map(|_| ratio.estimate);
    IntervalRow {
        name,
        interval: Interval { low, estimate, high },
        want: None,
        verdict: told(ratio).to_owned(),
        judged: judged(ratio.outcome()),
    }
}

/// A picture of ratios, with the end of its anchor, how to read it, and the name of its axis.
pub(crate) fn ratio_picture(id: &str, title: &str, caption: &str, axis: &str, rows: Vec<IntervalRow>) -> Block {
    Block::Picture(Picture {
        id: format!("ratio-{id}"),
        title: title.to_owned(),
        caption: caption.to_owned(),
        drawing: Drawing::Intervals(Intervals {
            unit: Unit::Factor,
            axis: axis.to_owned(),
            rows,
            against: Some((1.0, "the same".to_owned())),
        }),
    })
}

/// The section of such pictures. If they are about these runs only, `only` says so.
pub(crate) fn ratio_section(title: &str, only: Option<&str>, blocks: Vec<Block>) -> Section {
    let lead = only.unwrap_or(SHOWS_A_DIFFERENCE).to_owned();
    Section { id: "ratio".to_owned(), title: title.to_owned(), lead, blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::FIGURES;

    #[test]
    fn a_limit_that_is_none_makes_no_axis() {
        let row = |low: f64, high: f64| {
            let ratio =
                Ratio { figure: FIGURES[0], low, estimate: 1.5, high, same_within: 1.05, p: 1.0, findable: 2.0 };
            row_of("total".to_owned(), &ratio).interval
        };
        let whole = |low, estimate, high| Interval { low, estimate, high };
        assert_eq!(row(0.5, 4.0), whole(Some(0.5), Some(1.5), Some(4.0)));
        assert_eq!(row(0.5, 1e15), whole(Some(0.5), Some(1.5), None));
        assert_eq!(row(1e-11, 1e15), whole(None, None, None));
    }

    #[test]
    fn a_section_on_these_runs_only_says_that_and_not_what_a_difference_is() {
        let leads = [None, Some("Of these runs only.")].map(|only| ratio_section("How late", only, Vec::new()).lead);
        assert_eq!(leads, [SHOWS_A_DIFFERENCE, "Of these runs only."]);
    }
}
