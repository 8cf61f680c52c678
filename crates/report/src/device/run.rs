//! A recording with devices, as the report sees it.

use crate::{StageRow, stage_rows};
use punctual_recording::{ActivationDocument, Document};
use std::path::Path;

/// A recording with devices.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// The bystander and the control.
    pub document: &'a Document,
    /// The devices.
    pub activations: &'a ActivationDocument,
}

impl Run<'_> {
    /// The bystander's stages.
    pub fn bystander(&self) -> Vec<StageRow> {
        let rows = stage_rows(self.document).into_iter();
        rows.filter(|row| row.cpu.is_none() && row.measure == self.activations.bystander).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use punctual_recording::Document;

    /// The document of a run of a device.
    pub(crate) fn document() -> Document {
        serde_json::from_str(include_str!("../../../cli/tests/golden/device.punctual/recording.json")).unwrap()
    }
}
