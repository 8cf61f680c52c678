//! Where the time of inputs went: why, and who had it.

use super::sums::MAX_CAUSES;
use punctual_blame::{Kind, Who};
use punctual_recording::{Interaction, InteractionPart, for_each_interaction_part};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The kernel's functions that end a thread's own sleep: nanosleep and time limits, those counted in ticks, and a timerfd.
const OWN_TIMERS: [&str; 3] = ["hrtimer_wakeup", "process_timeout", "timerfd_tmrproc"];

/// Ends the name of a thread of whoever measured.
const OF_THIS_RECORDING: &str = " (this recording)";

/// Why some of the waiting passed, and who had it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spent {
    kind: SpentKind,
    pub(super) who: Who,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SpentKind {
    Blamed(Kind),
    /// No cause: many small parts together, or what a newer version found.
    Other(String),
}

impl Spent {
    pub(super) fn of(part: &InteractionPart) -> Spent {
        let kind = Kind::from_name(&part.kind).map_or_else(|| SpentKind::Other(part.kind.clone()), SpentKind::Blamed);
        Spent { kind, who: part.not_seen.map_or_else(|| part.name.as_str().into(), Who::from) }
    }

    /// Whether whoever measured had it: the thread that types, or those that look at what happened.
    pub(super) fn is_own_work(&self) -> bool {
        self.who.name().ends_with(OF_THIS_RECORDING)
    }

    /// The kind of cause, if it is one.
    pub(super) fn blamed(&self) -> Option<Kind> {
        match self.kind {
            SpentKind::Blamed(kind) => Some(kind),
            SpentKind::Other(_) => None,
        }
    }

    /// The same kind, whoever had it.
    fn of_others(self) -> Spent {
        Spent { who: "others".into(), ..self }
    }

    /// The kind in JSON.
    pub(super) fn kind(&self) -> &str {
        match &self.kind {
            SpentKind::Blamed(kind) => kind.name(),
            SpentKind::Other(kind) => kind,
        }
    }

    /// `sleeping on timer hrtimer_wakeup`.
    pub(crate) fn words(&self) -> String {
        match &self.kind {
            SpentKind::Blamed(kind) => kind.cause(&self.who),
            SpentKind::Other(kind) => format!("{kind} {}", self.who),
        }
    }

    /// The same for a first sentence, where the name of a kernel's function says nothing: `sleeping on a timer of its own`.
    pub(crate) fn in_a_sentence(&self) -> String {
        match self.kind {
            SpentKind::Blamed(Kind::Sleep) if OWN_TIMERS.contains(&self.who.name()) => {
                "sleeping on a timer of its own".to_owned()
            }
            _ => self.words(),
        }
    }
}

/// A part of an input's time.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) on: Spent,
    pub(super) detail: String,
    pub(crate) ns: u64,
    pub(super) unknown_ns: u64,
}

/// Where some of the waiting went.
pub(crate) struct Cause {
    pub(crate) on: Spent,
    pub(crate) ns: u64,
    pub(super) unknown_ns: u64,
    pub(super) inputs: u64,
}

/// The sums of the parts of all inputs.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) causes: Vec<Cause>,
    pub(super) told: BTreeMap<u32, Vec<Part>>,
    pub(super) wrong_sums: u64,
}

/// Reads the parts of all inputs and says of each which input it belongs to, where it went, and how much it was, ns.
/// Keeps those in `told`; the parts of the start, which nobody put in, are not causes.
pub(super) fn gather(
    recording: &Path,
    inputs: &[Interaction],
    mut told: BTreeMap<u32, Vec<Part>>,
    mut each: impl FnMut(u32, &Spent, u64),
) -> punctual_recording::Result<Gathered> {
    let starts: BTreeSet<u32> = inputs.iter().filter(|input| !input.is_measured()).map(|input| input.number).collect();
    let latencies: BTreeMap<u32, u64> =
        inputs.iter().filter_map(|input| Some((input.number, input.latency_ns()?))).collect();
    let mut causes: BTreeMap<Spent, Cause> = BTreeMap::new();
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for_each_interaction_part(recording, |part| {
        let sum = sums.entry(part.number).or_default();
        *sum = sum.saturating_add(part.ns);
        let on = Spent::of(&part);
        each(part.number, &on, part.ns);
        if !starts.contains(&part.number) {
            let is_full = causes.len() >= MAX_CAUSES && !causes.contains_key(&on);
            let counted = if is_full { on.clone().of_others() } else { on.clone() };
            let cause = causes.entry(counted.clone());
            let cause = cause.or_insert(Cause { on: counted, ns: 0, unknown_ns: 0, inputs: 0 });
            cause.ns = cause.ns.saturating_add(part.ns);
            cause.unknown_ns = cause.unknown_ns.saturating_add(part.unknown_ns);
            cause.inputs += 1;
        }
        if let Some(parts) = told.get_mut(&part.number) {
            parts.push(Part { on, detail: part.detail, ns: part.ns, unknown_ns: part.unknown_ns });
        }
    })?;
    let wrong_sums = sums.iter().filter(|(number, sum)| latencies.get(number) != Some(sum)).count() as u64;
    let mut causes: Vec<Cause> = causes.into_values().collect();
    causes.sort_by(|one, other| other.ns.cmp(&one.ns).then_with(|| one.on.who.cmp(&other.on.who)));
    Ok(Gathered { causes, told, wrong_sums })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::Awaited;

    #[test]
    fn a_first_sentence_names_no_function_of_the_kernel_for_an_own_timer() {
        let on = |kind: &str, name: &str| {
            let (kind, name) = (kind.to_owned(), name.to_owned());
            Spent::of(&InteractionPart { kind, name, ..InteractionPart::default() })
        };
        for timer in OWN_TIMERS {
            let slept = on("sleep", timer);
            assert_eq!(slept.in_a_sentence(), "sleeping on a timer of its own");
            assert_eq!(slept.words(), format!("sleeping on timer {timer}"));
        }
        // Whose timer that is, is not known; and a thread may have any name.
        for (kind, name) in [("sleep", "tcp_delack_timer"), ("wait", "hrtimer_wakeup")] {
            assert_eq!(on(kind, name).in_a_sentence(), on(kind, name).words());
        }
    }

    #[test]
    fn who_was_not_seen_has_no_name() {
        let on = |kind: &str, name: &str, not_seen| {
            let (kind, name) = (kind.to_owned(), name.to_owned());
            Spent::of(&InteractionPart { kind, name, not_seen, ..InteractionPart::default() })
        };
        let told = [
            (on("wait", "ender not seen", Some(Awaited::Ender)), "waiting for a thread that was not seen"),
            (on("lock", "holder not seen", Some(Awaited::Holder)), "a lock whose holder was not seen"),
            // A thread may have any name; older recordings do not say.
            (on("wait", "ender not seen", None), "waiting for ender not seen"),
            (on("several", "3 smaller parts", None), "several 3 smaller parts"),
        ];
        for (on, words) in &told {
            assert_eq!(on.words(), *words);
        }
        assert_eq!(told.map(|(on, _)| on.kind().to_owned()), ["wait", "lock", "wait", "several"]);
    }
}
