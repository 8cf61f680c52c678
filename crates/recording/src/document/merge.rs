//! Adds up recordings of the same configuration and load.

use crate::document::contents::Document;
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashSet;

/// Why two recordings cannot be added up, in words; `None` if they can.
pub fn compatible(left: &Document, right: &Document) -> Option<String> {
    let (a, b) = (&left.provenance, &right.provenance);
    let differs = |what: &str, left: &dyn std::fmt::Debug, right: &dyn std::fmt::Debug| {
        Some(format!("{what} differs: {left:?} and {right:?}"))
    };
    if a.configuration != b.configuration {
        return differs("the configuration", &a.configuration, &b.configuration);
    }
    let asked = |document: &Document| document.followed.as_ref().map(|followed| followed.asked.clone());
    if asked(left) != asked(right) {
        return differs("whom they followed", &asked(left), &asked(right));
    }
    if (&a.load.name, &a.load.commands) != (&b.load.name, &b.load.commands) {
        return differs("the load", &a.load.name, &b.load.name);
    }
    if a.host != b.host {
        return differs("the machine or its kernel", &a.host, &b.host);
    }
    if a.tuning != b.tuning {
        let changed: Vec<&String> =
            a.tuning.keys().chain(b.tuning.keys()).filter(|name| a.tuning.get(*name) != b.tuning.get(*name)).collect();
        return Some(format!("settings of the system differ: {changed:?}"));
    }
    None
}

/// The sum of recordings of the same configuration and load: one document, as if they had been one run.
///
/// The sum has ended only if all of them have; the reason is the first that is not [`crate::EndReason::Completed`].
///
/// # Errors
/// [`ErrorKind::Incompatible`] if they cannot be added up, or if a run appears twice.
pub fn merge(documents: impl IntoIterator<Item = Document>) -> Result<Document> {
    let mut documents = documents.into_iter();
    let Some(mut sum) = documents.next() else {
        return Err(Error::new(ErrorKind::Incompatible, "", "there is nothing to merge"));
    };
    let mut runs = HashSet::from([sum.provenance.run_id.clone()]);
    for document in documents {
        // Every recording is compared with the first, whose settings the sum keeps.
        if let Some(reason) = compatible(&sum, &document) {
            return Err(Error::new(ErrorKind::Incompatible, "", reason));
        }
        if !runs.insert(document.provenance.run_id.clone()) {
            return Err(Error::new(ErrorKind::Incompatible, "", "the same run is given twice"));
        }
        let measured_ns = sum.measured_ns().saturating_add(document.measured_ns());
        sum.added = sum.added.saturating_add(document.added).saturating_add(1);
        sum.counters.add(&document.counters);
        sum.distributions.add(&document.distributions);
        sum.tasks.extend(document.tasks.iter().cloned());
        if let (Some(followed), Some(other)) = (&mut sum.followed, &document.followed) {
            followed.threads.extend(other.threads.iter().cloned());
            // Positions in the list are those of the first recording: nobody reads wakeups from a sum.
            let known: HashSet<_> = followed.wakers.iter().cloned().collect();
            followed.wakers.extend(other.wakers.iter().filter(|waker| !known.contains(*waker)).cloned());
            followed.without_sleep.extend(other.without_sleep.iter().cloned());
            followed.cost_ns = followed.cost_ns.saturating_add(other.cost_ns);
        }
        // Each recorder had its own settings and evidence.
        sum.recorder = None;
        sum.limits.extend(document.limits.iter().cloned());
        sum.segments = sum.segments.saturating_add(document.segments);
        sum.provenance.load.add_scores(&document.provenance.load);
        if sum.provenance.normal_priority.is_none() {
            sum.provenance.normal_priority.clone_from(&document.provenance.normal_priority);
        }
        let known: HashSet<&String> = sum.provenance.fallbacks.iter().collect();
        let later = document.provenance.fallbacks.iter().filter(|note| !known.contains(note)).cloned();
        let later: Vec<String> = later.collect();
        sum.provenance.fallbacks.extend(later);
        sum.ended = match (sum.ended.take(), &document.ended) {
            (Some(ended), Some(_)) if ended.reason != crate::EndReason::Completed => Some(ended),
            (Some(_), Some(ended)) => Some(ended.clone()),
            _ => None,
        };
        // Nothing was measured between two runs, and either may be the earlier one.
        sum.last_ns = sum.provenance.started_ns.saturating_add(measured_ns);
        if let Some(ended) = &mut sum.ended {
            ended.at_ns = sum.last_ns;
        }
    }
    Ok(sum)
}
