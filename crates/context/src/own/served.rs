//! The process in which a user's own work runs: the child's side. When it is ready it can compute, read, write and end,
//! and it has nothing to read or write but the line to its parent: the kernel kills it at any other system call, and
//! what it does wrong it does to itself.

use super::block::SharedBlock;
use punctual_kernel::scheduling;
use std::ffi::c_void;

/// The hidden subcommand under which it runs; its CPU and its parent's process id follow.
pub const SUBCOMMAND: &str = "__work";
/// Its descriptors: the line to its parent, the block, the library.
const LINE: i32 = 0;
const BLOCK: i32 = 1;
const LIBRARY_DESCRIPTOR: i32 = 2;
const LIBRARY: &std::ffi::CStr = c"/proc/self/fd/2";
/// The user that it runs as if root starts it.
const NOBODY: libc::uid_t = 65_534;
/// A thread with a real-time priority is killed after this much CPU time without waiting, us: its parent is gone.
const MAX_REAL_TIME_US: libc::rlim_t = 1_000_000;

type Work = unsafe extern "C" fn(*mut c_void) -> i32;

/// Runs until its parent is gone. Call it from the hidden subcommand; it returns the exit code if it could not begin.
pub fn serve(cpu: u32, parent: u32) -> u8 {
    let Some((block, work)) = prepare(cpu) else { return 2 };
    // SAFETY: plain numbers; the filter that is requested is the kernel's own.
    let confined = unsafe {
        // The handlers that came with this program would make system calls, and a fault would not look like one.
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::getppid().cast_unsigned() == parent
            && libc::write(LINE, [0u8].as_ptr().cast(), 1) == 1
            // Both are mapped: what is not open can be neither read nor written.
            && libc::close(BLOCK) == 0
            && libc::close(LIBRARY_DESCRIPTOR) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) == 0
    };
    if !confined {
        return 3;
    }
    let mut token = 0u64;
    let length = size_of::<u64>();
    loop {
        // SAFETY: a number that lives; `read`, `write` and `exit` are all that this process may still call. The work is
        // the user's, and reaches nothing but this process's memory.
        unsafe {
            if libc::read(LINE, (&raw mut token).cast(), length) != length.cast_signed() {
                libc::syscall(libc::SYS_exit, 0);
            }
            (&raw mut (*block).result).write_volatile(work(block.cast()).into());
            libc::write(LINE, (&raw const token).cast(), length);
        }
    }
}

/// Maps the block, gives up root's rights, and loads the library.
fn prepare(cpu: u32) -> Option<(*mut SharedBlock, Work)> {
    scheduling::pin_to(cpu).ok()?;
    let limit = |which, value| {
        let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        // SAFETY: the structure lives through the call.
        unsafe { libc::setrlimit(which, &limit) }
    };
    limit(libc::RLIMIT_MEMLOCK, libc::RLIM_INFINITY);
    limit(libc::RLIMIT_CORE, 0);
    limit(libc::RLIMIT_FSIZE, 0);
    limit(libc::RLIMIT_RTTIME, MAX_REAL_TIME_US);
    // SAFETY: a new mapping of a file that is as large as the block; plain numbers; a name that ends with 0; a function of the
    // signature that the header gives it.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let block = libc::mmap(std::ptr::null_mut(), size_of::<SharedBlock>(), protection, libc::MAP_SHARED, BLOCK, 0);
        if block == libc::MAP_FAILED {
            return None;
        }
        if libc::geteuid() == 0 {
            let dropped = libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
                && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0;
            if !dropped {
                return None;
            }
        }
        // A process that changes its user may no longer open its own descriptors by name.
        libc::prctl(libc::PR_SET_DUMPABLE, 1);
        let library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        if library.is_null() {
            return None;
        }
        let work = libc::dlsym(library, c"punctual_work".as_ptr());
        // So that no page is missing later; without it the first blocks are slower.
        libc::mlockall(libc::MCL_CURRENT);
        (!work.is_null()).then(|| (block.cast(), std::mem::transmute::<*mut c_void, Work>(work)))
    }
}
