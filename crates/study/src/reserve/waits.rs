//! Threads of the program that the chosen one waits for.

use punctual_kernel::other_thread::{ThreadScheduling, family, threads_of};
use punctual_recording::{Followed, WakerKind, counted};
use std::collections::{BTreeMap, HashSet};

/// Fewer wakeups by a thread are no habit.
const MIN_WAKEUPS: u64 = 3;

/// What woke threads while they were followed, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Wakings(BTreeMap<u32, OfThread>);

#[derive(Debug, Default)]
struct OfThread {
    name: String,
    /// All its wakeups of which it is known what woke it.
    all: u64,
    /// Those by another thread, by that one's number: its name, and how many.
    by: BTreeMap<u32, (String, u64)>,
}

impl Wakings {
    /// Takes what a recording says of it.
    pub(super) fn take(&mut self, followed: Option<&Followed>) {
        let Some(followed) = followed else { return };
        for thread in &followed.threads {
            let of = self.0.entry(thread.tid).or_default();
            of.name.clone_from(&thread.name);
            of.all += thread.woken_by.values().sum::<u64>();
            let mut named = HashSet::new();
            // Counts are by name: the first of several threads with one name stands for them.
            for waker in followed.wakers.iter().filter(|waker| waker.kind == WakerKind::Thread) {
                let shown = waker.to_string();
                let (Some(id), Some(&count)) = (waker.id, thread.woken_by.get(&shown)) else { continue };
                if named.insert(shown) {
                    of.by.entry(id).or_insert_with(|| (waker.name.clone(), 0)).1 += count;
                }
            }
        }
    }

    /// Says for which ordinary thread of its program this thread waits, if it does; `is_chosen`: whether another one gets a reservation, too.
    pub(super) fn in_words(&self, tid: u32, process: u32, is_chosen: &dyn Fn(u32) -> bool) -> Option<String> {
        // Of several programs whose threads get reservations, this may be another one's: those of the thread's own process are known anyhow.
        let own: HashSet<u32> = family(process).into_iter().chain([tid]).flat_map(threads_of).collect();
        let is_ordinary = |id: u32| ThreadScheduling::of(id).is_ok_and(|scheduling| scheduling.nice().is_some());
        self.told(tid, &|id| own.contains(&id) && !is_chosen(id) && is_ordinary(id))
    }

    /// The same, where `is_without` says who is a thread of the program without a reservation.
    fn told(&self, tid: u32, is_without: &dyn Fn(u32) -> bool) -> Option<String> {
        let OfThread { name, all, by } = self.0.get(&tid)?;
        let often = |count: u64| count >= MIN_WAKEUPS && count.saturating_mul(100) >= *all;
        let others = by.iter().filter(|(id, (_, count))| often(*count) && is_without(**id));
        let (id, (other, count)) = others.max_by_key(|(_, (_, count))| *count)?;
        Some(format!(
            "`{name}` waits for `{other}` ({id}), a thread of the program without a reservation, which woke it in {count} of {}. If \
             others keep that one from the CPU, the work of both is late, and no job of `{name}` counts as late for that.",
            counted(*all, "wakeup")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{FollowedThread, Waker};

    /// What a recording says of thread 7, which these woke so often: threads by number and name.
    fn followed(woken: &[(u32, &str, u64)], by_timer: u64) -> Followed {
        let waker = |kind, name: &str, id| Waker { kind, name: name.to_owned(), id };
        let mut wakers = vec![waker(WakerKind::Timer, "sleep", None)];
        wakers.extend(woken.iter().map(|(id, name, _)| waker(WakerKind::Thread, name, Some(*id))));
        let mut woken_by: BTreeMap<String, u64> =
            woken.iter().map(|(_, name, count)| (format!("thread {name}"), *count)).collect();
        woken_by.insert("timer sleep".to_owned(), by_timer);
        let thread = FollowedThread { tid: 7, name: "eater".to_owned(), woken_by, ..FollowedThread::default() };
        Followed { threads: vec![thread], wakers, ..Followed::default() }
    }

    #[test]
    fn a_thread_of_the_program_that_wakes_the_chosen_one_is_told() {
        let told = |woken: &[(u32, &str, u64)], by_timer, is_without: &dyn Fn(u32) -> bool| {
            let mut wakings = Wakings::default();
            wakings.take(None);
            wakings.take(Some(&followed(woken, by_timer)));
            wakings.take(Some(&followed(woken, by_timer)));
            assert_eq!(wakings.told(8, is_without), None);
            wakings.told(7, is_without)
        };
        let anybody = |_: u32| true;
        let pipe = told(&[(9, "feeder", 125)], 0, &anybody).unwrap();
        let says = "`eater` waits for `feeder` (9), a thread of the program without a reservation, which woke it in 250 of 250 \
                    wakeups. If others keep that one from the CPU, the work of both is late, and no job of `eater` counts as late \
                    for that.";
        assert_eq!(pipe, says);
        let lock = told(&[(9, "main", 12), (10, "other", 30)], 117, &|id| id == 9).unwrap();
        assert!(lock.contains("`main` (9)") && lock.contains("in 24 of 318 wakeups."), "{lock}");
        // It is not of the program, has a reservation, or woke it once.
        assert_eq!(told(&[(9, "feeder", 125)], 0, &|_| false), None);
        assert_eq!(told(&[(9, "main", 1)], 100, &anybody), None);
        assert_eq!(told(&[(9, "main", 3)], 1_000, &anybody), None);
        assert_eq!(told(&[], 100, &anybody), None);
    }
}
