//! The answer of a forecast in words: one sentence each for what holds, what fails, what holds on a condition, and what
//! is not known.

use super::{DeviceAnswer, Group, format_seconds, told_drift};
use crate::advice::is_known;
use crate::input::Input;
use crate::underrun::Outcome;
use punctual_recording::{AfterOverrun, CycleCount, NO_LOAD, THREADS_RESTED, agreeing, counted, format_ns, grouped};

/// A sentence names all of up to this many; of more it names the first ones, because the table has them all.
const MAX_NAMED: usize = 4;
/// Of up to this many that fail, each gets its own time.
const MAX_FAILING: usize = 3;

/// What comes last where the instrument itself was a reason for missed periods.
const RESTED: &str = "punctual's own threads rested meanwhile, so that others had some of their CPU: the time that they rested is left out.";

/// The verdict on everything that was asked.
pub(super) fn in_words(inputs: &[Input], groups: &[Group]) -> String {
    let lost: u64 = inputs.iter().map(|input| input.lost).sum();
    let has_devices = groups.iter().any(|group| !group.devices.is_empty());
    let mut text = if has_devices { devices(groups) } else { level(groups) };
    let rested = |input: &Input| input.cautions.iter().any(|caution| caution == THREADS_RESTED);
    if inputs.iter().any(rested) {
        text = format!("{text} {RESTED}");
    }
    if lost == 0 {
        return text;
    }
    format!("This rests on a lossy recording ({} lost), so it is optimistic. {text}", counted(lost, "wakeup"))
}

/// What holds, what fails and how often, and what cannot be told.
fn devices(groups: &[Group]) -> String {
    let names = Names::of(groups);
    let all = || groups.iter().flat_map(|group| group.devices.iter().map(move |answer| (group, answer)));
    let of = |outcome: Outcome| all().filter(move |(_, answer)| answer.underruns.outcome == outcome);
    let holds = |outcome: Outcome, condition: &str| -> Option<String> {
        let named: Vec<String> = of(outcome).map(|(group, answer)| names.name(group, answer)).collect();
        let (_, first) = of(outcome).next()?;
        let sentence = format!("{} {}{condition}.", some_of(&named, MAX_NAMED), agreeing(named.len(), "holds", "hold"));
        Some(begun(sentence, first))
    };
    let failing: Vec<_> = of(Outcome::Fails).collect();
    let mut sentences: Vec<String> = holds(Outcome::Holds, "").into_iter().collect();
    let mut told = Vec::new();
    sentences.extend(failing.iter().take(MAX_FAILING).map(|(group, answer)| {
        let rests_on = first_of_its_use(group, &mut told).map(|words| format!(", if {words}")).unwrap_or_default();
        begun(format!("{}{rests_on}.", failure(&names.name(group, answer), group, answer)), answer)
    }));
    let more = failing.len().saturating_sub(MAX_FAILING);
    if more > 0 {
        sentences.push(format!("{more} more {}.", agreeing(more, "fails", "fail")));
    }
    sentences.extend(holds(Outcome::HoldsAsRecorded, ", but only while conditions stay as recorded"));
    let held = all().filter(|(_, answer)| answer.underruns.outcome.holds());
    let rests_on = held.filter_map(|(group, _)| first_of_its_use(group, &mut told));
    sentences.extend(rests_on.map(|words| format!("It is assumed that {words}.")));
    let unknown: Vec<_> = of(Outcome::Unknown).collect();
    if !unknown.is_empty() {
        let most = MAX_NAMED.saturating_sub(failing.len().min(MAX_FAILING)).max(1);
        sentences.push(too_early(groups, &names, &unknown, most));
    }
    sentences.extend(what_is_assumed(groups));
    sentences.extend(groups.iter().filter_map(|group| drift(group, &names)).take(MAX_FAILING));
    sentences
        .extend(all().filter_map(|(group, answer)| how_counted(&names.name(group, answer), group)).take(MAX_FAILING));
    sentences.join(" ")
}

/// A sentence that begins with a device, as sentences begin.
fn begun(sentence: String, first: &DeviceAnswer) -> String {
    if first.stage.holds_work() { sentence } else { first.device.beginning(sentence) }
}

/// What is not known, of at most so many by name: each once, with the loads under which it is not.
fn too_early(groups: &[Group], names: &Names, unknown: &[(&Group, &DeviceAnswer)], most: usize) -> String {
    const START: &str = "It is too early to say whether";
    let holds = |number: usize| agreeing(number, "holds", "hold");
    let is_loop = unknown.iter().any(|(_, answer)| answer.stage.holds_work());
    if !names.loads_differ || names.measures_differ || is_loop {
        let named: Vec<String> = unknown.iter().map(|(group, answer)| names.name(group, answer)).collect();
        return format!("{START} {} {}.", some_of(&named, most), holds(named.len()));
    }
    let is_everywhere = |answer: &DeviceAnswer| {
        unknown.iter().filter(|(_, other)| other.device == answer.device).count() == groups.len()
    };
    let (everywhere, elsewhere): (Vec<_>, Vec<_>) = unknown.iter().partition(|(_, answer)| is_everywhere(answer));
    let once = everywhere.iter().filter(|(group, _)| std::ptr::eq(*group, &groups[0]));
    let everywhere: Vec<String> = once.map(|(group, answer)| group.called(answer)).collect();
    let [first, ..] = &elsewhere[..] else {
        return format!("{START} {} {}, {}.", some_of(&everywhere, most), holds(everywhere.len()), either(groups));
    };
    let ids: Vec<String> = elsewhere.iter().map(|(group, answer)| group.called(answer)).collect();
    if everywhere.is_empty() {
        if elsewhere.iter().all(|(group, _)| group.load == first.0.load) {
            return format!("{START} {} {} {}.", some_of(&ids, most), holds(ids.len()), under_load(&first.0.load));
        }
        let named: Vec<String> = elsewhere.iter().map(|(group, answer)| names.name(group, answer)).collect();
        return format!("{START} {} {}.", some_of(&named, most), holds(named.len()));
    }
    let also = match &ids[..] {
        [id] => format!("{id} {}", under_load(&first.0.load)),
        many => format!("{} more under one of them", many.len()),
    };
    let all = some_of(&everywhere, most);
    format!("{START} {all} {}, {}, or {also}.", holds(everywhere.len()), either(groups))
}

/// The loads of the groups, as a choice.
fn either(groups: &[Group]) -> String {
    let mut loads: Vec<String> = Vec::new();
    for group in groups {
        let load = under_load(&group.load);
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let last = loads.pop().unwrap_or_default();
    format!("either {} or {last}", loads.join(", "))
}

/// How the machine drifted while it was recorded, if that is no chance: times of what holds or fails are of all of it.
fn drift(group: &Group, names: &Names) -> Option<String> {
    let (answer, words) = told_drift(&group.devices)?;
    let events = if answer.stage.holds_work() { "overruns" } else { "stalls" };
    let under = if names.loads_differ { format!(" {}", under_load(&group.load)) } else { String::new() };
    Some(format!("The machine drifts{under}: {events} are {words}."))
}

/// Against which want a loop was judged that does not fail, if nobody said it.
fn what_is_assumed(groups: &[Group]) -> Option<String> {
    let mut loops = groups.iter().flat_map(|group| &group.devices).filter(|answer| answer.stage.holds_work());
    let is_assumed =
        |answer: &&DeviceAnswer| answer.underruns.outcome != Outcome::Fails && answer.device.want_is_assumed();
    let want = format_seconds(loops.find(is_assumed)?.device.want_s as f64);
    Some(format!("That assumes that at most one overrun in {want} is acceptable: `--want` says what you expect."))
}

/// How the overruns of a loop were counted that did not sleep before its next period began.
fn how_counted(name: &str, group: &Group) -> Option<String> {
    let cycles = group.cycles?;
    if cycles.began_within() == 0 {
        return counted_by_stretches(name, &cycles);
    }
    let missed = counted(cycles.began_within(), "period");
    let runs = counted(cycles.certain, "overrun");
    Some(match cycles.after_overrun() {
        AfterOverrun::CatchesUp if cycles.not_made_up > 0 => format!(
            "{name} was seen to catch up: {missed} began before the previous cycle had ended, and those that it made up for are overruns."
        ),
        AfterOverrun::CatchesUp => {
            format!(
                "{name} was seen to catch up: {missed} began before the previous cycle had ended, and each is an overrun."
            )
        }
        AfterOverrun::Skips => {
            format!(
                "{name} was seen to skip periods that it missed: {missed} began before the previous cycle had ended, in {runs}."
            )
        }
        AfterOverrun::MakesUpFor(limit) => format!(
            "{name} was seen to make up for about {} in a row, or more, and to drop others: {missed} began before the previous cycle had ended, in \
             {}. {} took too long, and {} are counted here, up to {} for each.",
            counted(limit, "period"),
            counted(cycles.certain, "long cycle"),
            cycles.overrun_count().of_cycles_in_words(),
            grouped(cycles.own_overruns()),
            grouped(limit.saturating_add(1))
        ),
        AfterOverrun::Unknown if cycles.certain > 0 => format!(
            "Of {name}, {missed} began before the previous cycle had ended, and nothing shows whether it catches up, as is assumed here: if \
             it skips such periods, there were {runs}, one every {}.",
            format_seconds(group.use_s / cycles.certain as f64)
        ),
        AfterOverrun::Unknown => format!(
            "Of {name}, {missed} began before the previous cycle had ended, and nothing shows whether it catches up, as is assumed here."
        ),
    })
}

/// That a stretch in which a loop did not sleep counts as one overrun, if it may have been several.
fn counted_by_stretches(name: &str, cycles: &CycleCount) -> Option<String> {
    if cycles.certain == 0 || !cycles.may_hold_more() {
        return None;
    }
    let about = match cycles.estimated_not_woken {
        0 => String::new(),
        missed => format!(" (about {})", grouped(missed)),
    };
    Some(format!(
        "No grid of timers shows the periods of {name}: each stretch without a wait counts as one overrun here, and if it makes up for the \
         periods that it missed, each of these was one too{about}."
    ))
}

/// How often a device runs dry, or a cycle takes too long: a sentence without its end.
fn failure(name: &str, group: &Group, answer: &DeviceAnswer) -> String {
    let found = &answer.underruns.mttf_s;
    let every =
        format_seconds(found.value.or(found.high).unwrap_or(0.0)) + group.of_use() + &answer.underruns.where_worst();
    match answer.stage.holds_work() {
        true => {
            format!("A cycle of {name} takes longer than {} about every {every}", format_ns(answer.device.period_ns))
        }
        false if rests_on_one(answer) => format!("{name} fails about every {every} (seen once)"),
        false => format!("{name} fails about every {every}"),
    }
}

/// For how much use an hour of the load stands, which is assumed and not measured, and by which a group's times are
/// multiplied. `None` if they are not, or if `told` has that load already.
fn first_of_its_use<'a>(group: &'a Group, told: &mut Vec<&'a str>) -> Option<String> {
    if told.contains(&group.load.as_str()) {
        return None;
    }
    let words = assumed_use(&group.load, group.compression)?;
    told.push(&group.load);
    Some(words)
}

/// For how many hours of use an hour of a load is taken to stand; `None` if for one.
pub(crate) fn assumed_use(load: &str, compression: f64) -> Option<String> {
    (compression != 1.0).then(|| format!("an hour {} stands for {compression} hours of use", under_load(load)))
}

/// Whether all that says how often it fails is one stall, on the CPU or CPUs that the rate is of.
fn rests_on_one(answer: &DeviceAnswer) -> bool {
    let found = &answer.underruns;
    let stalls = match found.alike {
        Some(true) => found.cpus.iter().map(|cpu| cpu.over).sum(),
        _ => found.over,
    };
    stalls == 1
}

/// How to name devices: by what distinguishes the groups, and nothing else.
struct Names {
    loads_differ: bool,
    measures_differ: bool,
}

impl Names {
    fn of(groups: &[Group]) -> Names {
        let differs = |of: fn(&Group) -> &str| groups.iter().any(|group| of(group) != of(&groups[0]));
        Names { loads_differ: differs(|group| &group.load), measures_differ: differs(|group| &group.measure) }
    }

    fn name(&self, group: &Group, answer: &DeviceAnswer) -> String {
        // The name of a loop is what was measured.
        let is_loop = answer.stage.holds_work();
        let mut name = group.called(answer);
        if self.loads_differ {
            name = format!("{name} {}", under_load(&group.load));
        }
        if self.measures_differ && !is_loop {
            name = format!("{name} at {}", group.measure);
        }
        name
    }
}

/// The load under which something was measured, in a sentence.
pub fn under_load(load: &str) -> String {
    if load == NO_LOAD { "with no load added".to_owned() } else { format!("under {load}") }
}

/// Up to so many names; of more the first ones, at least one.
fn some_of(names: &[String], most: usize) -> String {
    let shown = if names.len() <= most { names.len() } else { most.saturating_sub(1).max(1) };
    let more = (names.len() > shown).then(|| format!("{} more", names.len() - shown));
    let shown = &names[..shown];
    let mut words: Vec<&str> = shown.iter().map(String::as_str).chain(more.as_deref()).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last.to_owned() } else { format!("{} and {last}", words.join(", ")) }
}

/// The level exceeded once in the first horizon that was asked for.
fn level(groups: &[Group]) -> String {
    let Some((group, worst)) = groups.first().and_then(|group| Some((group, group.worst.first()?))) else {
        return "Nothing was asked that this recording can answer.".to_owned();
    };
    let horizon = format!("{}{}", worst.horizon, group.of_use());
    let under = under_load(&group.load);
    let rests_on = first_of_its_use(group, &mut Vec::new()).map(|words| format!(", if {words}")).unwrap_or_default();
    match (worst.level.level.value, worst.level.level.low) {
        (Some(value), _) if is_known(&worst.level) => {
            let once = format!("About {} is exceeded once per {horizon} {under}{rests_on}", format_ns(value as u64));
            match &worst.next {
                Ok(next) => {
                    format!("{once}; the next {horizon} stays below {} with a probability of 95 %.", format_ns(*next))
                }
                Err(_) => once + ".",
            }
        }
        (_, Some(low)) => format!(
            "What is exceeded once per {horizon} {under} is {} or more{rests_on}; how much more cannot be told yet.",
            format_ns(low as u64)
        ),
        _ => format!("What is exceeded once per {horizon} {under} cannot be told yet: the recording is too short."),
    }
}
