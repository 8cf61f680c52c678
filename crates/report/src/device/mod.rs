//! What happened to soft devices, and the study of one.

mod answer;
pub(crate) mod budget;
pub(crate) mod calibrated;
pub(crate) mod came;
mod origins;
mod page;
mod pending;
pub(crate) mod run;
pub mod study;
mod text;
mod verify;
mod watched;
pub(crate) mod withheld;

pub use answer::{DeviceAnswer, DeviceRunRow, ProfilesAnswer, StudyAnswer, VerifyAnswer};
pub(crate) use budget::too_small;
pub(crate) use origins::{are_of_several_origins, under_origins};
pub use page::{device_page, with_device_runs};
pub use run::Run;
pub use text::*;
pub use verify::{VerifiedRow, verified_text};
pub use watched::only_watched;
