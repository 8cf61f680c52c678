//! The study of a soft device in its contexts, as text and a page.

pub(crate) mod evidence;
mod histogram;
mod notes;
mod page;
mod text;

pub(crate) use evidence::{Evidence, options};
pub use page::html;
pub use text::text;

use crate::device::Run;
use crate::load_name;
use punctual_device::Profile;
use punctual_recording::{DeviceSummary, NO_LOAD};

/// One run of a study.
pub struct Row<'a> {
    /// Which part of the study: `control`, `contexts`, `priorities`, `competing`, `slots`.
    pub group: &'static str,
    /// The device's context; `none` for the control.
    pub context: String,
    /// What competed.
    pub competitor: Option<String>,
    /// What the paper says about it.
    pub paper: Option<&'static str>,
    /// Whether it worked in the paper.
    pub paper_works: Option<bool>,
    /// Whether the simulator sees it keep up.
    pub predicted: Option<bool>,
    /// Whether it kept up here.
    pub holds: Option<bool>,
    /// The share of the bystander's callbacks more than 100 us away from 1 ms.
    pub off: Option<f64>,
    /// The recording, or why there is none.
    pub run: Result<Run<'a>, &'a str>,
}

impl Row<'_> {
    pub(crate) fn device(&self) -> Option<&DeviceSummary> {
        self.run.as_ref().ok().and_then(|run| run.activations.devices.first())
    }

    /// Whether the device ran and nothing can be said of it.
    pub(crate) fn is_unjudged(&self) -> bool {
        self.device().is_some() && self.holds.is_none()
    }

    /// The context, and what competed.
    pub(crate) fn name(&self) -> String {
        match &self.competitor {
            Some(competitor) => format!("{} beside {competitor}", self.context),
            None => self.context.clone(),
        }
    }
}

/// A study.
pub struct StudyReport<'a> {
    /// The device.
    pub profile: &'a Profile,
    /// The device that the user named, if this one stands for it.
    pub asked: Option<&'a str>,
    /// Its runs.
    pub rows: Vec<Row<'a>>,
    /// The lowest thread that keeps up beside a spinning competitor.
    pub lowest_sufficient: Option<&'a str>,
    /// The context that holds beside every competitor and disturbs the bystander least.
    pub least_intrusive: Option<&'a str>,
    /// Whether it ended early.
    pub interrupted: bool,
}

impl StudyReport<'_> {
    /// What ran beside every run; `None`: none was made, so that nothing is known. A study has one load.
    fn load(&self) -> Option<&str> {
        self.rows.iter().find_map(|row| row.run.as_ref().ok()).map(|run| load_name(run.document))
    }

    /// Says under which load the runs were made, or that none was added.
    fn load_in_words(&self) -> Option<String> {
        Some(match self.load()? {
            NO_LOAD => {
                "No load was added: what ran beside the device is whatever else this machine was doing.".to_owned()
            }
            load => format!("The load {load} ran beside every run."),
        })
    }

    /// Says that this is not the device of the paper, and what follows from that.
    fn scaling(&self) -> Option<&'static str> {
        let is_papers = self.rows.iter().any(|row| row.paper.is_some());
        (!is_papers).then_some(
            "The paper's verdicts are of its own modem and are not shown beside this device; the reservations of its \
             tables are scaled to this device's period and share of a CPU.",
        )
    }
}

const GROUPS: [(&str, &str); 5] = [
    ("control", "Without the device (Figure 10)"),
    ("contexts", "The contexts, alone and beside competitors (Figures 2 to 8 and 10 to 16)"),
    ("priorities", "Thread priorities from low to high beside a spinning thread (sections 6.2.5, 6.2.6)"),
    ("competing", "Reservations that compete outside their time, beside a spinning thread (Table 1)"),
    ("slots", "Reservations that never run outside their slots, only the newest block processed (Table 3)"),
];

/// Whether no context could be tried, so that the study found nothing.
pub fn is_untried(study: &StudyReport<'_>) -> bool {
    !study.interrupted && !study.rows.iter().any(|row| row.group == "contexts" && row.run.is_ok())
}

#[cfg(test)]
pub(crate) mod tests;
