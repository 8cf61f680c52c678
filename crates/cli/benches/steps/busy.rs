//! Another CPU that has something to do.

use punctual_kernel::scheduling::pin_to;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Not the one on which threads switch.
pub(crate) const OTHER_CPU: u32 = 1;
/// More than any cache holds.
const COPIED_BYTES: usize = 32 << 20;
/// So long at a time, as a command works between two sleeps.
const PERIOD: Duration = Duration::from_millis(10);

/// A thread that goes on until this is dropped.
pub(crate) struct Busy {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    /// Does this over and over on a CPU; it returns how long to sleep.
    pub(crate) fn on(cpu: u32, mut turn: impl FnMut() -> Duration + Send + 'static) -> Busy {
        let end = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            pin_to(cpu).expect("the CPU");
            while !is_over.load(Ordering::Relaxed) {
                let rest = turn();
                if !rest.is_zero() {
                    std::thread::sleep(rest);
                }
            }
        });
        Busy { end, thread: Some(thread) }
    }

    /// Works in registers alone.
    pub(crate) fn counting() -> Busy {
        Busy::on(OTHER_CPU, || {
            for number in 0..100_000_u64 {
                black_box(number);
            }
            Duration::ZERO
        })
    }

    /// Copies memory, this share of the time.
    pub(crate) fn copying(share: f64) -> Busy {
        let (from, mut to) = (vec![1_u8; COPIED_BYTES], vec![2_u8; COPIED_BYTES]);
        let mut place = 0;
        Busy::on(OTHER_CPU, move || {
            let began = Instant::now();
            while began.elapsed() < PERIOD.mul_f64(share) {
                let end = place + (1 << 16);
                to[place..end].copy_from_slice(black_box(&from[place..end]));
                place = end % COPIED_BYTES;
            }
            PERIOD.saturating_sub(began.elapsed())
        })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}
