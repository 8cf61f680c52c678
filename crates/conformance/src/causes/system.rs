//! The system calls from which causes are made. Most of the examiner's `unsafe` is here and in `mapped`, `board`,
//! `primitives`, `ring`, `mounts` and the `calls` of the lists.

mod mapped;

pub(crate) use mapped::{Memory, PAGE, UserFaults};
use std::ffi::CString;
use std::io;
use std::sync::atomic::AtomicU32;

pub(crate) type Pid = libc::pid_t;

/// The result of a system call: a number, or why there is none.
pub(crate) fn checked(code: i64) -> io::Result<i32> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code as i32) }
}

/// Now, ns of `CLOCK_MONOTONIC`.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes into a timespec that lives.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// Sleeps until a time of `CLOCK_MONOTONIC`, ns.
pub(crate) fn sleep_until(ns: u64) {
    let until = timespec(ns);
    loop {
        // SAFETY: reads a timespec that lives; what remains is not asked for.
        let code =
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
        if code != libc::EINTR {
            return;
        }
    }
}

pub(crate) fn sleep(ns: u64) {
    sleep_until(now() + ns);
}

/// Works until `ns` have passed since `start`; returns the end.
pub(crate) fn spin(start: u64, ns: u64) -> u64 {
    loop {
        let time = now();
        if time >= start + ns {
            return time;
        }
        std::hint::spin_loop();
    }
}

pub(crate) fn tid() -> u32 {
    // SAFETY: takes nothing.
    (unsafe { libc::gettid() }) as u32
}

pub(crate) fn pid() -> Pid {
    // SAFETY: takes nothing.
    unsafe { libc::getpid() }
}

/// Names the calling thread.
pub(crate) fn set_name(name: &str) {
    let name = CString::new(name).expect("a name without NUL");
    // SAFETY: reads a string that ends with NUL.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Starts a thread in the calling role.
pub(crate) fn thread(name: &'static str, task: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        set_name(name);
        task();
    });
}

/// Forks; the child ends with its parent, and ignores Ctrl-C: the examiner ends it.
pub(crate) fn fork() -> io::Result<Pid> {
    let parent = pid();
    // SAFETY: the callers have one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            end_with(parent);
            Ok(0)
        }
        child => Ok(child),
    }
}

/// Makes the calling process end with its parent, even if that has already ended.
pub(crate) fn end_with(parent: Pid) {
    // SAFETY: plain numbers and the constant handler SIG_IGN.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
}

/// Makes the command's process end with this one.
pub(crate) fn bound(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only a system call with plain numbers.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        })
    }
}

/// Ends the calling process without running what its parent registered.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: takes a number.
    unsafe { libc::_exit(code) }
}

/// Whether a child has ended; waits for it if told to. None if there is no such child.
pub(crate) fn reap(pid: Pid, wait: bool) -> Option<bool> {
    // SAFETY: no status is asked for.
    match unsafe { libc::waitpid(pid, std::ptr::null_mut(), if wait { 0 } else { libc::WNOHANG }) } {
        -1 => None,
        0 => Some(false),
        _ => Some(true),
    }
}

pub(crate) fn kill(pid: Pid, signal: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::kill(pid, signal) };
}

/// Whether a signal has stopped a process's first thread, by the kernel's account.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// A handler for a signal; system calls go on after it.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: the structure is whole: zeroes but for a handler of the right type and a flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Blocks a signal until it is waited for.
pub(crate) fn keep_back(signal: i32) {
    // SAFETY: an initialized set that lives through the call.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// The CPUs that this process may use.
pub(crate) fn cpus() -> Vec<usize> {
    // SAFETY: fills a set that lives, of its own size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: the index is within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Keeps a thread on these CPUs; 0 is the calling thread.
pub(crate) fn pin(tid: u32, cpus: &[usize]) {
    // SAFETY: reads a set that lives, of its own size; the CPUs come from `cpus`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        libc::sched_setaffinity(tid as i32, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Sets the policy and priority of a thread; 0 is the calling thread.
pub(crate) fn schedule(tid: u32, policy: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: reads a parameter that lives.
    match unsafe { libc::sched_setscheduler(tid as i32, policy, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the calling thread a SCHED_DEADLINE one; times in ns.
pub(crate) fn deadline(runtime: u64, period: u64) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: runtime,
        sched_deadline: period,
        sched_period: period,
    };
    // SAFETY: reads the attributes, of the size that they state.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn nice(tid: u32, nice: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, tid, nice) };
}

/// Makes this a normal thread on one CPU that other normal threads do not keep it from for long, so that the lengths of
/// injections are its own.
pub(crate) fn steady(cpu: usize) {
    pin(0, &[cpu]);
    nice(0, -20);
}

/// Starts a session of its own, and with it an automatic scheduling group.
pub(crate) fn new_session() {
    // SAFETY: takes nothing.
    unsafe { libc::setsid() };
}

/// Sleeps while the word has this value, at most 20 ms: a word that nobody wakes must not hold up a scene.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let limit = timespec(20_000_000);
    // SAFETY: the word and the limit live; the operation only reads them.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &limit, 0, 0) };
}

pub(crate) fn futex_wake(word: &AtomicU32, count: i32) {
    // SAFETY: the word lives; the operation only takes its address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count, 0, 0, 0) };
}

/// Moves all waiters of a word to another one.
pub(crate) fn futex_requeue(from: &AtomicU32, value: u32, to: &AtomicU32) {
    // SAFETY: both words live.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            from.as_ptr(),
            libc::FUTEX_CMP_REQUEUE,
            0,
            i64::from(i32::MAX),
            to.as_ptr(),
            value,
        )
    };
}

/// Attaches to a thread, stops it and lets it go again; `between` runs while it is stopped.
pub(crate) fn trace(tid: u32, between: impl FnOnce()) -> io::Result<()> {
    const SEIZE: libc::c_uint = 0x4206;
    const INTERRUPT: libc::c_uint = 0x4207;
    const DETACH: libc::c_uint = 17;
    // SAFETY: plain numbers; no address is handed over.
    unsafe {
        if libc::ptrace(SEIZE, tid as i32, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::ptrace(INTERRUPT, tid as i32, 0, 0);
        libc::waitpid(tid as i32, std::ptr::null_mut(), libc::__WALL);
        between();
        libc::ptrace(DETACH, tid as i32, 0, 0);
    }
    Ok(())
}

/// Waits until every CPU has passed through the scheduler: `synchronize_rcu`.
pub(crate) fn global_barrier() -> io::Result<()> {
    barrier(1)
}

/// Interrupts every CPU that runs a program which asked for that, and waits for it. No CPU may come or go meanwhile.
pub(crate) fn expedited_barrier() -> io::Result<()> {
    barrier(2)
}

/// Takes the numbers of `enum membarrier_cmd`.
fn barrier(command: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A counter of nothing on a CPU. Switching it on or off interrupts that CPU and waits for it.
pub(crate) fn counter_of(cpu: usize) -> io::Result<i32> {
    const SOFTWARE: u32 = 1;
    const DUMMY: u64 = 9;
    #[repr(C)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        periods_and_formats: [u64; 3],
        flags: u64,
        rest: [u64; 2],
    }
    let size = size_of::<Attributes>() as u32;
    let attributes =
        Attributes { kind: SOFTWARE, size, config: DUMMY, periods_and_formats: [0; 3], flags: 1, rest: [0; 2] };
    // SAFETY: reads the attributes, of the size that they state; the rest are plain numbers.
    match unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, -1, cpu as i32, -1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        counter => Ok(counter as i32),
    }
}

pub(crate) fn count(counter: i32, on: bool) {
    const ENABLE: u64 = 0x2400;
    const DISABLE: u64 = 0x2401;
    // SAFETY: plain numbers.
    unsafe { libc::ioctl(counter, if on { ENABLE } else { DISABLE } as _, 0) };
}

/// A pipe: the end to read from, and the end to write to.
pub(crate) fn pipe() -> io::Result<(i32, i32)> {
    let mut ends = [0; 2];
    // SAFETY: writes two numbers into an array of two.
    match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } {
        0 => Ok((ends[0], ends[1])),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Two connected sockets.
pub(crate) fn socket_pair() -> io::Result<(i32, i32)> {
    let mut ends = [0; 2];
    // SAFETY: writes two numbers into an array of two.
    match unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()) } {
        0 => Ok((ends[0], ends[1])),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn event_fd() -> i32 {
    // SAFETY: plain numbers.
    unsafe { libc::eventfd(0, 0) }
}

/// An armed timer that nobody waits for: it only takes time to expire.
pub(crate) fn timer(at: u64) -> i32 {
    let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(at) };
    // SAFETY: reads a setting that lives.
    unsafe {
        let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
        libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut());
        timer
    }
}

/// Arms it again.
pub(crate) fn arm(timer: i32, at: u64) {
    let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(at) };
    // SAFETY: reads a setting that lives.
    unsafe { libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut()) };
}

pub(crate) fn read(descriptor: i32, bytes: &mut [u8]) -> isize {
    // SAFETY: writes at most the length of the slice into it.
    unsafe { libc::read(descriptor, bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Whether there is something to read within this time, ms.
pub(crate) fn poll(descriptor: i32, limit: i32) -> bool {
    let mut asked = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    unsafe { libc::poll(&mut asked, 1, limit) == 1 }
}

/// Waits until there is something to read from one of several; returns, for each, whether there is.
pub(crate) fn wait_for_any<const NUMBER: usize>(descriptors: [i32; NUMBER]) -> [bool; NUMBER] {
    let mut asked = descriptors.map(|descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 });
    // SAFETY: so many structures, which live through the call.
    unsafe { libc::poll(asked.as_mut_ptr(), NUMBER as libc::nfds_t, -1) };
    asked.map(|asked| asked.revents & libc::POLLIN != 0)
}

pub(crate) fn write(descriptor: i32, bytes: &[u8]) -> isize {
    // SAFETY: reads the slice.
    unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) }
}

/// Allows more open descriptors than usual.
pub(crate) fn more_descriptors(count: u64) {
    let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
    // SAFETY: reads a limit that lives.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}

/// Runs the program of a child that shares this process's memory until then: `vfork`, the child's `delay`, and
/// `/bin/true`.
pub(crate) fn vfork_and_run(child: extern "C" fn(*mut libc::c_void) -> i32, stack: &Memory) -> Pid {
    // SAFETY: the child runs on a stack of its own, while the calling thread waits for its exec or end.
    unsafe {
        libc::clone(
            child,
            stack.start.add(stack.length - 64).cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            std::ptr::null_mut(),
        )
    }
}

/// Runs another program in the calling process, without arguments.
pub(crate) fn execute(path: &std::ffi::CStr) {
    let arguments = [path.as_ptr(), std::ptr::null()];
    // SAFETY: both lists end with a null.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), std::ptr::null()) };
}

/// Takes or releases a lock on a whole file; waits for it.
pub(crate) fn lock_file(descriptor: i32, lock: bool) {
    // SAFETY: plain numbers.
    unsafe { libc::flock(descriptor, if lock { libc::LOCK_EX } else { libc::LOCK_UN }) };
}

/// Watches a directory for new files.
pub(crate) fn watch(directory: &std::path::Path) -> io::Result<i32> {
    let path = CString::new(directory.as_os_str().as_encoded_bytes())?;
    // SAFETY: the path ends with NUL.
    unsafe {
        let watcher = libc::inotify_init1(libc::IN_CLOEXEC);
        match libc::inotify_add_watch(watcher, path.as_ptr(), libc::IN_CREATE) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(watcher),
        }
    }
}

/// Drops a file's pages from the cache; what was written must be on the disk.
pub(crate) fn forget(descriptor: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::posix_fadvise(descriptor, 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Keeps the kernel from reading more of a file than is asked for.
pub(crate) fn reads_at_random(descriptor: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::posix_fadvise(descriptor, 0, 0, libc::POSIX_FADV_RANDOM) };
}

/// A descriptor from which a signal is read that the calling thread blocks from now on.
pub(crate) fn signal_descriptor(signal: i32) -> io::Result<i32> {
    // SAFETY: the set is made before it is read, and lives through the calls.
    let descriptor = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        libc::signalfd(-1, &set, libc::SFD_CLOEXEC)
    };
    if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(descriptor) }
}
