//! The numbers and names that programs in the kernel, files and reports share, each written once.
//!
//! A table is a type: [`EventKind`], [`Stage`], [`CauseKind`], [`Vector`], [`Softirq`], [`Call`], [`Moment`], [`Awaited`]. [`c_header`]
//! makes the header for the programs of it. What is on somebody's disk already keeps its number: new lines get new ones, and a line that goes
//! leaves its number unused.
//!
//! ```
//! use punctual_codes::{Stage, c_header};
//!
//! // As it stands on a disk, and as it is shown.
//! assert_eq!((Stage::Thread.code(), Stage::Thread.name()), (3, "thread"));
//! assert_eq!(Stage::from_code(3), Some(Stage::Thread));
//! // What a newer version wrote is not known, and is nothing else either.
//! assert_eq!(Stage::from_code(200), None);
//! // As the programs in the kernel have it.
//! assert!(c_header().contains("SWITCH = 1,"));
//! ```

#![forbid(unsafe_code)]

mod awaited;
mod call;
mod cpu;
mod event;
mod gap;
mod header;
mod moment;
mod stage;
mod table;

pub use awaited::Awaited;
pub use call::Call;
pub use cpu::{Softirq, Vector};
pub use event::{EventClass, EventKind};
pub use gap::CauseKind;
pub use header::c_header;
pub use moment::Moment;
pub use stage::Stage;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number that was ever written to a disk, with its name: a line here may be added, never changed.
    #[test]
    fn numbers_on_disk_stay_what_they_are() {
        let mut lines = Vec::new();
        lines.extend(EventKind::ALL.map(|kind| format!("event {} {}", kind.code(), kind.name())));
        lines.extend(Stage::ALL.map(|stage| format!("stage {} {}", stage.code(), stage.name())));
        lines.extend(CauseKind::ALL.map(|kind| format!("gap {} {}", kind.code(), kind.name())));
        lines.extend(Vector::ALL.map(|vector| format!("vector {} {}", vector.code(), vector.name())));
        lines.extend(Softirq::ALL.map(|softirq| format!("softirq {} {}", softirq.code(), softirq.name())));
        lines.extend(Call::ALL.map(|call| format!("call {} {}", call.code(), call.name())));
        lines.extend(Awaited::ALL.map(|awaited| format!("awaited {} {}", awaited.code(), awaited.name())));
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn codes_and_names_are_found_again() {
        for kind in EventKind::ALL {
            assert_eq!(
                (EventKind::from_code(kind.code()), EventKind::from_name(kind.name())),
                (Some(kind), Some(kind))
            );
        }
        for stage in Stage::ALL {
            assert_eq!(Stage::from_code(i64::from(stage.code())), Some(stage));
        }
        for code in [29, 256, -1_i64] {
            assert_eq!(EventKind::from_code(code), None);
            assert_eq!(Stage::from_code(code), None);
        }
        assert_eq!(Vector::name_of(1_u64 << 32), None);
        assert_eq!(Softirq::words(77), "softirq 77");
    }

    #[test]
    fn the_header_has_the_programs_names() {
        let header = c_header();
        for line in [
            "\tSWITCH = 1,",
            "\tFAULT_END = 22,",
            "\tPROCESS_FORK = 30,",
            "\tCALL_FUNCTION_SINGLE = 4,",
            "\tCALL_FILE_LOCK = 8,",
        ] {
            assert!(header.contains(line), "{header}");
        }
    }
}
