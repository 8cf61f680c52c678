//! Soft devices in their contexts: whether they keep up, and what they do to everybody else.
//!
//! * [`run`]: one recording of one or more devices beside a bystander.
//! * [`study`]: the soft modem's study of Jones and Saroiu, MSR-TR-2000-88, on this machine.
//! * [`predict`]: what the simulator says about a point of the study.
//! * [`verify`]: a forecast made without a device, and the device's underruns, measured in turn.

mod group;
mod outside;
mod part;
mod predict;
mod recommended;
mod run;
mod scaled;
mod spandsp;
mod study;
mod summary;
mod turns;
mod verify;

pub use group::Group;
pub use part::{DevicePart, DeviceWork};
pub use predict::predict;
pub use run::{BYSTANDER_PERIOD_NS, DeviceRun, DeviceRunPlan, run};
pub use study::{Point, Study, StudyPlan, Subject, holds, least, off_share, points, study, study_takes};
pub use verify::{Verification, Verified, VerifyPlan, verify, verify_takes};
