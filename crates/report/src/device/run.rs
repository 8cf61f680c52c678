//! A recording with devices, as the report sees it.

use crate::load::scores_in_words;
use crate::{StageRow, load_name, stage_rows};
use punctual_recording::{ActivationDocument, DeviceSummary, Document, NO_LOAD, printable};
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

    /// A device as it was named on the command line; by its profile if that does not say.
    pub(crate) fn written(&self, device: &DeviceSummary) -> String {
        let specs = self.document.provenance.command_line.iter().flat_map(|word| word.split(','));
        let mut specs = specs.map(|spec| spec.split('+').next().unwrap_or(spec));
        let named = specs.find(|spec| spec.split_whitespace().next() == Some(&device.device));
        named.map_or_else(|| device.device.clone(), printable)
    }

    /// What the load got done beside the devices, in a sentence; `None` without a load.
    pub(super) fn load_sentence(&self) -> Option<String> {
        let load = &self.document.provenance.load;
        let name = load_name(self.document);
        let done = match load.scores.as_slice() {
            [] => "what it got done is not known".to_owned(),
            scores => format!("it did {}", scores_in_words(scores)),
        };
        (name != NO_LOAD).then(|| format!("The load {name} ran meanwhile: {done}."))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Run;
    use punctual_recording::{ActivationDocument, Document, LoadScore};
    use std::path::Path;

    /// The document of a run of a device.
    pub(crate) fn document() -> Document {
        serde_json::from_str(include_str!("../../../cli/tests/golden/device.punctual/recording.json")).unwrap()
    }

    #[test]
    fn what_the_load_got_done_is_said() {
        let (mut document, activations) = (document(), ActivationDocument::default());
        let said =
            |document: &Document| Run { path: Path::new("a"), document, activations: &activations }.load_sentence();
        assert_eq!(said(&document), None);
        document.provenance.load.name = "workstation".to_owned();
        let unknown = said(&document).unwrap();
        assert_eq!(unknown, "The load workstation ran meanwhile: what it got done is not known.");
        document.provenance.load.scores = vec![LoadScore {
            name: "build".to_owned(),
            unit: "files".to_owned(),
            count_thousandths: 26_000,
            elapsed_ns: 20_000_000_000,
            pace_ns: None,
        }];
        assert_eq!(said(&document).unwrap(), "The load workstation ran meanwhile: it did build 1.30 files/s.");
    }
}
