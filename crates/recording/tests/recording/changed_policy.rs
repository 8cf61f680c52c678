//! Threads that change their policy, and threads of one name with different ones.

use punctual_recording::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// Threads of one name, each by its id with the policies under which it ran in turn, and for how many cycles of 1 ms.
type Threads<'a> = &'a [(u32, &'a [(&'a str, u64)])];

fn cycles(threads: Threads<'_>) -> FollowedCycles {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let mut writer = Writer::create(&path, Provenance::default(), Vec::new()).unwrap();
    writer.followed_mut().wakers.push(Waker { kind: WakerKind::Timer, name: "sleep".to_owned(), id: None });
    for &(tid, policies) in threads {
        let mut tasks: BTreeMap<&str, usize> = BTreeMap::new();
        let mut due = MS;
        for &(policy, cycles) in policies {
            let task = *tasks.entry(policy).or_insert_with(|| {
                writer.followed_mut().threads.push(FollowedThread {
                    tid,
                    name: "arm".to_owned(),
                    ..FollowedThread::default()
                });
                let measure = format!("arm {policy}");
                writer.add_task(Task { measure, tid, cpu: None, period_ns: 0, counters: Counters::default() })
            });
            for _ in 0..cycles {
                let (work_ns, woken_by) = (Some(200_000), Some(0));
                let wakeup = Wakeup { tid, expected_ns: due, total_ns: 20_000, work_ns, woken_by, ..Wakeup::default() };
                writer.push(task, &wakeup);
                due += MS;
            }
        }
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 900 * MS }, Vec::new()).unwrap();
    Recording::open(&path).unwrap().followed_cycles(MS).unwrap()
}

fn counted(found: &FollowedCycles) -> Vec<(&str, u64)> {
    found.by_name.iter().map(|(name, count)| (name.as_str(), count.cycles)).collect()
}

#[test]
fn a_thread_s_cycles_count_under_the_policy_with_which_it_woke_most_often() {
    let found = cycles(&[(7, &[("fifo:50", 200), ("other", 150), ("fifo:50", 200), ("other", 150)])]);
    assert_eq!(counted(&found), [("arm fifo:50", 700)]);
    let wakeups: BTreeMap<String, u64> = [("arm fifo:50".to_owned(), 400), ("arm other".to_owned(), 300)].into();
    assert_eq!(found.wakeups_as, [("arm fifo:50".to_owned(), wakeups.clone())].into());
    // Of several recordings they add up.
    let mut sum = found.clone();
    sum.add(&found);
    assert_eq!(counted(&sum), [("arm fifo:50", 1_400)]);
    assert_eq!(sum.wakeups_as["arm fifo:50"]["arm other"], 600);
}

/// As those of cyclictest do, whose measuring thread gives its policy up at its end.
#[test]
fn threads_of_one_name_count_apart_where_their_policies_differ() {
    let found = cycles(&[(7, &[("other", 1), ("fifo:60", 598), ("other", 1)]), (8, &[("other", 500)])]);
    assert_eq!(counted(&found), [("arm fifo:60", 600), ("arm other", 500)]);
    assert_eq!(found.wakeups_as.keys().collect::<Vec<_>>(), ["arm fifo:60"]);
}
