//! From a recording directory to an answer.

use punctual_device::{Catalogue, Profile};
use punctual_forecast::{Input, Loops, Outcome, Question, Stage, answer};
use punctual_recording::{
    Configuration, CycleCount, EndReason, Ended, LoadInfo, Provenance, Recording, THREADS_RESTED, Task, Wakeup, Writer,
};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

fn provenance(load: &str) -> Provenance {
    Provenance {
        run_id: "1".into(),
        configuration: Configuration { interval_ns: MS, ..Configuration::default() },
        load: LoadInfo { name: load.into(), ..LoadInfo::default() },
        ..Provenance::default()
    }
}

fn task() -> Task {
    Task { measure: "fifo:80".into(), tid: 7, cpu: Some(0), period_ns: MS, counters: Default::default() }
}

/// Writes this many seconds at 1 kHz; every tenth second a wakeup is late by 20 ms and skips 20.
fn write(directory: &std::path::Path, seconds: u64, lost: u64, finish: bool) {
    let mut writer = Writer::create(directory, provenance("office"), vec![task()]).unwrap();
    let mut due = 5_000 * MS;
    let end = due + seconds * 1_000 * MS;
    while due < end {
        let late = due.is_multiple_of(10_000 * MS);
        let (total_ns, missed) = if late { (20 * MS + 500, 20) } else { (20_000 + due / MS % 997, 0) };
        writer.push(0, &Wakeup { cpu: 0, tid: 7, expected_ns: due, total_ns, missed, ..Wakeup::default() });
        due += MS * (1 + missed);
    }
    writer.set_thread_counts(0, lost, 0, 0);
    if finish {
        writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }, Vec::new()).unwrap();
    } else {
        writer.flush().unwrap();
    }
}

fn read(directory: &std::path::Path) -> Vec<Input> {
    let recording = Recording::open(directory).unwrap();
    let (tail, seconds) = recording.tail_and_seconds().unwrap();
    Input::from_recording(recording.document(), &tail, &seconds, recording.damaged()).unwrap()
}

#[test]
fn a_recording_is_answered_from() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 120, 0, true);
    let inputs = read(&path);
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0].exposure_ns, 120_000 * MS);
    // Nothing is wrong with it.
    assert_eq!(inputs[0].cautions, Vec::<String>::new());
    // A load's name says nothing of its users.
    assert_eq!(inputs[0].compression(), 1.0);
    let question = Question { devices: Catalogue::shipped().profiles().to_vec(), ..Question::default() };
    let found = answer(&inputs, &question).unwrap();
    let modem = found.groups[0].devices.iter().find(|answer| answer.device.id == "modem").unwrap();
    assert_eq!((modem.underruns.over, modem.underruns.outcome), (12, Outcome::Fails));
    // Twelve stalls in 120 s; a device with a period of 8 ms meets 6 of 8: those beyond 14 ms for 6 ms.
    let mttf = modem.underruns.mttf_s.value.unwrap();
    assert!((mttf / (120.0 / (12.0 * 7.0 / 8.0)) - 1.0).abs() < 0.01, "{mttf}");
    assert!(found.groups[0].notes.iter().any(|note| note.contains("240 missed")), "{:?}", found.groups[0].notes);
}

/// 100 s at 1 kHz in which punctual rested for 10 of every 100 ms, and one wakeup 20 ms late a second.
#[test]
fn what_punctual_itself_rested_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let read_with = |name: &str, fallbacks: Vec<String>| {
        let path = directory.path().join(name);
        let mut writer = Writer::create(&path, Provenance { fallbacks, ..provenance("office") }, vec![task()]).unwrap();
        let mut due = 0;
        while due < 100_000 {
            let (total_ns, missed) = match due % 1_000 {
                500 => (20 * MS + MS / 2, 20),
                other if other % 100 == 89 => (20_000, 10),
                _ => (20_000, 0),
            };
            let expected_ns = (5_000 + due) * MS;
            writer.push(0, &Wakeup { cpu: 0, tid: 7, expected_ns, total_ns, missed, ..Wakeup::default() });
            due += 1 + missed;
        }
        writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }, Vec::new()).unwrap();
        let inputs = read(&path);
        let question =
            Question { devices: vec![Catalogue::shipped().find("audio").unwrap().clone()], ..Question::default() };
        let found = answer(&inputs, &question).unwrap();
        (inputs[0].exposure_ns / MS, found.verdict, found.cautions.concat())
    };
    let (whole, verdict, _) = read_with("a", Vec::new());
    assert!(whole == 100_000 && verdict.starts_with("Audio fails about every "), "{whole} {verdict}");
    let (watched, verdict, cautions) = read_with("b", vec![THREADS_RESTED.to_owned()]);
    assert!(cautions.contains("are left out") && !cautions.contains("count as missed"), "{cautions}");
    // 20 points behind each of 100 late wakeups were watched, the 10 at the end of each tenth of a second were not.
    assert!((89_000..=90_100).contains(&watched), "{watched}");
    // What fails comes first.
    assert!(
        verdict.starts_with("Audio fails about every ") && verdict.contains(" punctual's own threads rested "),
        "{verdict}"
    );
    assert!(verdict.ends_with("the time that they rested is left out."), "{verdict}");
}

#[test]
fn what_is_lossy_or_cut_says_so_first() {
    let directory = tempfile::tempdir().unwrap();
    let (lossy, cut) = (directory.path().join("lossy.punctual"), directory.path().join("cut.punctual"));
    write(&lossy, 20, 5, true);
    write(&cut, 20, 0, false);
    let question = Question { devices: Catalogue::shipped().profiles().to_vec(), ..Question::default() };
    let found = answer(&read(&lossy), &question).unwrap();
    assert!(found.verdict.starts_with("This rests on a lossy recording (5 wakeups lost)"), "{}", found.verdict);
    let found = answer(&read(&cut), &question).unwrap();
    assert!(found.cautions[0].contains("cut short"), "{:?}", found.cautions);
    // Too short for any horizon: only a bound, and how much longer to measure.
    assert!(found.groups[0].worst.iter().all(|worst| worst.level.veto.is_some() && worst.measure_further_s.is_some()));
}

#[test]
fn runs_of_one_measurement_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 60, 0, true);
    let one = read(&path).remove(0);
    let both = one.clone().followed_by(one.clone()).unwrap();
    assert_eq!(both.exposure_ns, 2 * one.exposure_ns);
    let modem = Catalogue::shipped().find("modem").unwrap();
    let over = |input: &Input| input.underruns(modem, Stage::Total).unwrap().over;
    assert_eq!(over(&both), 2 * over(&one));
    let other = Input { load: "games".into(), ..one.clone() };
    assert!(one.followed_by(other).is_err());
}

#[test]
fn a_recording_without_wakeups_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    Writer::create(&path, provenance(""), vec![task()]).unwrap().flush().unwrap();
    let recording = Recording::open(&path).unwrap();
    let error = Input::from_recording(recording.document(), &[], &[], &[]).unwrap_err().to_string();
    assert!(error.contains("no wakeup"), "{error}");
}

/// A loop of 1 kHz that was followed, beside a thread that seldom wakes; each second one cycle takes 1.5 ms.
fn write_loop(directory: &std::path::Path, period_ns: Option<u64>) {
    let of = |tid: u32, measure: &str| Task { tid, measure: measure.into(), cpu: None, period_ns: 0, ..task() };
    let mut writer =
        Writer::create(directory, provenance(""), vec![of(7, "loop fifo:80"), of(8, "helper other")]).unwrap();
    writer.followed_mut().period_ns = period_ns;
    for cycle in 0..60_000 {
        let work_ns = Some(if cycle % 1_000 == 7 { 1_450_000 } else { 100_000 + cycle % 997 });
        let wakeup =
            Wakeup { tid: 7, expected_ns: 5_000 * MS + cycle * MS, total_ns: 50_000, work_ns, ..Wakeup::default() };
        writer.push(0, &wakeup);
        if cycle % 100 == 0 {
            writer.push(1, &Wakeup { tid: 8, work_ns: Some(9 * MS), ..wakeup });
        }
    }
    let ended = Ended { reason: EndReason::Completed, detail: None, at_ns: 65_000 * MS };
    writer.provenance_mut().started_ns = 5_000 * MS;
    writer.finish(ended, Vec::new()).unwrap();
}

fn loops(directory: &std::path::Path, period_ns: Option<u64>) -> Result<Option<Loops>, punctual_forecast::Error> {
    let recording = Recording::open(directory).unwrap();
    let (tail, seconds) = recording.tail_and_seconds().unwrap();
    Input::of_loops(recording.document(), period_ns, (&tail, &seconds), recording.damaged())
}

/// The loop of a recording, held against these cycles of it.
fn held_against(directory: &std::path::Path, count: CycleCount) -> Result<Loops, punctual_forecast::Error> {
    let cycles = BTreeMap::from([("loop fifo:80".to_owned(), count)]);
    loops(directory, None).unwrap().unwrap().held_against(Recording::open(directory).unwrap().document(), &cycles)
}

#[test]
fn a_loop_that_was_followed_is_held_to_its_period() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    let Loops { inputs, profile, counted } = loops(&path, None).unwrap().unwrap();
    assert_eq!(inputs.iter().map(|input| input.measure.as_str()).collect::<Vec<_>>(), ["loop fifo:80"]);
    assert_eq!(inputs[0].exposure_ns, 60_000 * MS);
    assert_eq!(inputs[0].cautions, ["1 other thread does not wake about once in 1.00 ms and is left out"]);
    assert!(counted.is_empty());
    let underruns = inputs[0].underruns(&profile, Stage::Response).unwrap();
    assert_eq!((underruns.over, underruns.misses, underruns.is_upper_count), (60, 60.0, false));
    let mttf = underruns.mttf_s;
    assert!(mttf.low.unwrap() <= 1.0 && mttf.high.unwrap() >= 1.0, "{mttf:?}");
    let question = Question {
        stages: vec![Stage::Response],
        device_stage: Stage::Response,
        devices: vec![profile],
        ..Question::default()
    };
    let verdict = answer(&inputs, &question).unwrap().verdict;
    assert_eq!(verdict, "A cycle of loop fifo:80 takes longer than 1.00 ms about every 1.00 s.");

    assert_eq!(inputs[0].compression_thousandths, None);
    let recording = Recording::open(&path).unwrap();
    let (tail, seconds) = recording.tail_and_seconds().unwrap();
    let mut document = recording.document().clone();
    document.provenance.load.commands = vec![vec!["./loop".to_owned()]];
    document.followed.as_mut().unwrap().asked = vec!["the command and all it starts".to_owned()];
    let of_command = Input::of_loops(&document, None, (&tail, &seconds), &[]).unwrap().unwrap();
    assert_eq!(of_command.inputs[0].compression_thousandths, Some(1_000));

    // A shorter period than that of its wakeups.
    let shorter = loops(&path, Some(600_000)).unwrap().unwrap();
    let said = &shorter.inputs[0].cautions[1];
    assert!(said.starts_with("loop fifo:80 woke about every 1.00 ms, not every 600 us"), "{said}");
    // Another period than the recording's: none of its threads wakes once in that.
    let error = loops(&path, Some(7 * MS)).unwrap_err().to_string();
    assert!(error.contains("none of its threads wakes about once in 7.00 ms"), "{error}");
    // Without a period there are no loops, nor with periodic threads.
    let unknown = directory.path().join("b.punctual");
    write_loop(&unknown, None);
    assert!(loops(&unknown, None).unwrap().is_none() && loops(&unknown, Some(MS)).unwrap().is_some());
    let own = directory.path().join("c.punctual");
    write(&own, 12, 0, true);
    assert!(loops(&own, Some(MS)).unwrap().is_none());
}

/// A loop that wakes in a tenth of its periods, judged by its cycles: only often too long ones show that it was starved.
#[test]
fn a_loop_that_was_kept_from_the_cpu_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS / 10));
    let recording = Recording::open(&path).unwrap();
    let why = |period_ns: u64, certain: u64| {
        let count = CycleCount { cycles: 60_000, overruns: certain, certain, ..CycleCount::default() };
        let cycles = BTreeMap::from([("loop fifo:80".to_owned(), count)]);
        punctual_forecast::starved(recording.document(), period_ns, &cycles).map(|error| error.to_string())
    };
    let said = why(MS / 10, 30_000).unwrap();
    assert_eq!(
        said,
        "this recording cannot be forecast from: 30,000 of 60,000 cycles of loop fifo:80 took longer than 100 us, and it woke in only 10 % \
         of its periods: if that is its period (--period), it is kept from the CPU or works for too long, and fails whatever is wanted; \
         `punctual report` counts its overruns, and `punctual why` says what delays it"
    );
    // Its cycles are short: the period is another one.
    assert_eq!((why(MS / 10, 0), why(MS / 10, 60)), (None, None));
    // It wakes once in each period.
    assert_eq!(why(MS, 30_000), None);
}

#[test]
fn what_is_wanted_of_a_loop_that_does_not_fail_is_said_to_be_assumed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    let Loops { inputs, profile, .. } = loops(&path, None).unwrap().unwrap();
    let verdict = |device: Profile| {
        let question = Question {
            stages: vec![Stage::Response],
            device_stage: Stage::Response,
            devices: vec![device],
            ..Question::default()
        };
        answer(&inputs, &question).unwrap().verdict
    };
    let slow = Profile { period_ns: 2 * MS, ..profile.clone() };
    let assumed = "That assumes that at most one overrun in 60 min is acceptable: `--want` says what you expect.";
    for (device, is_said) in [(slow.clone(), true), (slow.with_want(60), false), (profile, false)] {
        let said = verdict(device);
        assert_eq!(said.ends_with(assumed), is_said, "{said}");
    }
}

#[test]
fn a_loop_whose_cycles_are_not_told_may_catch_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    // A measure with a thread whose cycles are known: nothing tells whether the other catches up: 60,000 wakeups in a
    // minute of periods of 600 us.
    let untold = |period_ns: u64| {
        let told = CycleCount { untold: 1, cycles: 1, ..CycleCount::default() };
        let cycles = BTreeMap::from([("loop fifo:80".to_owned(), told)]);
        let recording = Recording::open(&path).unwrap();
        loops(&path, Some(period_ns)).unwrap().unwrap().held_against(recording.document(), &cycles).unwrap().counted
    };
    assert_eq!(
        untold(600_000),
        [
            "loop fifo:80 woke in only 60,000 of about 100,000 periods, and nothing tells which of its wakeups begin cycles: where it catches up without \
          sleeping, it overran in the other 40,000 too, one every 1.50 ms. "
        ]
    );
    assert!(untold(MS).is_empty());
}

#[test]
fn a_loop_whose_cycles_are_not_counted_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    // There is no forecast for threads whose cycles `report` does not count.
    let untold = BTreeMap::from([("loop fifo:80".to_owned(), CycleCount { untold: 1, ..CycleCount::default() })]);
    let recording = Recording::open(&path).unwrap();
    let document = recording.document();
    let error = loops(&path, None).unwrap().unwrap().held_against(document, &untold).unwrap_err().to_string();
    assert!(
        error.contains(
            "the cycles of loop fifo:80 cannot be counted: nothing shows which wakeups begin one; `punctual report"
        ),
        "{error}"
    );
    let mut beside = loops(&path, None).unwrap().unwrap();
    beside.inputs.push(Input { measure: "helper other".to_owned(), ..beside.inputs[0].clone() });
    let untold = BTreeMap::from([("helper other".to_owned(), CycleCount { untold: 1, ..CycleCount::default() })]);
    let kept = beside.held_against(document, &untold).unwrap();
    assert_eq!(kept.inputs.len(), 1);
    assert_eq!(
        kept.inputs[0].cautions[1],
        "helper (SCHED_OTHER) is left out: nothing shows which wakeups begin a cycle"
    );
}

#[test]
fn a_loop_that_was_followed_is_held_against_its_cycles() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    // Compared with whole cycles: those that a single wakeup shows, periods without a wakeup, and those that no wakeup
    // shows.
    let held = |count: CycleCount| {
        held_against(&path, CycleCount { cycles: 60_000, periods: count.periods.max(60_000), ..count })
    };
    let told = |count| held(count).unwrap().inputs[0].cautions.len();
    assert_eq!(told(CycleCount { overruns: 60, certain: 60, ..CycleCount::default() }), 1);
    assert_eq!(told(CycleCount { overruns: 62, certain: 60, unseen: 2, ..CycleCount::default() }), 1);
    // Skipped periods are time that passed.
    let skips = held(passed(0, 60)).unwrap();
    assert_eq!(skips.inputs[0].exposure_ns, 130_000 * MS);
    assert_eq!((told(passed(0, 60)), skips.counted.len()), (1, 0));
    // However many of them unseen wakeups may explain, that many more than single wakeups show are no exception.
    let torn = CycleCount { overruns: 440, certain: 40, unseen: 400, longest_ns: 275 * MS, ..CycleCount::default() };
    let error = held(torn).unwrap_err().to_string();
    assert!(
        error.contains(
            "40 to 440 or more of at least 60,000 cycles of loop fifo:80 took too long, of which single wakeups show 40: 400 wakeups were not seen, and it may wait \
             within its cycles (for a lock, "
        ),
        "{error}"
    );
    // A few of them that are much longer than any wakeup are stated before anything is forecast.
    let few = CycleCount { overruns: 42, ..torn };
    let [said] = &held(few).unwrap().counted[..] else { panic!("one sentence") };
    for words in [
        "far too optimistic for loop fifo:80: 40 to 42 or more of at least 60,000 cycles took too long",
        ", up to one every 1.43 s, the longest 275 ms",
        "single wakeups, which show 40, the longest ",
        "(400 wakeups were not seen). ",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // Where no grid tells of periods, the time that was watched says how often.
    let no_grid = CycleCount { cycles: 60_000, periods: 0, ..few };
    let against = |count| held_against(&path, count).unwrap();
    assert!(against(no_grid).counted.concat().contains(", up to one every 1.43 s, the longest 275 ms"));
    // No grid shows the periods of a loop that starts over: they are estimated, and passed all the same.
    let found = against(CycleCount { estimated_periods: 130_000, ..no_grid });
    assert_eq!(found.inputs[0].exposure_ns, 130_000 * MS);
    assert!(found.counted[0].contains(", up to one every 3.10 s, "), "{:?}", found.counted);
    let some = held(CycleCount { untold: 1, ..CycleCount::default() }).unwrap();
    let words = "the cycles of 1 thread of loop fifo:80 cannot be counted, and each wakeup there is taken for one";
    assert!(some.inputs[0].cautions.contains(&words.to_owned()), "{:?}", some.inputs[0].cautions);
    let error = held(CycleCount { overruns: 90, certain: 60, ..CycleCount::default() }).unwrap_err().to_string();
    assert!(
        error.contains("90 of 60,000 cycles of loop fifo:80 took too long, of which single wakeups show 60"),
        "{error}"
    );
}

/// Counts of a loop in 69,997 periods of which the previous cycle still ran, and what shows that it made up for them, or
/// did not.
fn passed(made_up: u64, skipped: u64) -> CycleCount {
    CycleCount {
        cycles: 60_000,
        overruns: 60,
        certain: 60,
        not_woken: 70_000,
        unseen: 3,
        periods: 130_000,
        made_up,
        skipped,
        ..CycleCount::default()
    }
}

#[test]
fn a_loop_that_catches_up_overruns_in_each_period_that_it_missed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    let of = |count: CycleCount| held_against(&path, count).unwrap();
    let catches_up = "69,997 periods began before the previous cycle had ended, and each is an overrun";
    let skips = "loop fifo:80 was seen to skip periods that it missed: 69,997 periods began before the previous cycle had ended, in 60 overruns.";
    let unknown = "nothing shows whether it catches up, as is assumed here: if it skips such periods, there were 60 overruns, one every 2.17 s.";
    let some = "was seen to make up for about 3 periods in a row, or more, and to drop others: 69,997 periods began before the previous cycle had \
                ended, in 60 long cycles. 60 to 69,997 or more of at least 60,000 cycles took too long, and 210 are counted here, up to 4 for \
                each.";
    for (count, misses, every_s, words) in [
        // A few of them missed fewer periods.
        (CycleCount { limited: 60, limit: 3, made_up_at_most: 150, ..passed(0, 0) }, 210.0, 0.619, some),
        (passed(60, 0), 69_997.0, 0.001_857, catches_up),
        // Whole cycles count, not what single wakeups look like: here they show 60.
        (CycleCount { certain: 40, overruns: 43, ..passed(0, 60) }, 40.0, 3.25, "in 40 overruns"),
        (passed(0, 60), 60.0, 2.17, skips),
        (passed(0, 0), 69_997.0, 0.001_857, unknown),
        (passed(30, 30), 69_997.0, 0.001_857, unknown),
    ] {
        let Loops { inputs, profile, .. } = of(count);
        let question = Question {
            stages: vec![Stage::Response],
            device_stage: Stage::Response,
            devices: vec![profile],
            ..Question::default()
        };
        let answer = answer(&inputs, &question).unwrap();
        assert!(answer.verdict.contains(words), "{}", answer.verdict);
        let found = &answer.groups[0].devices[0].underruns;
        assert_eq!(found.misses, misses, "{words}");
        let mttf = found.mttf_s;
        let value = mttf.value.unwrap();
        assert!((value / every_s - 1.0).abs() < 0.01, "{value} for {every_s}: {words}");
        assert!(mttf.low.unwrap() <= value && value <= mttf.high.unwrap(), "{mttf:?}");
    }
    // Of two recordings the periods add up, and what one shows is true of both.
    let [one, other] = [of(passed(60, 0)), of(passed(0, 0))].map(|loops| loops.inputs.into_iter().next().unwrap());
    let both = one.followed_by(other).unwrap();
    let found = both.underruns(&of(passed(0, 0)).profile, Stage::Response).unwrap();
    assert_eq!((found.misses, both.exposure_ns), (139_994.0, 260_000 * MS));
}

/// Overruns that may hide behind a few unseen wakeups are stated beside those that are certain.
#[test]
fn what_a_few_wakeups_that_nobody_saw_may_hide_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    let counted = |overruns: u64, longest_ns: u64| {
        let (cycles, periods) = (60_000, 60_000);
        let count =
            CycleCount { cycles, periods, overruns, certain: 60, unseen: 2, longest_ns, ..CycleCount::default() };
        held_against(&path, count).unwrap().counted
    };
    let [said] = &counted(62, 3 * MS)[..] else { panic!("one sentence") };
    assert!(
        said.starts_with("Of loop fifo:80 this counts the 60 overruns that are certain, the longest of "),
        "{said}"
    );
    assert!(said.ends_with(
        ": 2 wakeups were not seen, and 60 to 62 or more of at least 60,000 cycles took too long, the longest of 3.00 ms. "
    ));
    assert!(counted(60, 0).is_empty());
}

/// The sentence before the verdict counts as the verdict does: where a loop catches up, the periods that it missed.
#[test]
fn what_unseen_wakeups_may_hide_is_counted_as_the_verdict_counts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write_loop(&path, Some(MS));
    let counted = |count: CycleCount| held_against(&path, count).unwrap().counted;
    // One more long cycle may hide behind a wakeup that nobody saw; the periods that were missed are more than both.
    let count = CycleCount { overruns: 61, ..passed(60, 0) };
    assert_eq!(counted(count), Vec::<String>::new());
    let [said] = &counted(CycleCount { longest_ns: 3 * MS, ..count })[..] else { panic!("one sentence") };
    assert!(said.starts_with("The longest that this counts of loop fifo:80 is "), "{said}");
    assert!(said.ends_with(": 3 wakeups were not seen, and a cycle may have taken 3.00 ms. "), "{said}");
    // A loop that skips periods overran once for each run of them.
    let [said] = &counted(CycleCount { overruns: 61, ..passed(0, 60) })[..] else { panic!("one sentence") };
    assert!(
        said.contains("this counts the 60 overruns that are certain")
            && said.contains(" 60 to 61 or more of at least 60,000 cycles"),
        "{said}"
    );
}
