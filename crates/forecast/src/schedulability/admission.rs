//! Admission to `SCHED_DEADLINE`: as the kernel does it, and as it should be.

use super::demand::Demand;
use super::edf::{Edf, edf};
use punctual_recording::format_ns;

/// A runtime, a deadline and a period, ns, as `sched_setattr` takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineParameters {
    /// Runtime, ns.
    pub runtime_ns: u64,
    /// Relative deadline, ns.
    pub deadline_ns: u64,
    /// Period, ns; 0 means the deadline.
    pub period_ns: u64,
}

/// What decides on admission, apart from the tasks themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// CPUs of the root domain.
    pub cpus: u32,
    /// `sched_rt_runtime_us` of `sched_rt_period_us`, in millionths: 950,000 by default.
    pub limit_millionths: u64,
    /// Whether each CPU's fair server takes its 5 % out of that limit, as kernels from 6.12 on do.
    pub fair_server: bool,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        AdmissionLimits { cpus: 1, limit_millionths: 950_000, fair_server: true }
    }
}

/// Whether a set is admitted, and whether it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// The index of the first task that the kernel refuses, and why; `None` if it admits them all.
    pub refused: Option<(usize, String)>,
    /// The bandwidth asked for, in units of 2^-20 CPUs as the kernel counts.
    pub asked: u64,
    /// The available bandwidth, in the same units.
    pub available: u64,
    /// Whether the whole holds on one CPU. On several, deadlines are guaranteed only if tasks are partitioned and each
    /// part passes by itself; global EDF only bounds the tardiness.
    pub should: Edf,
}

/// The kernel's fixed-point unit of bandwidth: 2^20 is a CPU.
const UNIT: u64 = 1 << 20;

/// The kernel's `to_ratio`: runtime over period in units of 2^-20, rounded down.
fn ratio(period_ns: u64, runtime_ns: u64) -> u64 {
    if period_ns == 0 { 0 } else { (u128::from(runtime_ns) * u128::from(UNIT) / u128::from(period_ns)) as u64 }
}

/// Admits tasks one after the other, as the kernel does by utilization alone (`kernel/sched/deadline.c`,
/// `__checkparam_dl` and `__dl_overflow`), and checks the whole by demand ([`edf`]), as it should. The kernel compares
/// runtime with period even if the deadline is shorter: it admits sets that must miss.
pub fn admission(tasks: &[DeadlineParameters], limits: AdmissionLimits) -> Admission {
    let per_cpu = ratio(1_000_000, limits.limit_millionths);
    let server = if limits.fair_server { ratio(1_000_000_000, 50_000_000) } else { 0 };
    let available = per_cpu.saturating_sub(server) * u64::from(limits.cpus);
    let mut admitted = 0;
    let mut refused = None;
    for (index, task) in tasks.iter().enumerate() {
        let period = if task.period_ns == 0 { task.deadline_ns } else { task.period_ns };
        let asked = ratio(period, task.runtime_ns);
        let reason = malformed(task, period).or_else(|| {
            (admitted + asked > available).then(|| {
                let percent = |units: u64| units as f64 * 100.0 / UNIT as f64;
                format!(
                    "{:.1} % is asked for on top of {:.1} %, and {:.1} % is available{}",
                    percent(asked),
                    percent(admitted),
                    percent(available),
                    if limits.fair_server { " (the fair server has 5 % of each CPU)" } else { "" }
                )
            })
        });
        admitted += asked;
        if let Some(reason) = reason {
            refused.get_or_insert((index, reason));
        }
    }
    let demands: Vec<Demand> = tasks
        .iter()
        .map(|task| Demand {
            compute_ns: task.runtime_ns,
            deadline_ns: task.deadline_ns,
            period_ns: if task.period_ns == 0 { task.deadline_ns } else { task.period_ns },
        })
        .collect();
    Admission { refused, asked: admitted, available, should: edf(&demands, 0) }
}

/// What the kernel refuses, whatever else runs: `EINVAL`.
fn malformed(task: &DeadlineParameters, period: u64) -> Option<String> {
    let show = format_ns;
    if task.deadline_ns == 0 {
        return Some("a deadline of 0 is refused".to_owned());
    }
    if task.runtime_ns < 1_024 {
        return Some(format!("a runtime of {} is refused: it must be at least 1,024 ns", show(task.runtime_ns)));
    }
    if task.runtime_ns > task.deadline_ns || task.deadline_ns > period {
        return Some("runtime <= deadline <= period must hold".to_owned());
    }
    let (min, max) = (100_000, (1u64 << 22) * 1_000);
    if period < min || period > max {
        return Some(format!(
            "a period of {} is refused: it must be {} to {} by default (sched_deadline_period_min_us, _max_us)",
            show(period),
            show(min),
            show(max)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(runtime_ms: u64, deadline_ms: u64, period_ms: u64) -> DeadlineParameters {
        let ns = 1_000_000;
        DeadlineParameters { runtime_ns: runtime_ms * ns, deadline_ns: deadline_ms * ns, period_ns: period_ms * ns }
    }

    #[test]
    fn admitted_and_doomed() {
        let found = admission(&[task(5, 5, 100), task(5, 5, 100)], AdmissionLimits::default());
        assert_eq!(found.refused, None);
        assert_eq!(found.should, Edf::Overrun { window_ns: 5_000_000, demand_ns: 10_000_000 });
    }

    #[test]
    fn why_ninety_percent_and_a_little_is_refused() {
        let limits = AdmissionLimits::default();
        assert_eq!(admission(&[task(89, 100, 100)], limits).refused, None);
        let (index, reason) = admission(&[task(91, 100, 100)], limits).refused.unwrap();
        assert_eq!(index, 0);
        assert!(reason.contains("91.0 %") && reason.contains("90.0 %") && reason.contains("fair server"), "{reason}");
        let without = AdmissionLimits { fair_server: false, ..limits };
        assert_eq!(admission(&[task(91, 100, 100)], without).refused, None);
        let two = AdmissionLimits { cpus: 2, ..limits };
        assert_eq!(admission(&[task(91, 100, 100), task(80, 100, 100)], two).refused, None);
    }

    #[test]
    fn what_is_malformed() {
        let refused = |task| admission(&[task], AdmissionLimits::default()).refused.unwrap().1;
        assert!(refused(task(5, 4, 10)).contains("runtime <= deadline"));
        assert!(refused(task(5, 11, 10)).contains("deadline <= period"));
        assert!(refused(task(5, 5_000, 5_000)).contains("period of"));
        assert!(
            refused(DeadlineParameters { runtime_ns: 1_000, deadline_ns: 200_000, period_ns: 0 }).contains("1,024")
        );
    }
}
