//! A condition variable that nobody signals.

use super::clock::Shift;
use super::method::Method;
use punctual_kernel::{Refused, clock};
use std::cell::UnsafeCell;

struct Parts {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
}

/// `pthread_cond_timedwait` on `CLOCK_MONOTONIC`. Boxed: its parts must not move once they are in use.
pub(super) struct Condvar(Box<Parts>, Shift);

impl Condvar {
    pub(super) fn open(shift: Shift) -> Result<Condvar, Refused> {
        let parts = Box::new(Parts {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        });
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_condattr_t>::uninit();
        // SAFETY: the attributes are initialized before they are used and destroyed after; the condition has its final
        // place and is not in use.
        let result = unsafe {
            libc::pthread_condattr_init(attributes.as_mut_ptr());
            let result = libc::pthread_condattr_setclock(attributes.as_mut_ptr(), shift.clock.id());
            libc::pthread_cond_init(parts.condition.get(), attributes.as_ptr());
            libc::pthread_condattr_destroy(attributes.as_mut_ptr());
            result
        };
        if result != 0 {
            return Err(Refused::because("making a condition variable", "it does not know this clock"));
        }
        Ok(Condvar(parts, shift))
    }
}

impl Method for Condvar {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        let due = clock::timespec(self.1.of(due_ns));
        // SAFETY: mutex and condition are initialized and stay in place; this thread locks, waits and unlocks, and no
        // other knows them.
        unsafe {
            libc::pthread_mutex_lock(self.0.mutex.get());
            // It may also end for no reason.
            while libc::pthread_cond_timedwait(self.0.condition.get(), self.0.mutex.get(), &due) == 0 {}
            libc::pthread_mutex_unlock(self.0.mutex.get());
        }
        1
    }
}

impl Drop for Condvar {
    fn drop(&mut self) {
        // SAFETY: nobody waits any more and the mutex is not locked.
        unsafe {
            libc::pthread_cond_destroy(self.0.condition.get());
            libc::pthread_mutex_destroy(self.0.mutex.get());
        }
    }
}
