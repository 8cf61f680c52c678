//! `recording.json`: where a recording comes from, what was counted, and why it ended.

use crate::document::kind::RecordingKind;
use crate::document::load::LoadInfo;
use crate::document::without_sleep::WithoutSleep;
use crate::episodes::summary::RecorderSummary;
use crate::wakeups::distribution::Distributions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name and version of the format.
pub const SCHEMA: &str = "punctual.recording/1";
/// The version of the format: raised when an older reader would misread a newer recording.
pub const SCHEMA_VERSION: u32 = 1;

/// What `recording.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// What kind of recording it is; `None` in old recordings that do not say: see [`kind_of`](crate::kind_of).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RecordingKind>,
    /// Why and when it ended; absent while it is being written, and so in a recording that was cut short.
    pub ended: Option<Ended>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The threads whose wakeups were measured.
    pub tasks: Vec<Task>,
    /// The counts over the whole run.
    pub counters: Counters,
    /// Limits that the user set, as judged so far.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// How many segments of wakeups were closed when this was written.
    pub segments: u64,
    /// Every value, by measure, stage, CPU and load.
    pub distributions: Distributions,
    /// When the last wakeup that was written ran, ns of `CLOCK_MONOTONIC`; 0 before the first.
    #[serde(default)]
    pub last_ns: u64,
    /// In a recording of other programs' threads: who they were and what woke them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// In a recording with evidence of late wakeups that ended in order: the counts and the cost of the flight
    /// recorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<RecorderSummary>,
    /// How many further recordings [`merge`](crate::merge) added to this one; never written.
    #[serde(skip)]
    pub added: u64,
}

/// Threads that were not punctual's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Whom the user wanted to follow, in the words of [`crate::Asked`].
    pub asked: Vec<String>,
    /// The threads, in the order of [`Document::tasks`]; a thread that changed its name or policy appears again.
    pub threads: Vec<FollowedThread>,
    /// What woke them, each once. A wakeup's `woken_by` is a position in this list.
    pub wakers: Vec<Waker>,
    /// CPU time that punctual itself used meanwhile, ns. The time of its BPF programs is part of the threads' own.
    pub cost_ns: u64,
    /// The period at which, according to the user, these threads start over, ns; `None` if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Threads that began and ended without ever sleeping, which have no wakeup; empty also in older recordings, which do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_sleep: Vec<WithoutSleep>,
}

/// A followed thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedThread {
    /// Its thread id.
    pub tid: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// When it ended, ns of `CLOCK_MONOTONIC`; `None` if, as far as is known, it did not.
    pub ended_ns: Option<u64>,
    /// What woke it and how often, by kind and name; after the 64th, `others`.
    pub woken_by: BTreeMap<String, u64>,
    /// Its niceness when it was first seen, if it was an ordinary thread then; `None` also in older recordings and for
    /// threads that had ended by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// Whether it is there for context, judged by nothing: of the followed command, with none of the names asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_context: bool,
}

/// The kind of what wakes threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakerKind {
    /// One of the thread's own timers.
    Timer,
    /// An interrupt's handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// Another thread.
    Thread,
}

/// What woke a thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Waker {
    /// Its kind.
    pub kind: WakerKind,
    /// The use of the timer, or the name of the interrupt's handler or vector, of the softirq, or of the thread.
    pub name: String,
    /// The interrupt's number or the thread's id.
    pub id: Option<u32>,
}

impl std::fmt::Display for Waker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            WakerKind::Timer => "timer",
            WakerKind::Interrupt => "interrupt",
            WakerKind::Softirq => "softirq",
            WakerKind::Thread => "thread",
        };
        write!(formatter, "{kind} {}", self.name)
    }
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The requested time had passed.
    Completed,
    /// The user or the system asked it to stop.
    Interrupted,
    /// A wakeup exceeded the limit at which the user wanted to stop.
    LimitExceeded,
    /// The command that was the load ended.
    CommandEnded,
    /// All threads that were followed have ended.
    ThreadsEnded,
    /// The measuring threads kept the rest of the program from running.
    Watchdog,
    /// The measurement or the writing of it failed.
    Failed,
}

impl EndReason {
    /// Whether it ended early through a fault of its own, neither asked for nor by a limit: commands then exit with 1.
    pub fn is_failure(self) -> bool {
        matches!(self, EndReason::Watchdog | EndReason::Failed)
    }
}

/// The end of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// In words, if there is more to say.
    pub detail: Option<String>,
    /// When the last wakeup was taken, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// One of [`Provenance::fallbacks`]: somebody stopped the measuring program and let it continue.
pub const WAS_STOPPED: &str = "punctual itself was stopped meanwhile, by a signal or a terminal's job control, and went on: all its \
                               threads were late then, which says nothing of the machine";

/// What one of [`Provenance::fallbacks`] begins with where causes were asked for and could not be recorded; the reason follows.
pub const CAUSES_NOT_RECORDED: &str = "what makes wakeups late is not recorded";
/// What such a reason says where more rights would have done.
pub const NEEDS_ROOT: &str = "it needs root";

/// In one of [`Provenance::fallbacks`], after the device's name.
pub const NOT_SERVED: &str = "the kernel stopped serving this thread's reservation";

/// One of [`Provenance::fallbacks`]: punctual's own threads rested.
pub const THREADS_RESTED: &str = "real-time threads, punctual's own among them, left everything below them too little of a CPU: there \
                                  punctual's rested for 10 of every 100 ms, and those points of the grid count as missed";

/// Where a recording comes from. What is unknown is `None` or absent, never invented.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of punctual that wrote it.
    pub punctual_version: String,
    /// The command line that made it.
    pub command_line: Vec<String>,
    /// 128 random bits, in hexadecimal: the same in every part of one run.
    pub run_id: String,
    /// The machine.
    pub host: Host,
    /// How the measurement was set up.
    pub configuration: Configuration,
    /// What else ran.
    pub load: LoadInfo,
    /// Settings of the system that change latency, by name.
    pub tuning: BTreeMap<String, Setting>,
    /// When measuring began, ns of `CLOCK_MONOTONIC`; 0: it had not when the recording was cut.
    pub started_ns: u64,
    /// What to add to a time in this recording to get ns since 1970, UTC.
    pub monotonic_to_unix_ns: i64,
    /// What was requested but not possible, and what was done instead; the first lines of a report.
    pub fallbacks: Vec<String>,
    /// Why threads ran at normal priority although real-time was requested, and *not* what was requested; also in the
    /// fallbacks. [`Provenance::at_normal_priority`] also understands older recordings, which lack this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal_priority: Option<String>,
    /// What this measurement could not see.
    pub blind: Vec<String>,
}

impl Provenance {
    /// Why threads ran at normal priority although real-time was requested, to follow "Measured at normal priority, ".
    pub fn at_normal_priority(&self) -> Option<&str> {
        // Older recordings have it only in their fallbacks, in words that are kept for them.
        let older = || self.fallbacks.iter().find_map(|line| line.strip_prefix("measured at normal priority, "));
        self.normal_priority.as_deref().or_else(older)
    }

    /// What is not as it was asked for, a line each: what was done instead, and what went wrong with the load, except why it
    /// failed, which verdicts say.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        let failure = self.load.failure.as_ref();
        self.fallbacks.iter().chain(&self.load.trouble).filter(move |note| failure != Some(*note))
    }

    /// The same for an answer whose verdict does not say that the load failed: this comes first.
    pub fn notes_with_failure(&self) -> Vec<String> {
        let failed = self.load.failed_in_words().map(|failed| format!("the {failed}"));
        failed.into_iter().chain(self.notes().cloned()).collect()
    }
}

/// A setting of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Setting {
    /// A whole number.
    Number(i64),
    /// Anything else.
    Text(String),
}

impl<'de> Deserialize<'de> for Setting {
    /// By hand: an untagged enum would first keep whatever is there, of any size.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Setting, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Setting;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number or a text")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Setting, E> {
                Ok(Setting::Number(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Setting, E> {
                i64::try_from(number).map(Setting::Number).map_err(E::custom)
            }

            fn visit_str<E>(self, text: &str) -> Result<Setting, E> {
                Ok(Setting::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its host name.
    pub name: Option<String>,
    /// A digest of its machine identity, which tells machines apart without revealing it.
    pub id: Option<String>,
    /// The kernel's release.
    pub kernel_release: Option<String>,
    /// The kernel's version line.
    pub kernel_version: Option<String>,
    /// `none`, `voluntary`, `full`, `lazy` or `rt`.
    pub preemption: Option<String>,
    /// Processor architecture.
    pub architecture: Option<String>,
    /// The processor's name for itself.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Option<u32>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The hypervisor, `none` on bare metal.
    pub virtualization: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

impl Host {
    /// Whether a run on one is as good as a run on the other: it is the same machine under the same kernel.
    pub fn is_as(&self, other: &Host) -> bool {
        (&self.id, &self.kernel_release, &self.kernel_version)
            == (&other.id, &other.kernel_release, &other.kernel_version)
    }
}

/// How the measurement was set up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The period of each measured thread, ns; 0 where other programs' threads were followed.
    pub interval_ns: u64,
    /// The requested scheduling policy: `fifo`, `rr`, `other`, `deadline`; empty for followed threads.
    pub policy: String,
    /// The requested priorities; empty if the policy has none.
    pub priorities: Vec<u32>,
    /// The requested CPUs.
    pub cpus: Vec<u32>,
    /// What wakes the threads: `timer`, `softirq` from a softirq callback, `own` for followed threads, or `driver` if a
    /// kernel module gave the stamps.
    pub via: String,
    /// Whether the stages were followed inside the kernel by BPF programs.
    pub bpf: bool,
    /// Whether the processors were kept out of deep idle states.
    pub power_request: bool,
    /// Whether memory was locked.
    pub memory_locked: bool,
}

/// A measured thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The key of its distributions: policy and priority, such as `fifo:80`; for a followed thread preceded by its
    /// name.
    pub measure: String,
    /// Its thread id.
    pub tid: u32,
    /// The CPU it was pinned to; `None` where it could move.
    pub cpu: Option<u32>,
    /// Its period, ns; 0 for a followed thread, whose period is not known.
    pub period_ns: u64,
    /// What was counted for it.
    pub counters: Counters,
}

/// What was counted. None of these is ever dropped silently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Wakeups that were measured.
    pub wakeups: u64,
    /// Activations that passed without a wakeup, each a period; `None` for threads without a grid.
    pub missed: Option<u64>,
    /// Wakeups for which no kernel event, or no believable one, came: they ran and only their total is known; or, if
    /// such an event is what wakes the thread, they never became a wakeup.
    pub unobserved: u64,
    /// Wakeups that were measured and then lost, because the writing could not keep up.
    pub lost: u64,
    /// Timers that were already due when the measured thread armed them, where that was seen: the thread itself was
    /// late. Older kernels then force an interrupt; newer ones let the thread continue at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed_late: Option<u64>,
    /// How much host steal, at most, is within the totals of wakeups, ns; `None` where it cannot be seen.
    pub wakeup_steal_ns: Option<u64>,
    /// Host steal on the measured CPUs over the whole run, ns.
    pub steal_ns: Option<u64>,
    /// CPU time that passed on the measured CPUs over the whole run, used or not, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_ns: Option<u64>,
    /// How long they were idle during that time, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// CPU time that punctual itself used during that time, beside the measured threads, on whatever CPU, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ns: Option<u64>,
    /// CPU time that the measured threads used, user and kernel, ns.
    pub cpu_ns: u64,
}

impl Counters {
    /// Adds another's counts. What one of them does not know stays unknown only if the other does not know it either.
    pub fn add(&mut self, other: &Counters) {
        // Sums saturate, because a file may say anything.
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
        };
        self.wakeups = self.wakeups.saturating_add(other.wakeups);
        self.missed = sum(self.missed, other.missed);
        self.unobserved = self.unobserved.saturating_add(other.unobserved);
        self.lost = self.lost.saturating_add(other.lost);
        self.armed_late = sum(self.armed_late, other.armed_late);
        self.wakeup_steal_ns = sum(self.wakeup_steal_ns, other.wakeup_steal_ns);
        self.steal_ns = sum(self.steal_ns, other.steal_ns);
        self.passed_ns = sum(self.passed_ns, other.passed_ns);
        self.idle_ns = sum(self.idle_ns, other.idle_ns);
        self.own_ns = sum(self.own_ns, other.own_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }

    /// The part of the measured CPUs' time that was neither idle, nor the host's, nor the measured threads', nor punctual's: the
    /// time of other programs and the kernel, at least. `None` if the kernel did not say.
    pub fn others_share(&self) -> Option<f64> {
        let (passed, idle) = self.passed_ns.zip(self.idle_ns).filter(|(passed, _)| *passed > 0)?;
        let known = idle.saturating_add(self.steal_ns.unwrap_or(0)).saturating_add(self.cpu_ns);
        let known = known.saturating_add(self.own_ns.unwrap_or(0));
        Some(passed.saturating_sub(known) as f64 / passed as f64)
    }
}

/// What ends before a recording by more than one part in this many of it ended early.
const ENDED_EARLY: u64 = 100;

impl Document {
    /// The note that says why causes, which were asked for, could not be recorded; `None` if more rights would have done.
    pub fn why_without_causes(&self) -> Option<&str> {
        let mut notes = self.provenance.fallbacks.iter().map(String::as_str);
        notes.find(|note| note.starts_with(CAUSES_NOT_RECORDED) && !note.contains(NEEDS_ROOT))
    }

    /// How long it measured, ns: until it ended, or as far as it is known to have got.
    pub fn measured_ns(&self) -> u64 {
        let started_ns = self.provenance.started_ns;
        let ended_ns = self.ended.as_ref().map(|ended| ended.at_ns).or((self.last_ns > 0).then_some(self.last_ns));
        let by_count = || self.tasks.iter().map(|task| task.counters.wakeups.saturating_mul(task.period_ns)).max();
        ended_ns.map_or_else(|| by_count().unwrap_or(0), |ended| ended.saturating_sub(started_ns))
    }

    /// How long before the recording something ended, ns, if that was clearly before.
    pub fn ended_early_ns(&self, ended_ns: u64) -> Option<u64> {
        let measured_ns = self.measured_ns();
        let before_ns = self.provenance.started_ns.saturating_add(measured_ns).saturating_sub(ended_ns);
        (before_ns > measured_ns / ENDED_EARLY).then_some(before_ns)
    }

    /// What is said of it where wakeups were wanted and it has none.
    pub fn without_wakeups(&self) -> String {
        match self.kind {
            Some(kind) if kind != RecordingKind::Wakeups => format!("it holds {}, no wakeup", kind.holds()),
            _ => "it holds no wakeup".to_owned(),
        }
    }
}

/// A limit that the user set, as judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What is limited: `max`, `p99.9`, `wakeup` (stop at the first), ...
    pub what: String,
    /// The limit, ns.
    pub limit_ns: u64,
    /// The value that was found, ns; `None` if there was nothing to judge.
    pub found_ns: Option<u64>,
    /// Whether it was exceeded.
    pub exceeded: bool,
    /// The stage that is limited, by name; `None` for the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_punctual_itself_took_is_no_time_of_others() {
        let counters = Counters { passed_ns: Some(1_000), idle_ns: Some(300), cpu_ns: 100, ..Counters::default() };
        assert_eq!(counters.others_share(), Some(0.6));
        let mut counters = Counters { own_ns: Some(400), steal_ns: Some(50), ..counters };
        assert_eq!(counters.others_share(), Some(0.15));
        let same = counters;
        counters.add(&same);
        assert_eq!((counters.own_ns, counters.others_share()), (Some(800), Some(0.15)));
        // Its threads may have run on CPUs that are not measured.
        counters.own_ns = Some(5_000);
        assert_eq!(counters.others_share(), Some(0.0));
        assert_eq!(Counters { passed_ns: None, ..counters }.others_share(), None);
    }
}
