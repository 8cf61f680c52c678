//! What the scheduler's programs and this process share.

use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_rialto::{Form, MAX_CONSTRAINTS, MAX_RESERVATIONS, Share, received_in, seen_ns};
use serde::{Deserialize, Serialize};
use std::ptr::NonNull;

/// As in `bpf/rialto.bpf.c`: how many runs are kept for each reservation.
const MAX_RUNS: usize = 16_384;
/// How many bytes of a thread's name the kernel keeps, with a zero at the end.
const MAX_NAME: usize = 16;

/// `struct rialto` of `bpf/rialto.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Shared {
    owner: u32,
    is_ended: u32,
    repaired: u64,
    since: u64,
    turn: u64,
    looked: u64,
    runs: [u64; MAX_RESERVATIONS],
    slept: [u64; MAX_RESERVATIONS],
    began: [u64; MAX_RESERVATIONS],
    processes: [u32; MAX_RESERVATIONS],
    hard: [u32; MAX_RESERVATIONS],
    threads: [u32; MAX_CONSTRAINTS],
    of: [u32; MAX_CONSTRAINTS],
    names: [[u8; MAX_NAME]; MAX_RESERVATIONS],
    reason: [u8; 128],
}

/// What a reservation got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// CPU time in the sliding window of a period with the least, among those in which it wanted the CPU all the time,
    /// ns. `None` if there was no such window.
    pub least_ns: Option<u64>,
    /// In the window with the most.
    pub most_ns: Option<u64>,
    /// On average.
    pub mean_ns: Option<u64>,
    /// How long it wanted the CPU, as far as that is known, ns.
    pub seen_ns: u64,
    /// Whether there were more runs than are kept.
    pub is_cut: bool,
    /// How often one of its threads slept, and so wanted nothing.
    pub slept: u64,
    /// How often others changed its slots by coming.
    pub moved: u64,
    /// How often somebody ran whose time it was not, and was stopped at once: among all that are served.
    pub repaired: u64,
    /// How late the clock's thread was at an edge, at most, ns.
    pub latest_ns: u64,
    /// Why the kernel took the scheduler away, if it did.
    pub taken_away: Option<String>,
    /// How often somebody who wanted time could not be heard, among all that came so far.
    #[serde(default)]
    pub unheard: u64,
    /// Why, the last time.
    #[serde(default)]
    pub unheard_why: Option<String>,
}

/// The memory that both share.
pub(super) struct Record {
    shared: SharedMemory,
    runs: SharedMemory,
}

impl Record {
    pub(super) fn of(object: &LoadedObject) -> Result<Record, Refused> {
        Ok(Record { shared: object.shared_globals()?, runs: object.shared_array("runs")? })
    }

    fn read(&self) -> Shared {
        let record: NonNull<Shared> = self.shared.at(0, 1);
        // SAFETY: the mapping holds the record; what the programs change meanwhile are numbers, all of which are valid.
        unsafe { record.read_volatile() }
    }

    /// Writes one of the record's members, which is what `place` gives of it.
    fn write<T: Copy>(&self, place: impl FnOnce(*mut Shared) -> *mut T, value: T) {
        let record: NonNull<Shared> = self.shared.at(0, 1);
        // SAFETY: the mapping holds the record, `place` gives an aligned member of it, and programs read any value as a number.
        unsafe { place(record.as_ptr()).write_volatile(value) }
    }

    /// From now on the process's threads have the reservation with this number, or those of them whose names begin like this.
    pub(super) fn begin(&self, number: u8, share: &Share, process: u32, name: &str) {
        let index = usize::from(number) - 1;
        let mut bytes = [0; MAX_NAME];
        for (byte, place) in name.bytes().zip(&mut bytes[..MAX_NAME - 1]) {
            *place = byte;
        }
        // Nobody has this number: no program changes its counts. SAFETY: only addresses of members within the record
        // are taken; nothing is read.
        self.write(|record| unsafe { &raw mut (*record).runs[index] }, 0);
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).slept[index] }, 0);
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).began[index] }, 0);
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).hard[index] }, u32::from(share.form == Form::Hard));
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).names[index] }, bytes);
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).processes[index] }, process);
    }

    /// Nobody has the reservation with this number any more.
    pub(super) fn end(&self, number: u8) {
        let index = usize::from(number) - 1;
        // SAFETY: the address of a member is taken, within the record; nothing is read.
        self.write(|record| unsafe { &raw mut (*record).processes[index] }, 0);
        // SAFETY: as above.
        self.write(|record| unsafe { &raw mut (*record).hard[index] }, 0);
    }

    /// From now on a thread has the time constraint with this number; 0: nobody has it.
    pub(super) fn constrain(&self, number: u8, thread: u32) {
        let index = usize::from(number) - 1 - MAX_RESERVATIONS;
        if thread == 0 {
            // Whoever still waits in its queue may be taken from there at any time.
            // SAFETY: the address of a member is taken, within the record; nothing is read.
            self.write(|record| unsafe { &raw mut (*record).of[index] }, 0);
        }
        // SAFETY: the address of a member is taken, within the record; nothing is read.
        self.write(|record| unsafe { &raw mut (*record).threads[index] }, thread);
    }

    /// Why the kernel took the scheduler away, if it did.
    pub(super) fn taken_away(&self) -> Option<String> {
        let record = self.read();
        (record.is_ended != 0).then(|| {
            let length = record.reason.iter().position(|byte| *byte == 0).unwrap_or(record.reason.len());
            String::from_utf8_lossy(&record.reason[..length]).into_owned()
        })
    }

    /// What the reservation with this number has got so far.
    pub(super) fn served(&self, number: u8, share: &Share) -> Served {
        let (record, index) = (self.read(), usize::from(number) - 1);
        let count = usize::try_from(record.runs[index]).unwrap_or(MAX_RUNS).min(MAX_RUNS);
        let runs: NonNull<[u64; 3]> = self.runs.at(index * MAX_RUNS * size_of::<[u64; 3]>(), count);
        let mut stretches = vec![Vec::new()];
        for place in 0..count {
            // SAFETY: the mapping holds that many records of three numbers; programs write those after them.
            let [begin, end, slept] = unsafe { runs.add(place).read_volatile() };
            stretches.last_mut().expect("at least one").push((begin, end));
            if slept != 0 {
                stretches.push(Vec::new());
            }
        }
        let received = received_in(&stretches, share.period_ns);
        Served {
            least_ns: received.map(|received| received.least_ns),
            most_ns: received.map(|received| received.most_ns),
            mean_ns: received.map(|received| received.mean_ns),
            seen_ns: stretches.iter().map(|runs| seen_ns(runs)).sum(),
            is_cut: record.runs[index] > MAX_RUNS as u64,
            slept: record.slept[index],
            moved: 0,
            repaired: record.repaired,
            latest_ns: 0,
            taken_away: self.taken_away(),
            unheard: 0,
            unheard_why: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NAME;
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
        let first = ["owner", "is_ended", "repaired", "since", "turn", "looked", "runs", "slept", "began"];
        let rest = ["processes", "hard", "threads", "of", "names", "reason"];
        assert_eq!(names, [&first[..], &rest[..]].concat());
        assert_eq!(record.size(), size_of::<Shared>());
    }
}
