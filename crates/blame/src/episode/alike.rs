//! Threads of one name, told apart where one of them waits for another.

use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use crate::who::{OTHER, THREAD, Who};

/// Whose time is judged, and those who wait for it, from the late thread on.
#[derive(Clone, Copy)]
pub(crate) struct Waiting<'a, 'w> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) subject: Subject<'a>,
    /// Without the subject itself.
    pub(crate) others: &'w [u32],
}

impl Waiting<'_, '_> {
    /// Who had a stretch of it: a thread that is waited for has its number where one that waits for it has the same name.
    pub(crate) fn apart(&self, kind: Kind, tid: u32, name: &str) -> Who {
        match kind {
            Kind::Lock | Kind::Wait if self.has_another(tid, name) => format!("{name}{THREAD}{tid})").into(),
            // Many of one name may keep a holder in turn: what they share is their name, see [`Who::shared_name`].
            Kind::HigherPriority | Kind::SamePriority | Kind::LowerPriority | Kind::FairServer
                if !self.others.is_empty() && self.subject.tid != tid && self.subject.name == name =>
            {
                format!("{OTHER}{name}{THREAD}{tid})").into()
            }
            _ => name.into(),
        }
    }

    /// Whether another thread that waits has this name.
    fn has_another(&self, tid: u32, name: &str) -> bool {
        let is_another =
            |other: &u32| *other != tid && self.shared.threads.get(other).is_some_and(|called| *called == name);
        self.subject.tid != tid && self.subject.name == name || self.others.iter().any(is_another)
    }
}
