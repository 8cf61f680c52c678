//! Rialto/NT's reservations and time constraints (Jones and Saroiu, MSR-TR-2000-88, sections 2.3, 3.2 and 5.4), as
//! slots of one CPU that are computed beforehand. Pure: whoever asks [`Plan::owner_at`] and waits for
//! [`Plan::next_edge`] makes a scheduler of it.
//!
//! * [`Plan`]: which millisecond is whose, for one to four reservations; every change makes a new plan.
//! * [`Constraints`]: so much time until a deadline, granted from slots that belong to nobody, or refused at once.
//! * [`Table`]: both together, while they come and go.
//! * [`received`]: what somebody got in each window of a length, from when it ran; [`received_in`]: over several stretches.

#![forbid(unsafe_code)]

mod constraint;
mod plan;
mod received;
mod table;

pub use constraint::{Constraints, MAX_CONSTRAINTS, Refusal, SERVED_NS};
pub use plan::{Form, MAX_RESERVATIONS, MAX_SLOTS, Plan, PlanError, SLOT_NS, Share};
pub use received::{Received, received, received_in, seen_ns};
pub use table::{Granted, Table};
