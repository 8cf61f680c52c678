//! Where a device's work runs.

use punctual_kernel::scheduling::Scheduling;
use punctual_recording::{BareUnit, format_ns, is_without_unit, parse_duration};
use std::fmt;

/// The range of periods that SCHED_DEADLINE takes.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=4_000_000_000;
/// The shortest runtime that SCHED_DEADLINE takes.
const MIN_RUNTIME_NS: u64 = 1_024;

/// How a reservation's time is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The budget starts anew when work arrives: SCHED_DEADLINE as it is.
    Floating,
    /// The budget comes once a period, at its beginning, whether there is work or not, and passes unused if there is
    /// none: the slots of Rialto/NT.
    Slots,
}

/// A reservation: so much time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Time in each period, ns.
    pub runtime_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
    /// How it is laid out.
    pub form: Form,
}

/// Where a device's work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In its interrupt.
    Irq,
    /// In a softirq callback that its interrupt queues.
    Softirq,
    /// In a thread.
    Thread(Scheduling),
    /// In a thread with a reservation.
    Reservation(Reservation),
}

impl Context {
    /// Reads `irq`, `softirq`, `thread:80`, `thread:rr:80`, `thread:other`, `thread:idle`, `reservation:2ms/8ms` or
    /// `slots:2/8`; bare numbers of slots are milliseconds.
    ///
    /// # Errors
    /// A line that says what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Context, String> {
        let wrong = || {
            format!(
                "`{text}` is not a context: write irq, softirq, thread:80, thread:rr:80, thread:other, thread:idle, \
                 reservation:2ms/8ms or slots:2/8"
            )
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "irq" if rest.is_empty() => Ok(Context::Irq),
            "softirq" if rest.is_empty() => Ok(Context::Softirq),
            "thread" => {
                let (policy, priority) = rest.split_once(':').unwrap_or(match rest {
                    "other" | "idle" => (rest, ""),
                    priority => ("fifo", priority),
                });
                let number = || match priority.parse::<u32>() {
                    Ok(number) if (1..=99).contains(&number) => Ok(number),
                    Ok(number) => Err(format!("priority {number} is not within 1 to 99")),
                    Err(_) => Err(wrong()),
                };
                Ok(Context::Thread(match policy {
                    "fifo" => Scheduling::Fifo(number()?),
                    "rr" => Scheduling::RoundRobin(number()?),
                    "other" if matches!(priority, "" | "0") => Scheduling::Other,
                    "idle" if matches!(priority, "" | "0") => Scheduling::Idle,
                    _ => return Err(wrong()),
                }))
            }
            "reservation" | "slots" => {
                let (runtime, period) = rest.split_once('/').ok_or_else(wrong)?;
                let form = if kind == "slots" { Form::Slots } else { Form::Floating };
                let span = |text: &str| match form {
                    Form::Slots => milliseconds(text),
                    Form::Floating => parse_duration(text, BareUnit::Refused),
                };
                let reservation = Reservation { runtime_ns: span(runtime)?, period_ns: span(period)?, form };
                reservation.validate()?;
                Ok(Context::Reservation(reservation))
            }
            _ => Err(wrong()),
        }
    }

    /// Whether the work runs in a BPF program.
    pub fn is_in_kernel(self) -> bool {
        matches!(self, Context::Irq | Context::Softirq)
    }
}

/// A duration whose bare numbers are milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    if is_without_unit(text) {
        parse_duration(&format!("{}ms", text.trim()), BareUnit::Refused)
    } else {
        parse_duration(text, BareUnit::Refused)
    }
}

impl Reservation {
    /// Rejects what the kernel would not take.
    ///
    /// # Errors
    /// A line that says what is wrong and what would be right.
    pub fn validate(&self) -> Result<(), String> {
        if !PERIODS_NS.contains(&self.period_ns) {
            return Err(format!("a reservation's period is 100us to 4s, not {}", format_ns(self.period_ns)));
        }
        if self.runtime_ns > self.period_ns {
            return Err(format!(
                "a reservation of {} in every {} asks for more than there is: the runtime must not exceed the period",
                format_ns(self.runtime_ns),
                format_ns(self.period_ns)
            ));
        }
        if self.runtime_ns < MIN_RUNTIME_NS {
            return Err(format!("a reservation's runtime is at least 1.024 us, not {}", format_ns(self.runtime_ns)));
        }
        Ok(())
    }

    /// Its share of a CPU.
    pub fn share(&self) -> f64 {
        self.runtime_ns as f64 / self.period_ns as f64
    }
}

impl fmt::Display for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Context::Irq => write!(formatter, "irq"),
            Context::Softirq => write!(formatter, "softirq"),
            Context::Thread(scheduling) => write!(formatter, "thread:{scheduling}"),
            Context::Reservation(Reservation { runtime_ns, period_ns, form }) => {
                let name = if *form == Form::Slots { "slots" } else { "reservation" };
                write!(formatter, "{name}:{}/{}", short(*runtime_ns), short(*period_ns))
            }
        }
    }
}

/// A duration in the notation that is read, exactly.
fn short(nanoseconds: u64) -> String {
    let units = [(1_000_000_000, 9, "s"), (1_000_000, 6, "ms"), (1_000, 3, "us")];
    let Some((unit_ns, digits, unit)) = units.into_iter().find(|(unit_ns, ..)| nanoseconds >= *unit_ns) else {
        return format!("{nanoseconds}ns");
    };
    let (whole, rest) = (nanoseconds / unit_ns, nanoseconds % unit_ns);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let fraction = format!("{rest:0digits$}");
    format!("{whole}.{}{unit}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn contexts_as_people_write_them() {
        for (text, shown) in [
            ("irq", "irq"),
            ("softirq", "softirq"),
            ("thread:80", "thread:fifo:80"),
            ("thread:rr:5", "thread:rr:5"),
            ("thread:other", "thread:other"),
            ("thread:idle", "thread:idle"),
            ("reservation:2ms/8ms", "reservation:2ms/8ms"),
            ("reservation:500us/2.5ms", "reservation:500us/2.5ms"),
            ("reservation:1024ns/100us", "reservation:1.024us/100us"),
            ("reservation:2000001ns/4s", "reservation:2.000001ms/4s"),
            ("slots:2/13", "slots:2ms/13ms"),
        ] {
            let context = Context::parse(text).unwrap();
            assert_eq!(context.to_string(), shown);
            assert_eq!(Context::parse(shown), Ok(context));
        }
        for (text, word) in [
            ("", "not a context"),
            ("isr", "not a context"),
            ("thread:0", "1 to 99"),
            ("thread:100", "1 to 99"),
            ("thread:soon", "not a context"),
            ("thread:other:5", "not a context"),
            ("reservation:8", "not a context"),
            ("reservation:280/500", "`280` has no unit: write 280us, or 280ms if you mean that"),
            ("reservation:1ms/8", "`8` has no unit"),
            ("reservation:9ms/8ms", "must not exceed"),
            ("slots:9/8", "must not exceed"),
            ("reservation:10us/50us", "100us to 4s"),
            ("reservation:1us/1ms", "at least 1.024 us"),
            ("slots:1/5000", "100us to 4s"),
        ] {
            let message = Context::parse(text).unwrap_err();
            assert!(message.contains(word) && !message.contains('\n'), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn a_reservation_is_read_as_it_is_shown(
            runtime_ns in MIN_RUNTIME_NS..5_000_000_000,
            period_ns in 100_000..=4_000_000_000_u64,
            form in prop::sample::select(vec![Form::Floating, Form::Slots]),
        ) {
            let reservation = Reservation { runtime_ns: runtime_ns.min(period_ns), period_ns, form };
            let context = Context::Reservation(reservation);
            prop_assert_eq!(Context::parse(&context.to_string()), Ok(context));
        }

        #[test]
        fn nothing_panics(text in "\\PC*", kind in prop::sample::select(vec!["thread:", "reservation:", "slots:"])) {
            let _ = Context::parse(&text);
            let _ = Context::parse(&format!("{kind}{text}"));
        }
    }
}
