//! The number by which BPF programs know the calling thread: in a PID namespace it differs from the thread's own.

use crate::loading::load;
use crate::{Refused, clock};
use std::os::fd::AsRawFd;

/// `bpf_get_current_pid_tgid`.
const GET_CURRENT_PID_TGID: i32 = 14;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// The calling thread's number in the first PID namespace, where BPF programs see it.
///
/// In a PID namespace a program of two instructions, called by this thread, finds it; from Linux 5.10 on.
///
/// # Errors
/// What the kernel refused.
pub fn number_in_kernel() -> Result<u32, Refused> {
    if !clock::in_pid_namespace() {
        return Ok(clock::thread_id());
    }
    told_by_kernel()
}

fn told_by_kernel() -> Result<u32, Refused> {
    let refused =
        |error: std::io::Error| Refused::because("asking the kernel for a thread's number", crate::plain(&error));
    // Returns the lower half of the call's result, the thread's number.
    let program = [
        libbpf_sys::bpf_insn { code: CALL, imm: GET_CURRENT_PID_TGID, ..Default::default() },
        libbpf_sys::bpf_insn { code: EXIT, ..Default::default() },
    ];
    let loaded = load(libbpf_sys::BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &program, c"thread_number").map_err(refused)?;
    let mut options =
        libbpf_sys::bpf_test_run_opts { sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _, ..Default::default() };
    // SAFETY: the options live through the call and name no memory.
    let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(loaded.as_raw_fd(), &raw mut options) };
    if result == 0 { Ok(options.retval) } else { Err(refused(std::io::Error::from_raw_os_error(-result))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_the_kernel_tells_a_threads_own_number() {
        match told_by_kernel() {
            Ok(number) if !clock::in_pid_namespace() => {
                assert_eq!(number, clock::thread_id());
                let elsewhere = std::thread::spawn(|| (told_by_kernel().unwrap(), clock::thread_id())).join().unwrap();
                assert_eq!(elsewhere.0, elsewhere.1);
                assert_ne!(elsewhere.0, number);
            }
            Ok(number) => assert!(number > 0),
            Err(refused) => punctual_testing::skip("the kernel's own numbers", refused),
        }
    }
}
