//! What the caller of this program has decided about signals.

/// Whether a signal is ignored, as `nohup` arranges for a hangup: then it should stay so.
pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the kernel fills the structure it is given, and a zeroed one is valid too.
    let now = unsafe {
        libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}
