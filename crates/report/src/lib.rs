//! Answers as text for people, JSON for programs and pages to pass on; recordings also as CSV for spreadsheets and traces
//! for Perfetto.
//!
//! One folder for each feature, named as its command: `answer.rs` is the type that `--json` prints, `text.rs` what a
//! terminal shows, `page.rs` the page, `trace.rs` the trace; a model beside them is what they are all made from. These
//! know no feature: `layout`, tables and text for a width or as Markdown; [`encode`], other people's formats; [`answer`],
//! what all JSON has in common. `next` has the commands that go on from an answer, and `verdict` the sentences with which
//! each answer begins.
//!
//! Text begins with a verdict in words; what was lost, missed, unobserved or done differently from what was asked
//! comes before the tables. Times are in microseconds in text and whole nanoseconds in JSON and CSV.

#![forbid(unsafe_code)]

pub mod answer;
pub mod capabilities;
pub mod compare;
pub mod device;
pub mod drill;
pub mod encode;
pub mod forecast;
pub mod idle;
pub mod interact;
pub mod lab;
mod layout;
mod load;
pub mod log;
pub mod modem;
mod next;
pub mod recording;
pub mod reserve;
pub mod rialto;
pub mod schedulability;
pub mod sim;
pub mod timers;
mod verdict;
pub mod why;

pub use layout::{
    Layout, fitted, for_markdown, for_screen, lay_out, lay_out_twice, load_name, load_words, microseconds, paragraphs,
    shell_word, table,
};
pub use load::{
    LoadInstalledAnswer, LoadListAnswer, LoadResult, LoadRow, LoadRunAnswer, load_list_text, load_result_text,
};
pub(crate) use next::after_timers;
pub use next::{
    ForecastAsked, NextStep, ReserveAsked, ReserveSubject, TO_RECORD_CAUSES, above_ordinary, after_comparison,
    after_comparisons, after_device, after_forecast, after_idle, after_interact_comparison, after_log, after_log_show,
    after_measurement, after_no_evidence, after_reserve, after_reserve_phases, after_reserve_together, after_study,
    after_verify, every_value, fewer_void, more_kept, more_samples, next_text, own_options, own_options_and_load,
    with_host, written_period,
};
pub use recording::answer::ReportAnswer;
pub use recording::exports::{EXPORTS, Export};
pub use recording::model::Measurement;
pub use recording::stages::{StageRow, stage_rows};
pub use recording::text::measurement_text;
pub use verdict::compare::comparison_verdict;
pub use verdict::devices::{devices_verdict, devices_verdict_lines};
pub use verdict::forecast::needed_buffers;
pub use verdict::recording::{check_verdict, host_took_worst, recording_verdict, recordings_verdict, steal_of_worst};
pub use verdict::sim::{experiment_sweep_verdict, experiments_verdict, timeline_verdict, whatif_sweep_verdict};
pub use verdict::tools::{capabilities_verdict, installed_verdict};

/// Every answer: its file in `docs/schemas`, the name that it gives, its type.
#[cfg(test)]
macro_rules! every_answer {
    ($use:ident) => {
        $use! {
            "capabilities": "punctual.capabilities/1" = crate::capabilities::answer::CapabilitiesAnswer<'_>,
            "compare": "punctual.compare/1" = crate::compare::CompareAnswer<'_>,
            "compare-interact": "punctual.compare-interact/1" = crate::interact::compare::CompareInteractAnswer<'_>,
            "compare-sides": "punctual.compare-sides/1" = crate::compare::CompareSidesAnswer<'_>,
            "devices": "punctual.devices/1" = crate::device::ProfilesAnswer<'_>,
            "drill": "punctual.drill/1" = crate::drill::DrillAnswer<'_>,
            "drill-list": "punctual.drill-list/1" = crate::drill::DrillListAnswer<'_>,
            "error": "punctual.error/1" = crate::answer::Failure<'_>,
            "forecast": "punctual.forecast/1" = crate::forecast::ForecastAnswer<'_>,
            "idle": "punctual.idle/1" = crate::idle::IdleAnswer<'_>,
            "interact": "punctual.interact/1" = crate::interact::InteractAnswer<'_>,
            "interact-install": "punctual.interact-install/1" = crate::answer::Done<'_>,
            "lab": "punctual.lab/1" = crate::lab::LabAnswer<'_>,
            "lab-kernels": "punctual.lab-kernels/1" = crate::lab::KernelsAnswer<'_>,
            "lab-why": "punctual.lab-why/1" = crate::lab::OutsideAnswer<'_>,
            "load-installed": "punctual.load/1" = crate::LoadInstalledAnswer<'_>,
            "load-list": "punctual.load/1" = crate::LoadListAnswer<'_>,
            "load-run": "punctual.load/1" = crate::LoadRunAnswer<'_>,
            "learn": "punctual.learn/1" = crate::interact::LearnAnswer<'_>,
            "log": "punctual.log/1" = crate::log::LogAnswer<'_>,
            "log-header": "punctual.log-header/1" = crate::log::HeaderAnswer<'_>,
            "man": "punctual.man/1" = crate::answer::Done<'_>,
            "modem-judge": "punctual.modem-judge/1" = crate::modem::JudgeAnswer<'_>,
            "modem-line": "punctual.modem-line/1" = crate::modem::LineAnswer,
            "modem-stalls": "punctual.modem-stalls/1" = crate::modem::StallsAnswer,
            "modem-study": "punctual.modem-study/1" = crate::modem::study::StudyAnswer<'_>,
            "modem-transfer": "punctual.modem-transfer/1" = crate::modem::TransferAnswer<'_>,
            "papers": "punctual.papers/1" = crate::sim::PapersAnswer<'_>,
            "report": "punctual.report/1" = crate::ReportAnswer<'_>,
            "reserve": "punctual.reserve/1" = crate::reserve::ReserveAnswer<'_>,
            "reserve-list": "punctual.reserve-list/1" = crate::reserve::AppliedAnswer<'_>,
            "reserve-phases": "punctual.reserve-phases/1" = crate::reserve::PhasesAnswer<'_>,
            "reserve-run": "punctual.reserve-run/1" = crate::reserve::RunAnswer<'_>,
            "reserve-together": "punctual.reserve-together/1" = crate::reserve::TogetherAnswer<'_>,
            "reserve-undo": "punctual.reserve-undo/1" = crate::reserve::UndoAnswer<'_>,
            "rialto": "punctual.rialto/1" = crate::rialto::RialtoAnswer<'_>,
            "rialto-constraints": "punctual.rialto-constraints/1" = crate::rialto::ConstraintsAnswer<'_>,
            "schedulability": "punctual.schedulability/1" = crate::schedulability::SchedulabilityAnswer<'_>,
            "sim": "punctual.sim/1" = crate::sim::ExperimentAnswer<'_>,
            "sim-list": "punctual.sim-list/1" = crate::sim::ExperimentsAnswer<'_>,
            "sim-sweep": "punctual.sim-sweep/1" = crate::sim::ExperimentSweepAnswer<'_>,
            "study": "punctual.study/1" = crate::device::StudyAnswer<'_>,
            "study-run": "punctual.study/1" = crate::device::DeviceAnswer<'_>,
            "study-verify": "punctual.study/1" = crate::device::VerifyAnswer<'_>,
            "timeline": "punctual.timeline/1" = crate::answer::Done<'_>,
            "timers": "punctual.timers/1" = crate::timers::TimersAnswer<'_>,
            "whatif": "punctual.whatif/1" = crate::sim::WhatifAnswer,
            "whatif-sweep": "punctual.whatif-sweep/1" = crate::sim::WhatifSweepAnswer,
            "why": "punctual.why/1" = crate::why::WhyAnswer<'_>,
            "why-handlers": "punctual.why/1" = crate::why::HandlersAnswer<'_>,
            "why-explain": "punctual.why/1" = crate::why::ExplainAnswer,
        }
    };
}
#[cfg(test)]
pub(crate) use every_answer;

#[cfg(test)]
mod schemas_tests;
