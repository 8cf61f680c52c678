//! What happened and what would change it: a cause in words that lead to an action.

use super::model::WhyReport;
use super::words::part_of_wait;
use crate::layout::shell_word;
use punctual_blame::{Cause, Detail, Kind};
use punctual_recording::{counted, printable_path};
use std::path::Path;

/// A cause that has at least this share of the lateness is worth a change, percent.
pub(super) const WORTH_A_CHANGE: u128 = 10;
/// More would be too many to act on at once.
pub(super) const MAX_SHOWN: usize = 2;

/// Stands in a remedy for an episode that shows the cause.
const EXAMPLE: &str = "RECORDING --episode N";

/// What happened, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    /// One sentence.
    pub(super) happened: String,
    /// One or two sentences, in the imperative; `None` if there is nothing to change.
    pub(super) remedy: Option<String>,
    /// The kind whose page says more.
    pub(super) kind: Kind,
}

impl Advice {
    /// On a cause in this recording; the episode to look at is the one in which it had most.
    pub(super) fn on(cause: &Cause, recording: &Path) -> Advice {
        let mut happened = cause.happened();
        if let Some(ended) = ended(cause) {
            happened.pop();
            happened.push_str(&format!(", {ended}."));
        }
        if let Some(fate) = cause.detail.as_ref().and_then(Detail::fate) {
            // In a wait, what matters is what held up whoever was waited for.
            happened.pop();
            happened.push_str(&format!(", and meanwhile {fate}{}.", part_of_wait(cause)));
        }
        let example = format!("{} --episode {}", shell_word(&printable_path(recording)), cause.example);
        let remedy = cause.remedy().map(|remedy| remedy.replace(EXAMPLE, &example));
        Advice { happened, remedy, kind: cause.kind }
    }
}

/// For a wait: says that whoever was waited for ended, and so the wait.
fn ended(cause: &Cause) -> Option<String> {
    match cause.ended {
        0 => None,
        all if all == cause.episodes => Some("which ended".to_owned()),
        some => Some(format!("which ended in {some} of {}", counted(cause.episodes, "episode"))),
    }
}

/// The causes that are worth a change, largest first, with advice; no advice twice.
pub(super) fn leading<'a>(report: &'a WhyReport<'_>) -> impl Iterator<Item = Advice> + 'a {
    let late_ns = u128::from(report.late_ns());
    let is_worth = move |cause: &&Cause| u128::from(cause.total_ns) * 100 >= late_ns * WORTH_A_CHANGE;
    let mut given: Vec<(Kind, &str)> = Vec::new();
    let is_new = move |cause: &&Cause| {
        let Some(remedy) = cause.remedy() else { return false };
        let is_new = !given.contains(&(cause.kind, remedy));
        given.push((cause.kind, remedy));
        is_new
    };
    let causes = report.causes().iter().filter(is_worth).filter(is_new);
    causes.map(move |cause| Advice::on(cause, report.recording)).take(MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::{Awaited, Who};

    #[test]
    fn normal_threads_are_told_of_weights_not_of_priorities() {
        let turn = Some(punctual_blame::Turn { weight: 1_024, waiting_weight: 1_024 });
        let equal = Cause { turn, ..cause(Kind::SamePriority, "rustc".into(), None) };
        let advice = on(&equal);
        assert_eq!(advice.happened, "rustc has the same weight and had its turn first.");
        assert!(advice.remedy.as_deref().unwrap().starts_with("Give the late thread more weight"), "{advice:?}");
        let real_time = on(&cause(Kind::SamePriority, "audio".into(), None));
        assert_eq!(real_time.happened, "audio has the same priority and had its turn first.");
        assert!(real_time.remedy.as_deref().unwrap().contains("chrt -f"), "{real_time:?}");
    }

    #[test]
    fn what_is_to_be_looked_at_is_a_whole_command() {
        for kind in [Kind::Wait, Kind::Own] {
            let longest = Cause { example: 81, ..cause(kind, "server".into(), None) };
            let remedy = Advice::on(&longest, Path::new("a b.punctual")).remedy.unwrap();
            assert!(remedy.contains("`punctual why 'a b.punctual' --episode 81`"), "{remedy}");
        }
        for kind in Kind::ALL {
            let remedy = on(&cause(kind, "server".into(), None)).remedy.unwrap_or_default();
            assert!(!remedy.contains("--episode N") && !remedy.contains("RECORDING"), "{remedy}");
        }
    }

    fn on(cause: &Cause) -> Advice {
        Advice::on(cause, Path::new("a"))
    }

    fn cause(kind: Kind, who: Who, detail: Option<Detail>) -> Cause {
        Cause {
            kind,
            who,
            detail,
            detail_ns: None,
            cgroup: None,
            turn: None,
            episodes: 1,
            ended: 0,
            max_ns: 1,
            typical_ns: 1,
            total_ns: 1,
            unknown_ns: 0,
            example: 1,
        }
    }

    #[test]
    fn what_kept_the_holder_of_a_lock_is_a_sentence() {
        let cause = |who: Who, detail: Detail| cause(Kind::Lock, who, Some(detail));
        let told = on(&cause("reader".into(), Detail::KeptBy(Kind::LowerPriority, "rustc".into()))).happened;
        assert_eq!(
            told,
            "The thread waited for a lock that reader held, and meanwhile rustc had its fair turn on its CPU."
        );
        let ended = Cause {
            kind: Kind::Wait,
            ended: 1,
            ..cause("server".into(), Detail::Meanwhile(Kind::Fault, "server".into()))
        };
        assert_eq!(
            on(&ended).happened,
            "The thread waited for server, which ended, and meanwhile it waited for a page."
        );
        let once = Cause { episodes: 3, ..ended };
        assert!(on(&once).happened.starts_with("The thread waited for server, which ended in 1 of 3 episodes, and"));
        let told =
            on(&cause(Awaited::Holder.into(), Detail::NotSeen("the wait ended by its time limit".into()))).happened;
        assert_eq!(told, "The thread waited for a lock, and who held it was not seen.");
        assert_eq!(
            on(&cause("reader".into(), Detail::Seen("memcpy".into()))).happened,
            "The thread waited for a lock that reader held."
        );
    }
}
