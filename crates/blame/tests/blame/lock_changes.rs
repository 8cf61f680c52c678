//! Locks that go from one to the next while somebody waits, words that are no locks, and locks that are waited for without
//! sleep: nobody is accused of another one's time.

use crate::support::{HOLDER_NOT_SEEN, INTERRUPT, Story, VICTIM, VICTIM_RUNS, in_words, lets_go, on_cpu, parts};
use punctual_blame::{Kind, Who};
use punctual_recording::episode::{
    Event, EventKind, Frame, INTERRUPTED_USER, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, LockWaking, Process, StackSample,
    WakingAct, WordState,
};
use punctual_recording::{Episode, Stage};

const HOLDER: (u32, i16) = (7, 120);
const BARGER: (u32, i16) = (8, 110);
const PLACE: u32 = 0x1234;

/// The victim's activation: due at 1,000 us, in at 1,010, asleep again at 5,000; on CPU 0. On CPU 1 the holder, `other`, has
/// run since 900.
fn response(build: impl FnOnce(&mut Story)) -> Episode {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Response;
    on_cpu(&mut story, 1, (0, 120), |story| {
        story.switch(900, HOLDER, 0, 2);
    });
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    build(&mut story);
    story.switch(5_000, HOLDER, 1, 2);
    story.episode
}

/// The waits for locks: name, ns and how much of it is unknown; by name.
fn locks(episode: &Episode) -> Vec<(Who, u64, u64)> {
    let parts = parts(episode).into_iter().filter(|part| part.kind == Kind::Lock);
    let mut locks: Vec<_> = parts.map(|part| (part.who, part.ns, part.unknown_ns)).collect();
    locks.sort();
    locks
}

fn unknown(episode: &Episode) -> Vec<(String, u64)> {
    let parts = parts(episode).into_iter().filter(|part| part.kind == Kind::Unknown);
    parts.map(|part| (part.who.to_string(), part.ns)).collect()
}

/// The holder lets the lock go to the barger, which is awake and wakes the victim with it in the end: each had its time.
#[test]
fn who_let_the_lock_go_in_between_held_it_until_then() {
    let episode = response(|story| {
        story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
        on_cpu(story, 1, HOLDER, |story| {
            story.event(3_500, EventKind::Waking, 0, u64::from(BARGER.0), lets_go(PLACE).bits() | 110, 2);
            story.switch(3_505, BARGER, 1, 3);
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 3);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(locks(&episode), [("first".into(), 1_000_000, 0), ("other".into(), 2_000_000, 0)]);
    // Another lock went from hand to hand.
    let episode = response(|story| {
        story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
        on_cpu(story, 1, HOLDER, |story| {
            story.event(3_500, EventKind::Waking, 0, u64::from(BARGER.0), lets_go(PLACE + 1).bits() | 110, 2);
            story.switch(3_505, BARGER, 1, 3);
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 3);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(
        locks(&episode).iter().map(|(name, ns, _)| (name.name(), *ns)).collect::<Vec<_>>(),
        [("first", 3_000_000)]
    );
}

/// Locks that lie a whole number of MiB apart, as those of the C library's heaps, have the same place. Whoever has one of them does not let
/// the other one go.
#[test]
fn another_lock_of_the_same_place_is_not_the_one_that_is_waited_for() {
    for (left, of_other) in [(0, 0), (1, 0), (LEFT_FOR_LOCK | 1, 1_000_000)] {
        let episode = response(|story| {
            story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
            on_cpu(story, 1, HOLDER, |story| {
                story.event(2_500, EventKind::Waking, 0, u64::from(BARGER.0), lets_go(PLACE).bits() | 110, 2);
                story.switch(2_505, BARGER, 0, 3);
                // It has the lock that it was woken for, or finds it taken by the one that lets it go next.
                story.switch(3_000, (9, 120), left, 4);
                story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 4);
            });
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        });
        let told = locks(&episode);
        let ns = |name: &str| told.iter().filter(|(who, ..)| who.name() == name).map(|(_, ns, _)| ns).sum::<u64>();
        assert_eq!((ns("other"), ns("spin_fn")), (of_other, 2_000_000 - of_other), "{left:#x}: {told:?}");
    }
}

/// The holder waits for another lock of the same place itself, until 3,000 us. Were it the one that the victim waits for, the victim would have been
/// woken then, unless the holder goes before it in the queue.
#[test]
fn a_lock_that_the_holder_waits_for_itself_is_another_one() {
    for (priority, of_other) in [(120, 3_000_000), (10, 1_500_000)] {
        let episode = response(|story| {
            story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
            on_cpu(story, 1, (HOLDER.0, priority), |story| {
                story.switch(2_000, (9, 120), LEFT_FOR_LOCK | 1, 4);
                story.event(3_000, EventKind::Waking, 0, u64::from(HOLDER.0), lets_go(PLACE).bits() | 120, 4);
                story.switch(3_005, HOLDER, 1, 2);
                story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
            });
            story.switch(4_505, VICTIM_RUNS, 0, 1);
        });
        let told = locks(&episode);
        let ns = |name: &str| told.iter().filter(|(who, ..)| who.name() == name).map(|(_, ns, _)| ns).sum::<u64>();
        assert_eq!((ns("other"), ns("spin_fn")), (of_other, 3_000_000 - of_other), "{told:?}");
    }
}

/// The lock goes to one that came later and is lent a priority meanwhile, or has the earlier deadline: it goes first.
#[test]
fn a_lock_goes_to_whoever_is_first_when_it_is_let_go() {
    let unlocks = LockWaking { act: WakingAct::UnlocksWord, ..lets_go(PLACE) }.bits();
    for (mine, theirs, lent) in [(19_i16, 120_i16, 10_i16), (-1, -1, -1)] {
        let episode = response(|story| {
            story.current = (VICTIM, mine);
            story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
            on_cpu(story, 1, HOLDER, |story| {
                story.switch(1_200, (BARGER.0, theirs), 0, 3).switch(2_000, HOLDER, LEFT_FOR_LOCK | 1, 2);
                story.event(3_000, EventKind::Waking, 0, u64::from(BARGER.0), unlocks | u64::from(lent as u16), 2);
                story.switch(3_005, (BARGER.0, lent), 1, 3);
                story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), unlocks | 19, 3);
            });
            story.switch(4_505, VICTIM_RUNS, 0, 1);
        });
        let told = locks(&episode);
        let ns = |name: &str| told.iter().filter(|(who, ..)| who.name() == name).map(|(_, ns, _)| ns).sum::<u64>();
        assert_eq!((ns("other"), ns("first")), (1_500_000, 1_500_000), "{told:?}");
    }
}

/// Words of two programs at one place, which is not that of a shared word.
#[test]
fn a_lock_of_another_program_is_another_one() {
    let mut episode = response(|story| {
        story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
        on_cpu(story, 1, HOLDER, |story| {
            story.switch(2_000, (9, 120), 0, 4);
            story.event(3_000, EventKind::Waking, 0, u64::from(BARGER.0), lets_go(PLACE).bits() | 110, 4);
            story.switch(3_005, HOLDER, 0, 2);
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    let names = |episode: &Episode| locks(episode).into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
    assert_eq!(names(&episode), [Who::from("other"), Who::from("spin_fn")]);
    let process = |number, threads: &[u32]| Process { number, name: "program".into(), threads: threads.to_vec() };
    episode.processes = vec![process(7, &[HOLDER.0, VICTIM]), process(8, &[BARGER.0, 9])];
    assert_eq!(names(&episode), [Who::from("other")]);
}

/// Until 3,000 us the barger tried to have the lock and gave up: whoever held it till then, it did not.
#[test]
fn who_tried_in_vain_did_not_hold_it() {
    let vain = LockWaking { act: WakingAct::Else, same_word: None, state: WordState::NotRead, ..lets_go(PLACE) };
    let episode = response(|story| {
        story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
        on_cpu(story, 1, BARGER, |story| {
            for at_us in [2_000, 3_000] {
                story.event(at_us, EventKind::Waking, INTERRUPT, u64::from(BARGER.0), vain.bits() | 110, 3);
            }
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 3);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    let told = locks(&episode);
    assert_eq!(told, [("first".into(), 1_500_000, 0), (HOLDER_NOT_SEEN, 1_500_000, 1_500_000)]);
    let part = parts(&episode).into_iter().find(|part| part.who == HOLDER_NOT_SEEN).unwrap();
    assert_eq!(in_words(&part.detail).as_deref(), Some("before first had it"));
}

/// The holder lets the lock go to the barger, which gets no CPU; it waits for its next request until 3,100 us, and then takes the lock again: in between
/// nobody had it. If the barger has looked before that, and sleeps on, it was the holder's, as far as that tells.
#[test]
fn a_lock_that_was_let_go_is_not_its_holders_while_that_waits_for_something_else() {
    for (left, looks_us, free_ns) in [
        (Some(1), Some(3_300), 1_100_000),
        (Some(1), None, 1_100_000),
        (Some(1), Some(2_100), 0),
        // It has worked, or waited for a page: it may have had the lock all the time.
        (None, None, 0),
        (Some(LEFT_UNINTERRUPTIBLE), Some(3_300), 0),
    ] {
        let episode = response(|story| {
            story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
            on_cpu(story, 1, HOLDER, |story| {
                story.event(2_000, EventKind::Waking, 0, u64::from(BARGER.0), lets_go(PLACE).bits() | 110, 2);
                if let Some(left) = left {
                    story.switch(2_200, (9, 120), left, 4);
                    story.event(3_000, EventKind::Waking, 0, u64::from(HOLDER.0), 120, 4);
                    story.switch(3_100, HOLDER, 1, 2);
                }
                story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
            });
            if let Some(looks_us) = looks_us {
                on_cpu(story, 2, (0, 120), |story| {
                    story.switch(looks_us, BARGER, 0, 3).switch(looks_us + 10, (0, 120), LEFT_FOR_LOCK | 1, 0);
                });
            }
            story.switch(4_505, VICTIM_RUNS, 0, 1);
        });
        let told = locks(&episode);
        let ns = |is_it: &dyn Fn(&Who) -> bool| -> u64 {
            told.iter().filter(|(who, ..)| is_it(who)).map(|(_, ns, _)| ns).sum()
        };
        let found = (ns(&|who| *who == HOLDER_NOT_SEEN), ns(&|who| who.name() == "other"));
        assert_eq!(found, (free_ns, 3_000_000 - free_ns), "{left:?} {looks_us:?}: {told:?}");
    }
}

/// The word is never seen as in a free lock: a caller has written a job's number there.
#[test]
fn a_word_that_was_never_free_may_be_no_lock() {
    let held = LockWaking { state: WordState::Held, ..lets_go(PLACE) };
    let woken = |before: Option<LockWaking>, told: LockWaking, context: u32| {
        response(|story| {
            story.switch(1_500, (0, 120), LEFT_FOR_LOCK | 1, 0);
            on_cpu(story, 1, HOLDER, |story| {
                if let Some(before) = before {
                    story.event(1_100, EventKind::Waking, 0, u64::from(BARGER.0), before.bits() | 110, 2);
                }
                story.event(3_500, EventKind::Waking, context, u64::from(VICTIM), told.bits() | 19, 2);
            });
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let alone = woken(None, held, 0);
    assert_eq!(locks(&alone), []);
    assert_eq!(unknown(&alone), [("it waited for a word of other, which may be no lock".to_owned(), 2_000_000)]);
    // The same word is seen free: another one was faster then.
    let lock = [("other".into(), 2_000_000, 0)];
    assert_eq!(locks(&woken(Some(lets_go(PLACE)), held, 0)), lock);
    assert_eq!(locks(&woken(Some(lets_go(PLACE + 1)), held, 0)), []);
    // Its owner stands in it.
    assert_eq!(locks(&woken(None, LockWaking { owner: HOLDER.0, ..held }, 0)), lock);
    // Nobody came until the patience ended, and it was no lock before.
    let in_vain = LockWaking { act: WakingAct::Else, same_word: None, state: WordState::NotRead, ..lets_go(PLACE) };
    assert_eq!(locks(&woken(Some(held), in_vain, INTERRUPT)), []);
    let not_seen = [(HOLDER_NOT_SEEN, 2_000_000, 2_000_000)];
    assert_eq!(locks(&woken(None, in_vain, INTERRUPT)), not_seen);
    assert_eq!(locks(&woken(Some(lets_go(PLACE)), in_vain, INTERRUPT)), not_seen);
}

const SPINS: [&str; 4] = ["rwsem_spin_on_owner", "rwsem_down_write_slowpath", "down_write", "ext4_file_write_iter"];

const WORKS: [&str; 2] = ["copy_from_user", "ext4_file_write_iter"];

fn own(episode: &Episode) -> u64 {
    parts(episode).iter().filter(|part| part.kind == Kind::Own).map(|part| part.ns).sum()
}

#[test]
fn spinning_in_the_kernel_is_the_lock_and_not_the_threads_own_work() {
    // It waits for whom it sees running: on the other CPU that is one thread.
    let episode = response(|story| {
        story.sampled(&[2_000, 2_500, 3_000], &SPINS);
        story.sampled(&[3_500, 4_000, 4_500], &WORKS);
    });
    assert_eq!(locks(&episode).iter().map(|(who, ..)| who.name()).collect::<Vec<_>>(), ["other"]);
    // From the first stack to the last one; after that from the first one that shows something else on.
    assert!((995_000..=1_000_000).contains(&locks(&episode)[0].1), "{:?}", locks(&episode));
    assert!((1_490_000..=1_500_000).contains(&own(&episode)), "{}", own(&episode));
    let part = parts(&episode).into_iter().find(|part| part.kind == Kind::Lock).unwrap();
    assert_eq!(in_words(&part.detail).as_deref(), Some("rwsem_spin_on_owner"));
    // Two ran there, one after the other: nobody is accused.
    let two = response(|story| {
        on_cpu(story, 1, HOLDER, |story| {
            story.switch(2_200, BARGER, 0, 3);
        });
        story.sampled(&[2_000, 2_500, 3_000], &SPINS);
    });
    let names: Vec<_> = locks(&two).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [HOLDER_NOT_SEEN]);
    // Work in the kernel is work.
    let works = response(|story| story.sampled(&[2_000, 2_500, 3_000], &WORKS));
    assert_eq!(locks(&works), []);
}

/// Nothing says what the thread did before and after it was seen to spin.
#[test]
fn what_no_stack_saw_beside_a_spin_is_neither_work_nor_the_lock() {
    const DOUBT: &str = "no stack says whether it waited for a lock";
    let told = |spins: &[u64], works: &[u64], in_program_us: Option<u64>| {
        let episode = response(|story| {
            story.sampled(spins, &SPINS);
            story.sampled(works, &WORKS);
            if let Some(at_us) = in_program_us {
                story.event(at_us, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 1);
                story.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 2, 0, 1);
            }
        });
        let doubt = unknown(&episode).into_iter().find(|(why, _)| why == DOUBT).map_or(0, |(_, ns)| ns);
        (locks(&episode).iter().map(|(_, ns, _)| ns / 1_000).sum::<u64>(), doubt / 1_000, own(&episode) / 1_000)
    };
    // From what was seen before to the first stack, and from the last one to what was seen next.
    assert_eq!(told(&[3_000, 3_400], &[1_400, 4_400], None), (399, 1_599 + 999, 390 + 599));
    // That it is in its program says what it does as well.
    assert_eq!(told(&[3_000, 3_400], &[1_400, 4_400], Some(2_200)), (399, 799 + 999, 390 + 799 + 599));
    // Two spins between which it was there are two.
    let (spins, works) = ([1_800, 2_000, 2_400, 2_500], [1_500, 3_000, 3_500, 4_000, 4_500]);
    assert_eq!(told(&spins, &works, None).0, 199 + 399 + 99);
    assert_eq!(told(&spins, &works, Some(2_300)).0, 199 + 99);
}

/// It spins, gives up, sleeps, and is woken by whoever had the lock: all that is one wait.
#[test]
fn spinning_before_a_sleep_is_for_whoever_ends_the_sleep() {
    let build = |away_us: u64, others: &[Event]| {
        response(|story| {
            on_cpu(story, 1, HOLDER, |story| {
                story.switch(away_us, BARGER, 0, 3);
                story.switch(2_800, HOLDER, 0, 2);
            });
            story.sampled(&[1_500, 2_000], &SPINS);
            story.event(2_700, EventKind::LockBegin, 0, 0xffff_0000, 4, 0);
            story.switch(2_710, (0, 120), LEFT_UNINTERRUPTIBLE, 0);
            on_cpu(story, 1, HOLDER, |story| {
                story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            });
            story.switch(4_010, VICTIM_RUNS, 0, 1);
            story.event(4_011, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
            story.episode.events.extend_from_slice(others);
        })
    };
    let episode = build(2_100, &[]);
    let told = locks(&episode);
    assert_eq!(told.iter().map(|(who, ..)| who.name()).collect::<Vec<_>>(), ["other"], "{told:?}");
    assert!(told[0].1 > 2_490_000, "{told:?}");
    // Another one had the same lock meanwhile: of whose spinning it was is not known.
    let had = Event {
        at_ns: 2_400_000,
        cpu: 1,
        kind: EventKind::LockEnd,
        tid: 9,
        priority: 120,
        context: 0,
        steal_ns: 1,
        value: 0xffff_0000,
        extra: 0,
        name: 0,
    };
    let names: Vec<_> = locks(&build(2_100, &[had])).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [HOLDER_NOT_SEEN, "other".into()]);
    // A stack shows it spinning, as one does only while the holder runs, at 2,000 us, and whoever woke it in the end did not run then.
    let names: Vec<_> = locks(&build(1_900, &[])).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [HOLDER_NOT_SEEN, "other".into()]);
}

/// Threads that ran meanwhile, and did not have the lock for which the victim spins, or not all the time.
#[test]
fn who_ran_alone_while_another_one_spun_may_not_have_had_the_lock() {
    let names = |build: &dyn Fn(&mut Story)| {
        let told = locks(&response(|story| build(story)));
        told.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
    };
    let spins = |story: &mut Story| story.sampled(&[2_000, 2_500, 3_000], &SPINS);
    assert_eq!(names(&spins), [Who::from("other")]);
    // The lock went from the one to the other on CPU 1; a bystander runs on CPU 2 all the time.
    let handed_over = |story: &mut Story| {
        let begin = story.episode.events.len();
        on_cpu(story, 1, (0, 120), |story| {
            story.switch(950, (9, 120), 0, 4);
        });
        story.episode.events[begin..].iter_mut().for_each(|event| event.cpu = 2);
        on_cpu(story, 1, HOLDER, |story| {
            story.switch(2_200, BARGER, 0, 3);
        });
        spins(story);
    };
    assert_eq!(names(&handed_over), [HOLDER_NOT_SEEN]);
    // The holder lost its CPU to one in real time while the host did not run the victim's CPU, so that it saw nothing of that.
    let stands_still = |story: &mut Story| {
        on_cpu(story, 1, HOLDER, |story| {
            story.switch(2_000, (9, 9), 0, 4);
        });
        story.sampled(&[4_000, 4_300], &SPINS);
    };
    assert_eq!(names(&stands_still), [HOLDER_NOT_SEEN]);
    // The one that ran waits for such a lock itself.
    let waits_too = |story: &mut Story| {
        spins(story);
        story.sampled(&[2_300], &["osq_lock", "rwsem_down_write_slowpath"]);
        let of_other = story.episode.samples.last_mut().unwrap();
        (of_other.tid, of_other.cpu) = (HOLDER.0, 1);
    };
    assert_eq!(names(&waits_too), [HOLDER_NOT_SEEN]);
}

/// It was a normal thread as the last event before came, and goes before the victim as the next one comes.
#[test]
fn a_thread_that_was_given_the_higher_priority_has_it() {
    let mut story = Story::new((7, 120), 5_000);
    story.timer(1_002, 0);
    story.current = (7, 9);
    story.event(3_000, EventKind::VectorBegin, INTERRUPT, 1, 0xffff, 2);
    story.event(3_001, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    // It lets itself sink.
    story.current = (7, 120);
    story.switch(4_990, VICTIM_RUNS, 0, 1);
    let part = &parts(&story.episode)[0];
    assert_eq!((part.kind, part.who.name()), (Kind::HigherPriority, "other"));
    assert!(part.ns > 3_970_000, "{part:?}");
}

/// Nothing tells who read the clock.
#[test]
fn what_the_kernel_lends_to_read_the_clock_is_no_culprit_where_its_caller_is_not_seen() {
    let mut story = Story::new((7, 9), 5_000);
    story.timer(1_002, 0);
    let frame = |function: &str, module: &str| Frame { function: function.into(), module: module.into() };
    story.episode.frames = vec![
        frame("[vdso]+0xb46", "[vdso]"),
        frame("0x7f9885095b46", "unmapped"),
        frame("__clock_gettime", "/lib/libc.so.6"),
        frame("wait_for_it", "/bin/other"),
    ];
    story.switch(4_990, VICTIM_RUNS, 0, 1);
    let mut told = |frames: Vec<u32>| {
        let sample =
            StackSample { at_ns: 2_000_000, cpu: 0, tid: 7, context: 0, at_late_interrupt: false, name: 2, frames };
        story.episode.samples = vec![sample];
        let part = parts(&story.episode).swap_remove(0);
        assert_eq!((part.kind, part.who.name()), (Kind::HigherPriority, "other"));
        in_words(&part.detail)
    };
    assert_eq!(told(vec![0]), None);
    assert_eq!(told(vec![1]), None);
    assert_eq!(told(vec![0, 2]).as_deref(), Some("__clock_gettime"));
    assert_eq!(told(vec![0, 2, 3]).as_deref(), Some("wait_for_it"));
    assert_eq!(told(vec![1, 3]).as_deref(), Some("wait_for_it"));
}

/// The victim sleeps for a lock of the kernel that the barger, which waited for it too, got first, at 3,000 us: it wakes the victim.
fn queued(lets_barger_in: bool, barger_waits: u64) -> Episode {
    response(|story| {
        story.event(1_900, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
        story.switch(1_910, (0, 120), LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, BARGER, |story| {
            story.event(1_950, EventKind::LockBegin, 0, barger_waits, 1 << 5, 0);
            story.switch(1_960, HOLDER, LEFT_UNINTERRUPTIBLE, 2);
            if lets_barger_in {
                story.event(2_990, EventKind::Waking, 0, u64::from(BARGER.0), 19, 2);
            }
            story.switch(2_995, BARGER, 1, 3);
            story.event(3_000, EventKind::LockEnd, 0, barger_waits, 0, 0);
            story.event(3_100, EventKind::Waking, 0, u64::from(VICTIM), 19, 3);
        });
        story.switch(3_110, VICTIM_RUNS, 0, 1);
        story.event(3_111, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
    })
}

#[test]
fn who_had_a_lock_of_the_kernel_before_the_next_in_its_queue_is_named_for_that_time() {
    let ns = |episode: &Episode, name: &Who| -> u64 {
        locks(episode).iter().filter(|(who, ..)| who == name).map(|(_, ns, _)| ns).sum()
    };
    let told = queued(true, 0xffff_0000);
    assert_eq!((ns(&told, &"other".into()), ns(&told, &"first".into())), (1_090_000, 100_000), "{:?}", locks(&told));
    // It got the lock and nobody was seen to let it in; nor is it seen who had it on the way to the sleep and from it.
    let told = queued(false, 0xffff_0000);
    let unseen = ns(&told, &HOLDER_NOT_SEEN);
    assert_eq!((unseen, ns(&told, &"first".into())), (1_090_000 + 11_000, 100_000), "{:?}", locks(&told));
    // What it got was another lock. The way to the sleep and from it counts, too.
    let told = queued(true, 0xffff_0040);
    assert_eq!(ns(&told, &"first".into()), 1_190_000 + 11_000, "{:?}", locks(&told));
}

/// The first in the queue, `first`, is woken in vain at 2,500 us: thread 9, `spin_fn`, has been faster, and lets it in at last. Until then
/// whoever woke it in vain had the lock.
#[test]
fn who_takes_a_lock_of_the_kernel_before_the_first_in_its_queue_had_it_only_from_then_on() {
    const THIEF: (u32, i16) = (9, 120);
    let episode = response(|story| {
        story.event(1_900, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
        story.switch(1_910, (0, 120), LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, BARGER, |story| {
            story.event(1_950, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
            story.switch(1_960, HOLDER, LEFT_UNINTERRUPTIBLE, 2);
            story.event(2_500, EventKind::Waking, 0, u64::from(BARGER.0), 110, 2);
            story.switch(2_510, BARGER, 0, 3).switch(2_520, THIEF, LEFT_UNINTERRUPTIBLE, 4);
            story.event(2_990, EventKind::Waking, 0, u64::from(BARGER.0), 110, 4);
            story.switch(2_995, BARGER, 1, 3);
            story.event(3_000, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
            story.event(3_100, EventKind::Waking, 0, u64::from(VICTIM), 19, 3);
        });
        story.switch(3_110, VICTIM_RUNS, 0, 1);
        story.event(3_111, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
    });
    let told = locks(&episode);
    let ns = |name: &str| told.iter().filter(|(who, ..)| who.name() == name).map(|(_, ns, _)| ns).sum::<u64>();
    assert_eq!((ns("other"), ns("spin_fn"), ns("first")), (590_000, 500_000, 100_000), "{told:?}");
}
