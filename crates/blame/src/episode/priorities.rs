//! Priorities of two threads, one of which ran before the other.

/// The first number of a normal thread.
const NORMAL: i16 = 100;
/// The number of the highest real-time priority that a thread can be given, 99.
const HIGHEST: i16 = 0;

/// Priorities as the kernel counts them, see [`punctual_recording::episode::Event::priority`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priorities {
    /// That of the one that had the CPU.
    pub runs: i16,
    /// That of the one that waited.
    pub waits: i16,
}

impl Priorities {
    /// What the one that had the CPU is: `SCHED_DEADLINE`, `real-time priority 95`, `normal`.
    pub fn class(self) -> String {
        class(self.runs)
    }

    /// What the one that waited is.
    pub fn waiting_class(self) -> String {
        class(self.waits)
    }

    /// Whether the one that had the CPU goes before whatever `chrt -f` can give.
    pub fn is_out_of_reach(self) -> bool {
        self.runs <= HIGHEST
    }

    /// Whether the one that had the CPU has a deadline.
    pub(crate) fn has_deadline(self) -> bool {
        self.runs < HIGHEST
    }
}

fn class(priority: i16) -> String {
    match priority {
        ..HIGHEST => "SCHED_DEADLINE".to_owned(),
        HIGHEST..NORMAL => format!("real-time priority {}", NORMAL - 1 - priority),
        _ => "normal".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel_are_classes() {
        let of = |runs, waits| {
            let both = Priorities { runs, waits };
            (both.class(), both.waiting_class())
        };
        assert_eq!(of(-1, 4), ("SCHED_DEADLINE".to_owned(), "real-time priority 95".to_owned()));
        assert_eq!(of(0, 98), ("real-time priority 99".to_owned(), "real-time priority 1".to_owned()));
        assert_eq!(of(19, 120), ("real-time priority 80".to_owned(), "normal".to_owned()));
        assert!(Priorities { runs: -1, waits: 4 }.has_deadline());
        assert!(!Priorities { runs: 0, waits: 4 }.has_deadline() && Priorities { runs: 0, waits: 4 }.is_out_of_reach());
        assert!(!Priorities { runs: 1, waits: 4 }.is_out_of_reach());
    }
}
