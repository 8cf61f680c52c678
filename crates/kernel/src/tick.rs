//! The kernel's tick: how it was built, what interrupts for timers, and what comes of both.

use crate::clock;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Anything longer than this is no configuration, bytes.
const MAX_CONFIG_BYTES: usize = 4 << 20;
/// How many steps of the coarse clock to watch for, and for how long at most, ns.
const STEPS: usize = 9;
const MAX_WATCH_NS: u64 = 200_000_000;

/// The device that raises one CPU's timer interrupts.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockEvent {
    /// Its name, such as `lapic-deadline`.
    pub name: String,
    /// How finely it can be set, ns; `None` if `/proc/timer_list` may not be read, which only root may.
    pub resolution_ns: Option<f64>,
}

/// The frequency of the tick that the kernel was built with (`CONFIG_HZ`), and the file that says so; `None` where no file
/// does.
pub fn configured_hz() -> Option<(u32, PathBuf)> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    let built_in = || Some((hz_in(&unpacked(Path::new("/proc/config.gz"))?)?, PathBuf::from("/proc/config.gz")));
    let beside = || plain.iter().find_map(|path| Some((hz_in(&bounded(Path::new(path))?)?, PathBuf::from(path))));
    built_in().or_else(beside)
}

fn hz_in(config: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(config).ok()?;
    text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.trim().parse().ok())
}

fn bounded(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_CONFIG_BYTES as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The contents of a file packed by gzip.
fn unpacked(path: &Path) -> Option<Vec<u8>> {
    let bytes = bounded(path)?;
    let deflated = &bytes[deflated_from(&bytes)?..];
    miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, MAX_CONFIG_BYTES).ok()
}

/// Where the packed part begins, after the header of RFC 1952.
fn deflated_from(bytes: &[u8]) -> Option<usize> {
    const CHECK: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let (magic, flags) = (bytes.get(..3)?, *bytes.get(3)?);
    if magic != [0x1f, 0x8b, 8] {
        return None;
    }
    let mut at = 10;
    if flags & EXTRA != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    at += if flags & CHECK != 0 { 2 } else { 0 };
    (at < bytes.len()).then_some(at)
}

/// The clock event device of a CPU; `None` where the kernel does not say.
pub fn clock_event(cpu: u32) -> Option<ClockEvent> {
    let path = format!("/sys/devices/system/clockevents/clockevent{cpu}/current_device");
    let name = fs::read_to_string(path).ok()?.trim().to_owned();
    if name.is_empty() {
        return None;
    }
    // Only there does the kernel say how finely it can be set, below the timers of all CPUs.
    let list = fs::File::open("/proc/timer_list").ok();
    let resolution_ns = list.and_then(|list| resolution_in(BufReader::new(list), &name));
    Some(ClockEvent { name, resolution_ns })
}

/// How long one unit of a device is: it counts `ns * mult >> shift` of them. It reads no further than it must: the kernel
/// takes each CPU's locks, with interrupts off, to write what is read.
fn resolution_in(list: impl BufRead, name: &str) -> Option<f64> {
    const DEVICE: &str = "Clock Event Device: ";
    let lines = list.lines().map_while(Result::ok);
    let of_device = lines.skip_while(|line| line.strip_prefix(DEVICE) != Some(name)).skip(1);
    let number = |line: &str, key: &str| line.trim().strip_prefix(key)?.trim().parse::<u64>().ok();
    let (mut factor, mut shift) = (None, None);
    for line in of_device.take_while(|line| !line.starts_with(DEVICE)) {
        factor = factor.or_else(|| number(&line, "mult:").filter(|factor| *factor > 0));
        shift = shift.or_else(|| number(&line, "shift:").filter(|shift| *shift < 64));
        if let (Some(factor), Some(shift)) = (factor, shift) {
            return Some((1_u64 << shift) as f64 / factor as f64);
        }
    }
    None
}

/// How far apart the kernel's coarse clock steps while this thread keeps a CPU busy: the tick as it comes, ns. It is
/// the least of eight, because whoever keeps this thread from its CPU joins steps together. `None` if too few came
/// within a fifth of a second.
pub fn observed_tick_ns() -> Option<u64> {
    let began = clock::monotonic_ns();
    let (mut last, mut steps) = (clock::coarse_ns(), Vec::with_capacity(STEPS));
    while steps.len() < STEPS {
        let now = clock::monotonic_ns();
        if now - began > MAX_WATCH_NS {
            break;
        }
        let coarse = clock::coarse_ns();
        if coarse != last {
            (last, _) = (coarse, steps.push(coarse));
        }
    }
    let apart = steps.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    apart.min().filter(|_| steps.len() > 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_says_its_frequency() {
        let config = b"# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n";
        assert_eq!(hz_in(config), Some(250));
        assert_eq!(hz_in(b"# CONFIG_HZ is not set\n"), None);
    }

    #[test]
    fn a_header_ends_where_its_flags_say() {
        let plain = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b];
        assert_eq!(deflated_from(&plain), Some(10));
        let named = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], b"config\0", &[0x4b]].concat();
        assert_eq!(deflated_from(&named), Some(17));
        for wrong in [&plain[..10], &named[..14], b"no gzip at all", b""] {
            assert_eq!(deflated_from(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_device_has_the_resolution_of_its_factor() {
        let list = "Tick Device: mode:     1\nClock Event Device: <NULL>\n\nClock Event Device: lapic-deadline\n max_delta_ns:   1\n \
                    mult:           9646891\n shift:          25\n mode:           3\nClock Event Device: hpet\n mult: 1\n shift: 1\n";
        let resolution_of = |list: &str, name| resolution_in(list.as_bytes(), name);
        let resolution = resolution_of(list, "lapic-deadline").unwrap();
        assert!((resolution - 3.478).abs() < 0.001, "{resolution}");
        assert_eq!(resolution_of(list, "hpet"), Some(2.0));
        assert_eq!(resolution_of(list, "arch_sys_timer"), None);
        assert_eq!(resolution_of("", "hpet"), None);
    }

    #[test]
    fn the_list_is_read_only_as_far_as_the_device() {
        let list = b"Clock Event Device: hpet\n mult: 1\n shift: 1\n mode: 3\nmore\n";
        let mut rest = &list[..];
        assert_eq!(resolution_in(&mut rest, "hpet"), Some(2.0));
        assert_eq!(rest, b" mode: 3\nmore\n");
    }

    /// What was built, what is advertised and what comes agree, if all three are known.
    #[test]
    fn machine_the_tick_comes_as_it_was_built() {
        let Some((hz, path)) = configured_hz() else {
            return punctual_testing::skip("machine_the_tick_comes_as_it_was_built", "no file gives CONFIG_HZ");
        };
        assert!((10..=10_000).contains(&hz), "{hz} in {}", path.display());
        // Others may keep the thread from its CPU for most of a fifth of a second: not each time.
        let observed = (0..10).find_map(|_| observed_tick_ns()).expect("a busy CPU sees its tick");
        // A tick may be held up; it does not come early, except for the rounding of the clock.
        assert!(observed * u64::from(hz) > 900_000_000, "{observed} ns at {hz} Hz");
    }
}
