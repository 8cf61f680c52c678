//! Classes of load.

use crate::machine::Machine;
use punctual_recording::NO_LOAD;
use std::str::FromStr;

/// A class of load: one way of keeping a machine busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nothing: an idle machine.
    None,
    /// Arithmetic on every CPU.
    Cpu,
    /// Writing to much memory.
    Memory,
    /// Writing files.
    Disk,
    /// Packets through the loopback interface, and so network softirqs.
    Network,
    /// Making and ending processes.
    Fork,
    /// System calls.
    Syscall,
    /// Timers at a high rate, and so timer interrupts.
    Timer,
    /// One of each.
    Mixed,
}

/// A name that is no class of load.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a load: give one of {}", .0, Class::ALL.map(Class::name).join(", "))]
pub struct UnknownClass(String);

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Class, UnknownClass> {
        Class::ALL.into_iter().find(|class| class.name() == name).ok_or_else(|| UnknownClass(name.to_owned()))
    }
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 9] = [
        Class::None,
        Class::Cpu,
        Class::Memory,
        Class::Disk,
        Class::Network,
        Class::Fork,
        Class::Syscall,
        Class::Timer,
        Class::Mixed,
    ];

    /// The name used in options and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Class::None => NO_LOAD,
            Class::Cpu => "cpu",
            Class::Memory => "memory",
            Class::Disk => "disk",
            Class::Network => "network",
            Class::Fork => "fork",
            Class::Syscall => "syscall",
            Class::Timer => "timer",
            Class::Mixed => "mixed",
        }
    }

    /// The classes it consists of.
    pub fn parts(self) -> &'static [Class] {
        match self {
            Class::None => &[],
            Class::Cpu => &[Class::Cpu],
            Class::Memory => &[Class::Memory],
            Class::Disk => &[Class::Disk],
            Class::Network => &[Class::Network],
            Class::Fork => &[Class::Fork],
            Class::Syscall => &[Class::Syscall],
            Class::Timer => &[Class::Timer],
            Class::Mixed => {
                &[Class::Cpu, Class::Memory, Class::Disk, Class::Network, Class::Fork, Class::Syscall, Class::Timer]
            }
        }
    }

    /// Its arguments to stress-ng: one worker, except for arithmetic alone, which takes every CPU.
    pub(crate) fn stress_ng_arguments(self, machine: &Machine, mixed: bool) -> Vec<String> {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Class::None | Class::Mixed => Vec::new(),
            Class::Cpu if mixed => text(&["--cpu", "1"]),
            Class::Cpu => text(&["--cpu", &machine.cpus.to_string()]),
            Class::Memory => {
                let bytes = (machine.memory_bytes / 16).clamp(16 << 20, 512 << 20);
                text(&["--vm", "1", "--vm-bytes", &bytes.to_string()])
            }
            Class::Disk => text(&["--hdd", "1", "--hdd-bytes", "128m"]),
            Class::Network => text(&["--udp", "1", "--udp-port", &machine.first_port.to_string()]),
            Class::Fork => text(&["--fork", "1", "--fork-max", "4"]),
            Class::Syscall => text(&["--get", "1"]),
            Class::Timer => text(&["--timer", "1", "--timer-freq", "5000"]),
        }
    }
}
