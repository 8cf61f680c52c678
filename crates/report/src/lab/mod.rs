//! The same command on several kernels, each in a guest whose clock counts instructions.

mod answer;
mod model;
mod page;
mod text;
mod why;

pub use answer::{KernelsAnswer, LabAnswer};
pub use model::{
    GuestEnd, GuestReport, KernelRow, LabReport, MODELLED, RankRow, SystemCause, SystemCauses, SystemReport,
};
pub use page::page;
pub use text::{kernels_text, text};
pub use why::{
    Arrival, ClassRow, FunctionRow, OutsideAnswer, OutsideReport, Stretch, StretchKind, outside_page, outside_text,
};
