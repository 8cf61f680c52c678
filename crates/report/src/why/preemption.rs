//! What the recorded kernel preempts already: nobody is told to switch on what is on.

use punctual_blame::{Kind, is_own_work};
use punctual_recording::Host;

/// How far the recorded kernel preempts its own code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Preemption {
    /// Less than it could, or that is not known.
    #[default]
    Partial,
    /// Everywhere but where it holds a spinning lock or has switched preemption off.
    Full,
    /// `PREEMPT_RT`.
    RealTime,
}

impl Preemption {
    /// What the recording says of its kernel.
    pub(super) fn of(host: &Host) -> Preemption {
        // A PREEMPT_RT kernel may have a mode, too.
        let is_built_so = host.kernel_version.as_deref().is_some_and(|version| version.contains("PREEMPT_RT"));
        match host.preemption.as_deref() {
            mode if is_built_so || mode == Some("rt") => Preemption::RealTime,
            Some("full") => Preemption::Full,
            _ => Preemption::Partial,
        }
    }

    /// What still helps against this kind, of somebody with this name, on such a kernel, in the imperative; `None` if that is
    /// what helps on any.
    pub(super) fn remedy(self, kind: Kind, name: &str) -> Option<&'static str> {
        match (self, kind) {
            // Where a program of punctual's runs, it is to be stopped.
            (Preemption::RealTime, Kind::Softirq) if !is_own_work(name) => Some(
                "Threads do such work on this kernel (irq/N-..., ktimers/N, ksoftirqd/N): give the delayed thread a higher priority \
                 than theirs, or have it asked for on another CPU.",
            ),
            (Preemption::RealTime, Kind::Kernel | Kind::IrqOff) => Some("Keep it off this CPU (taskset, cpuset)."),
            (Preemption::Full, Kind::Kernel) => Some(
                "Keep it off this CPU (taskset, cpuset), or use a PREEMPT_RT kernel: preempt=full, which this one has, was not \
                 enough.",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_switch_on_what_is_on() {
        let of = |preemption: Option<&str>, version: &str| {
            let preemption = preemption.map(str::to_owned);
            Preemption::of(&Host { preemption, kernel_version: Some(version.to_owned()), ..Host::default() })
        };
        let dynamic = "#1 SMP PREEMPT_DYNAMIC";
        for (mode, version, expected) in [
            (Some("full"), dynamic, Preemption::Full),
            (Some("rt"), "#1 SMP PREEMPT_RT", Preemption::RealTime),
            (Some("full"), "#1 SMP PREEMPT_RT", Preemption::RealTime),
            (Some("dynamic"), dynamic, Preemption::Partial),
            (Some("lazy"), dynamic, Preemption::Partial),
            (None, "#1 SMP", Preemption::Partial),
        ] {
            assert_eq!(of(mode, version), expected, "{mode:?} {version}");
        }
        let told = |preemption: Preemption, kind: Kind| preemption.remedy(kind, "rcu").unwrap_or_default();
        assert!(!told(Preemption::Full, Kind::Kernel).contains("Boot"));
        for kind in [Kind::Kernel, Kind::IrqOff] {
            assert_eq!(told(Preemption::RealTime, kind), "Keep it off this CPU (taskset, cpuset).", "{kind:?}");
            assert_eq!(Preemption::Partial.remedy(kind, "x"), None, "{kind:?}");
        }
        assert_eq!(Preemption::RealTime.remedy(Kind::Irq, "nic"), None);
        let softirqs = told(Preemption::RealTime, Kind::Softirq);
        assert!(softirqs.contains("ktimers/N") && !softirqs.contains("PREEMPT_RT"), "{softirqs}");
        assert_eq!(Preemption::RealTime.remedy(Kind::Softirq, "device_callback"), None);
    }
}
