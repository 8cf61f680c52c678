//! After a measurement of wakeups.

use super::host::{took_late, with_host};
use super::longer::{is_of, until_shown, until_told};
use super::options::{
    as_written, every_value, every_written, exact_time, listed, load_option, own_options, same_threads,
};
use super::{NextStep, after_refusal, few};
use crate::layout::{is_simulated, shell_word};
use crate::{Measurement, load_name};
use punctual_device::Unit;
use punctual_forecast::{JudgedDevice, has_loops, under_load};
use punctual_recording::{
    CycleCount, Document, Limit, RecorderSummary, Setting, Stage, format_ns, printable, printable_path,
};
use std::path::PathBuf;

/// A command longer than this, characters, is not repeated: the reader fills it in.
const MAX_COMMAND: usize = 240;
/// What prints the numbers of threads that run now.
const NUMBERS: &str = "`ps -eLo tid,comm`";
/// The quantile of the total above which it is worth asking who was responsible.
const WORTH_ASKING: f64 = 0.99;
/// The same if that many were too many.
const WORST: f64 = 0.999;

/// After a measurement: who made it late, and how often that will be too late. Loads have the names that the command
/// line knows.
pub fn after_measurement(measurement: &Measurement, known_loads: &[&str]) -> Vec<NextStep> {
    let latest = || measurement.parts.iter().max_by_key(|(_, document)| total_of(document, 1.0));
    let first = most_often_missed(measurement).or_else(latest);
    let Some((path, document)) = first.filter(|(_, document)| document.counters.wakeups > 0) else {
        return Vec::new();
    };
    let recording = shell_word(&printable_path(path));
    let mut steps: Vec<NextStep> = real_time(measurement, document).into_iter().collect();
    if document.recorder.as_ref().is_some_and(|recorder| recorder.kept > 0) {
        steps.push(NextStep::new("says who made it late", format!("punctual why {recording}")));
    }
    let devices = every_written(&document.provenance.command_line, "--device");
    let missed = tightest_missed(&measurement.devices, load_name(document)).filter(|_| !devices.is_empty());
    let longer = until_told(measurement, &(devices.clone() + &of_devices(document)), known_loads);
    if let Some(longer) = longer {
        steps.push(longer);
    } else if document.why_without_causes().is_some() {
        steps.push(after_refusal());
    } else if document.recorder.as_ref().is_none_or(keeps_what_does_not_matter)
        && let Some(command) =
            why_command(document, document.recorder.as_ref(), known_loads, missed.map(|(_, slack_ns)| slack_ns))
    {
        let of_work = command.contains(" --why-stage ");
        let of_less = document.recorder.as_ref().and_then(met_nothing);
        let purpose = match (missed, of_less, &document.recorder) {
            (Some((device, _)), ..) => {
                format!("records what delays {device} beyond its slack{}", if_loads_differ(measurement, document))
            }
            (None, Some(of_less), _) => of_less,
            (None, None, _) if of_work => "records what delays it".to_owned(),
            (None, None, None) if has_a_hundredth(document) => "records what delays the worst 1 %".to_owned(),
            (None, None, _) => "records what delays the worst".to_owned(),
        };
        steps.push(NextStep::new(&purpose, command));
    }
    steps.extend(until_shown(measurement, document, &of_devices(document), known_loads));
    steps.extend(on_isolated(document));
    if let Some(study) = missed.and_then(|(device, _)| in_its_contexts(&measurement.devices, document, device)) {
        steps.truncate(1);
        steps.push(study);
    }
    let mut counts = measurement.cycles.iter().flat_map(|cycles| cycles.by_name.values());
    let is_counted = |measure: &str| {
        let mut counted = measurement.cycles.iter().filter_map(|cycles| cycles.by_name.get(measure));
        counted.all(|count| count.cycles > 0)
    };
    let can_forecast = document.followed.is_none() || has_loops(document, is_counted);
    if can_forecast && !counts.any(CycleCount::overran_beyond_wakeups) {
        // No forecast is of two machines at once.
        let host = &document.provenance.host;
        let own = measurement.parts.iter().filter(|(_, other)| other.provenance.host.is_as(host));
        let all: Vec<String> = own.map(|(path, _)| shell_word(&printable_path(path))).collect();
        steps.push(NextStep::new(
            "says how often it will be too late",
            format!("punctual forecast {}{devices}{}", all.join(" "), of_devices(document)),
        ));
    }
    steps.extend(by_single_wakeups(measurement, document, &recording));
    with_host(few(steps), missed.is_some_and(|(_, slack_ns)| took_late(document, slack_ns)))
}

/// For a radio's samples that came too late in punctual's own threads: what tries their work elsewhere. Whoever writes a radio may
/// choose its context; that of an audio engine's callback is settled.
fn in_its_contexts(devices: &[JudgedDevice], document: &Document, id: &str) -> Option<NextStep> {
    let profile = devices.iter().map(|row| &row.answer.device).find(|device| device.id == id)?;
    if document.followed.is_some() || profile.unit != Some(Unit::Sample) {
        return None;
    }
    let words = &document.provenance.command_line;
    let mut specs = every_value(words, "--device").into_iter().flat_map(|specs| specs.split(','));
    let spec = specs.find(|spec| is_of(spec, id)).unwrap_or(id);
    let (spec, profiles) = (shell_word(&printable(spec)), as_written(words, "", "--profiles"));
    let command = format!("sudo punctual device study {spec}{profiles}");
    Some(NextStep::new("tries its work in every context for some seconds, and says which kept up", command))
}

/// If punctual's own threads ran on isolated CPUs alone: the command that shows what is left there to disturb them.
fn on_isolated(document: &Document) -> Option<NextStep> {
    let provenance = &document.provenance;
    let list = match provenance.tuning.get("isolated_cpus")? {
        Setting::Number(cpu) => cpu.to_string(),
        Setting::Text(list) => list.clone(),
    };
    let is_isolated = |cpu: &u32| list.split(',').any(|range| is_within(*cpu, range.trim()));
    let cpus = &provenance.configuration.cpus;
    let is_own = document.followed.is_none() && !is_simulated(document) && !cpus.is_empty();
    (is_own && cpus.iter().all(is_isolated)).then(|| {
        let purpose = "shows what an isolated CPU still spends on others than real-time work";
        NextStep::new(purpose, format!("sudo punctual idle --policy fifo -a {}", listed(cpus)))
    })
}

/// Whether a CPU is in a range as the kernel writes it: `3` or `1-3`.
fn is_within(cpu: u32, range: &str) -> bool {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
}

/// For the loop with the longest cycle, if it overran because a thread of normal scheduling waited for its CPU: the
/// command that gives it a real-time priority, unless it has ended. The threads of a command have ended with it.
fn real_time(measurement: &Measurement, document: &Document) -> Option<NextStep> {
    let followed = document.followed.as_ref().filter(|followed| !followed.is_of_the_command())?;
    let counts = measurement.cycles.iter().flat_map(|cycles| &cycles.by_name);
    let (measure, count) = counts.filter(|(_, count)| count.overruns > 0).max_by_key(|(_, count)| count.longest_ns)?;
    let name = measure.strip_suffix(" other")?;
    let mut own = document.tasks.iter().filter(|task| task.measure == *measure && task.counters.wakeups > 0);
    let (task, None) = (own.next()?, own.next()) else { return None };
    let waited = document.distributions.sum(|key| key.stage == Stage::Total && key.measure == *measure);
    let waited_ns = waited.max().filter(|waited_ns| *waited_ns > count.longest_ns / 2)?;
    let purpose = format!(
        "gives {} a real-time priority while it runs: it has none, and waited for its CPU for up to {}; started anew, it has \
         another number ({NUMBERS})",
        printable(name),
        format_ns(waited_ns)
    );
    let has_ended = followed.threads.iter().any(|thread| thread.tid == task.tid && thread.ended_ns.is_some());
    (task.tid > 0 && !has_ended).then(|| NextStep::new(&purpose, format!("sudo chrt -f -p 50 {}", task.tid)))
}

/// What else was asked of the devices.
fn of_devices(document: &Document) -> String {
    let words = &document.provenance.command_line;
    as_written(words, "", "--profiles") + &as_written(words, "", "--compute") + &as_written(words, "", "--want")
}

/// Where the cycles of a thread cannot be counted, what can be judged instead; nothing if it was.
fn by_single_wakeups(measurement: &Measurement, document: &Document, recording: &str) -> Option<NextStep> {
    let is_untold = |count: &CycleCount| count.untold > 0;
    let cycles = measurement.cycles.iter().find(|cycles| cycles.by_name.values().any(is_untold))?;
    if document.limits.iter().any(|limit| limit.stage.as_deref() == Some("response")) {
        return None;
    }
    let purpose = format!("judges each wakeup by {}, where cycles cannot be counted", format_ns(cycles.period_ns));
    let limit = exact_time(cycles.period_ns);
    Some(NextStep::new(&purpose, format!("punctual report {recording} --limit response:max={limit}")))
}

/// Whether there are so many wakeups that a hundredth of them is one at least.
fn has_a_hundredth(document: &Document) -> bool {
    document.distributions.sum(|key| key.stage == Stage::Total).count() >= 100
}

/// Whether a recorder's threshold kept nothing, or so much that the budget was spent on what came first.
fn keeps_what_does_not_matter(recorder: &RecorderSummary) -> bool {
    recorder.kept == 0 || recorder.over_budget > 0
}

/// Among the devices for which wakeups under this load came too late, the one with the least slack, and that slack, ns.
fn tightest_missed<'a>(devices: &'a [JudgedDevice], load: &str) -> Option<(&'a str, u64)> {
    let missed = devices.iter().filter(|row| row.load == load && row.late_wakeups > 0);
    let slacks = missed.filter_map(|row| {
        let device = &row.answer.device;
        Some((device.id.as_str(), device.usable_slack_ns().ok()?))
    });
    slacks.min_by_key(|(_, slack_ns)| *slack_ns)
}

/// The part under whose load a device that was asked about is missed most often, if one was.
fn most_often_missed(measurement: &Measurement) -> Option<&(PathBuf, Document)> {
    let every_s = |(_, document): &(PathBuf, Document)| {
        let asked = every_written(&document.provenance.command_line, "--device");
        let rows = measurement.devices.iter().filter(|row| !asked.is_empty() && row.load == load_name(document));
        let missed = rows.filter(|row| row.late_wakeups > 0);
        missed.filter_map(|row| row.answer.underruns.mttf_s.value).min_by(f64::total_cmp)
    };
    let missed = measurement.parts.iter().filter_map(|part| Some((part, every_s(part)?)));
    missed.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(part, _)| part)
}

/// The load of a part, as the end of a sentence, where others had another.
fn if_loads_differ(measurement: &Measurement, document: &Document) -> String {
    let load = load_name(document);
    let differ = measurement.parts.iter().any(|(_, other)| load_name(other) != load);
    if differ { format!(" {}", under_load(load)) } else { String::new() }
}

/// The command that records who makes the same threads later than a device tolerates, or otherwise the worst of them;
/// `None` if nothing was late enough to ask.
fn why_command(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    known_loads: &[&str],
    slack_ns: Option<u64>,
) -> Option<String> {
    same_with(document, &why_options(document, recorder, slack_ns)?, known_loads)
}

/// The options of that command that say what counts as late.
pub(super) fn why_options(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    slack_ns: Option<u64>,
) -> Option<String> {
    let (threshold_ns, stage) = why_threshold(document, recorder, slack_ns)?;
    Some(why_above(threshold_ns, stage))
}

/// The options that keep evidence of what was later than this, ns, at the end of a stage.
pub(super) fn why_above(threshold_ns: u64, stage: Stage) -> String {
    format!("--why {}{}", as_threshold(threshold_ns), of_stage(stage))
}

/// The option that says with what a threshold is compared.
pub(super) fn of_stage(stage: Stage) -> String {
    if stage == Stage::Total { String::new() } else { format!(" --why-stage {}", stage.name()) }
}

/// The threshold in these, ns, and the stage that it is for.
pub(super) fn why_threshold(
    document: &Document,
    recorder: Option<&RecorderSummary>,
    slack_ns: Option<u64>,
) -> Option<(u64, Stage)> {
    let asked = recorder.map(|recorder| recorder.stage);
    let period_ns = document.followed.as_ref().and_then(|followed| followed.period_ns);
    // For a loop, or for work that was limited, what matters is when it was done.
    let stage =
        asked.unwrap_or(if period_ns.is_some() || limits_work(document) { Stage::Response } else { Stage::Total });
    // Requests are not measured, only recorded: they take at least as long as the response.
    let measured = if stage == Stage::Request { Stage::Response } else { stage };
    let of_limit =
        document.limits.iter().filter(|limit| limit.exceeded && is_work(limit)).map(|limit| limit.limit_ns).min();
    let longest = quantile_of(document, measured, 1.0)?;
    let allowed = period_ns.or(of_limit).filter(|allowed| stage == Stage::Response && longest > *allowed);
    let quantiles = [WORTH_ASKING, WORST].map(|quantile| quantile_of(document, measured, quantile));
    // A question that has been asked, with the same answer, is not asked again.
    let is_new = |threshold: &u64| recorder.is_none_or(|recorder| is_other(recorder, *threshold));
    let mut asked = slack_ns.into_iter().chain(allowed).chain(quantiles.into_iter().flatten());
    Some((asked.find(is_new)?, stage))
}

/// The command that records the same threads once more with these options.
pub(super) fn same_with(document: &Document, options: &str, known_loads: &[&str]) -> Option<String> {
    let why = format!("sudo punctual record {options}");
    let Some(followed) = &document.followed else {
        return Some(why + &own_options(document)? + &load_option(load_name(document), known_loads));
    };
    let (mut options, command) = same_threads(followed, &document.provenance.load.commands);
    options += &as_written(&document.provenance.command_line, "", "--period");
    let whole = format!("{why}{options}{command}");
    let is_short = command.is_empty() || whole.chars().count() <= MAX_COMMAND;
    Some(if is_short { whole } else { format!("{why}{options} -- COMMAND") })
}

/// What a lower threshold is for, after one that nothing exceeded: whoever asked may not care for less.
fn met_nothing(recorder: &RecorderSummary) -> Option<String> {
    let had_ns = recorder.threshold_ns.filter(|_| recorder.late == 0)?;
    Some(format!("records what delays the worst, if less than {} matters", format_ns(had_ns)))
}

/// Whether a recorder with this threshold, ns, would keep other wakeups than this one, which kept nothing or too much:
/// fewer than one whose budget was too small, more than one that saw none late enough.
fn is_other(recorder: &RecorderSummary, threshold_ns: u64) -> bool {
    let Some(had_ns) = recorder.threshold_ns else { return true };
    let (had, next) = (rounded_us(had_ns), rounded_us(threshold_ns));
    match (recorder.over_budget, recorder.late) {
        (0, 0) => next < had,
        (0, _) => true,
        _ => next > had,
    }
}

/// Whether a limit is on a thread's work: until it sleeps, or its cycle ends.
fn is_work(limit: &Limit) -> bool {
    limit.stage.as_deref().is_some_and(|stage| ["work", "response", "cycle"].contains(&stage))
}

fn limits_work(document: &Document) -> bool {
    document.limits.iter().any(is_work)
}

fn total_of(document: &Document, quantile: f64) -> Option<u64> {
    quantile_of(document, Stage::Total, quantile)
}

fn quantile_of(document: &Document, stage: Stage, quantile: f64) -> Option<u64> {
    let found = document.distributions.sum(|key| key.stage == stage);
    if quantile < 1.0 { found.quantile(quantile) } else { found.max() }
}

/// A threshold as `--why` takes it: `1.4ms`.
pub(crate) fn as_threshold(nanoseconds: u64) -> String {
    exact_time(rounded_us(nanoseconds).saturating_mul(1_000))
}

/// Two digits are enough for a threshold; at least 1 us.
fn rounded_us(nanoseconds: u64) -> u64 {
    let microseconds = (nanoseconds / 1_000).max(1);
    let unit = 10u64.pow(microseconds.ilog10().saturating_sub(1));
    microseconds / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use crate::recording::LoopCycles;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, answer};

    #[test]
    fn the_tightest_device_that_was_missed_under_a_load_is_asked_about() {
        let devices = ["audio 256@48kHz", "audio 64@48kHz"].map(|spec| Catalogue::shipped().parse_spec(spec).unwrap());
        let question = Question { devices: devices.to_vec(), ..Question::default() };
        let found = answer(&[input(3_000, 0)], &question).unwrap();
        let judged = |load: &str, late_wakeups: [u64; 2]| -> Vec<JudgedDevice> {
            let answers = found.groups[0].devices.iter().zip(late_wakeups);
            answers
                .map(|(answer, late_wakeups)| JudgedDevice {
                    load: load.to_owned(),
                    measure: "fifo:80".to_owned(),
                    answer: answer.clone(),
                    late_wakeups,
                    late_wakeups_on_worst_cpu: late_wakeups,
                })
                .collect()
        };
        let rows = [judged("none", [1, 0]), judged("mixed", [2, 9])].concat();
        let slack = |load| tightest_missed(&rows, load).map(|(device, slack_ns)| (device, rounded_us(slack_ns)));
        assert_eq!(slack("mixed"), Some(("audio", 1_200)));
        assert_eq!(slack("none"), Some(("audio", 4_800)));
        assert_eq!(slack("office"), None);
    }

    #[test]
    fn the_load_under_which_a_device_is_missed_most_often_is_recorded() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let part = |load: &str, words: &[&str]| {
            let mut document: Document = serde_json::from_str(text).unwrap();
            document.provenance.load.name = load.to_owned();
            document.provenance.command_line = words.iter().map(|word| (*word).to_owned()).collect();
            (PathBuf::from(load), document)
        };
        let row = |load: &str, stalls: u64| {
            let device = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap();
            let question = Question { devices: vec![device], ..Question::default() };
            let answer = answer(&[input(stalls, 0)], &question).unwrap().groups.remove(0).devices.remove(0);
            let (load, measure) = (load.to_owned(), "fifo:80".to_owned());
            JudgedDevice { load, measure, answer, late_wakeups: stalls, late_wakeups_on_worst_cpu: stalls }
        };
        let found = |words: &[&str], rows: [JudgedDevice; 2]| {
            let parts = vec![part("none", words), part("mixed", words)];
            let measurement = Measurement { parts, devices: rows.to_vec(), ..Measurement::default() };
            most_often_missed(&measurement)
                .map(|(path, document)| format!("{}{}", path.display(), if_loads_differ(&measurement, document)))
        };
        let asked = ["punctual", "check", "--device", "audio 64@48kHz"];
        let often = |words: &[&str], none, mixed| found(words, [row("none", none), row("mixed", mixed)]);
        assert_eq!(often(&asked, 1_000, 3_000).as_deref(), Some("mixed under mixed"));
        assert_eq!(often(&asked, 3_000, 1_000).as_deref(), Some("none with no load added"));
        assert_eq!(often(&asked, 0, 0), None);
        assert_eq!(often(&asked[..2], 1_000, 3_000), None);
    }

    #[test]
    fn a_radio_that_was_missed_is_tried_in_its_contexts_and_audio_is_not() {
        let specs = ["sdr 1024@2.4MS/s compute=150us x8", "audio 64@48kHz"];
        let devices = specs.map(|spec| Catalogue::shipped().parse_spec(spec).unwrap());
        let found = answer(&[input(3_000, 0)], &Question { devices: devices.to_vec(), ..Question::default() }).unwrap();
        let judged = found.groups[0].devices.iter().map(|answer| JudgedDevice {
            load: "mixed".to_owned(),
            measure: "fifo:80".to_owned(),
            answer: answer.clone(),
            late_wakeups: 3,
            late_wakeups_on_worst_cpu: 3,
        });
        let judged: Vec<JudgedDevice> = judged.collect();
        let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        let words = ["punctual", "check", "--device", specs[0], "--device", specs[1], "--profiles", "mine.toml"];
        document.provenance.command_line = words.map(str::to_owned).to_vec();
        let step = |id| in_its_contexts(&judged, &document, id).map(|step| step.command);
        let expected = "sudo punctual device study 'sdr 1024@2.4MS/s compute=150us x8' --profiles mine.toml";
        assert_eq!(step("sdr").as_deref(), Some(expected));
        assert_eq!(step("audio"), None);
    }

    #[test]
    fn a_loop_of_normal_scheduling_that_waited_for_its_cpu_is_given_a_priority() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let said = |document: &Document, measure: &str, overruns: u64, longest_ns: u64| {
            let count = CycleCount { cycles: 9, overruns, longest_ns, ..CycleCount::default() };
            let by_name = [(measure.to_owned(), count)].into();
            let measurement = Measurement {
                cycles: vec![LoopCycles { period_ns: 1_000_000, by_name, wakeups_as: Default::default(), of: None }],
                ..Measurement::default()
            };
            real_time(&measurement, document).map(|step| step.to_string())
        };
        // Its longest wait was 4.29 ms.
        assert_eq!(
            said(&document, "rcu_preempt other", 1, 4_300_000).as_deref(),
            Some(
                "next: `sudo chrt -f -p 50 15` gives rcu_preempt a real-time priority while it runs: it has none, and waited \
                 for its CPU for up to 4.29 ms; started anew, it has another number (`ps -eLo tid,comm`)"
            )
        );
        for (measure, overruns, longest_ns) in [
            ("rcu_preempt other", 0, 4_300_000),
            // Its own work took the time.
            ("rcu_preempt other", 1, 9_000_000),
            ("rcu_preempt fifo:1", 1, 4_300_000),
            ("not followed other", 1, 4_300_000),
        ] {
            assert_eq!(said(&document, measure, overruns, longest_ns), None, "{measure} {overruns} {longest_ns}");
        }
        // Nobody can give a thread a priority that is gone.
        let mut ended = document;
        let threads = &mut ended.followed.as_mut().unwrap().threads;
        threads.iter_mut().find(|thread| thread.tid == 15).unwrap().ended_ns = Some(1);
        assert_eq!(said(&ended, "rcu_preempt other", 1, 4_300_000), None);
    }

    #[test]
    fn isolated_cpus_are_looked_at_where_nothing_else_was_measured() {
        let said = |isolated: Setting, cpus: &[u32]| {
            let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
            let mut document: Document = serde_json::from_str(text).unwrap();
            document.provenance.tuning.insert("isolated_cpus".to_owned(), isolated);
            document.provenance.configuration.cpus = cpus.to_vec();
            on_isolated(&document).map(|step| step.command)
        };
        let list = || Setting::Text("1-3,6".to_owned());
        assert_eq!(said(list(), &[1, 3, 6]).as_deref(), Some("sudo punctual idle --policy fifo -a 1,3,6"));
        assert_eq!(said(Setting::Number(5), &[5]).as_deref(), Some("sudo punctual idle --policy fifo -a 5"));
        for (isolated, cpus) in
            [(list(), &[0, 1][..]), (list(), &[4]), (list(), &[]), (Setting::Text(String::new()), &[1])]
        {
            assert_eq!(said(isolated.clone(), cpus), None, "{isolated:?} {cpus:?}");
        }
    }

    #[test]
    fn a_threshold_has_two_digits() {
        assert_eq!([0, 999, 9_900, 311_600, 12_345_678].map(rounded_us), [1, 1, 9, 310, 12_000]);
        let written = [999, 311_600, 1_437_000, 12_345_678, 30_000_000, 2_345_678_901].map(as_threshold);
        assert_eq!(written, ["1us", "310us", "1.4ms", "12ms", "30ms", "2.3s"]);
    }

    #[test]
    fn what_was_asked_already_is_not_asked_again() {
        let had = |late, over_budget| RecorderSummary {
            threshold_ns: Some(1_000_000),
            late,
            over_budget,
            ..RecorderSummary::default()
        };
        let other = |recorder: RecorderSummary| [900_000, 1_000_400, 4_500_000].map(|next| is_other(&recorder, next));
        assert_eq!(other(had(0, 0)), [true, false, false]);
        assert_eq!(other(had(900, 700)), [false, false, true]);
        assert_eq!(other(had(9, 0)), [true, true, true]);
        // What is earlier than what was asked for is another question.
        assert_eq!(
            met_nothing(&had(0, 0)).as_deref(),
            Some("records what delays the worst, if less than 1.00 ms matters")
        );
        assert_eq!([met_nothing(&had(9, 0)), met_nothing(&had(900, 700))], [None, None]);
    }
}
