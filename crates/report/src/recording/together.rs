//! Several runs as one.

use punctual_recording::Document;

/// The runs of one setting as one document: what is shown of it is their sum, the rest is the first one's.
pub(crate) fn together<'a>(runs: impl IntoIterator<Item = &'a Document>) -> Option<Document> {
    let mut runs = runs.into_iter();
    let mut sum = runs.next()?.clone();
    for run in runs {
        sum.counters.add(&run.counters);
        sum.distributions.add(&run.distributions);
        for note in &run.provenance.fallbacks {
            if !sum.provenance.fallbacks.contains(note) {
                sum.provenance.fallbacks.push(note.clone());
            }
        }
    }
    Some(sum)
}
