//! Takes stretches of time out of the flight recorder's rings while the programs go on writing them.

use crate::shared::event_ring::{EventRings, Record, Stack};
use crate::shared::lossy_ring::Slot;
use punctual_kernel::bpf::SharedMemory;

/// As `bpf/recorder.bpf.c` sizes them.
const RECORDS: usize = 32_768;
const STACKS: usize = 1_024;

/// What a CPU's ring held of a stretch of time.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// By time, with at least one from before the stretch if there ever was one.
    pub(crate) records: Vec<Record>,
    pub(super) stacks: Vec<Stack>,
    /// Why this is not all there was.
    pub(super) broken: Option<&'static str>,
}

/// Whether this is all there was.
pub(super) fn is_whole(copied: &[(u32, Copied)]) -> bool {
    copied.iter().all(|(_, copied)| copied.broken.is_none())
}

/// The rings of all CPUs.
pub(super) struct Rings(EventRings<RECORDS, STACKS>);

pub(super) const OVERWRITTEN: &str = "the recorder's ring was overwritten before it could be read";
pub(super) const UNFINISHED: &str = "a record was not finished";
/// The newest records may be in the midst of being written.
const NEWEST: usize = 7;

impl Rings {
    pub(super) fn new(memory: SharedMemory, cpus: usize) -> Rings {
        Rings(EventRings::new(memory, cpus))
    }

    /// Stacks ever taken.
    pub(super) fn stacks_taken(&self) -> u64 {
        (0..self.0.cpus()).map(|cpu| self.0.heads(cpu).1).sum()
    }

    /// Records ever written.
    pub(super) fn records_written(&self) -> u64 {
        (0..self.0.cpus()).map(|cpu| self.0.heads(cpu).0).sum()
    }

    /// Copies what happened on a CPU between two times, ns; the later one is in the past.
    pub(super) fn copy(&self, cpu: u32, start: u64, end: u64) -> Copied {
        if cpu as usize >= self.0.cpus() {
            return Copied { broken: Some("the recorder does not know the CPU"), ..Copied::default() };
        }
        let mut copied = Copied::default();
        self.copy_records(cpu as usize, start, end, &mut copied);
        self.copy_stacks(cpu as usize, start, end, &mut copied);
        // A record that was interrupted while it was written comes before what interrupted it, and its time is later or earlier.
        copied.records.sort_by_key(|record| record.time);
        copied.stacks.sort_by_key(|stack| stack.time);
        copied
    }

    fn copy_records(&self, cpu: usize, start: u64, end: u64, copied: &mut Copied) {
        let (head, _) = self.0.heads(cpu);
        let oldest = head.saturating_sub(RECORDS as u64);
        let slots = (oldest..head).rev().map(|position| self.0.record(cpu, position));
        if !gather(slots, start, end, copied) && oldest > 0 {
            copied.broken = Some(OVERWRITTEN);
        }
    }

    fn copy_stacks(&self, cpu: usize, start: u64, end: u64, copied: &mut Copied) {
        let (_, head) = self.0.heads(cpu);
        for position in (head.saturating_sub(STACKS as u64)..head).rev() {
            let Slot::Whole(stack) = self.0.stack(cpu, position) else { continue };
            if stack.time < start {
                return;
            }
            if stack.time <= end {
                copied.stacks.push(stack);
            }
        }
    }
}

/// Takes what happened between two times, and one record from before, out of a ring whose newest record comes first.
/// Returns whether it reached the beginning of the stretch, or has said why not.
fn gather(slots: impl Iterator<Item = Slot<Record>>, start: u64, end: u64, copied: &mut Copied) -> bool {
    let mut next_ns = u64::MAX;
    for (age, slot) in slots.enumerate() {
        let record = match slot {
            Slot::Whole(record) => record,
            // Being written right now, so later than the stretch, as is what interrupted it.
            Slot::Unfinished if age < NEWEST || next_ns > end => continue,
            // Only this one is missing.
            Slot::Unfinished => {
                copied.broken = Some(UNFINISHED);
                continue;
            }
            Slot::Overwritten => {
                copied.broken = Some(OVERWRITTEN);
                return true;
            }
        };
        next_ns = record.time;
        if record.time <= end {
            copied.records.push(record);
        }
        if record.time < start {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::programs::OBJECT;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};

    #[test]
    fn the_rings_are_those_of_the_programs() {
        EventRings::<RECORDS, STACKS>::are_those_of(OBJECT);
    }

    #[test]
    fn a_record_that_is_being_written_is_no_hole_of_what_was_before() {
        fn whole(time: u64) -> Slot<Record> {
            let name = [0; 16];
            Slot::Whole(Record { sequence: 1, time, steal: 0, task: 0, context: 0, value: 0, extra: 0, name })
        }
        let gathered = |slots: Vec<Slot<Record>>| {
            let mut copied = Copied::default();
            let is_through = gather(slots.into_iter(), 100, 200, &mut copied);
            let times: Vec<u64> = copied.records.iter().map(|record| record.time).collect();
            (times, copied.broken, is_through)
        };
        // An interrupt came while it was written, and is not over after many records of its own.
        let later = || (0..20).rev().map(|age| whole(300 + age));
        let before = || [whole(190), whole(120), whole(90)];
        let slots = later().chain([Slot::Unfinished]).chain(before()).collect();
        assert_eq!(gathered(slots), (vec![190, 120, 90], None, true));
        // In the midst of the stretch it is missing, and nothing else is.
        let slots = later().chain([whole(195), Slot::Unfinished]).chain(before()).collect();
        assert_eq!(gathered(slots), (vec![195, 190, 120, 90], Some(UNFINISHED), true));
        let slots = later().chain([whole(150), Slot::Overwritten, whole(90)]).collect();
        assert_eq!(gathered(slots), (vec![150], Some(OVERWRITTEN), true));
        // The caller knows whether the ring ever had more.
        assert_eq!(gathered(vec![whole(150), whole(100)]), (vec![150, 100], None, false));
    }

    #[test]
    fn the_numbers_in_recordings_are_those_of_the_programs() {
        use crate::shared::source_numbers::number_in;
        use punctual_recording::episode::{self, LockWaking, WakingAct, WordState};

        let bits = [
            ("INTERRUPTED_USER", episode::INTERRUPTED_USER),
            ("LEFT_FOR_IO", u64::from(episode::LEFT_FOR_IO)),
            ("LEFT_FOR_LOCK", u64::from(episode::LEFT_FOR_LOCK)),
            ("LOCK_OF_PROGRAM", episode::LOCK_OF_PROGRAM),
        ];
        for (name, bit) in bits {
            assert_eq!(number_in("recorder.bpf.c", name), bit, "{name}");
        }
        assert_eq!(number_in("states.h", "STATE_FOR_SPINLOCK"), u64::from(episode::LEFT_FOR_SPINLOCK));
        assert_eq!(number_in("priorities.h", "IDLE_PRIORITY"), episode::IDLE_PRIORITY as u64);
        let nothing =
            LockWaking { act: WakingAct::NotTold, same_word: None, state: WordState::NotRead, place: 0, owner: 0 };
        let stated = [
            ("ACT_ELSE", "ACT_BIT", LockWaking { act: WakingAct::Else, ..nothing }),
            ("ACT_WAKES", "ACT_BIT", LockWaking { act: WakingAct::WakesWord, ..nothing }),
            ("ACT_UNLOCKS", "ACT_BIT", LockWaking { act: WakingAct::UnlocksWord, ..nothing }),
            ("ACT_REQUEUES", "ACT_BIT", LockWaking { act: WakingAct::Requeues, ..nothing }),
            ("ACT_SIGNALS", "ACT_BIT", LockWaking { act: WakingAct::Signals, ..nothing }),
            ("ACT_ENDS", "ACT_BIT", LockWaking { act: WakingAct::Ends, ..nothing }),
            ("ACT_THAWS", "ACT_BIT", LockWaking { act: WakingAct::Thaws, ..nothing }),
            ("WORD_SAME", "WORD_BIT", LockWaking { same_word: Some(true), ..nothing }),
            ("WORD_OTHER", "WORD_BIT", LockWaking { same_word: Some(false), ..nothing }),
            ("WORD_FREE", "STATE_BIT", LockWaking { state: WordState::Free, ..nothing }),
            ("WORD_HELD", "STATE_BIT", LockWaking { state: WordState::Held, ..nothing }),
            ("WORD_NO_LOCK", "STATE_BIT", LockWaking { state: WordState::NoLock, ..nothing }),
        ];
        for (name, bit, waking) in stated {
            assert_eq!(number_in("wakes.h", name) << number_in("wakes.h", bit), waking.bits(), "{name}");
        }
        assert_eq!(1 << number_in("wakes.h", "PLACE_BIT"), LockWaking { place: 1, ..nothing }.bits());
        assert_eq!(1 << number_in("wakes.h", "OWNER_BIT"), LockWaking { owner: 1, ..nothing }.bits());
    }

    #[test]
    fn the_configuration_is_that_of_the_programs() {
        let btf = Btf::from_raw("recorder", OBJECT).unwrap().unwrap();
        let (size, configuration) = record_layout(&btf, "recorder_configuration");
        let offsets: Vec<usize> = configuration.iter().map(|(_, offset)| *offset).collect();
        assert_eq!((size, offsets), (144, vec![0, 8, 16, 40, 48, 56, 64, 72, 80, 88, 96]));
        assert_eq!(record_layout(&btf, "nesting_place").0, size_of::<punctual_kernel::per_cpu::NestingPlace>());
        assert_eq!(variable_offsets(&btf, ".rodata"), [0]);
    }
}
