//! What the time from an input until it was seen was spent on, as `punctual-blame` splits it.

use crate::code::Code;
use punctual_blame::{Detail, Findings, Inside, Kind, Part, Piece, Who, at_work};
use punctual_probe::recorder::SAMPLER;
use punctual_recording::episode::Victim;
use punctual_recording::{Episode, InteractionPart, MAX_PARTS};
use std::collections::HashMap;

/// The length to which details are cut, characters.
const MAX_DETAIL: usize = 300;
/// How much of what is inside a part its detail names.
const MAX_INSIDE: usize = 4;

/// An input's time, which is to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// The thread of the display's server and its name, and when the program last handed it something to draw.
    pub(crate) server: Option<(u32, &'static str, u64)>,
}

/// The parts of an input's time; they add up to `end_ns - begin_ns` exactly. The episode belongs to the thread that put
/// the output out. After it has handed that to a display's server, it waits for the server. Samples of whoever was at work
/// go into `code`.
pub(crate) fn parts(number: u32, awaited: Awaited, mut episode: Episode, code: &mut Code) -> Vec<InteractionPart> {
    let Awaited { begin_ns, end_ns, server } = awaited;
    let handed_ns = server.map_or(end_ns, |(.., at)| at.clamp(begin_ns, end_ns));
    // The investigator moves ends to nearby wakings and switches: here they are stamps of their own.
    (episode.expected_ns, episode.end_ns) = (begin_ns, handed_ns);
    let program = episode.victim.name.clone();
    let mut sampled = Sampled { number, known: HashMap::new(), code };
    let mut parts = sampled.parts(&episode, |piece| (piece.kind, piece.who.to_string()));
    if let Some((tid, name, _)) = server.filter(|_| handed_ns < end_ns) {
        (episode.expected_ns, episode.end_ns) = (handed_ns, end_ns);
        episode.victim = Victim { tid, name: name.to_owned(), ..episode.victim };
        let of_server = sampled.parts(&episode, |piece| match is_programs(piece.kind, &piece.who, &program) {
            true => (Kind::Own, program.clone()),
            false => (Kind::Wait, name.to_owned()),
        });
        add_server(&mut parts, of_server, &program, name);
    }
    tell_why_unknown(&mut parts, episode.void.as_deref());
    of(number, parts)
}

/// Where the samples of an input go.
struct Sampled<'a> {
    number: u32,
    /// Frames of the episode that have come before, see [`Code::take`].
    known: HashMap<u32, u32>,
    code: &'a mut Code,
}

impl Sampled<'_> {
    /// The parts of an episode. Samples in a piece belong to the part that `part_of` says.
    fn parts(&mut self, episode: &Episode, part_of: impl Fn(&Piece) -> (Kind, String)) -> Vec<Part> {
        let found = Findings::of_awaited(episode);
        for work in at_work(episode, &found.split, &found.sightings) {
            let (kind, name) = part_of(work.piece);
            self.code.take(self.number, (kind.name(), name), episode, &work, &mut self.known);
        }
        found.split.parts
    }
}

/// Whether the server waited for the program: that is the program's own time.
fn is_programs(kind: Kind, who: &Who, program: &str) -> bool {
    kind == Kind::Wait && who.name() == program
}

/// What the split says of a time in which nothing at all was seen.
const NO_EVENT: &str = "no event of this CPU";

/// Nothing was seen because the evidence has a hole: then it says that instead.
fn tell_why_unknown(parts: &mut [Part], void: Option<&str>) {
    let Some(why) = void else { return };
    for part in parts.iter_mut().filter(|part| part.kind == Kind::Unknown && part.who.name() == NO_EVENT) {
        part.who = Who::from(why);
    }
}

/// Each once, largest first.
fn join_inside(all: &mut Vec<Inside>) {
    let mut joined: Vec<Inside> = Vec::with_capacity(all.len());
    for one in all.drain(..) {
        match joined.iter_mut().find(|known| known.kind == one.kind && known.who == one.who) {
            Some(known) => {
                known.ns += one.ns;
                known.inside.extend(one.inside);
            }
            None => joined.push(one),
        }
    }
    joined.iter_mut().for_each(|one| join_inside(&mut one.inside));
    joined.sort_by_key(|one| std::cmp::Reverse(one.ns));
    *all = joined;
}

/// Adds what the server's time was spent on to the program's wait for it; the program keeps its own part.
fn add_server(parts: &mut Vec<Part>, of_server: Vec<Part>, program: &str, server: &str) {
    for part in of_server {
        let is_programs = is_programs(part.kind, &part.who, program);
        let (kind, who) = if is_programs { (Kind::Own, program) } else { (Kind::Wait, server) };
        let did = Inside { kind: part.kind, who: part.who.clone(), ns: part.ns, inside: part.inside.clone() };
        let inside = if is_programs { Vec::new() } else { vec![did] };
        let added = Part { kind, who: Who::from(who), detail: None, inside, ..part };
        match parts.iter_mut().find(|known| known.kind == added.kind && known.who == added.who) {
            Some(known) => {
                known.ns += added.ns;
                known.unknown_ns += added.unknown_ns;
                known.inside.extend(added.inside);
            }
            None => parts.push(added),
        }
    }
    parts.iter_mut().for_each(|part| join_inside(&mut part.inside));
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
}

fn of(number: u32, parts: Vec<Part>) -> Vec<InteractionPart> {
    let mut told: Vec<InteractionPart> = parts
        .into_iter()
        .map(|part| InteractionPart {
            number,
            kind: part.kind.name().to_owned(),
            detail: detail(&part),
            name: name(&part),
            not_seen: part.who.not_seen(),
            ns: part.ns,
            unknown_ns: part.unknown_ns,
        })
        .collect();
    if told.len() > MAX_PARTS {
        let rest = told.split_off(MAX_PARTS - 1);
        told.push(InteractionPart {
            number,
            kind: "several".to_owned(),
            name: format!("{} smaller parts", rest.len()),
            not_seen: None,
            detail: String::new(),
            ns: rest.iter().map(|part| part.ns).sum(),
            unknown_ns: rest.iter().map(|part| part.unknown_ns).sum(),
        });
    }
    told
}

/// Whose it is: the sampling clock's interrupt is this recording's own.
fn name(part: &Part) -> String {
    let is_sampler = part.kind == Kind::Irq && part.who.name() == SAMPLER;
    if is_sampler { format!("{SAMPLER} (this recording)") } else { part.who.to_string() }
}

/// Whether a detail is code that samples saw. The call tree says that of somebody's own work, and a place that has no name yet
/// says nothing.
fn is_told_elsewhere(part: &Part, detail: &Detail) -> bool {
    let is_place = |code: &str| code.starts_with("0x") || code.contains("+0x");
    matches!(detail, Detail::Seen(code) if part.kind == Kind::Own || is_place(code))
}

fn detail(part: &Part) -> String {
    let words = if part.inside.is_empty() {
        let told = part.detail.as_ref().filter(|detail| !is_told_elsewhere(part, detail));
        told.map(ToString::to_string).unwrap_or_default()
    } else {
        let told: Vec<String> = part.inside.iter().take(MAX_INSIDE).map(inside).collect();
        told.join(", ")
    };
    words.chars().take(MAX_DETAIL).collect()
}

/// What the one that was waited for did, to its end: `own worker 10.01 ms`.
fn inside(inside: &Inside) -> String {
    let mut at = inside;
    let mut words = String::new();
    while let Some(largest) = at.inside.first().filter(|largest| largest.ns * 2 > at.ns) {
        words.push_str(&format!("{} {} > ", at.kind.label(), at.who));
        at = largest;
    }
    format!("{words}{} {} {}", at.kind.label(), at.who, punctual_recording::format_ns(inside.ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_recording::Stage;
    use punctual_recording::episode::{Event, EventKind};

    const SERVER: &str = "Xvfb";

    fn part(ns: u64, name: &str) -> Part {
        Part {
            kind: Kind::Own,
            who: name.into(),
            ns,
            detail: None,
            unknown_ns: ns / 10,
            inside: Vec::new(),
            call: None,
            has_ended: false,
            cgroup: None,
            turn: None,
            priorities: None,
            thread: None,
            has_namesakes: false,
        }
    }

    #[test]
    fn many_parts_become_few_and_nothing_is_lost() {
        let parts: Vec<Part> = (0..200).map(|number| part(1_000 - number, &format!("p{number}"))).collect();
        let (all, unknown) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.ns, sum.1 + part.unknown_ns));
        let told = of(5, parts);
        assert_eq!(told.len(), MAX_PARTS);
        assert_eq!(told.iter().map(|part| part.ns).sum::<u64>(), all);
        assert_eq!(told.iter().map(|part| part.unknown_ns).sum::<u64>(), unknown);
    }

    fn episode(events: Vec<Event>, begin_ns: u64, end_ns: u64) -> Episode {
        let victim = Victim { tid: 100, name: "editor".into(), priority: 120, cpu: 0 };
        Episode {
            stage: Stage::Request,
            names: ["editor", "kworker/u4:1", "driver", "idle"].map(str::to_owned).to_vec(),
            events,
            ..Episode::of(victim, begin_ns, end_ns)
        }
    }

    fn event(at_us: u64, cpu: u32, kind: EventKind, tid: u32, value: u64, extra: u64, name: u32) -> Event {
        let at_ns = at_us * 1_000;
        Event { at_ns, cpu, kind, tid, priority: 120, context: 0, steal_ns: 0, value, extra, name }
    }

    #[test]
    fn the_way_of_a_key_through_the_kernel_and_a_timer_of_the_program() {
        const SLEEPS: u64 = 1 << 32 | 120;
        let mut events = vec![
            // The driver on CPU 1 puts it in, and the kernel's worker hands it on.
            event(1_000, 1, EventKind::Switch, 0, 300, 120, 2),
            event(1_010, 1, EventKind::Waking, 300, 200, 120, 2),
            event(1_020, 0, EventKind::Switch, 0, 200, 120, 1),
            event(1_030, 0, EventKind::Waking, 200, 100, 120, 1),
            event(1_040, 0, EventKind::Switch, 200, 100, SLEEPS, 0),
            // The editor works for 2 ms, sleeps on its timer for 25, and puts it out.
            event(3_040, 0, EventKind::Switch, 100, 0, SLEEPS, 3),
        ];
        let mut timer = event(28_035, 0, EventKind::TimerBegin, 0, 0, 28_035_000, 3);
        timer.context = 1 << 16;
        let mut waking = event(28_040, 0, EventKind::Waking, 0, 100, 120, 3);
        waking.context = 1 << 16;
        let mut over = event(28_042, 0, EventKind::TimerEnd, 0, 0, 0, 3);
        over.context = 1 << 16;
        events.extend([timer, waking, over, event(28_050, 0, EventKind::Switch, 0, 100, 120, 0)]);
        events.push(event(29_000, 0, EventKind::Switch, 100, 0, SLEEPS, 3));
        let awaited = Awaited { begin_ns: 1_005_000, end_ns: 28_950_000, server: None };
        let told = parts(9, awaited, episode(events, 0, 0), &mut Code::default());
        assert_eq!(told.iter().map(|part| part.ns).sum::<u64>(), 27_945_000);
        let of = |kind: &str| told.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum::<u64>();
        assert_eq!((told[0].kind.as_str(), told[0].ns), ("sleep", 24_995_000), "{told:?}");
        assert_eq!(of("own"), 2_000_000 + 900_000, "{told:?}");
    }

    #[test]
    fn a_hole_in_the_evidence_is_said() {
        let void = Some("CPU 1: the ring was overwritten".to_owned());
        let awaited = Awaited { begin_ns: 1_000_000, end_ns: 2_000_000, server: None };
        let told = parts(9, awaited, Episode { void: void.clone(), ..episode(Vec::new(), 0, 0) }, &mut Code::default());
        assert_eq!((told[0].kind.as_str(), Some(&told[0].name)), ("unknown", void.as_ref()), "{told:?}");
        let told = parts(9, awaited, episode(Vec::new(), 0, 0), &mut Code::default());
        assert_eq!(told[0].name, NO_EVENT, "the split still says so");
    }

    #[test]
    fn what_the_server_does_with_an_output_is_a_wait_for_it() {
        const SLEEPS: u64 = 1 << 32 | 120;
        // The editor works for 2 ms, hands it to the server on CPU 1, and sleeps; the server works for 3 ms.
        let events = vec![
            event(900, 0, EventKind::Switch, 0, 100, 120, 0),
            event(900, 1, EventKind::Switch, 200, 0, SLEEPS, 3),
            event(3_010, 0, EventKind::Waking, 100, 200, 120, 0),
            event(3_020, 1, EventKind::Switch, 0, 200, 120, 1),
            event(3_030, 0, EventKind::Switch, 100, 0, SLEEPS, 3),
            event(6_100, 1, EventKind::Switch, 200, 0, SLEEPS, 3),
        ];
        let mut episode = episode(events, 0, 0);
        episode.names[1] = SERVER.to_owned();
        let awaited = Awaited { begin_ns: 1_000_000, end_ns: 6_000_000, server: Some((200, SERVER, 3_000_000)) };
        let told = parts(9, awaited, episode, &mut Code::default());
        let of = |kind: &str, name: &str| {
            told.iter().filter(|part| part.kind == kind && part.name == name).map(|part| part.ns).sum::<u64>()
        };
        assert_eq!((of("own", "editor"), of("wait", SERVER)), (2_000_000, 3_000_000), "{told:?}");
        assert!(told[0].detail.contains(&format!("own {SERVER} 2.98 ms")), "{told:?}");
    }

    proptest! {
        /// Whatever events there are, the parts add up to the whole.
        #[test]
        fn parts_add_up(
            raw in prop::collection::vec((0..40_000u64, 0..2u32, 0..6u8, 0..4u32, 0..4u64, any::<bool>()), 0..60),
            begin in 0..20_000u64,
            length in 0..20_000u64,
            handed in prop::option::of(0..25_000u64),
        ) {
            let kinds = [
                EventKind::Switch,
                EventKind::Waking,
                EventKind::SoftirqBegin,
                EventKind::SoftirqEnd,
                EventKind::VectorBegin,
                EventKind::VectorEnd,
            ];
            let mut events: Vec<Event> = raw
                .into_iter()
                .map(|(at, cpu, kind, tid, value, sleeps)| {
                    let extra = 120 | u64::from(sleeps) << 32;
                    event(at, cpu, kinds[kind as usize], tid * 100, value * 100, extra, tid)
                })
                .collect();
            events.sort_by_key(|event| event.at_ns);
            let (begin, end) = (begin * 1_000, (begin + length) * 1_000);
            let server = handed.map(|after| (200, SERVER, begin + after * 1_000));
            let awaited = Awaited { begin_ns: begin, end_ns: end, server };
            let told = parts(0, awaited, episode(events, 0, 0), &mut Code::default());
            prop_assert_eq!(told.iter().map(|part| part.ns).sum::<u64>(), end - begin);
            prop_assert!(told.iter().all(|part| part.unknown_ns <= part.ns));
        }
    }
}
