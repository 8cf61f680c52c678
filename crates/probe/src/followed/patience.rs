//! What keeps followed threads from waking, for somebody who waits for them.

use super::selection::Selection;
use crate::shared::observation::Waiting;
use punctual_kernel::other_thread::ThreadScheduling;
use punctual_kernel::thread_stat::ThreadStat;
use punctual_recording::{counted, printable};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// After this long without a wakeup somebody wants to know why.
const PATIENCE: Duration = Duration::from_secs(5);
/// Threads are looked at from this time on: only two looks show whether one runs.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// The most threads that are looked at.
const MAX_THREADS: usize = 64;

/// What a thread does that does not wake; what is more worth saying comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Sleeps,
    /// It waits in the kernel, for a disk or the like.
    Blocked,
    Runs,
    /// A debugger holds it.
    Traced,
    Stopped,
    /// It is ready to run, and has no CPU.
    Ready,
}

/// A thread, as it was found.
#[derive(Debug)]
struct Found {
    tid: u32,
    name: String,
    scheduling: Option<ThreadScheduling>,
    doing: Doing,
}

/// How long no followed thread has woken, and why.
pub(super) struct Patience {
    last: Instant,
    /// Whether any thread has woken yet.
    has_woken: bool,
    /// The CPU time that each thread had used at the last look, in ticks of `/proc`.
    used: HashMap<u32, u64>,
    waiting: Option<Waiting>,
}

impl Patience {
    pub(super) fn begin(selection: &Selection) -> Patience {
        let for_what = format!("waiting for {}", selection.asked().join(", "));
        let waiting = Some(Waiting { for_what, why: None, is_unusual: true });
        Patience { last: Instant::now(), has_woken: false, used: HashMap::new(), waiting }
    }

    /// A thread has woken.
    pub(super) fn woke(&mut self) {
        (self.last, self.has_woken, self.waiting) = (Instant::now(), true, None);
        self.used.clear();
    }

    pub(super) fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// Why the threads did not wake before the end, where that is more than a pause.
    pub(super) fn why_in_the_end(&self) -> Option<&str> {
        let waiting = self.waiting.as_ref().filter(|waiting| waiting.is_unusual)?;
        waiting.why.as_deref()
    }

    /// Looks at the followed threads if none has woken for a while. Called about once a second.
    pub(super) fn look(&mut self, tids: impl FnOnce() -> Vec<u32>, selection: &Selection) {
        let silent = self.last.elapsed();
        if silent < FIRST_LOOK {
            return;
        }
        let tids = tids();
        let all = tids.len();
        let found: Vec<Found> = tids.into_iter().take(MAX_THREADS).filter_map(|tid| self.find(tid)).collect();
        if silent < PATIENCE {
            return;
        }
        let asked = selection.asked().join(", ");
        let for_what = if all == 0 { "nobody to follow yet".to_owned() } else { format!("no wakeup of {asked}") };
        let worst = found.iter().min_by_key(|found| std::cmp::Reverse(found.doing));
        let is_unusual = !self.has_woken || worst.is_some_and(|found| found.doing > Doing::Blocked);
        let begin = since(silent, self.has_woken);
        let why = match worst {
            Some(worst) => format!("{begin}: {}{}", worst.in_words(), beside(all)),
            None => format!("{begin}: nobody is there to follow ({asked})"),
        };
        self.waiting = Some(Waiting { for_what, why: Some(why), is_unusual });
    }

    /// What a thread does; `None` if it has ended, or was not looked at before.
    fn find(&mut self, tid: u32) -> Option<Found> {
        let ThreadStat { name, state, ticks, .. } = ThreadStat::of(tid)?;
        let doing = doing(state, ticks, self.used.insert(tid, ticks))?;
        Some(Found { tid, name, scheduling: ThreadScheduling::of(tid).ok(), doing })
    }
}

fn doing(state: char, used: u64, before: Option<u64>) -> Option<Doing> {
    match state {
        'R' if before? == used => Some(Doing::Ready),
        'R' => Some(Doing::Runs),
        'T' => Some(Doing::Stopped),
        't' => Some(Doing::Traced),
        'D' => Some(Doing::Blocked),
        'Z' | 'X' => None,
        _ => Some(Doing::Sleeps),
    }
}

fn since(silent: Duration, has_woken: bool) -> String {
    let seconds = silent.as_secs();
    if has_woken { format!("no wakeup for {seconds} s") } else { format!("no wakeup yet after {seconds} s") }
}

/// The other threads, to follow what one of them does.
fn beside(all: usize) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        others => format!(" ({} followed)", counted(others, "other thread")),
    }
}

impl Found {
    /// What it does, and what may be done about it.
    fn in_words(&self) -> String {
        let (tid, name) = (self.tid, printable(&self.name));
        let is_reserved = self.scheduling.is_some_and(|scheduling| scheduling.reservation().is_some());
        let scheduling = self.scheduling.map(|scheduling| format!(", {scheduling}")).unwrap_or_default();
        let does = match self.doing {
            Doing::Ready if is_reserved => format!(
                "is ready to run but gets no CPU: its reservation is used up, and the kernel may never renew it (`dmesg` then says \
                 `DL replenish lagged too much`); `chrt --other --pid 0 {tid}` takes the reservation from it"
            ),
            Doing::Ready => {
                "is ready to run but gets no CPU: others go first, or its control group is out of quota; `top -H` shows who runs"
                    .to_owned()
            }
            Doing::Stopped => format!("is stopped: `kill -CONT {tid}` lets it go on"),
            Doing::Traced => "is held by a debugger".to_owned(),
            Doing::Runs => "runs without sleeping, so that nothing has to wake it".to_owned(),
            Doing::Blocked => "waits in the kernel, for a disk or the like (state D)".to_owned(),
            Doing::Sleeps => "sleeps, and nothing has woken it".to_owned(),
        };
        format!("{name} (thread {tid}{scheduling}) {does}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_ready_without_a_cpu_is_told_from_who_runs() {
        for (state, used, before, expected) in [
            ('R', 7, Some(7), Some(Doing::Ready)),
            ('R', 8, Some(7), Some(Doing::Runs)),
            ('R', 8, None, None),
            ('S', 8, None, Some(Doing::Sleeps)),
            ('D', 8, Some(8), Some(Doing::Blocked)),
            ('T', 8, Some(8), Some(Doing::Stopped)),
            ('t', 8, Some(8), Some(Doing::Traced)),
            ('Z', 8, Some(8), None),
        ] {
            assert_eq!(doing(state, used, before), expected, "{state} {used} {before:?}");
        }
    }

    #[test]
    fn what_holds_a_thread_up_is_said_with_its_scheduling_and_a_way_out() {
        let said = |doing, scheduling| {
            Found { tid: 4_711, name: "loop".to_owned(), scheduling: Some(scheduling), doing }.in_words()
        };
        let reserved = said(Doing::Ready, ThreadScheduling::reserved(1_000_000, 10_000_000));
        assert!(
            reserved.starts_with(
                "loop (thread 4711, a reservation of 1.00 ms in every 10.0 ms) is ready to run but gets no CPU: "
            ),
            "{reserved}"
        );
        assert!(reserved.contains("`chrt --other --pid 0 4711`"), "{reserved}");
        let others = said(Doing::Ready, ThreadScheduling::fifo(80));
        assert!(others.starts_with("loop (thread 4711, fifo:80) is ready") && !others.contains("chrt"), "{others}");
        assert!(
            said(Doing::Stopped, ThreadScheduling::fifo(80)).ends_with("is stopped: `kill -CONT 4711` lets it go on")
        );
        assert_eq!(
            since(Duration::from_millis(7_900), false) + &beside(3),
            "no wakeup yet after 7 s (2 other threads followed)"
        );
        assert_eq!(since(PATIENCE, true) + &beside(1), "no wakeup for 5 s");
    }

    #[test]
    fn what_is_waited_for_is_known_until_the_first_wakeup() {
        let mut patience = Patience::begin(&Selection::of_thread(4_711));
        let waiting = patience.waiting().unwrap();
        assert_eq!((waiting.for_what.as_str(), waiting.why.as_deref()), ("waiting for thread 4711", None));
        assert_eq!(patience.why_in_the_end(), None);
        for (is_unusual, expected) in [(true, Some("it is stopped")), (false, None)] {
            let why = Some("it is stopped".to_owned());
            patience.waiting = Some(Waiting { for_what: String::new(), why, is_unusual });
            assert_eq!(patience.why_in_the_end(), expected);
        }
        patience.woke();
        assert_eq!(patience.waiting(), None);
    }
}
