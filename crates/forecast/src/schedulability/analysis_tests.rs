//! Whole answers about task sets.

use super::*;
use crate::schedulability::Analysed;
use crate::testing::{Random, input};

fn set(text: &str) -> TaskSet {
    TaskSet::parse_toml(text).unwrap()
}

const MODEM_AND_AUDIO: &str = r#"
    [[task]]
    name = "modem"
    period = "11.25ms"
    compute = "3.3ms"
    priority = 90
    [[task]]
    name = "audio"
    period = "16ms"
    compute = "2ms"
    priority = 80
"#;

#[test]
fn a_modem_above_audio() {
    let found = analyse(&set(MODEM_AND_AUDIO), None).unwrap();
    assert_eq!(found.standing, Standing::Schedulable);
    let responses: Vec<_> = found.tasks.iter().map(|task| task.plain.response_ns).collect();
    assert_eq!(responses, [Some(3_300_000), Some(5_300_000)]);
    // Nothing ties their releases to each other.
    assert!(found.tasks.iter().all(|task| task.plain.analysed == Analysed::ResponseTime));
    // Blocked for 11.25 - 3.3 ms the modem is just in time; audio tolerates 16 - 2 - 2 * 3.3.
    let bears: Vec<_> = found.tasks.iter().map(|task| task.bears_ns.unwrap() / 10_000).collect();
    assert_eq!(bears, [794, 739]);
    let cpu = &found.cpus[0];
    assert!(cpu.utilization < cpu.liu_layland.unwrap() && cpu.hyperbolic.unwrap() < 2.0);
    // Neither a deadline task nor a reservation: there is nothing to ask of EDF.
    assert_eq!(cpu.edf, None);
}

#[test]
fn the_task_that_breaks_and_what_fixes_it() {
    let broken =
        MODEM_AND_AUDIO.replace("priority = 90", "priority = 70").replace("compute = \"2ms\"", "compute = \"9ms\"");
    let found = analyse(&set(&broken), None).unwrap();
    assert_eq!((found.standing, found.breaks.as_deref()), (Standing::NotSchedulable, Some("modem")));
    assert!(
        found.verdict.contains("`modem` may take 12.3 ms") && found.verdict.contains("11.2 ms"),
        "{}",
        found.verdict
    );
    let text = found.fixes.join("\n");
    assert!(text.contains("most urgent first: modem, audio"), "{text}");
    assert!(text.contains("`audio` computing for 7.95 ms") && text.contains("`modem` computing for 2.25 ms"), "{text}");
    assert!(text.contains("a deadline of 12.3 ms for `modem`"), "{text}");
}

#[test]
fn where_no_order_does_edf_may() {
    // 94 % of the CPU; whichever comes second takes 4.2 or 6.2 ms.
    let text = "[[task]]\nname=\"a\"\nperiod=\"4ms\"\ncompute=\"2ms\"\npriority=2\n\
                [[task]]\nname=\"b\"\nperiod=\"5ms\"\ncompute=\"2.2ms\"\npriority=1\n";
    let found = analyse(&set(text), None).unwrap();
    assert_eq!(found.breaks.as_deref(), Some("b"));
    assert_eq!(found.fixes[0], "EDF (SCHED_DEADLINE) in place of fixed priorities");
}

#[test]
fn every_late_task_is_named_and_given_a_deadline() {
    // Neither order, nor EDF, nor less work of one task is enough: `b` and `c` are due before either could wait for the other.
    let text = "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"4ms\"\npriority=3\n\
                [[task]]\nname=\"b\"\nperiod=\"20ms\"\ncompute=\"4ms\"\ndeadline=\"5ms\"\npriority=2\n\
                [[task]]\nname=\"c\"\nperiod=\"20ms\"\ncompute=\"4ms\"\ndeadline=\"6ms\"\npriority=1\n";
    let found = analyse(&set(text), None).unwrap();
    assert_eq!(found.verdict, "not schedulable: `b` may take 8.00 ms and must be done in 5.00 ms; `c` is late, too");
    assert_eq!(
        found.fixes,
        ["deadlines of 8.00 ms for `b` (it has 5.00 ms) and of 16.0 ms for `c` (it has 6.00 ms): more buffering"]
    );
}

#[test]
fn standings_have_names_in_json() {
    let all = [Standing::Schedulable, Standing::OnAverage, Standing::NotSchedulable, Standing::Unknown];
    assert_eq!(all.map(Standing::name), ["schedulable", "on-average", "not-schedulable", "unknown"]);
}

#[test]
fn deadline_tasks_that_the_kernel_admits_wrongly() {
    let text = "cpus = 1\n[[task]]\nname=\"a\"\nperiod=\"100ms\"\ncompute=\"5ms\"\ndeadline=\"5ms\"\npolicy=\"deadline\"\n\
                [[task]]\nname=\"b\"\nperiod=\"100ms\"\ncompute=\"5ms\"\ndeadline=\"5ms\"\npolicy=\"deadline\"\n";
    let found = analyse(&set(text), None).unwrap();
    assert_eq!(found.standing, Standing::NotSchedulable);
    assert_eq!(found.admission.unwrap().refused, None);
    assert!(found.notes.iter().any(|note| note.contains("wrongly")), "{:?}", found.notes);
}

#[test]
fn a_lone_deadline_task_costs_what_it_computes() {
    let text = "[[task]]\nname=\"d\"\nperiod=\"10ms\"\ncompute=\"3ms\"\npolicy=\"deadline\"\n\
                [[task]]\nname=\"f\"\nperiod=\"20ms\"\ncompute=\"4ms\"\ndeadline=\"7ms\"\n";
    let found = analyse(&set(text), None).unwrap();
    assert_eq!((found.standing, found.tasks[1].plain.response_ns), (Standing::Schedulable, Some(7_000_000)));
}

#[test]
fn deadline_tasks_share_the_cpus_unless_each_is_a_root_domain() {
    let task = |name: &str, cpu: u32, compute: u32| {
        format!("[[task]]\nname=\"{name}\"\ncpu={cpu}\nperiod=\"10ms\"\ncompute=\"{compute}ms\"\npolicy=\"deadline\"\n")
    };
    // Together they are too much for one CPU; on two, each has one to itself.
    let pair = task("a", 0, 6) + &task("b", 0, 6);
    let shared = analyse(&set(&format!("cpus = 2\n{pair}")), None).unwrap();
    assert_eq!(shared.standing, Standing::Schedulable);
    assert!(shared.global.as_ref().is_some_and(|global| global.response && global.cpus == 2), "{shared:?}");
    let apart = analyse(&set(&format!("cpus = 2\npartitioned = true\n{pair}")), None).unwrap();
    assert_eq!((apart.standing, apart.global), (Standing::NotSchedulable, None));
    // No test passes three of them, although a CPU each and a third of each other might do.
    let three = format!("cpus = 2\n{}{}", pair, task("c", 1, 6));
    let found = analyse(&set(&three), None).unwrap();
    assert_eq!(found.standing, Standing::Unknown);
    assert!(found.verdict.contains("no test shows that global EDF on 2 CPUs"), "{}", found.verdict);
}

/// Ten hours with a stall of 3 ms twenty times an hour.
fn held_up_for_3_ms() -> Input {
    let mut random = Random(3);
    let mut late: Vec<(u64, u64)> = (0..200)
        .map(|_| ((random.uniform() * 3.6e13) as u64, 3_000_000 + (random.exponential() * 1e4) as u64))
        .collect();
    late.sort_unstable();
    input(1_000_000, &late, 36_000_000, Some(0))
}

#[test]
fn what_no_test_shows_with_latency_is_not_schedulable() {
    // 1.2 of two CPUs; held up for 3 ms, each of the three may need 11 of its 10 ms, as far as any test can tell.
    let task =
        |name: &str| format!("[[task]]\nname=\"{name}\"\nperiod=\"10ms\"\ncompute=\"4ms\"\npolicy=\"deadline\"\n");
    let set = set(&format!("cpus = 2\n{}{}{}", task("a"), task("b"), task("c")));
    assert_eq!(analyse(&set, None).unwrap().standing, Standing::Schedulable);
    let found = analyse(&set, Some((&held_up_for_3_ms(), Stage::Total))).unwrap();
    assert_eq!((found.standing, found.breaks), (Standing::Unknown, None), "{}", found.verdict);
    assert!(found.verdict.contains("without latency and on average"), "{}", found.verdict);
}

#[test]
fn reservations_on_several_cpus_are_served_where_their_shares_are_small_enough() {
    let text = |budget: u32| {
        format!(
            "cpus = 2\n[[reservation]]\nname=\"r\"\nbudget=\"{budget}ms\"\nperiod=\"10ms\"\n\
             [[task]]\nname=\"inside\"\nperiod=\"40ms\"\ncompute=\"2ms\"\nreservation=\"r\"\n\
             [[task]]\nname=\"d\"\nperiod=\"10ms\"\ncompute=\"4ms\"\npolicy=\"deadline\"\njitter=\"1ms\"\n\
             [[task]]\nname=\"below\"\ncpu=1\nperiod=\"100ms\"\ncompute=\"5ms\"\n"
        )
    };
    // 0.2 + 0.4 <= 2 - 0.4.
    let found = analyse(&set(&text(2)), None).unwrap();
    assert_eq!(found.standing, Standing::Schedulable, "{}", found.verdict);
    assert!(found.global.is_some_and(|global| global.density && !global.response));
    // 0.9 + 0.4 is more than 2 - 0.9.
    assert_eq!(analyse(&set(&text(9)), None).unwrap().standing, Standing::Unknown);
}

#[test]
fn more_than_all_cpus_is_too_much_whoever_is_late() {
    let task = |name: &str, cpu: u32, rest: &str| {
        format!("[[task]]\nname=\"{name}\"\ncpu={cpu}\nperiod=\"10ms\"\ncompute=\"7ms\"\n{rest}\n")
    };
    let text = task("d", 0, "policy=\"deadline\"") + &task("a", 0, "") + &task("b", 1, "");
    let found = analyse(&set(&text), None).unwrap();
    assert_eq!(found.verdict, "not schedulable: all tasks together ask for 2.10 CPUs, and there are 2");
    assert_eq!((found.standing, found.breaks), (Standing::NotSchedulable, None));
    assert_eq!(standing(&set(&text)).0, Standing::NotSchedulable);
}

#[test]
fn jitter_counts_from_the_wakeup() {
    let text = "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"3ms\"\ndeadline=\"8ms\"\npolicy=\"deadline\"\njitter=\"2ms\"\n\
                [[task]]\nname=\"b\"\nperiod=\"10ms\"\ncompute=\"3ms\"\ndeadline=\"8ms\"\npolicy=\"deadline\"\n";
    // Woken 2 late, it may wait 3 for the other and compute 3: done at 8.
    assert_eq!(analyse(&set(text), None).unwrap().standing, Standing::Schedulable);
    let later = analyse(&set(&text.replace("jitter=\"2ms\"", "jitter=\"2.1ms\"")), None).unwrap();
    assert_eq!((later.standing, later.breaks.as_deref()), (Standing::NotSchedulable, Some("a")));
}

#[test]
fn reservations_under_both_supplies() {
    let text = "[[reservation]]\nname=\"r\"\nbudget=\"1ms\"\nperiod=\"6ms\"\n\
                [[task]]\nname=\"modem\"\nperiod=\"12.5ms\"\ncompute=\"1.84ms\"\nreservation=\"r\"\n";
    let found = analyse(&set(text), None).unwrap();
    let modem = found.tasks[0].plain;
    // Fixed: 5 + 6 + 0.84; floating: 5 more.
    assert_eq!((modem.fixed_slot_ns, modem.response_ns), (Some(11_840_000), Some(16_840_000)));
    assert_eq!(found.standing, Standing::NotSchedulable);
    // All of its work in one budget: after 2 * (6 - 1.84) ms of nothing it finishes in time; with two it does not.
    let fix = "reservation `r` of 1.84 ms in every 6.00 ms (it has 1.00 ms)";
    assert!(found.fixes.iter().any(|found| found == fix), "{:?}", found.fixes);
    assert_eq!(
        (found.reservations[0].fixed_blackout_ns, found.reservations[0].floating_blackout_ns),
        (5_000_000, 10_000_000)
    );
}

#[test]
fn offsets_keep_tasks_apart() {
    let text = "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"4ms\"\ndeadline=\"5ms\"\npriority=2\n\
                [[task]]\nname=\"b\"\nperiod=\"10ms\"\ncompute=\"4ms\"\ndeadline=\"5ms\"\npriority=1\noffset=\"5ms\"\n";
    assert_eq!(analyse(&set(text), None).unwrap().standing, Standing::Schedulable);
    // Deadline tasks of other CPUs would run in between; there are none.
    assert_eq!(analyse(&set(&format!("cpus = 2\n{text}")), None).unwrap().standing, Standing::Schedulable);
    let together = analyse(&set(&text.replace("offset=\"5ms\"", "")), None).unwrap();
    assert_eq!(together.breaks.as_deref(), Some("b"));
}

#[test]
fn offsets_that_are_left_out_leave_open_what_only_they_could_mend() {
    let task = |name: &str, compute: u32, deadline: u32, offset: u32| {
        format!(
            "[[task]]\nname=\"{name}\"\nperiod=\"6ms\"\ncompute=\"{compute}ms\"\ndeadline=\"{deadline}ms\"\npriority=2\noffset=\"{offset}ms\"\n"
        )
    };
    // Played through by hand, both are in time: `a` runs from 1 to 5, `b` from 5 to 6.
    let found = analyse(&set(&format!("{}{}", task("a", 4, 4, 1), task("b", 1, 2, 5))), None).unwrap();
    assert_eq!(found.standing, Standing::Unknown, "{}", found.verdict);
    assert!(found.notes.iter().any(|note| note.starts_with("offsets count only")), "{:?}", found.notes);
    // No offset helps a task that is late by itself, or more work than a CPU can do.
    for hopeless in [[task("a", 4, 3, 1), task("b", 1, 2, 5)], [task("a", 4, 6, 1), task("b", 3, 6, 5)]] {
        let found = analyse(&set(&hopeless.concat()), None).unwrap();
        assert_eq!(found.standing, Standing::NotSchedulable, "{}", found.verdict);
    }
}

#[test]
fn a_latency_once_an_hour_is_borne_on_average_only() {
    // Ten hours; stalls of 12 ms twenty times an hour, which the modem's deadline cannot tolerate.
    let mut random = Random(3);
    let mut late: Vec<(u64, u64)> = (0..200)
        .map(|_| ((random.uniform() * 3.6e13) as u64, 12_000_000 + (random.exponential() * 1e5) as u64))
        .collect();
    late.sort_unstable();
    let input = input(1_000_000, &late, 36_000_000, Some(0));
    let found = analyse(&set(MODEM_AND_AUDIO), Some((&input, Stage::Total))).unwrap();
    assert_eq!((found.standing, found.breaks.as_deref()), (Standing::OnAverage, Some("modem")));
    let figure = found.tasks[0].latency.as_ref().unwrap();
    // An hour in periods of 11.25 ms.
    assert_eq!(figure.activations, 320_000.0);
    assert!(!figure.is_longest_seen && figure.charged_ns > 12_000_000 && figure.pseudo_ns < 50_000);
    assert!(found.tasks[0].with_pseudo.unwrap().response_ns < found.tasks[0].with_blocking.unwrap().response_ns);
}

/// Permitted rates count hours of use: once an hour of them is once in six minutes of a load that does in an hour what people
/// do in ten.
#[test]
fn a_permitted_rate_in_hours_of_use_says_how_many_the_load_stands_for() {
    let mut random = Random(3);
    let mut late: Vec<(u64, u64)> = (0..2_000)
        .map(|_| ((random.uniform() * 3.6e13) as u64, 100_000 + (random.exponential() * 5e5) as u64))
        .collect();
    late.sort_unstable();
    let plain = input(1_000_000, &late, 36_000_000, Some(0));
    let scaled = Input { compression_thousandths: Some(10_000), ..plain.clone() };
    let ask = |input: &Input| analyse(&set(MODEM_AND_AUDIO), Some((input, Stage::Total))).unwrap();
    let (of_load, of_use) = (ask(&plain), ask(&scaled));
    assert!(!of_load.verdict.contains("hours of use"), "{}", of_load.verdict);
    let expected = "schedulable: every deadline is met, with the latency of the permitted rate charged to every activation; it is \
                    assumed that an hour under test stands for 10 hours of use";
    assert_eq!(of_use.verdict, expected);
    let figure = |found: &Analysis| found.tasks[0].latency.clone().unwrap();
    let (of_load, of_use) = (figure(&of_load), figure(&of_use));
    assert_eq!((of_load.compression, of_use.compression), (None, Some(10.0)));
    // Two thousand of exponential length: of those in six minutes the longest is shorter than of those in an hour.
    assert!(of_use.charged_ns < of_load.charged_ns, "{of_use:?} {of_load:?}");
    // What is late anyway is late for any use.
    let hopeless = MODEM_AND_AUDIO.replace("\"2ms\"", "\"12ms\"");
    let verdict = analyse(&set(&hopeless), Some((&scaled, Stage::Total))).unwrap().verdict;
    assert!(verdict.starts_with("not schedulable") && !verdict.contains("hours of use"), "{verdict}");
}

/// A longer recording does not cure every reason for which a permitted rate has no latency: which one it is, is said.
#[test]
fn why_the_longest_latency_seen_is_charged_is_said() {
    let note = |late: &[(u64, u64)]| {
        let found =
            analyse(&set(MODEM_AND_AUDIO), Some((&input(1_000_000, late, 3_600_000, Some(0)), Stage::Total))).unwrap();
        assert!(found.tasks.iter().all(|task| task.latency.as_ref().is_some_and(|figure| figure.is_longest_seen)));
        let figure = found.tasks[0].latency.clone().unwrap();
        let notes =
            found.notes.iter().filter(|note| note.starts_with("the latency of a permitted rate cannot be told"));
        let notes: Vec<&String> = notes.collect();
        assert_eq!(notes.len(), 1, "{:?}", found.notes);
        (notes[0].clone(), figure)
    };
    // Ten in an hour: ranks need 3.7 hours, and a tail 51 stalls.
    let few: Vec<(u64, u64)> = (0..10).map(|index| (index * 300_000_000_000, 500_000 + index * 1_000)).collect();
    let (words, figure) = note(&few);
    let expected = "the latency of a permitted rate cannot be told (too few stalls: 10, and a tail needs more than 50): the longest latency \
                    seen is charged in its place, and a longer one may come that often; measure at least 2.7 h more";
    assert_eq!(words, expected);
    assert!((figure.measure_further_s.unwrap() / 9_720.0 - 1.0).abs() < 0.001, "{figure:?}");
    // All in the second half hour: no tail is modelled of them, however many there are.
    let late: Vec<(u64, u64)> =
        (0..600).map(|index| (1_800_000_000_000 + index * 3_000_000_000, 500_000 + index * 37 % 600 * 1_000)).collect();
    let (words, figure) = note(&late);
    assert!(!words.contains("too few") && words.contains(figure.veto.as_deref().unwrap()), "{words} {figure:?}");
}
