//! The known devices, as an answer.

use crate::answer::Answer;
use crate::forecast::SourcesRow;
use crate::verdict::tools::profiles_verdict;
use punctual_device::{Profile, Sampling};
use serde::Serialize;

/// The known devices.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProfilesAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    devices: Vec<ProfileRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProfileRow<'a> {
    device: &'a str,
    name: &'a str,
    what: &'a str,
    /// `named` by the user, a device of `today` or of the `papers`.
    origin: &'static str,
    period_ns: u64,
    buffers: u32,
    compute_ns: u64,
    want_s: u64,
    tolerance_ns: u64,
    slack_ns: i64,
    samples: u32,
    ring: u32,
    /// What it decodes, if it does not filter samples instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'static str>,
    on_miss: &'static str,
    sources: SourcesRow,
}

impl<'a> ProfilesAnswer<'a> {
    /// The answer for programs.
    pub fn new(profiles: &'a [Profile]) -> ProfilesAnswer<'a> {
        ProfilesAnswer {
            schema: "punctual.devices/1",
            verdict: profiles_verdict(profiles),
            exit_code: 0,
            devices: profiles.iter().map(ProfileRow::new).collect(),
        }
    }
}

impl Answer for ProfilesAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

impl<'a> ProfileRow<'a> {
    fn new(profile: &'a Profile) -> ProfileRow<'a> {
        let Sampling { samples, ring } = Sampling::of(profile);
        ProfileRow {
            device: &profile.id,
            name: &profile.name,
            what: &profile.what,
            origin: profile.origin.name(),
            period_ns: profile.period_ns,
            buffers: profile.buffers,
            compute_ns: profile.compute_ns,
            want_s: profile.want_s,
            tolerance_ns: profile.tolerance_ns(),
            slack_ns: profile.slack_ns(),
            samples,
            ring,
            signal: profile.signal.map(punctual_device::Signal::name),
            on_miss: profile.on_miss.name(),
            sources: SourcesRow::new(profile),
        }
    }
}
