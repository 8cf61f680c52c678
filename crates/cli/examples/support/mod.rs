//! What programs do that log what they did.

use std::io::{Read, Write};
use std::time::Duration;

pub(crate) fn clock(which: libc::clockid_t) -> u64 {
    // SAFETY: a time of zeros is a valid value, which the call fills.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(which, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(crate) fn now_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Computes for so much CPU time.
pub(crate) fn compute(time: Duration) {
    let until = clock(libc::CLOCK_THREAD_CPUTIME_ID) + time.as_nanos() as u64;
    while clock(libc::CLOCK_THREAD_CPUTIME_ID) < until {
        std::hint::spin_loop();
    }
}

pub(crate) fn name_thread(name: &std::ffi::CStr) {
    // SAFETY: a name that ends with a 0 and lives through the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// The other process: answers each byte after 10 ms of work.
pub(crate) fn serve(name: &std::ffi::CStr) {
    name_thread(name);
    let mut byte = [0u8];
    while std::io::stdin().lock().read(&mut byte).is_ok_and(|count| count == 1) {
        compute(Duration::from_millis(10));
        let mut output = std::io::stdout().lock();
        let _ = output.write_all(b"x").and_then(|()| output.flush());
    }
}
