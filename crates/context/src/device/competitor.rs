//! What a device competes with on its CPU.

use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, capabilities, clock, rests};
use punctual_recording::input;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

/// A thread that wants the CPU while the device runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Competitor {
    /// It never stops computing. With a real-time priority it rests a tenth of the time, so that the machine stays
    /// usable; all rest at the same time.
    Spin(Scheduling),
    /// It reads every file it finds, running slightly before other normal threads, as the paper's grep did.
    Walk,
}

impl Competitor {
    /// Reads `spin:0` or `spin:normal`, `spin:50` or `walk`.
    ///
    /// # Errors
    /// A line that says what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Competitor, String> {
        let wrong = || {
            format!(
                "`{text}` is not a competitor: write spin:normal, spin:50 (a FIFO priority) or walk; programs that keep the machine \
                 busy are a load (--load)"
            )
        };
        match text.split_once(':') {
            None if text == "walk" => Ok(Competitor::Walk),
            None if text == "spin" => Ok(Competitor::Spin(Scheduling::Other)),
            Some(("spin", "normal" | "other" | "0")) => Ok(Competitor::Spin(Scheduling::Other)),
            Some(("spin", priority)) => match priority.parse() {
                Ok(priority) if (1..=99).contains(&priority) => Ok(Competitor::Spin(Scheduling::Fifo(priority))),
                Ok(priority) => Err(format!("priority {priority} is not within 1 to 99")),
                Err(_) => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Competitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Competitor::Spin(Scheduling::Fifo(priority)) => write!(formatter, "spin:{priority}"),
            Competitor::Spin(_) => write!(formatter, "spin:normal"),
            Competitor::Walk => write!(formatter, "walk"),
        }
    }
}

/// How much of a file is read at most.
const FILE_BYTES: u64 = 1 << 20;
/// How many directories wait to be looked into at most: users may make as many as they like, with long names.
const MAX_WAITING: usize = 1_024;

/// Running competitors; they end when this is dropped.
pub struct Competing(Arc<AtomicBool>);

impl Competing {
    /// Starts each competitor on each of these CPUs. They end by themselves at `end_ns` of `CLOCK_MONOTONIC`: whoever should
    /// end them may not get to run.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(competitors: &[Competitor], cpus: &[u32], end_ns: u64) -> Result<Competing, Refused> {
        let competing = Competing(Arc::new(AtomicBool::new(false)));
        for competitor in competitors {
            // One walker is enough for a disk.
            let cpus = if *competitor == Competitor::Walk { &cpus[..cpus.len().min(1)] } else { cpus };
            for &cpu in cpus {
                spawn(*competitor, cpu, end_ns, Arc::clone(&competing.0))?;
            }
        }
        Ok(competing)
    }
}

impl Drop for Competing {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn spawn(competitor: Competitor, cpu: u32, end_ns: u64, stop: Arc<AtomicBool>) -> Result<(), Refused> {
    let doing = "starting a competitor";
    let (tell, told) = mpsc::channel();
    let body = move || {
        let scheduling = match competitor {
            Competitor::Spin(scheduling) => scheduling,
            Competitor::Walk => {
                scheduling::set_nice(-5);
                Scheduling::Other
            }
        };
        let set = scheduling::pin_to(cpu).and_then(|()| {
            scheduling::set_scheduling(scheduling).map_err(|refused| {
                Refused::because(refused.doing, format!("{}; {}", refused.reason, capabilities::real_time_remedy()))
            })
        });
        let ready = set.is_ok();
        let _ = tell.send(set);
        match competitor {
            _ if !ready => {}
            Competitor::Spin(scheduling) => spin(scheduling != Scheduling::Other, end_ns, &stop),
            Competitor::Walk => walk(&stop),
        }
    };
    let spawned = std::thread::Builder::new().name("competitor".to_owned()).stack_size(256 * 1024).spawn(body);
    spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
    told.recv().map_err(|_| Refused::because(doing, "it ended early"))?
}

fn spin(is_real_time: bool, end_ns: u64, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        for _ in 0..2_000 {
            std::hint::spin_loop();
        }
        let now = clock::monotonic_ns();
        if now >= end_ns {
            return;
        }
        if let (true, Some(rest_end)) = (is_real_time, rests::rest_end(now)) {
            clock::sleep_until(rest_end);
        }
    }
}

fn walk(stop: &AtomicBool) {
    let mut buffer = vec![0u8; 64 * 1024];
    while !stop.load(Relaxed) {
        let mut waiting: Vec<PathBuf> = vec!["/usr".into(), "/var".into(), "/home".into()];
        while let Some(directory) = waiting.pop().filter(|_| !stop.load(Relaxed)) {
            look_into(&directory, &mut waiting, &mut buffer, stop);
        }
        // With nothing to read, a walker does not spin.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Reads the files of a directory, and adds those within it to the ones that wait.
fn look_into(directory: &Path, waiting: &mut Vec<PathBuf>, buffer: &mut [u8], stop: &AtomicBool) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if stop.load(Relaxed) {
            return;
        }
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && waiting.len() < MAX_WAITING {
            waiting.push(entry.path());
        } else if kind.is_file()
            // Whoever owns the directory may have put something else there by now.
            && let Ok(file) = input::open_file(&entry.path())
        {
            let mut file = file.take(FILE_BYTES);
            while file.read(buffer).is_ok_and(|read| read > 0) && !stop.load(Relaxed) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_ends_by_itself() {
        let began = clock::monotonic_ns();
        spin(true, began + 250_000_000, &AtomicBool::new(false));
        let took = clock::monotonic_ns() - began;
        assert!(took >= 240_000_000, "{took}");
        assert!(clock::thread_cpu_ns() < took, "it never rested");
    }

    #[test]
    fn a_walker_keeps_so_many_directories_in_mind_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        (0..MAX_WAITING + 9).for_each(|number| std::fs::create_dir(directory.path().join(number.to_string())).unwrap());
        std::fs::write(directory.path().join("file"), "text").unwrap();
        let (mut waiting, mut buffer) = (Vec::new(), [0; 16]);
        look_into(directory.path(), &mut waiting, &mut buffer, &AtomicBool::new(false));
        assert_eq!((waiting.len(), &buffer[..4]), (MAX_WAITING, b"text".as_slice()));
        look_into(directory.path(), &mut waiting, &mut buffer, &AtomicBool::new(true));
        assert_eq!(waiting.len(), MAX_WAITING);
    }

    #[test]
    fn competitors_as_people_write_them() {
        for (text, shown) in
            [("spin:0", "spin:normal"), ("spin", "spin:normal"), ("spin:50", "spin:50"), ("walk", "walk")]
        {
            assert_eq!(Competitor::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", "run", "spin:", "spin:100", "walk:5"] {
            let message = Competitor::parse(text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'));
            // A priority that is none is another matter.
            assert!(message.contains("--load") || text == "spin:100", "{message}");
        }
    }
}
