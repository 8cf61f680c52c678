//! The memory that the programs and this process share: the table of followed threads, and the rings of what they did.

use super::records::{
    ALLOCATION_TRIES, FOLLOW_NO_MORE, INDEX_SIZE, MAX_FOLLOWED, PROBES, RECORDS, RENAMES, Record, Records, Rename,
    Slot, Threads,
};
use crate::shared::lossy_ring;
use punctual_kernel::bpf::SharedMemory;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In the index, where a thread was that is followed no more.
const GONE: u64 = u64::MAX;

/// So many threads for which there was no room are told apart.
const MAX_LEFT_OVER: usize = 1 << 16;

/// The threads that are followed. Programs and this process change it at the same time, by compare and swap alone.
pub(crate) struct ThreadTable {
    memory: SharedMemory,
    renames_read: u64,
    /// The threads that this process found and for which there was no room; each is found again and again.
    left_over: Mutex<HashSet<u32>>,
    /// The threads that this process found: they may have slept before.
    found: Mutex<HashSet<u32>>,
}

impl ThreadTable {
    pub(crate) fn new(memory: SharedMemory) -> ThreadTable {
        ThreadTable { memory, renames_read: 0, left_over: Mutex::default(), found: Mutex::default() }
    }

    fn threads(&self) -> *mut Threads {
        self.memory.at::<Threads>(0, 1).as_ptr()
    }

    fn atomic(&self, field: *mut u64) -> &AtomicU64 {
        // SAFETY: the field is one of the mapped table's, aligned, and lives as long as the mapping that `self` holds;
        // the programs access it as a whole word.
        unsafe { AtomicU64::from_ptr(field) }
    }

    fn cell(&self, position: usize) -> &AtomicU64 {
        // SAFETY: taken modulo the size; only the address is computed.
        self.atomic(unsafe { &raw mut (*self.threads()).index[position & (INDEX_SIZE - 1)] })
    }

    fn slot(&self, number: usize) -> *mut Slot {
        // SAFETY: taken modulo the size; only the address is computed.
        unsafe { &raw mut (*self.threads()).followed[number & (MAX_FOLLOWED - 1)] }
    }

    fn owner(&self, number: usize) -> &AtomicU64 {
        // SAFETY: within the slot; only the address is computed.
        self.atomic(unsafe { &raw mut (*self.slot(number)).owner })
    }

    fn alive_counter(&self) -> &AtomicU64 {
        // SAFETY: within the table; only the address is computed.
        self.atomic(unsafe { &raw mut (*self.threads()).alive })
    }

    /// How many threads are followed now.
    pub(crate) fn alive(&self) -> u64 {
        self.alive_counter().load(Ordering::Acquire)
    }

    /// Threads for which there was no room, at least: those that the programs saw begin and those that this process
    /// found may be the same ones.
    pub(crate) fn without_room(&self) -> u64 {
        // SAFETY: within the table; only the address is computed.
        let begun = self.atomic(unsafe { &raw mut (*self.threads()).without_room }).load(Ordering::Relaxed);
        begun.max(self.left_over.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    /// Notes that there was no room for a thread.
    fn leave_over(&self, tid: u32) {
        let mut left_over = self.left_over.lock().unwrap_or_else(PoisonError::into_inner);
        if left_over.len() < MAX_LEFT_OVER {
            left_over.insert(tid);
        }
    }

    fn find(&self, tid: u32) -> Option<(usize, usize)> {
        for probe in 0..PROBES {
            let position = tid as usize + probe;
            match self.cell(position).load(Ordering::Acquire) {
                0 => return None,
                cell if cell >> 32 == u64::from(tid) => {
                    return Some((position, (cell as u32).wrapping_sub(1) as usize & (MAX_FOLLOWED - 1)));
                }
                _ => {}
            }
        }
        None
    }

    /// Whether a thread is followed.
    pub(crate) fn holds(&self, tid: u32) -> bool {
        self.find(tid).is_some()
    }

    /// Follows a thread from its next block on; false if there is no room, which is counted.
    pub(crate) fn follow(&self, tid: u32, flags: u32) -> bool {
        if self.holds(tid) {
            return true;
        }
        let is_followed = self.take_slot(tid, flags);
        if is_followed {
            self.found().insert(tid);
        } else {
            self.leave_over(tid);
        }
        is_followed
    }

    fn found(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread began while it was followed, so that all its sleeps are known.
    pub(crate) fn began(&self, tid: u32) -> bool {
        !self.found().contains(&tid)
    }

    /// Notes that a thread has ended; returns whether it began while it was followed, so that all its sleeps are known.
    pub(crate) fn ended(&self, tid: u32) -> bool {
        !self.found().remove(&tid)
    }

    fn take_slot(&self, tid: u32, flags: u32) -> bool {
        // SAFETY: within the table; only the address is computed.
        let next = self.atomic(unsafe { &raw mut (*self.threads()).next });
        let start = next.fetch_add(1, Ordering::Relaxed);
        let free =
            (start..start + ALLOCATION_TRIES).map(|number| number as usize & (MAX_FOLLOWED - 1)).find(|&number| {
                self.owner(number).compare_exchange(0, u64::from(tid), Ordering::AcqRel, Ordering::Relaxed).is_ok()
            });
        let Some(number) = free else { return false };
        let slot = self.slot(number);
        // SAFETY: the slot belongs to this call alone: it has an owner and nothing leads to it yet.
        unsafe {
            (&raw mut (*slot).flags).write_volatile(flags);
            (&raw mut (*slot).state).write_volatile(0);
            (&raw mut (*slot).on_cpu_since).write_volatile(0);
            (&raw mut (*slot).executed).write_volatile(0);
            (&raw mut (*slot).unobserved).write_volatile(0);
            (&raw mut (*slot).lost).write_volatile(0);
            (&raw mut (*slot).switch_in).write_volatile(0);
            (&raw mut (*slot).held).write_volatile(0);
            (&raw mut (*slot).pending.waking).write_volatile(0);
            (&raw mut (*slot).doubts).write_volatile(0);
            (&raw mut (*slot).series).write_volatile(0);
        }
        let leads_here = u64::from(tid) << 32 | (number as u64 + 1);
        for probe in 0..PROBES {
            let cell = self.cell(tid as usize + probe);
            let found = cell.load(Ordering::Acquire);
            if (found == 0 || found == GONE)
                && cell.compare_exchange(found, leads_here, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            {
                self.alive_counter().fetch_add(1, Ordering::AcqRel);
                return true;
            }
        }
        self.owner(number).store(0, Ordering::Release);
        false
    }

    /// Tells the programs to forget this thread when it next blocks.
    pub(crate) fn follow_no_more(&self, tid: u32) {
        if let Some((_, number)) = self.find(tid) {
            let slot = self.slot(number);
            // SAFETY: within the table; the programs only read the flags once they are set.
            unsafe {
                let flags = &raw mut (*slot).flags;
                flags.write_volatile(flags.read_volatile() | FOLLOW_NO_MORE);
            }
        }
    }

    /// Forgets a thread that is gone without the programs having seen it end.
    pub(crate) fn forget(&self, tid: u32) {
        let Some((position, number)) = self.find(tid) else { return };
        self.found().remove(&tid);
        let cell = self.cell(position);
        let found = cell.load(Ordering::Acquire);
        if found >> 32 == u64::from(tid)
            && cell.compare_exchange(found, GONE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            self.alive_counter().fetch_sub(1, Ordering::AcqRel);
            self.owner(number).store(0, Ordering::Release);
        }
    }

    /// What the slots of the followed threads hold.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        (0..MAX_FOLLOWED)
            .filter(|&number| self.owner(number).load(Ordering::Acquire) != 0)
            // SAFETY: within the table; a slot that changes meanwhile is plain numbers whatever is read.
            .map(|number| unsafe { self.slot(number).read_volatile() })
            .collect()
    }

    /// Threads that took a new name since the last call, and whether some were overwritten before they were read.
    pub(crate) fn take_renames(&mut self) -> (Vec<Rename>, bool) {
        let threads = self.threads();
        let mut taken = Vec::new();
        // SAFETY: within the table, which lives as long as `self`; the ring's size is a power of two. Only programs write it.
        let overwritten = unsafe {
            let (renames, head) = (&raw const (*threads).renames, &raw const (*threads).renamed);
            lossy_ring::take(renames.cast::<Rename>(), RENAMES, head, &mut self.renames_read, |rename| {
                taken.push(*rename)
            })
        };
        (taken, overwritten > 0)
    }
}

/// The rings of finished wakeups, one for each CPU.
pub(crate) struct Rings {
    memory: Arc<SharedMemory>,
    cpus: usize,
}

impl Rings {
    pub(crate) fn new(memory: SharedMemory, cpus: usize) -> Rings {
        Rings { memory: Arc::new(memory), cpus }
    }

    /// The same memory, for another thread.
    pub(crate) fn share(&self) -> Rings {
        Rings { memory: Arc::clone(&self.memory), cpus: self.cpus }
    }

    fn ring(&self, cpu: usize) -> *mut Records {
        self.memory.at::<Records>(cpu * size_of::<Records>(), 1).as_ptr()
    }

    /// Takes everything out of the rings; returns how much came from the one that brought most. Only one thread may do
    /// so at a time.
    pub(crate) fn take(&self, into: &mut Vec<Record>) -> u64 {
        let mut most = 0;
        for cpu in 0..self.cpus {
            let ring = self.ring(cpu);
            // SAFETY: `at` checked that the ring lies within the mapping; a whole word, which only programs write.
            let head = unsafe { AtomicU64::from_ptr(&raw mut (*ring).head) };
            // SAFETY: as above; a whole word, which only this call writes.
            let read = unsafe { AtomicU64::from_ptr(&raw mut (*ring).read) };
            let end = head.load(Ordering::Acquire);
            let begin = read.load(Ordering::Relaxed);
            most = most.max(end - begin);
            into.reserve((end - begin) as usize);
            for position in begin..end {
                // SAFETY: taken modulo the size; the programs do not write over records before `read` says so.
                into.push(unsafe { (&raw const (*ring).records[position as usize & (RECORDS - 1)]).read_volatile() });
            }
            read.store(end, Ordering::Release);
        }
        most
    }

    /// Records for which there was no room.
    pub(crate) fn lost(&self) -> u64 {
        // SAFETY: as above; a whole word that the programs write.
        (0..self.cpus).map(|cpu| unsafe { (&raw const (*self.ring(cpu)).lost).read_volatile() }).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::FOLLOW_THREADS;
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    /// A table in memory that no program writes.
    fn table() -> ThreadTable {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_of::<Threads>() as u64).unwrap();
        ThreadTable::new(SharedMemory::map(file.as_fd(), 0, size_of::<Threads>(), true).unwrap())
    }

    #[test]
    fn threads_without_room_are_counted_once_each() {
        let table = table();
        let threads = MAX_FOLLOWED as u32;
        assert!((1..=threads).all(|tid| table.follow(tid, FOLLOW_THREADS)));
        assert_eq!(table.without_room(), 0);
        for _ in 0..3 {
            assert!((threads + 1..=threads + 5).all(|tid| !table.follow(tid, FOLLOW_THREADS)));
        }
        assert_eq!((table.alive(), table.without_room()), (u64::from(threads), 5));
        // Who is followed later was not followed meanwhile.
        table.forget(1);
        assert!((0..MAX_FOLLOWED).any(|_| table.follow(threads + 1, FOLLOW_THREADS)));
        assert_eq!(table.without_room(), 5);
    }

    #[test]
    fn whoever_was_found_did_not_begin_while_it_was_followed() {
        let table = table();
        assert!(table.follow(7, FOLLOW_THREADS) && table.follow(8, FOLLOW_THREADS));
        assert!(!table.ended(7));
        // Another thread got its number, which the programs saw begin; and so did one whose end nobody saw.
        table.forget(8);
        assert!(table.ended(7) && table.ended(8) && table.ended(9));
    }

    #[test]
    fn a_thread_has_nothing_of_the_one_that_had_its_slot() {
        let table = table();
        for number in 0..MAX_FOLLOWED {
            let slot = table.slot(number);
            // SAFETY: within the table, which is this test's own.
            unsafe {
                (&raw mut (*slot).held).write_volatile(2);
                (&raw mut (*slot).doubts).write_volatile(4);
                (&raw mut (*slot).series).write_volatile(16);
            }
        }
        assert!(table.follow(7, FOLLOW_THREADS));
        let slots = table.slots();
        assert_eq!(slots.len(), 1);
        assert_eq!((slots[0].held, slots[0].doubts, slots[0].series), (0, 0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn whoever_is_followed_is_found_until_forgotten(steps in prop::collection::vec((any::<bool>(), 1..300u32), 1..600)) {
            let table = table();
            let mut followed = std::collections::BTreeSet::new();
            for (follow, number) in steps {
                // Some of these share a place in the index.
                let tid = number % 20 + (number / 20) * INDEX_SIZE as u32;
                if !follow {
                    table.forget(tid);
                    followed.remove(&tid);
                } else if table.follow(tid, FOLLOW_THREADS) {
                    followed.insert(tid);
                }
                prop_assert_eq!(table.holds(tid), followed.contains(&tid));
                prop_assert_eq!(table.alive(), followed.len() as u64);
            }
            prop_assert!(followed.iter().all(|&tid| table.holds(tid)));
            let owners: std::collections::BTreeSet<u32> = table.slots().iter().map(|slot| slot.owner as u32).collect();
            prop_assert_eq!(owners, followed);
        }
    }
}
