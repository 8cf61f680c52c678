//! A cause, and what the program should say about it.

use super::scene::{Made, Scene};

/// How far the evidence of a cause has to go (`--why-stage`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Up to the switch to the victim.
    Total,
    /// Until the victim sleeps again.
    Response,
    /// Through waits for other processes, if the program knows that stage; otherwise like `Response`.
    Request,
}

impl Stage {
    /// The name that `--why-stage` uses.
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
    /// The judge was corrected until it was right about these.
    First,
    /// By somebody who had not read the judge, before anybody saw an answer to them.
    Second,
    /// By somebody who had read the judge, before anybody saw an answer to them.
    Third,
    /// By somebody who had not read the judge, before anybody saw an answer to them.
    Fourth,
    /// By somebody who had not read the judge, before anybody saw an answer to them; of those, the ones that the judge
    /// was wrong about.
    Fifth,
}

impl Set {
    /// The name that the command line uses.
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
    /// They kept the victim waiting.
    Culprit,
    /// They kept nobody waiting: anybody blamed for them is innocent.
    Nothing,
}

/// A right kind, and a regular expression for the name or the detail that goes with it.
pub type Accepted = (&'static str, &'static str);

/// A cause, and what the program should say about it.
pub struct Cause {
    /// Its name on the command line.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// Which list it is on.
    pub set: Set,
    /// Whether the author of the examiner chose it; otherwise a trial found it.
    pub own: bool,
    /// How far the evidence has to go.
    pub stage: Stage,
    /// Which wakeups are recorded (`--why`): more than the victim's own work.
    pub threshold: &'static str,
    /// What the injections are.
    pub sense: Sense,
    /// Right kinds and names. The kind `wait` stands for a lock and for every kind that describes a wait.
    pub right: &'static [Accepted],
    /// Right kinds and names that do not say who.
    pub nameless: &'static [Accepted],
    /// With the right culprit, this detail is false or no reason.
    pub false_detail: Option<&'static str>,
    /// The name or the detail has to contain this, otherwise there is no reason: the one named only passed on what
    /// another did.
    pub tells: Option<&'static str>,
    /// If a part contains this, in its name or detail, the answer is wrong all the same: it is another mechanism.
    pub never: Option<&'static str>,
    /// Whether it is in the small set that every test run tries.
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
