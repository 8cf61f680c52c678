//! The drill with page faults: a victim touches pages that are not there, one after the other.

use super::stop::Stop;
use super::victim::become_victim;
use super::worker::{Injector, Made};
use super::{Pages, VictimActivation};
use punctual_kernel::{Refused, clock};
use rustix::fs::Advice as FileAdvice;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::fs::File;
use std::io::Write;
use std::ptr::NonNull;

/// How much is mapped; when all of it has been touched, it is given back and touched again.
const BYTES: usize = 16 << 20;

/// Lives in the victim's thread.
pub(crate) struct Toucher {
    region: NonNull<u8>,
    /// The mapped file, without a name; `None` for plain memory.
    file: Option<File>,
    page: usize,
    tid: u32,
}

impl Toucher {
    /// Sets the calling thread up and maps what it will touch.
    pub(crate) fn prepare(cpu: u32, priority: u32, pages: Pages) -> Result<Toucher, Refused> {
        let file = match pages {
            Pages::Fresh => None,
            Pages::File => {
                Some(nameless_file().map_err(|error| Refused::because("making a file to map", error.to_string()))?)
            }
        };
        become_victim(Some(cpu), priority)?;
        let mapped = match &file {
            // SAFETY: a new mapping at an address of the kernel's choice disturbs no existing one.
            None => unsafe {
                let access = ProtFlags::READ | ProtFlags::WRITE;
                rustix::mm::mmap_anonymous(std::ptr::null_mut(), BYTES, access, MapFlags::PRIVATE)
            },
            // SAFETY: as above; nobody else has the file, which has no name, so it keeps its length.
            Some(file) => unsafe {
                rustix::mm::mmap(std::ptr::null_mut(), BYTES, ProtFlags::READ, MapFlags::SHARED, file, 0)
            },
        };
        let refused = |error: String| Refused::because("mapping pages to touch", error);
        let mapped = mapped.map_err(|error| refused(error.to_string()))?;
        let region = NonNull::new(mapped.cast()).ok_or_else(|| refused("at address 0".to_owned()))?;
        let toucher = Toucher { region, file, page: rustix::param::page_size(), tid: clock::thread_id() };
        // One fault for each page, not one for two megabytes or for what is read ahead. It does no harm if that is refused.
        let single = if toucher.file.is_some() { Advice::Random } else { Advice::LinuxNoHugepage };
        toucher.advise(single);
        Ok(toucher)
    }

    fn advise(&self, advice: Advice) {
        // SAFETY: the whole of this value's own mapping, to which nobody holds a reference.
        let _ = unsafe { rustix::mm::madvise(self.region.as_ptr().cast(), BYTES, advice) };
    }

    /// Gives all pages back.
    fn give_back(&self) {
        self.advise(Advice::LinuxDontNeed);
        if let Some(file) = &self.file {
            let _ = rustix::fs::fadvise(file, 0, None, FileAdvice::DontNeed);
        }
    }

    /// Touches pages until this time; returns when that was.
    fn touch(&self, until_ns: u64) -> u64 {
        loop {
            for offset in (0..BYTES).step_by(self.page) {
                // SAFETY: an address within the mapping, which is readable, and writable if it is plain memory.
                unsafe {
                    let byte = self.region.as_ptr().add(offset);
                    if self.file.is_some() {
                        let _ = byte.read_volatile();
                    } else {
                        byte.write_volatile(1)
                    }
                }
                let now = clock::monotonic_ns();
                if now >= until_ns {
                    return now;
                }
            }
            self.give_back();
        }
    }
}

impl Injector for Toucher {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        self.give_back();
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        let before = faults();
        let (start_ns, cpu) = (clock::monotonic_ns(), clock::current_cpu());
        let end_ns = self.touch(start_ns + length_ns);
        let after = faults();
        let victim = VictimActivation {
            tid: self.tid,
            due_ns: at_ns,
            first_ns: start_ns,
            done_ns: clock::monotonic_ns(),
            delayed_ns: end_ns - start_ns,
        };
        Ok(Some(Made {
            start_ns,
            end_ns,
            cpu,
            tid: Some(self.tid),
            victim: Some(victim),
            moves: None,
            faults: Some(after.0 - before.0 + after.1 - before.1),
            major_faults: Some(after.1 - before.1),
        }))
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        // SAFETY: unmaps what `prepare` mapped; nobody holds a reference into it.
        let _ = unsafe { rustix::mm::munmap(self.region.as_ptr().cast(), BYTES) };
    }
}

/// The calling thread's faults so far, without input and with.
fn faults() -> (u64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure it is given; a zeroed one is valid too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    (usage.ru_minflt as u64, usage.ru_majflt as u64)
}

/// A file on the disk for temporary files, written out, that never has a name: nothing is left of it.
fn nameless_file() -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let directory = std::env::temp_dir();
    let named = |error: std::io::Error| {
        let reason = punctual_kernel::plain(&error);
        std::io::Error::new(error.kind(), format!("{}: {reason}", directory.display()))
    };
    let opened = rustix::fs::open(&directory, flags, Mode::RUSR | Mode::WUSR).map_err(|error| named(error.into()))?;
    let mut file = File::from(opened);
    let block = vec![0x5a; 1 << 20];
    for _ in 0..BYTES / block.len() {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(file)
}
