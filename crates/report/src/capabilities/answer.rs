//! The answer of `punctual capabilities`, and that of the verifier's budget, which is for developers.

use crate::answer::Answer;
use serde::Serialize;

/// What this kernel and this user allow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapabilitiesAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    capabilities: Vec<CapabilityRow<'a>>,
}

/// One thing that a measurement can use.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapabilityRow<'a> {
    /// A short name.
    pub name: &'a str,
    /// `yes`, `limited` or `no`.
    pub available: &'static str,
    /// What was found.
    pub detail: &'a str,
    /// What it is needed for.
    pub needed_for: &'a str,
    /// The command or setting that would allow it.
    pub remedy: Option<&'a str>,
    /// The first kernel that has it.
    pub since: Option<&'a str>,
    /// What this kernel lacks of it.
    pub missing: Vec<MissingRow<'a>>,
}

/// Something that this kernel lacks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingRow<'a> {
    /// A tracepoint, a helper, a field.
    pub what: &'a str,
    /// The first kernel that has it.
    pub since: Option<&'a str>,
    /// What cannot be seen without it.
    pub blind: &'a str,
}

impl<'a> CapabilitiesAnswer<'a> {
    /// The answer for programs.
    pub fn new(verdict: &'a str, capabilities: Vec<CapabilityRow<'a>>) -> CapabilitiesAnswer<'a> {
        CapabilitiesAnswer { schema: "punctual.capabilities/1", verdict, exit_code: 0, capabilities }
    }
}

impl Answer for CapabilitiesAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// How close each BPF program is to what a kernel accepts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BudgetAnswer<'a> {
    /// The kernel whose verifier it is.
    pub kernel: &'a str,
    /// What a kernel accepts.
    pub limits: BudgetLimits,
    /// What was loaded.
    pub objects: Vec<ObjectRow<'a>>,
    /// What the verifier accepted.
    pub programs: Vec<ProgramRow<'a>>,
    /// What was not loaded, and why.
    pub refused: &'a [String],
    /// How many programs need more than they may.
    pub over_budget: usize,
}

/// What a kernel accepts of one program.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BudgetLimits {
    /// Instructions that the verifier goes through.
    pub instructions: u64,
    /// The stack of the deepest chain of calls, bytes.
    pub stack: u64,
}

/// An object that was loaded.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ObjectRow<'a> {
    /// Its name.
    pub object: &'a str,
    /// Its size with everything that describes its programs, bytes.
    pub bytes: u64,
    /// Places in its programs that were filled in when it was loaded.
    pub relocations: u64,
    /// How long that took at most, ns.
    pub load_ns: u64,
}

/// A program that the verifier accepted.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProgramRow<'a> {
    /// The object that contains it.
    pub object: &'a str,
    /// Its name.
    pub program: &'a str,
    /// Instructions that the verifier went through.
    pub instructions: u64,
    /// The stack of the deepest chain of calls, bytes.
    pub stack: u64,
}
