//! One device.

use crate::Error;
use crate::Origin;
use crate::Signal;
use crate::notation::{parse_period, rate_of_frames, written_rate};
use punctual_recording::bounds::MAX_PERIOD_NS;
use punctual_recording::{BareUnit, is_without_unit, parse_duration};
use std::ops::RangeInclusive;

/// The mean time between underruns that users of a device expect unless its profile says otherwise, s.
pub const DEFAULT_WANT_S: u64 = 3_600;

/// Before the words of a profile whose numbers were changed.
const CHANGED_FROM: &str = "changed from: ";

/// The periods at which threads measure without harm to what they measure, ns.
const MEASURABLE_PERIODS_NS: RangeInclusive<u64> = 100_000..=10_000_000;

/// From this rate on, in thousandths of a hertz, what comes is samples of a radio.
const RADIO_MILLIHERTZ: u64 = 1_000_000_000;

/// What happens when a buffer is not served in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMiss {
    /// A buffer of silence or stuffing goes out in place of the real one.
    DummyBuffer,
    /// The data of that period are lost.
    Drop,
    /// Everything after it happens later.
    Slip,
    /// The device stops and must be started again.
    Fault,
    /// The connection has to be negotiated again, which takes seconds.
    Retrain,
}

impl OnMiss {
    /// The name used in catalogues and JSON.
    pub fn name(self) -> &'static str {
        match self {
            OnMiss::DummyBuffer => "dummy_buffer",
            OnMiss::Drop => "drop",
            OnMiss::Slip => "slip",
            OnMiss::Fault => "fault",
            OnMiss::Retrain => "retrain",
        }
    }
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Somebody published it: where.
    Stated(String),
    /// Nobody did: why this value was chosen, if there is something to say.
    Assumption(Option<String>),
    /// The user gave it.
    User,
}

impl std::fmt::Display for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Stated(place) => write!(formatter, "{place}"),
            Source::Assumption(Some(reason)) => write!(formatter, "assumption: {reason}"),
            Source::Assumption(None) => write!(formatter, "assumption"),
            Source::User => write!(formatter, "as asked for"),
        }
    }
}

/// Where each number of a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The source of [`Profile::period_ns`].
    pub period: Source,
    /// The source of [`Profile::buffers`].
    pub buffers: Source,
    /// The source of [`Profile::compute_ns`].
    pub compute: Source,
    /// The source of [`Profile::want_s`].
    pub want: Source,
}

/// A range of values as a publication prints it; it may not follow from its own formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Period, ns: from, to.
    pub period_ns: (u64, u64),
    /// Number of buffers: from, to.
    pub buffers: (u32, u32),
    /// Tolerance as printed, ns: from, to.
    pub tolerance_ns: (u64, u64),
    /// Where.
    pub source: String,
}

/// What the users of a device count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A frame of audio, or of video.
    Frame,
    /// A sample of a radio.
    Sample,
    /// A slot of a radio.
    Slot,
    /// A cycle of a control loop.
    Cycle,
}

impl Unit {
    /// One of them.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Frame => "frame",
            Unit::Sample => "sample",
            Unit::Slot => "slot",
            Unit::Cycle => "cycle",
        }
    }

    /// What comes at a rate of so many thousandths of a hertz, where nobody says it: no audio has a million frames a second.
    pub(crate) fn at_rate(millihertz: u64) -> Unit {
        if millihertz < RADIO_MILLIHERTZ { Unit::Frame } else { Unit::Sample }
    }
}

/// A device: a periodic job with buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// A short name that does not change.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it is, in a sentence.
    pub what: String,
    /// The time one buffer lasts, *t*, ns.
    pub period_ns: u64,
    /// How many buffers there are, *n*, at least 2: a job without any spare buffer must be done with one
    /// period's work before the next begins, which is what double buffering means.
    pub buffers: u32,
    /// The time it takes to compute one buffer, *c*, ns.
    pub compute_ns: u64,
    /// The mean time between underruns that its users expect, s.
    pub want_s: u64,
    /// What an underrun does.
    pub on_miss: OnMiss,
    /// What its users count in, if not only in time.
    pub unit: Option<Unit>,
    /// How many of those pass per second, in thousandths; `None` if one is a period.
    pub rate_millihertz: Option<u64>,
    /// What it decodes.
    pub signal: Option<Signal>,
    /// Whose it is.
    pub origin: Origin,
    /// Where the numbers come from.
    pub sources: Sources,
    /// The range a publication prints, if the profile is one value out of it.
    pub printed: Option<Printed>,
}

impl Profile {
    /// A control loop that has to finish a cycle's work before the next cycle begins, with this period, ns. Its work is not part of
    /// the profile: it is judged by how long its cycles took.
    pub fn of_loop(period_ns: u64) -> Profile {
        Profile {
            id: "loop".to_owned(),
            name: "Loop".to_owned(),
            what: "the loop of the program that was followed".to_owned(),
            period_ns,
            buffers: 2,
            compute_ns: 0,
            want_s: DEFAULT_WANT_S,
            on_miss: OnMiss::Drop,
            origin: Origin::Named,
            unit: Some(Unit::Cycle),
            rate_millihertz: None,
            signal: None,
            sources: Sources {
                period: Source::User,
                buffers: Source::Assumption(Some("a cycle is over when the next begins".to_owned())),
                compute: Source::Assumption(Some("part of what was measured".to_owned())),
                want: Source::Assumption(None),
            },
            printed: None,
        }
    }

    /// (n-1)·t, ns: how late its work may *end* before the data run out.
    pub fn tolerance_ns(&self) -> u64 {
        u64::from(self.buffers.saturating_sub(1)).saturating_mul(self.period_ns)
    }

    /// n·t, ns: how long it takes until what a program computes is heard, with all buffers full; `None` for a device that plays no frames.
    pub fn playing_latency_ns(&self) -> Option<u64> {
        let is_played = self.unit == Some(Unit::Frame) && matches!(self.on_miss, OnMiss::DummyBuffer);
        is_played.then(|| u64::from(self.buffers).saturating_mul(self.period_ns))
    }

    /// (n-1)·t - c, ns: how late its work may *begin*. Negative if it would be late without any latency:
    /// use [`Profile::usable_slack_ns`] to forecast.
    pub fn slack_ns(&self) -> i64 {
        let slack = i128::from(self.tolerance_ns()) - i128::from(self.compute_ns);
        slack.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The slack, ns, of a device that can work at all.
    ///
    /// # Errors
    /// [`Error::Profile`] if the slack is negative, or if computing takes longer than the period, so that
    /// no buffering ever helps.
    pub fn usable_slack_ns(&self) -> Result<u64, Error> {
        let wrong = |message: String| Err(Error::Profile { device: self.id.clone(), message });
        let show = punctual_recording::format_ns;
        if self.compute_ns > self.period_ns {
            return wrong(format!(
                "computing a buffer takes {} and a buffer lasts {}: it can never keep up",
                show(self.compute_ns),
                show(self.period_ns)
            ));
        }
        match u64::try_from(self.slack_ns()) {
            Ok(slack) => Ok(slack),
            Err(_) => wrong(format!(
                "its slack is negative: {} of tolerance, less {} to compute",
                show(self.tolerance_ns()),
                show(self.compute_ns)
            )),
        }
    }

    /// A sentence that begins with its id, as a sentence begins, where the id is its name and no identifier.
    pub fn beginning(&self, sentence: String) -> String {
        match sentence.strip_prefix(self.id.as_str()) {
            Some(rest) if self.name.eq_ignore_ascii_case(&self.id) => format!("{}{rest}", self.name),
            _ => sentence,
        }
    }

    /// The same device with another period, ns; computing a buffer takes the same share of the period as before.
    #[must_use]
    pub fn with_period(&self, period_ns: u64) -> Profile {
        let compute = u128::from(self.compute_ns) * u128::from(period_ns) / u128::from(self.period_ns.max(1));
        let mut changed = self.clone();
        changed.what = self.what_with(period_ns != self.period_ns);
        changed.period_ns = period_ns;
        changed.compute_ns = u64::try_from(compute).unwrap_or(u64::MAX);
        changed.sources.period = Source::User;
        changed.printed = None;
        changed
    }

    /// The same device with a period as people write it ([`crate::parse_period`]), whose rate becomes the device's. Whoever
    /// gives a radio's period as a time counts in time, not in samples.
    ///
    /// # Errors
    /// [`Error::Notation`], in a sentence.
    pub fn with_written_period(&self, text: &str) -> Result<Profile, Error> {
        if is_without_unit(text) {
            return Err(self.without_unit(text.trim()));
        }
        let mut changed = self.with_period(parse_period(text)?);
        if let Some(rate) = written_rate(text)? {
            changed.rate_millihertz = Some(rate);
            changed.unit = changed.unit.or(Some(Unit::at_rate(rate)));
        } else if changed.unit == Some(Unit::Sample) {
            changed.unit = None;
        }
        Ok(changed)
    }

    /// This number of frames or samples as a period at the device's rate, as people write it: `64@48kHz`; `None` if it has
    /// no rate of frames.
    pub fn frames_as_period(&self, number: &str) -> Option<String> {
        let rate = self.rate_millihertz.filter(|_| !number.contains('.')).and_then(rate_of_frames)?;
        Some(format!("{number}@{rate}"))
    }

    /// What is wrong with a period that is only a number: of a device that has a rate it must be frames at that rate.
    fn without_unit(&self, number: &str) -> Error {
        Error::Notation(match self.frames_as_period(number) {
            Some(period) => format!("`{number}` has no unit: did you mean {period}?"),
            None => format!("`{number}` has no unit: write {number}us, or {number}ms if you mean that"),
        })
    }

    /// Whether this period's work must be done before the next begins, and no buffer can be added: a cycle or a slot.
    pub fn is_loop(&self) -> bool {
        matches!(self.unit, Some(Unit::Cycle | Unit::Slot))
    }

    /// Whether a standard sets its period, so that none can be advised: a slot.
    pub fn has_fixed_period(&self) -> bool {
        self.unit == Some(Unit::Slot)
    }

    /// Whether threads can be measured at its period: at a shorter one they would take much of a CPU themselves, and at a longer one
    /// they would not see what comes in between.
    pub fn has_measurable_period(&self) -> bool {
        MEASURABLE_PERIODS_NS.contains(&self.period_ns)
    }

    /// How many of its units pass in this time; `None` if its users count only in time. A cycle is always one period.
    pub fn in_units(&self, nanoseconds: u64) -> Option<f64> {
        match self.unit? {
            Unit::Cycle => Some(nanoseconds as f64 / self.period_ns as f64),
            Unit::Frame | Unit::Sample | Unit::Slot => {
                Some(self.at_its_rate(nanoseconds).unwrap_or(nanoseconds as f64 / self.period_ns as f64))
            }
        }
    }

    /// How many pass in this time of what comes at its rate: of a loop whose period was written as 64@48kHz, frames.
    pub fn at_its_rate(&self, nanoseconds: u64) -> Option<f64> {
        self.rate_millihertz.map(|rate| nanoseconds as f64 * rate as f64 / 1e12)
    }

    /// What it is: the words may name numbers that it no longer has.
    fn what_with(&self, differs: bool) -> String {
        match differs && !self.what.is_empty() && !self.what.starts_with(CHANGED_FROM) {
            true => format!("{CHANGED_FROM}{}", self.what),
            false => self.what.clone(),
        }
    }

    /// The same device with another number of buffers.
    #[must_use]
    pub fn with_buffers(&self, buffers: u32) -> Profile {
        let mut changed = self.clone();
        changed.what = self.what_with(buffers != self.buffers);
        changed.buffers = buffers;
        changed.sources.buffers = Source::User;
        changed.printed = None;
        changed
    }

    /// The same device with another time to compute a buffer, ns.
    #[must_use]
    pub fn with_compute(&self, compute_ns: u64) -> Profile {
        let mut changed = self.clone();
        changed.compute_ns = compute_ns;
        changed.sources.compute = Source::User;
        changed
    }

    /// The same device with a time to compute a buffer as people write it: `400us`, or a share of its period, `50%`.
    ///
    /// # Errors
    /// [`Error::Notation`], in a sentence.
    pub fn with_written_compute(&self, text: &str) -> Result<Profile, Error> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return Ok(self.with_compute(parse_duration(text, BareUnit::Refused).map_err(Error::Notation)?));
        };
        let percent = percent.trim().parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        let percent = percent.ok_or_else(|| {
            Error::Notation(format!(
                "`{text}` is not a time to compute: write a time, such as 400us, or 0% to 100% of a period"
            ))
        })?;
        Ok(self.with_compute((self.period_ns as f64 * percent / 100.0).round() as u64))
    }

    /// The same device with another want, s.
    #[must_use]
    pub fn with_want(&self, want_s: u64) -> Profile {
        let mut changed = self.clone();
        changed.want_s = want_s;
        changed.sources.want = Source::User;
        changed
    }

    /// Whether nobody said what its users want, so that [`Profile::want_s`] is an assumption.
    pub fn want_is_assumed(&self) -> bool {
        matches!(self.sources.want, Source::Assumption(_))
    }

    /// Says what is wrong with the profile itself, as far as that can be seen without using it.
    ///
    /// # Errors
    /// [`Error::Profile`]: no id, a period of 0 or beyond a month, a want of 0, fewer than 2 buffers, or numbers beyond 292 years.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |message: &str| Err(Error::Profile { device: self.id.clone(), message: message.to_owned() });
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.id.is_empty() || !self.id.chars().all(plain) {
            return wrong("an id is made of lower-case letters, digits and hyphens");
        }
        if self.period_ns == 0 {
            return wrong("its period is 0");
        }
        if self.period_ns > MAX_PERIOD_NS {
            return wrong("its period is longer than a month: nobody measures for several of them");
        }
        if self.buffers < 2 {
            return wrong("it needs at least 2 buffers: one is being consumed while the other is filled");
        }
        if self.want_s == 0 {
            return wrong("its want is 0: nothing could fail it");
        }
        let longest = u64::MAX / 2;
        let tolerance = u128::from(self.buffers - 1) * u128::from(self.period_ns);
        if tolerance > u128::from(longest) || self.compute_ns > longest {
            return wrong("its tolerance or compute time is beyond what this program can count");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
