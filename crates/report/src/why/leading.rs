//! Which causes a verdict names first.

use super::advice::is_own_work_to_blame;
use super::model::WhyReport;
use punctual_blame::{Cause, Kind};

impl WhyReport<'_> {
    /// The kind with the most time, how much that was, ns, and its largest cause. What a thread does itself makes
    /// nobody late but itself: other causes come first, unless that work is to blame. That no request was waiting is none.
    pub(crate) fn leading(&self) -> Option<(Kind, u64, &Cause)> {
        let kinds = self.kinds();
        let is_own = is_own_work_to_blame(self);
        let is_no_cause = |kind: Kind| kind == Kind::Idle || (kind == Kind::Own && !is_own);
        let own = || kinds.iter().find(|(kind, _)| *kind == Kind::Own);
        let &(kind, ns) = kinds.iter().find(|(kind, _)| !is_no_cause(*kind)).or_else(own).or(kinds.first())?;
        Some((kind, ns, self.summary.causes.iter().find(|cause| cause.kind == kind)?))
    }

    /// The largest single cause, where the first sentence names another kind, of which no cause is as large. Nothing that is
    /// no cause to change.
    pub(crate) fn largest_single(&self) -> Option<&Cause> {
        let (leading, _, first) = self.leading()?;
        let is_cause =
            |kind: Kind| !matches!(kind, Kind::Own | Kind::Idle | Kind::Unknown | Kind::Blind | Kind::KernelWake);
        let largest = self.summary.causes.iter().find(|cause| is_cause(cause.kind))?;
        (leading != Kind::Own && largest.kind != leading && largest.total_ns > first.total_ns).then_some(largest)
    }
}
