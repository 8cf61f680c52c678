//! Every command on every kernel, and what the result should be.
//!
//! The table is `matrix.toml`. [`plan()`] lists what is booted, [`Trial::run`] boots it and judges each [`Cell`].

mod answer;
mod budget;
mod cell;
mod checks;
mod costs;
mod document;
mod drills;
mod expected;
mod ledger;
mod own;
mod plan;
mod promises;
mod rowless;
mod script;
mod trial;
mod version;

pub use cell::{Cell, Verdict};
pub use document::{BEGIN, END, rewrite, table as document_table};
pub use ledger::{Ledger, digest_of};
pub use own::{OwnKernel, own};
pub use plan::{Boot, Length, Variant, plan, scripts};
pub use rowless::ROWLESS;
pub use trial::{Part, Result as TrialResult, Trial};
