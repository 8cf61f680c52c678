//! Work that comes from outside this crate, such as a library's, for a device in a thread.

use punctual_datapump::DecodingCounts;
use punctual_kernel::clock;

/// A connection that a device in a thread works on, block by block. It stays in the thread that made it.
pub trait Guest {
    /// Works on the next block.
    fn work(&mut self);
    /// So many blocks came that it never gets.
    fn skip(&mut self, blocks: u64);
    /// What came of it so far; a unit is a sample.
    fn counts(&self) -> DecodingCounts;
}

/// Makes one for blocks of so many samples, or says why that cannot be.
pub type MakeGuest = fn(u32) -> Result<Box<dyn Guest>, String>;

/// A unit of its work: what a block does not need of its compute time is spent in a loop, this much at a time, ns.
pub(super) const GUEST_UNIT_NS: u64 = 1_000;

/// A guest at work in its thread.
pub(super) struct GuestAtWork {
    guest: Box<dyn Guest>,
    next_block: u64,
    has_worked: bool,
    /// The thread's processor time when the block began, ns.
    began_ns: u64,
    /// How much of it the block may have taken by now, ns.
    given_ns: u64,
}

impl GuestAtWork {
    pub(super) fn new(guest: Box<dyn Guest>) -> GuestAtWork {
        GuestAtWork { guest, next_block: 0, has_worked: false, began_ns: 0, given_ns: 0 }
    }

    /// The block with this number comes next.
    pub(super) fn begin_block(&mut self, block: u64) {
        let skipped = block.saturating_sub(self.next_block);
        (self.next_block, self.has_worked) = (block + 1, false);
        (self.began_ns, self.given_ns) = (clock::thread_cpu_ns(), 0);
        if skipped > 0 {
            self.guest.skip(skipped);
        }
    }

    /// Works off this many units: the block itself first, and then the rest of its time.
    pub(super) fn run(&mut self, units: u64) {
        if !std::mem::replace(&mut self.has_worked, true) {
            self.guest.work();
        }
        self.given_ns += units * GUEST_UNIT_NS;
        while clock::thread_cpu_ns() - self.began_ns < self.given_ns {
            std::hint::spin_loop();
        }
    }

    pub(super) fn counts(&self) -> DecodingCounts {
        self.guest.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Notes what it is told.
    struct Noting(Rc<RefCell<Vec<u64>>>);

    impl Guest for Noting {
        fn work(&mut self) {
            self.0.borrow_mut().push(0);
        }

        fn skip(&mut self, blocks: u64) {
            self.0.borrow_mut().push(blocks);
        }

        fn counts(&self) -> DecodingCounts {
            DecodingCounts { units: self.0.borrow().len() as u64, ..DecodingCounts::default() }
        }
    }

    #[test]
    fn each_block_is_worked_on_once_takes_its_time_and_those_between_are_skipped() {
        let told = Rc::new(RefCell::new(Vec::new()));
        let mut guest = GuestAtWork::new(Box::new(Noting(Rc::clone(&told))));
        for block in [0, 1, 5] {
            let began_ns = clock::thread_cpu_ns();
            guest.begin_block(block);
            (0..4).for_each(|_| guest.run(50));
            assert!(clock::thread_cpu_ns() - began_ns >= 200 * GUEST_UNIT_NS);
        }
        assert_eq!((told.borrow().as_slice(), guest.counts().units), (&[0, 0, 3, 0][..], 4));
    }
}
