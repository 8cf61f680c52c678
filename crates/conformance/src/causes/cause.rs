//! A cause, and what is to be said of it.

use super::scene::{Made, Scene};

/// How far the evidence of a cause has to go (`--why-stage`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// To the switch to the victim.
    Total,
    /// Until the victim sleeps again.
    Response,
    /// Through waits for other processes, where the program knows that stage; else as `Response`.
    Request,
}

impl Stage {
    /// As `--why-stage` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::Total => "total",
            Stage::Response => "response",
            Stage::Request => "request",
        }
    }
}

/// Who chose a cause, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Set {
    /// The judge was mended until it was right about these.
    First,
    /// By somebody who had not read the judge, before any answer to them was seen.
    Second,
    /// By somebody who had read the judge, before any answer to them was seen.
    Third,
    /// By somebody who had not read the judge, before any answer to them was seen.
    Fourth,
    /// By somebody who had not read the judge, before any answer to them was seen; of those the ones that it was wrong about.
    Fifth,
}

impl Set {
    /// As the command line calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Set::First => "first",
            Set::Second => "second",
            Set::Third => "third",
            Set::Fourth => "fourth",
            Set::Fifth => "fifth",
        }
    }
}

/// What the injections of a cause are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sense {
    /// They kept the victim.
    Culprit,
    /// They kept nobody: whoever is blamed for them is innocent.
    Nothing,
}

/// A kind that is right, and a regular expression for the name or the detail with it.
pub type Accepted = (&'static str, &'static str);

/// A cause, and what is to be said of it.
pub struct Cause {
    /// Its name on the command line.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// Which list it stands on.
    pub set: Set,
    /// Whether it was chosen by whoever wrote the examiner; else it was found by a trial.
    pub own: bool,
    /// How far the evidence has to go.
    pub stage: Stage,
    /// Which wakeups are recorded (`--why`): more than the victim's own work.
    pub threshold: &'static str,
    /// What the injections are.
    pub sense: Sense,
    /// Kinds and names that are right. The kind `wait` stands for a lock and for every kind that is said of waits.
    pub right: &'static [Accepted],
    /// Right, but they do not say who.
    pub nameless: &'static [Accepted],
    /// Said of the right one, this is false or no reason.
    pub false_detail: Option<&'static str>,
    /// The name or the detail has to say this, else there is no reason: whoever is named only handed on what another did.
    pub tells: Option<&'static str>,
    /// With a part that says this, name or detail, it is wrong all the same: another mechanism.
    pub never: Option<&'static str>,
    /// In the small set that every test run tries.
    pub fast: bool,
    pub(super) make: fn(&mut Scene) -> Made,
}

/// What most causes have in common.
pub(super) const CAUSE: Cause = Cause {
    name: "",
    what: "",
    set: Set::First,
    own: false,
    stage: Stage::Response,
    threshold: "500us",
    sense: Sense::Culprit,
    right: &[],
    nameless: &[],
    false_detail: None,
    tells: None,
    never: None,
    fast: false,
    make: |_| Ok(()),
};
