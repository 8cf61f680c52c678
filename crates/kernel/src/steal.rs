//! Time in which the host ran something else while this machine wanted to run.

/// The steal of these CPUs since boot, ns, to the 10 ms in which `/proc/stat` counts; `None` where it has no such column.
pub fn steal_ns(cpus: &[u32]) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    column_ns(&text, cpus, STEAL, rustix::param::clock_ticks_per_second())
}

/// Which of a CPU's numbers in `/proc/stat` is steal, counted from 0.
pub(crate) const STEAL: usize = 7;

/// The sum of one column over these CPUs, ns.
pub(crate) fn column_ns(stat: &str, cpus: &[u32], column: usize, ticks_per_second: u64) -> Option<u64> {
    let mut sum = None;
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let cpu = words.next().and_then(|name| name.strip_prefix("cpu")).and_then(|number| number.parse::<u32>().ok());
        if cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
            let ticks: u64 = words.nth(column)?.parse().ok()?;
            *sum.get_or_insert(0) += ticks * (1_000_000_000 / ticks_per_second.max(1));
        }
    }
    sum
}

/// Who tells this kernel how much the host took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teller {
    /// The hypervisor writes a counter for each CPU.
    Hypervisor,
    /// Nobody, and why: steal reads zero however much the host takes.
    Silent(&'static str),
    /// This hypervisor is not known.
    Unknown,
}

/// Who tells this kernel how much the host took. Ask only in a virtual machine.
pub fn teller() -> Teller {
    let switched_off = std::fs::read_to_string("/proc/cmdline")
        .is_ok_and(|words| words.split_whitespace().any(|word| word == "no-steal-acc"));
    if switched_off {
        return Teller::Silent("switched off by `no-steal-acc` on the kernel's command line");
    }
    told_by_processor()
}

/// What the processor says about itself under this number.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "newer versions of Rust than the oldest that is supported call it safe")]
fn cpuid(leaf: u32) -> std::arch::x86_64::CpuidResult {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::__cpuid(leaf) }
}

/// Judges by what the hypervisor puts where the processor describes itself.
#[cfg(target_arch = "x86_64")]
fn told_by_processor() -> Teller {
    const SIGNATURE: u32 = 0x4000_0000;
    const FEATURES: u32 = 0x4000_0001;
    const TELLS_STEAL: u32 = 1 << 5;
    if cpuid(1).ecx >> 31 == 0 {
        return Teller::Silent("no hypervisor, nothing to steal");
    }
    let signature = cpuid(SIGNATURE);
    let name: Vec<u8> = [signature.ebx, signature.ecx, signature.edx].into_iter().flat_map(u32::to_ne_bytes).collect();
    match name.as_slice() {
        b"KVMKVMKVM\0\0\0" if signature.eax < FEATURES || cpuid(FEATURES).eax & TELLS_STEAL == 0 => {
            Teller::Silent("this KVM host does not report it to its guest")
        }
        b"KVMKVMKVM\0\0\0" => Teller::Hypervisor,
        b"TCGTCGTCGTCG" => Teller::Silent("an emulator (QEMU TCG) does not report it"),
        b"Microsoft Hv" => Teller::Silent("Hyper-V does not report it to its guests"),
        _ => Teller::Unknown,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn told_by_processor() -> Teller {
    Teller::Unknown
}

/// What a result from this machine cannot see of the host, where each wakeup's share is not known.
pub fn blindness() -> &'static str {
    match teller() {
        Teller::Silent(_) => "which part of the lateness is the host's: this machine's host does not say what it takes",
        _ => "which part of the lateness is the host's: steal is known only as a sum over the run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number_of_each_measured_cpu() {
        let stat = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 1 1 1 1 1 1 5 0 0\nintr 5\n";
        assert_eq!(column_ns(stat, &[0, 1], STEAL, 100), Some(130_000_000));
        assert_eq!(column_ns(stat, &[1], STEAL, 100), Some(50_000_000));
        assert_eq!(column_ns(stat, &[7], STEAL, 100), None);
        assert_eq!(column_ns("cpu0 1 2 3\n", &[0], STEAL, 100), None);
    }
}
