//! What happened and what would change it: a cause in words that lead to an action.

use super::model::WhyReport;
use super::words::part_of_wait;
use punctual_blame::{Cause, Detail, Kind};
use punctual_recording::counted;

/// A cause that has at least this share of the lateness is worth a change, percent.
pub(super) const WORTH_A_CHANGE: u128 = 10;
/// More would be too many to act on at once.
pub(super) const MAX_SHOWN: usize = 2;

/// What happened, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    /// One sentence.
    pub(super) happened: String,
    /// One or two sentences, in the imperative; `None` if there is nothing to change.
    pub(super) remedy: Option<&'static str>,
    /// The kind whose page says more.
    pub(super) kind: Kind,
}

impl Advice {
    pub(super) fn on(cause: &Cause) -> Advice {
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
        Advice { happened, remedy: cause.remedy(), kind: cause.kind }
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
    let late_ns = u128::from(report.summary.late_ns);
    let is_worth = move |cause: &&Cause| u128::from(cause.total_ns) * 100 >= late_ns * WORTH_A_CHANGE;
    let causes = report.causes().iter().filter(is_worth).map(Advice::on);
    let mut given: Vec<(Kind, &str)> = Vec::new();
    let is_new = move |advice: &Advice| {
        let Some(remedy) = advice.remedy else { return false };
        let is_new = !given.contains(&(advice.kind, remedy));
        given.push((advice.kind, remedy));
        is_new
    };
    causes.filter(is_new).take(MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::{Awaited, Who};

    #[test]
    fn normal_threads_are_told_of_weights_not_of_priorities() {
        let turn = Some(punctual_blame::Turn { weight: 1_024, waiting_weight: 1_024 });
        let equal = Cause { turn, ..cause(Kind::SamePriority, "rustc".into(), None) };
        let advice = Advice::on(&equal);
        assert_eq!(advice.happened, "rustc has the same weight and had its turn first.");
        assert!(advice.remedy.unwrap().starts_with("Give the late thread more weight"), "{advice:?}");
        let real_time = Advice::on(&cause(Kind::SamePriority, "audio".into(), None));
        assert_eq!(real_time.happened, "audio has the same priority and had its turn first.");
        assert!(real_time.remedy.unwrap().contains("chrt -f"), "{real_time:?}");
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
        let told = Advice::on(&cause("reader".into(), Detail::KeptBy(Kind::LowerPriority, "rustc".into()))).happened;
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
            Advice::on(&ended).happened,
            "The thread waited for server, which ended, and meanwhile it waited for a page."
        );
        let once = Cause { episodes: 3, ..ended };
        assert!(
            Advice::on(&once).happened.starts_with("The thread waited for server, which ended in 1 of 3 episodes, and")
        );
        let told =
            Advice::on(&cause(Awaited::Holder.into(), Detail::NotSeen("the wait ended by its time limit".into())))
                .happened;
        assert_eq!(told, "The thread waited for a lock, and who held it was not seen.");
        assert_eq!(
            Advice::on(&cause("reader".into(), Detail::Seen("memcpy".into()))).happened,
            "The thread waited for a lock that reader held."
        );
    }
}
