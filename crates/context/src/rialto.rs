//! Rialto/NT's reservations on the running kernel: slots of `punctual-rialto`, served by a scheduler of BPF programs
//! (sched_ext) on a machine with one CPU.
//!
//! A thread above all others says whose the time is, at each edge: kernels with PREEMPT_RT refuse programs' timers, and so
//! both kinds of kernels are served the same way. Whatever ends this process takes the scheduler with it, and all threads go
//! back to the kernel's own.

use punctual_kernel::bpf::{LoadedObject, SharedMemory, kernel_record_has};
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Missing, Refused, clock, cpus, hold, is_older_than};
use punctual_rialto::{Form, MAX_RESERVATIONS, Plan, Share};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

const NAME: &str = "rialto";
const CPU: u32 = 0;
const PRIORITY: u32 = 99;
/// As in `bpf/rialto.bpf.c`.
const MAX_RUNS: usize = 65_536;
/// Bytes of a thread's name that the kernel keeps, with a zero at the end.
const MAX_NAME: usize = 16;
/// The clock looks this often whether it is to end, ns.
const LOOK_NS: u64 = 50_000_000;

/// `struct rialto` of `bpf/rialto.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Shared {
    owner: u32,
    is_ended: u32,
    runs: u64,
    slept: u64,
    repaired: u64,
    since: u64,
    began: u64,
    processes: [u32; MAX_RESERVATIONS],
    hard: [u32; MAX_RESERVATIONS],
    names: [[u8; MAX_NAME]; MAX_RESERVATIONS],
    reason: [u8; 128],
}

/// What the first reservation got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// When its threads ran, in order, ns of the monotonic clock; the first ones where there were too many to keep. A
    /// stretch ends where a thread slept: within one it wanted the CPU all the time.
    pub stretches: Vec<Vec<(u64, u64)>>,
    /// Whether there were more runs than are kept.
    pub is_cut: bool,
    /// How often a thread of it slept, and so wanted nothing.
    pub slept: u64,
    /// How often somebody ran whose time it was not, and was stopped at once.
    pub repaired: u64,
    /// How late the clock's thread was at most at an edge, ns.
    pub latest_ns: u64,
    /// Why the kernel took the scheduler away, if it did.
    pub taken_away: Option<String>,
}

/// Reservations that are served until this is ended or dropped.
pub struct Scheduler {
    clock: Option<JoinHandle<(LoadedObject, u64)>>,
    is_over: Arc<AtomicBool>,
    shared: SharedMemory,
    runs: SharedMemory,
}

/// The first kernel that can be built with sched_ext.
const SINCE: &str = "6.12";

/// Whether this machine can be scheduled so, the reason where not.
///
/// # Errors
/// More than one CPU, or a kernel without sched_ext.
pub fn check() -> Result<(), Refused> {
    let doing = "starting Rialto's scheduler";
    if kernel_record_has("sched_ext_ops", "name") != Some(true) {
        let missing = match is_older_than(SINCE) {
            true => Missing::new("sched_ext", Some(SINCE)),
            false => Missing::new("sched_ext: it was built without CONFIG_SCHED_CLASS_EXT", None),
        };
        return Err(Refused::lacking(doing, missing));
    }
    let online = cpus::online().len();
    if online != 1 {
        return Err(Refused::because(doing, format!("it serves one CPU, and this machine has {online}")));
    }
    Ok(())
}

impl Scheduler {
    /// Gives processes, by their ids, reservations with this plan: the first of `shares` is the first one's. All threads of a
    /// process share its reservation, or those of them whose name begins like this.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(plan: Plan, shares: &[Share], processes: &[(u32, Option<&str>)]) -> Result<Scheduler, Refused> {
        check()?;
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/rialto.bpf.o"));
        let mut object = LoadedObject::load(NAME, bytes, None)?;
        let (shared, runs) = (object.shared_globals()?, object.shared_array("runs")?);
        let record: NonNull<Shared> = shared.at(0, 1);
        // SAFETY: the mapping holds the record, and no program of the object runs yet.
        let record = unsafe { &mut *record.as_ptr() };
        for (index, (share, (process, name))) in shares.iter().zip(processes).take(MAX_RESERVATIONS).enumerate() {
            record.hard[index] = u32::from(share.form == Form::Hard);
            record.processes[index] = *process;
            for (byte, place) in name.unwrap_or_default().bytes().zip(&mut record.names[index][..MAX_NAME - 1]) {
                *place = byte;
            }
        }
        object.attach_struct_ops("rialto_ops")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let over = Arc::clone(&is_over);
        let body = move || {
            let prepared = scheduling::pin_to(CPU)
                .and_then(|()| scheduling::set_scheduling(Scheduling::Fifo(PRIORITY)))
                .and_then(|()| say(&object, 0));
            let is_ready = prepared.is_ok();
            let _ = tell.send(prepared);
            let latest_ns = if is_ready { keep_time(&object, &plan, &over) } else { 0 };
            (object, latest_ns)
        };
        let doing = "starting the clock of Rialto's scheduler";
        let clock = std::thread::Builder::new().name("rialto-clock".to_owned()).spawn(body);
        let clock = clock.map_err(|error| Refused::because(doing, error.to_string()))?;
        let scheduler = Scheduler { clock: Some(clock), is_over, shared, runs };
        told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
        Ok(scheduler)
    }

    /// Why the kernel took the scheduler away, if it did.
    pub fn taken_away(&self) -> Option<String> {
        let record = self.read();
        (record.is_ended != 0).then(|| {
            let length = record.reason.iter().position(|byte| *byte == 0).unwrap_or(record.reason.len());
            String::from_utf8_lossy(&record.reason[..length]).into_owned()
        })
    }

    /// Gives all threads back to the kernel's scheduler, and tells what was served.
    pub fn end(mut self) -> Served {
        let taken_away = self.taken_away();
        let latest_ns = self.stop();
        let record = self.read();
        let count = usize::try_from(record.runs).unwrap_or(MAX_RUNS).min(MAX_RUNS);
        let runs: NonNull<[u64; 3]> = self.runs.at(0, count);
        let mut stretches = vec![Vec::new()];
        for index in 0..count {
            // SAFETY: the mapping holds that many records of three numbers, and the programs that wrote them are gone.
            let [begin, end, slept] = unsafe { runs.add(index).read_volatile() };
            stretches.last_mut().expect("at least one").push((begin, end));
            if slept != 0 {
                stretches.push(Vec::new());
            }
        }
        stretches.retain(|stretch| !stretch.is_empty());
        let (slept, repaired) = (record.slept, record.repaired);
        Served { stretches, is_cut: record.runs > MAX_RUNS as u64, slept, repaired, latest_ns, taken_away }
    }

    fn read(&self) -> Shared {
        let record: NonNull<Shared> = self.shared.at(0, 1);
        // SAFETY: the mapping holds the record; what the programs change meanwhile are numbers, of which each is valid.
        unsafe { record.read_volatile() }
    }

    fn stop(&mut self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        // The object goes here: its threads are the kernel's again.
        self.clock.take().and_then(|clock| clock.join().ok()).map_or(0, |(_, latest_ns)| latest_ns)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn say(object: &LoadedObject, owner: u8) -> Result<(), Refused> {
    let mut edge = [0u8; 8];
    edge[..4].copy_from_slice(&u32::from(owner).to_ne_bytes());
    object.call("rialto_edge", &mut edge)
}

/// Says whose the time is at each edge, until it is over; gives how late that was at most, ns.
fn keep_time(object: &LoadedObject, plan: &Plan, is_over: &AtomicBool) -> u64 {
    hold::touch_stack();
    let start = clock::monotonic_ns();
    let (mut owner, mut due, mut latest_ns) = (0, start, 0);
    while !is_over.load(Ordering::Relaxed) {
        let now = clock::monotonic_ns();
        if now >= due {
            latest_ns = latest_ns.max(now - due);
            let next = plan.owner_at(now - start);
            if next != owner && say(object, next).is_ok() {
                owner = next;
            }
            due = plan.next_edge(now - start).map_or(u64::MAX, |edge| start + edge);
        }
        clock::sleep_until(due.min(now + LOOK_NS));
    }
    latest_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::types::Struct;
    use libbpf_rs::btf::{Btf, HasSize};

    #[test]
    fn the_record_is_that_of_the_programs() {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/rialto.bpf.o"));
        let btf = Btf::from_raw(NAME, bytes).unwrap().unwrap();
        let record: Struct<'_> = btf.type_by_name(NAME).unwrap();
        let names: Vec<String> =
            record.iter().map(|member| member.name.unwrap().to_string_lossy().into_owned()).collect();
        let own = [
            "owner",
            "is_ended",
            "runs",
            "slept",
            "repaired",
            "since",
            "began",
            "processes",
            "hard",
            "names",
            "reason",
        ];
        assert_eq!(names, own);
        assert_eq!(record.size(), size_of::<Shared>());
    }
}
