//! Rialto/NT's reservations and time constraints on the running kernel: slots of `punctual-rialto`, served by a scheduler of
//! BPF programs (sched_ext) on a machine with one CPU.
//!
//! A thread above all others says at each edge whose the time is: kernels with PREEMPT_RT refuse programs' timers, and
//! this way works on both kinds of kernels. A second thread answers whoever wants time, at a socket ([`Client`]).
//! Whatever ends this process takes the scheduler with it, and all threads go back to the kernel's own.

mod client;
mod door;
mod record;
mod service;
mod time;
mod words;

pub use client::{Answered, Client};
pub use record::Served;

use punctual_kernel::bpf::{LoadedObject, kernel_record_has};
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Missing, Refused, clock, cpus, is_older_than};
use record::Record;
use std::io::PipeWriter;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use time::Time;

const NAME: &str = "rialto";
/// What is refused if it cannot be had.
const STARTING: &str = "starting Rialto's scheduler";
/// The name of the socket, in the abstract namespace: it goes away with the serving process.
const PLACE: &str = "punctual-rialto";
const CPU: u32 = 0;
const CLOCK_PRIORITY: u32 = 99;
/// Below the clock, above everything that is served: an answer waits for nobody.
const SERVICE_PRIORITY: u32 = 98;

/// A scheduler that serves whoever asks, until this is dropped.
pub struct Scheduler {
    threads: Vec<JoinHandle<()>>,
    /// The service ends once this is gone.
    ending: Option<PipeWriter>,
    time: Arc<Time>,
}

/// The first kernel that can be built with sched_ext.
const SINCE: &str = "6.12";

/// Whether this machine can be scheduled this way; the reason if not.
///
/// # Errors
/// More than one CPU, a kernel without sched_ext, or a PID namespace.
pub fn check() -> Result<(), Refused> {
    check_kernel()?;
    kernels_numbers(STARTING)?;
    one_cpu(STARTING, cpus::online().len())
}

fn check_kernel() -> Result<(), Refused> {
    if kernel_record_has("sched_ext_ops", "name") == Some(true) {
        return Ok(());
    }
    // Every kernel that describes its records has this one.
    let is_described = kernel_record_has("task_struct", "tgid") == Some(true);
    let missing = match is_older_than(SINCE) {
        true => Missing::new("sched_ext", Some(SINCE)),
        false if !is_described => Missing::new("type information (BTF), which tells of sched_ext", None),
        false => Missing::new("sched_ext: it was built without CONFIG_SCHED_CLASS_EXT", None),
    };
    Err(Refused::lacking(STARTING, missing))
}

/// Loads the programs, without attaching them yet.
fn load() -> Result<LoadedObject, Refused> {
    LoadedObject::load(NAME, include_bytes!(concat!(env!("OUT_DIR"), "/rialto.bpf.o")), None)
}

/// Loads the programs and unloads them again, however many CPUs there are.
pub(crate) fn try_out() -> Result<(), Refused> {
    check_kernel()?;
    load().map(drop)
}

/// Its programs know processes and threads by the kernel's numbers: with others, the time would be given to somebody else.
fn kernels_numbers(doing: &str) -> Result<(), Refused> {
    if clock::in_pid_namespace() {
        let why =
            "a PID namespace (a container?) hides the kernel's process ids from it: run outside, or with --pid=host";
        return Err(Refused::because(doing, why));
    }
    Ok(())
}

/// Slots are those of one CPU: nothing here says what a second one does meanwhile.
fn one_cpu(doing: &str, online: usize) -> Result<(), Refused> {
    match online {
        1 => Ok(()),
        _ => Err(Refused::because(doing, format!("it serves one CPU, and this machine has {online}"))),
    }
}

impl Scheduler {
    /// Takes over all ordinary threads, and listens for whoever wants time.
    ///
    /// # Errors
    /// What the kernel refused; that another process is serving.
    pub fn start() -> Result<Scheduler, Refused> {
        check()?;
        let failed = |error: std::io::Error| Refused::because(STARTING, punctual_kernel::plain(&error));
        let address = SocketAddr::from_abstract_name(PLACE).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => Refused::because(STARTING, "another process holds its name"),
            _ => failed(error),
        })?;
        let mut object = load()?;
        let record = Record::of(&object)?;
        object.attach_struct_ops("rialto_ops")?;
        let time = Arc::new(Time::new());
        let (ended, ending) = std::io::pipe().map_err(failed)?;
        let mut scheduler = Scheduler { threads: Vec::new(), ending: Some(ending), time: Arc::clone(&time) };
        let of_clock = Arc::clone(&time);
        scheduler.spawn("rialto-clock", CLOCK_PRIORITY, move || of_clock.keep(&object))?;
        scheduler.spawn("rialto-service", SERVICE_PRIORITY, move || {
            service::serve(&listener, &ended, &time, &record);
        })?;
        Ok(scheduler)
    }

    /// Starts a thread above everything that is served, and waits until it is there.
    fn spawn(&mut self, name: &str, priority: u32, body: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        let doing = "starting a thread of Rialto's scheduler";
        let (tell, told) = mpsc::channel();
        let prepared = move || {
            let prepared =
                scheduling::pin_to(CPU).and_then(|()| scheduling::set_scheduling(Scheduling::Fifo(priority)));
            let is_ready = prepared.is_ok();
            let _ = tell.send(prepared);
            if is_ready {
                body();
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(prepared);
        self.threads.push(thread.map_err(|error| Refused::because(doing, punctual_kernel::plain(&error)))?);
        told.recv().map_err(|_| Refused::because(doing, "it ended early"))?
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        drop(self.ending.take());
        self.time.end();
        // The programs go with the clock's thread: all threads are the kernel's again.
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::one_cpu;

    #[test]
    fn more_than_one_cpu_is_refused_in_one_line() {
        assert!(one_cpu("starting", 1).is_ok());
        for online in [2, 64] {
            let said = one_cpu("starting", online).unwrap_err().reason;
            assert_eq!(said, format!("it serves one CPU, and this machine has {online}"));
        }
    }
}
