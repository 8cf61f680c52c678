//! Where a device's work runs.

use crate::time::Picoseconds;

/// Where the device's work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In its interrupt handler.
    Irq,
    /// In softirq context.
    Softirq,
    /// In a thread of this fixed priority, 1 to 99.
    Thread(u8),
    /// In a reservation with a floating budget (`SCHED_DEADLINE`).
    Reservation {
        /// Budget, ps.
        runtime: Picoseconds,
        /// Of every, ps.
        period: Picoseconds,
    },
    /// In a reservation with precomputed slots of 1 ms, never outside them.
    Slots {
        /// Milliseconds.
        runtime: u32,
        /// Of every so many.
        period: u32,
    },
}

impl Context {
    /// Reads `irq`, `softirq`, `thread:80`, `reservation:2ms/8ms` or `slots:2/8`.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> std::result::Result<Context, String> {
        let wrong =
            || format!("{text:?} is not a context: write irq, softirq, thread:80, reservation:2ms/8ms or slots:2/8");
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let pair = || rest.split_once('/').ok_or_else(wrong);
        match kind {
            "irq" if rest.is_empty() => Ok(Context::Irq),
            "softirq" | "dpc" if rest.is_empty() => Ok(Context::Softirq),
            "thread" => {
                let priority = rest.parse().map_err(|_| wrong())?;
                if !(1..=99).contains(&priority) {
                    return Err(format!("priority {priority} is not within 1 to 99"));
                }
                Ok(Context::Thread(priority))
            }
            "reservation" => {
                let (runtime, period) = pair()?;
                let runtime = crate::time::parse_span(runtime)?;
                let period = crate::time::parse_span(period)?;
                Ok(Context::Reservation { runtime, period })
            }
            "slots" => {
                let (runtime, period) = pair()?;
                let number = |part: &str| part.parse::<u32>().map_err(|_| wrong());
                Ok(Context::Slots { runtime: number(runtime)?, period: number(period)? })
            }
            _ => Err(wrong()),
        }
    }
}
