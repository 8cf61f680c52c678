//! What a thread waits for is told by name: the disk and whose requests it served, the file of a page.

use crate::support::{INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, in_words, parts_of_response};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{EventKind, IN_SOFTIRQ, LEFT_FOR_IO, LEFT_UNINTERRUPTIBLE};

const IO: u32 = LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE;

/// Names of the story from number 5 on: a disk, another one, a file.
fn parts_of(build: impl FnOnce(&mut Story)) -> Vec<Part> {
    parts_of_response(["vda", "vdb", "/var/data"], build)
}

/// The victim asks the disk for something and sleeps until it is there; `other` has asked it for more before, of which the
/// last is done at this time, on this disk.
fn waits(its_begins: bool, last_done_us: u64, disk: u32) -> (String, Option<String>) {
    let parts = parts_of(|story| {
        for (number, at_us) in [(1, 1_020), (2, 1_030)] {
            story.current = OTHER;
            // When it is made, and once more when it goes out, on behalf of a worker.
            story.event(at_us, EventKind::RequestBegin, 0, number, 512 << 10, 2);
            story.current = (9, 120);
            story.event(at_us + 5, EventKind::RequestBegin, 0, number, 512 << 10, 3);
            story.current = VICTIM_RUNS;
        }
        if its_begins {
            story.event(1_400, EventKind::RequestBegin, 0, 3, 4096, 1);
        }
        story.switch(1_500, OTHER, IO, 2);
        story.event(2_000, EventKind::RequestEnd, INTERRUPT, 1, 0, disk);
        story.event(2_500, EventKind::RequestEnd, INTERRUPT, 2, 0, disk);
        story.event(last_done_us, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let part = parts.into_iter().find(|part| part.kind == Kind::Io).unwrap();
    assert_eq!(part.ns, 2_000_000);
    (part.who.to_string(), in_words(&part.detail))
}

#[test]
fn a_wait_for_a_disk_names_it_and_whose_requests_it_served_first() {
    let behind = Some("after 2 requests of other, 1024 KiB".to_owned());
    assert_eq!(waits(true, 3_490, 5), ("vda".to_owned(), behind.clone()));
    // Whose the last one was, was not seen: it waited for something like the journal.
    assert_eq!(waits(false, 3_490, 5), ("vda".to_owned(), behind));
    // One alone, which is what it waited for: nobody went before.
    let parts = parts_of(|story| {
        story.current = OTHER;
        story.event(1_400, EventKind::RequestBegin, 0, 3, 4096, 2);
        story.current = VICTIM_RUNS;
        story.switch(1_500, OTHER, IO, 2);
        story.event(3_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let io = parts.iter().find(|part| part.kind == Kind::Io).unwrap();
    assert_eq!((io.who.name(), in_words(&io.detail).as_deref()), ("vda", Some("by a request of other, 4 KiB")));
    // The others' went to another disk.
    assert_eq!(waits(true, 3_490, 6), ("vda".to_owned(), Some("woken by ?".to_owned())));
    // It was done long before the waking: something else woke it.
    assert_eq!(waits(true, 2_490, 5).0, "?");
}

#[test]
fn a_page_that_takes_long_is_told_with_its_file() {
    let parts = parts_of(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 7);
        story.switch(2_010, OTHER, IO, 2);
        story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    let part = parts.iter().find(|part| part.kind == Kind::Fault).unwrap();
    assert_eq!((part.ns, in_words(&part.detail).as_deref()), (990_000, Some("/var/data")));
}

#[test]
fn a_page_from_a_disk_is_told_with_it() {
    let parts = parts_of(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 7);
        story.event(2_005, EventKind::RequestBegin, 0, 3, 4096, 1);
        story.switch(2_010, OTHER, IO, 2);
        story.event(2_895, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    let part = parts.iter().find(|part| part.kind == Kind::Fault).unwrap();
    assert_eq!((part.ns, in_words(&part.detail).as_deref()), (990_000, Some("/var/data from vda")));
}

/// The time with a CPU within the fault too: to ask a disk for something may take longer than the disk does.
#[test]
fn all_of_a_fault_is_told_with_its_disk() {
    let told = |from_disk: bool| {
        let parts = parts_of(|story| {
            story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
            if from_disk {
                story.event(2_805, EventKind::RequestBegin, 0, 3, 4096, 1);
            }
            story.switch(2_810, OTHER, IO, 2);
            story.event(2_895, EventKind::RequestEnd, INTERRUPT, 3, 0, if from_disk { 5 } else { 0 });
            story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
            story.switch(2_910, VICTIM_RUNS, 0, 1);
            story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
        });
        let part = parts.into_iter().find(|part| part.kind == Kind::Fault).unwrap();
        (part.ns, in_words(&part.detail))
    };
    assert_eq!(told(true), (990_000, Some("a page from vda".to_owned())));
    assert_eq!(told(false), (990_000, None));
}

/// Somebody asks for something that a worker hands on at 2,500 us, in a work item of this name; it is done at 3,490, and as part of that
/// the victim is woken, or by something else.
fn handed_on(work: &str, limit: Option<&str>, anothers: Option<&str>, is_certain: bool) -> Vec<Part> {
    parts_of(|story| {
        story.episode.names.extend([work.to_owned(), anothers.unwrap_or("none").to_owned()]);
        story.episode.disk_limit = limit.map(str::to_owned);
        let account = if anothers.is_some() { 10 << 32 } else { 0 };
        story.switch(1_500, OTHER, IO, 2);
        story.event(2_499, EventKind::WorkBegin, 0, 0, 0, 8);
        story.event(2_500, EventKind::RequestBegin, 0, 3, account | 65_536, 2);
        story.event(2_501, EventKind::WorkEnd, 0, 0, 0, 0);
        story.event(3_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        if !is_certain {
            story.event(3_491, EventKind::HandlerEnd, INTERRUPT, 3, 0, 0);
        }
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    })
}

const LETS_GO_ON: &str = "blk_throtl_dispatch_work_fn";

#[test]
fn what_the_limit_of_a_group_holds_back_is_the_limits_until_it_goes_on() {
    let parts = handed_on(LETS_GO_ON, Some("/limited"), None, false);
    let held = parts.iter().find(|part| part.kind == Kind::Throttled).unwrap();
    let words = "the limit of its control group for vda";
    assert_eq!((held.who.name(), held.ns, in_words(&held.detail).as_deref()), ("/limited", 1_000_000, Some(words)));
    let served = parts.iter().find(|part| part.kind == Kind::Io).unwrap();
    assert_eq!((served.who.name(), served.ns), ("vda", 1_000_000));
    // Another work item hands on what nobody held back; and it may have been another request that was held back.
    let mut innocent = 0;
    for (work, limit, anothers) in [
        ("loop_workfn", Some("/limited"), None),
        (LETS_GO_ON, None, None),
        (LETS_GO_ON, None, Some("/slow")),
        (LETS_GO_ON, Some("/limited"), Some("/slow")),
    ] {
        let parts = handed_on(work, limit, anothers, work != LETS_GO_ON);
        assert!(parts.iter().all(|part| part.kind != Kind::Throttled), "{parts:?}");
        let io = parts.iter().find(|part| part.kind == Kind::Io).unwrap();
        let names_somebody = in_words(&io.detail).is_some_and(|detail| detail.contains("request of"));
        assert_eq!((io.ns, names_somebody), (2_000_000, work != LETS_GO_ON), "{io:?}");
        innocent += 1;
    }
    assert_eq!(innocent, 4);
}

/// Whoever had asked for the same before, as for a page, is under a limit; the victim waits for that.
#[test]
fn what_anothers_limit_holds_back_is_that_groups() {
    for (own, group) in [(None, "/slow"), (Some("/limited"), "/slow"), (Some("/slow"), "/slow")] {
        let parts = handed_on(LETS_GO_ON, own, Some(group), true);
        let held = parts.iter().find(|part| part.kind == Kind::Throttled).unwrap();
        assert_eq!((held.who.name(), held.ns), (group, 1_000_000));
        let words = in_words(&held.detail).unwrap();
        assert_eq!(words.contains("another control group"), own != Some(group), "{words}");
    }
    // Held back it was; by whose limit is not known.
    let parts = handed_on(LETS_GO_ON, None, None, true);
    assert_eq!(parts.iter().find(|part| part.kind == Kind::Throttled).unwrap().who.name(), "a control group");
}

const JOURNAL: (u32, i16) = (11, 120);
const WRITER: (u32, i16) = (12, 120);

/// The victim waits from 1,500 us for a thread of this name, which waits for what another group's limit holds back until 2,500: itself, or for
/// a writer that does.
fn behind(name: &str, by_writer: bool, is_certain: bool) -> Vec<Part> {
    parts_of(|story| {
        story.episode.names.extend([name, LETS_GO_ON, "/slow", "writer"].map(str::to_owned));
        story.switch(1_500, JOURNAL, LEFT_UNINTERRUPTIBLE, 8);
        if by_writer {
            story.switch(1_600, WRITER, LEFT_UNINTERRUPTIBLE, 11).switch(1_600, OTHER, IO, 2);
        } else {
            story.switch(1_600, OTHER, IO, 2);
        }
        story.event(2_499, EventKind::WorkBegin, 0, 0, 0, 9);
        story.event(2_500, EventKind::RequestBegin, 0, 3, 11 << 32 | 65_536, 2);
        story.event(2_501, EventKind::WorkEnd, 0, 0, 0, 0);
        story.event(3_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        if !is_certain {
            story.event(3_491, EventKind::HandlerEnd, INTERRUPT, 3, 0, 0);
        }
        let (first, name) = if by_writer { (WRITER, 11) } else { (JOURNAL, 8) };
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(first.0), 120, 2);
        story.switch(3_505, first, 0, name);
        if by_writer {
            story.event(3_550, EventKind::Waking, 0, u64::from(JOURNAL.0), 120, 11);
            story.switch(3_560, JOURNAL, 0, 8);
        }
        story.event(3_700, EventKind::Waking, 0, u64::from(VICTIM), 19, 8);
        story.switch(3_705, VICTIM_RUNS, 1, 1);
    })
}

/// Nobody can do anything about a journal: it waits for what somebody else may write no faster.
#[test]
fn a_limit_behind_a_journal_is_that_limit() {
    for by_writer in [false, true] {
        let parts = behind("jbd2/vda-8", by_writer, true);
        let held = parts.iter().find(|part| part.kind == Kind::Throttled).unwrap();
        let words = in_words(&held.detail).unwrap();
        assert_eq!((held.who.name(), held.ns), ("/slow", 900_000), "{parts:?}");
        assert_eq!(
            words,
            "the limit for vda of a control group, which had asked for what the journal (jbd2/vda-8) waits for"
        );
        assert_eq!((held.unknown_ns, held.inside.is_empty()), (0, true), "{held:?}");
        let wait = parts.iter().find(|part| part.kind == Kind::Wait).unwrap();
        assert_eq!((wait.who.name(), wait.ns), ("jbd2/vda-8", 1_300_000), "{parts:?}");
        // It may have been another request that was held back.
        let uncertain = behind("jbd2/vda-8", by_writer, false);
        assert!(uncertain.iter().all(|part| part.kind != Kind::Throttled), "{uncertain:?}");
        // A server is one's own to change.
        let server = behind("server", by_writer, true);
        assert!(server.iter().all(|part| part.kind != Kind::Throttled), "{server:?}");
        let wait = server.iter().find(|part| part.kind == Kind::Wait).unwrap();
        assert_eq!((wait.who.name(), wait.ns), ("server", 2_200_000));
        assert!(wait.inside.iter().any(|inside| by_writer || inside.kind == Kind::Throttled), "{wait:?}");
    }
}

/// However long it takes from the end of a request to the waking that is a part of it.
#[test]
fn who_is_woken_as_part_of_an_end_waited_for_that_however_slow_the_machine_is() {
    let parts = |is_certain: bool| {
        parts_of(|story| {
            story.switch(1_200, OTHER, IO, 2);
            story.event(1_210, EventKind::RequestBegin, 0, 3, 4096, 2);
            story.event(1_990, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
            if !is_certain {
                story.event(1_991, EventKind::HandlerEnd, INTERRUPT, 3, 0, 0);
            }
            // An interrupt that comes over that ends nothing.
            story.event(2_500, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
            story.event(2_600, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
            story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    for (is_certain, name) in [(true, "vda"), (false, "?")] {
        let parts = parts(is_certain);
        assert_eq!(parts.iter().find(|part| part.kind == Kind::Io).unwrap().who.name(), name);
    }
}

/// Others' requests were served while the one that is waited for had not been made.
#[test]
fn whom_a_disk_served_before_it_was_asked_is_not_named() {
    let parts = parts_of(|story| {
        story.switch(1_200, OTHER, IO, 2);
        story.event(1_300, EventKind::RequestBegin, 0, 1, 512 << 10, 2);
        story.event(1_900, EventKind::RequestEnd, INTERRUPT, 1, 0, 5);
        story.event(3_400, EventKind::RequestBegin, 0, 3, 4096, 2);
        story.event(3_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let io = parts.iter().find(|part| part.kind == Kind::Io).unwrap();
    let words = "what kept its request before the disk was given it is not seen";
    assert_eq!((io.who.name(), in_words(&io.detail).as_deref()), ("vda", Some(words)));
}

/// The victim sleeps for a disk until a softirq's timer of this name wakes it; another one's request was just done.
fn paused(timer: &str, left_state: u32) -> Part {
    let parts = parts_of(|story| {
        story.episode.names.push(timer.to_owned());
        story.event(1_400, EventKind::RequestBegin, 0, 3, 4096, 1);
        story.switch(1_500, OTHER, left_state, 2);
        story.event(3_400, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
        story.event(3_480, EventKind::SoftirqBegin, IN_SOFTIRQ, 1, 0, 2);
        story.event(3_481, EventKind::CallbackBegin, IN_SOFTIRQ, 0, 0, 8);
        story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), 19, 2);
        story.event(3_501, EventKind::CallbackEnd, IN_SOFTIRQ, 0, 0, 8);
        story.event(3_502, EventKind::SoftirqEnd, IN_SOFTIRQ, 1, 0, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    parts.into_iter().find(|part| part.ns == 2_000_000).unwrap()
}

#[test]
fn a_pause_for_what_is_not_written_yet_is_no_disks() {
    let pause = paused("process_timeout", IO);
    let words = "too much that was written is not on the disk yet";
    assert_eq!(
        (pause.kind, pause.who.name(), in_words(&pause.detail).as_deref()),
        (Kind::Io, "writeback", Some(words))
    );
    // Another timer, and a sleep for no disk, are not that.
    let others = [paused("mempool_timeout", IO), paused("process_timeout", LEFT_UNINTERRUPTIBLE)];
    assert!(others.iter().all(|part| part.who.name() != "writeback"), "{others:?}");
}
