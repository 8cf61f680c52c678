//! Task sets, as people write them in TOML and as rt-app takes them in JSON.

use super::admission::AdmissionLimits;
use super::supply::Supply;
use crate::Error;
use punctual_device::{parse_period, parse_want};
use punctual_recording::{BareUnit, format_ns, parse_duration};
use serde::Deserialize;
use toml::Spanned;

/// How often a task may be late unless its definition differs: once in this many seconds.
pub const DEFAULT_PERMITTED_S: u64 = 3_600;

/// Which scheduler runs a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A fixed priority (`SCHED_FIFO`).
    Fixed,
    /// Earliest deadline first (`SCHED_DEADLINE`): it runs before all fixed priorities.
    Deadline,
}

/// A periodic task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The CPU that it is bound to.
    pub cpu: u32,
    /// Its period, or the least time between activations, ns.
    pub period_ns: u64,
    /// The longest time it computes, ns.
    pub compute_ns: u64,
    /// From release to deadline, ns.
    pub deadline_ns: u64,
    /// The scheduler.
    pub policy: Policy,
    /// Its priority: larger runs first. Without one, priorities follow deadlines, shortest first.
    pub priority: Option<u32>,
    /// How late its release may be, ns.
    pub jitter_ns: u64,
    /// When its first activation is released, ns; tasks with offsets are strictly periodic.
    pub offset_ns: u64,
    /// The longest time for which less urgent work may hold it up, ns.
    pub blocking_ns: u64,
    /// The reservation in which it runs, by name.
    pub reservation: Option<String>,
    /// It may be late once in this many seconds.
    pub permitted_s: u64,
}

/// A reservation: a budget in every period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// The CPU it is on.
    pub cpu: u32,
    /// X, ns.
    pub budget_ns: u64,
    /// Y, ns.
    pub period_ns: u64,
}

impl Reservation {
    /// What it gives if its place in the period is fixed.
    pub fn fixed_slot(&self) -> Supply {
        Supply::FixedSlot { budget_ns: self.budget_ns, period_ns: self.period_ns }
    }

    /// What it gives if its budget may come anywhere in the period, as `SCHED_DEADLINE` gives it.
    pub fn floating_budget(&self) -> Supply {
        Supply::FloatingBudget { budget_ns: self.budget_ns, period_ns: self.period_ns }
    }
}

/// A set of tasks and reservations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskSet {
    /// The tasks, in their order.
    pub tasks: Vec<Task>,
    /// The reservations, in their order.
    pub reservations: Vec<Reservation>,
    /// What the kernel's admission depends on.
    pub limits: AdmissionLimits,
    /// Whether each CPU is a root domain of its own (exclusive cpusets), so that a deadline task or a reservation stays
    /// on its CPU. Otherwise the kernel serves them on whichever CPU has no more urgent work (global EDF).
    pub partitioned: bool,
    /// What was read differently from how it is written, or left out, one line each.
    pub notes: Vec<String>,
}

fn in_task(name: &str, message: impl Into<String>) -> Error {
    Error::Tasks { place: format!("task `{name}`"), message: message.into() }
}

/// No analysis takes more tasks: response times take time with the square of their number and more.
pub(crate) const MAX_TASKS: usize = 256;
/// No machine has a CPU with a larger number.
const MAX_CPU: u32 = 65_535;
pub(crate) const NO_SUCH_CPU: &str = "there is no such CPU: the largest number is 65535";

/// Sums and small multiples of these can be counted.
const MAX_NS: u64 = u64::MAX / 1_000;
const TOO_LONG: &str = "its times are longer than this program can count";

fn check_counts(tasks: usize, reservations: usize) -> Result<(), Error> {
    if tasks.max(reservations) <= MAX_TASKS {
        return Ok(());
    }
    let message = format!("more than {MAX_TASKS} tasks or reservations are not analysed");
    Err(Error::Tasks { place: "the task set".to_owned(), message })
}

impl TaskSet {
    /// Reads a task set in TOML: a `[[task]]` for each task and a `[[reservation]]` for each reservation.
    ///
    /// # Errors
    /// [`Error::Tasks`] with the line, or the task, and what is wrong there.
    pub fn parse_toml(text: &str) -> Result<TaskSet, Error> {
        let line_of = |offset: usize| format!("line {}", text[..offset.min(text.len())].matches('\n').count() + 1);
        let file: File = toml::from_str(text).map_err(|error| Error::Tasks {
            place: error.span().map_or("line 1".to_owned(), |span| line_of(span.start)),
            message: error.message().replace('\n', " "),
        })?;
        // Before each is looked for in the text.
        check_counts(file.task.len(), file.reservation.len())?;
        let limits = AdmissionLimits::default();
        let mut set = TaskSet {
            limits: AdmissionLimits {
                cpus: file.cpus.unwrap_or(limits.cpus).max(1),
                fair_server: file.fair_server.unwrap_or(limits.fair_server),
                ..limits
            },
            partitioned: file.partitioned.unwrap_or(false),
            ..TaskSet::default()
        };
        for stored in file.reservation {
            let place = line_of(stored.span().start);
            let at = |message: String| Error::Tasks { place: place.clone(), message };
            let stored = stored.into_inner();
            set.reservations.push(Reservation {
                budget_ns: length(&stored.budget).map_err(at)?,
                period_ns: parse_period(&stored.period).map_err(|error| at(error.to_string()))?,
                cpu: stored.cpu,
                name: stored.name,
            });
        }
        for stored in file.task {
            let place = line_of(stored.span().start);
            let at = |message: String| Error::Tasks { place: place.clone(), message };
            set.tasks.push(stored.into_inner().into_task().map_err(at)?);
        }
        set.checked()
    }

    /// Says what is impossible, and notes what the analysis will ignore.
    pub(crate) fn checked(mut self) -> Result<TaskSet, Error> {
        check_counts(self.tasks.len(), self.reservations.len())?;
        if self.tasks.is_empty() {
            return Err(Error::Tasks {
                place: "the task set".to_owned(),
                message: "there is no task in it".to_owned(),
            });
        }
        for index in 0..self.reservations.len() {
            self.check_reservation(index)?;
        }
        for index in 0..self.tasks.len() {
            self.check_task(index)?;
        }
        let cpus = self.tasks.iter().map(|task| task.cpu + 1).max().unwrap_or(1);
        self.limits.cpus = self.limits.cpus.max(cpus);
        Ok(self)
    }

    fn check_reservation(&self, index: usize) -> Result<(), Error> {
        let reservation = &self.reservations[index];
        let place = || format!("reservation `{}`", reservation.name);
        if reservation.cpu > MAX_CPU {
            return Err(Error::Tasks { place: place(), message: NO_SUCH_CPU.to_owned() });
        }
        if reservation.budget_ns == 0 || reservation.budget_ns > reservation.period_ns {
            let message = "its budget must be more than 0 and at most its period".to_owned();
            return Err(Error::Tasks { place: place(), message });
        }
        if reservation.period_ns > MAX_NS {
            return Err(Error::Tasks { place: place(), message: TOO_LONG.to_owned() });
        }
        if self.reservations[..index].iter().any(|other| other.name == reservation.name) {
            return Err(Error::Tasks { place: place(), message: "it is there twice".to_owned() });
        }
        Ok(())
    }

    fn check_task(&self, index: usize) -> Result<(), Error> {
        let task = &self.tasks[index];
        let wrong = |message: &str| Err(in_task(&task.name, message));
        if self.tasks[..index].iter().any(|other| other.name == task.name) {
            return wrong("it is there twice");
        }
        if task.cpu > MAX_CPU {
            return wrong(NO_SUCH_CPU);
        }
        if task.compute_ns == 0 {
            return wrong("its compute time is 0");
        }
        if task.compute_ns > task.period_ns {
            let (compute, period) = (format_ns(task.compute_ns), format_ns(task.period_ns));
            return wrong(&format!(
                "it computes for {compute}, longer than its period of {period}: it can never keep up"
            ));
        }
        if task.policy == Policy::Fixed && task.priority.is_some_and(|priority| !(1..=99).contains(&priority)) {
            return wrong("SCHED_FIFO has no such priority: give 1 to 99");
        }
        if task.deadline_ns == 0 || task.permitted_s == 0 {
            return wrong("its deadline, or the time in which it may be late once, is 0");
        }
        if [task.period_ns, task.deadline_ns, task.jitter_ns, task.blocking_ns, task.offset_ns]
            .iter()
            .any(|&time| time > MAX_NS)
        {
            return wrong(TOO_LONG);
        }
        if let Some(name) = &task.reservation {
            let Some(found) = self.reservations.iter().find(|reservation| reservation.name == *name) else {
                return wrong(&format!("there is no reservation `{name}`"));
            };
            if found.cpu != task.cpu {
                return wrong(&format!("reservation `{name}` is on another CPU"));
            }
            if task.policy == Policy::Deadline {
                return wrong("a deadline task is a reservation of its own: it runs in no other");
            }
        }
        Ok(())
    }
}

fn length(text: &str) -> Result<u64, String> {
    parse_duration(text, BareUnit::Refused)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cpus: Option<u32>,
    fair_server: Option<bool>,
    partitioned: Option<bool>,
    #[serde(default)]
    task: Vec<Spanned<StoredTask>>,
    #[serde(default)]
    reservation: Vec<Spanned<StoredReservation>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReservation {
    name: String,
    budget: String,
    period: String,
    #[serde(default)]
    cpu: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTask {
    name: String,
    #[serde(default)]
    cpu: u32,
    period: String,
    compute: String,
    deadline: Option<String>,
    policy: Option<StoredPolicy>,
    priority: Option<u32>,
    jitter: Option<String>,
    offset: Option<String>,
    blocking: Option<String>,
    reservation: Option<String>,
    permitted: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StoredPolicy {
    Fifo,
    Deadline,
}

impl StoredTask {
    fn into_task(self) -> Result<Task, String> {
        let optional = |text: Option<String>| text.map_or(Ok(0), |text| length(&text));
        let period_ns = parse_period(&self.period).map_err(|error| error.to_string())?;
        Ok(Task {
            period_ns,
            compute_ns: length(&self.compute)?,
            deadline_ns: self.deadline.map_or(Ok(period_ns), |text| length(&text))?,
            policy: match self.policy {
                Some(StoredPolicy::Deadline) => Policy::Deadline,
                Some(StoredPolicy::Fifo) | None => Policy::Fixed,
            },
            priority: self.priority,
            jitter_ns: optional(self.jitter)?,
            offset_ns: optional(self.offset)?,
            blocking_ns: optional(self.blocking)?,
            permitted_s: self
                .permitted
                .map_or(Ok(DEFAULT_PERMITTED_S), |text| parse_want(&text))
                .map_err(|error| error.to_string())?,
            reservation: self.reservation,
            cpu: self.cpu,
            name: self.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "[[task]]\nname = \"a\"\nperiod = \"10ms\"\ncompute = \"1ms\"\n";

    #[test]
    fn tasks_without_end_are_refused_at_once() {
        let began = std::time::Instant::now();
        let instances: String =
            (0..15_000).map(|number| format!("\"{number}\":{{\"instance\":257,\"dl-period\":9}},")).collect();
        let json = format!("{{\"tasks\":{{{}}}}}", instances.trim_end_matches(','));
        for refused in [TaskSet::parse_toml(&GOOD.repeat(18_000)), TaskSet::parse_rt_app(&json)] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("more than 256 tasks"), "{refused}");
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_not_said() {
        let set = TaskSet::parse_toml(GOOD).unwrap();
        let task = &set.tasks[0];
        assert_eq!((task.deadline_ns, task.priority, task.permitted_s), (10_000_000, None, 3_600));
    }

    #[test]
    fn nonsense_is_refused_in_one_line_that_names_the_place() {
        for (text, place, word) in [
            (format!("{GOOD}perod = \"1ms\"\n"), "line 5", "perod"),
            (GOOD.replace("10ms", "soon"), "line 1", "soon"),
            (GOOD.replace("\"1ms\"", "\"11ms\""), "task `a`", "never keep up"),
            (GOOD.replace("\"1ms\"", "\"0ms\""), "task `a`", "0"),
            (format!("{GOOD}{GOOD}"), "task `a`", "twice"),
            (format!("{GOOD}cpu = 4294967295\n"), "task `a`", "no such CPU"),
            (format!("{GOOD}reservation = \"r\"\n"), "task `a`", "no reservation `r`"),
            (String::new(), "task set", "no task"),
            ("[[task]\n".to_owned(), "line 1", ""),
            (
                format!("{GOOD}[[reservation]]\nname=\"r\"\nbudget=\"2ms\"\nperiod=\"1ms\"\n"),
                "reservation `r`",
                "budget",
            ),
            // Twice that period cannot be counted.
            (
                format!("{GOOD}[[reservation]]\nname=\"r\"\nbudget=\"1ms\"\nperiod=\"110000d\"\n"),
                "reservation `r`",
                "longer than this program can count",
            ),
        ] {
            let message = TaskSet::parse_toml(&text).unwrap_err().to_string();
            assert!(message.contains(place) && message.contains(word) && !message.contains('\n'), "{message}");
        }
    }

    /// Values as people might write them, and those at the edges of what can be counted.
    fn value(usual: &'static str) -> impl Strategy<Value = String> {
        let number =
            prop::sample::select(vec!["0", "1", "2.5", "999", "65535", "4294967295", "18446744073709551615", "-1"]);
        let unit = prop::sample::select(vec!["", "ns", "us", "ms", "s", "h", "d", "@48kHz", "@1Hz"]);
        prop_oneof![
            12 => (1..100_u32).prop_map(move |number| format!("{number}{usual}")),
            2 => (number, unit).prop_map(|(number, unit)| format!("{number}{unit}")),
            1 => "[0-9a-z@/. ]{0,6}",
        ]
    }

    /// A task as TOML: what it must have, and some of the rest.
    fn task() -> impl Strategy<Value = String> {
        let keys = vec!["deadline", "jitter", "offset", "blocking", "permitted"];
        let times = prop::collection::btree_map(prop::sample::select(keys), value("ms"), 0..3);
        let policy = prop::option::of(prop::sample::select(vec!["fifo", "deadline"]));
        let cpu = prop_oneof![12 => 0..4_u32, 1 => prop::sample::select(vec![65_535, 65_536, u32::MAX])];
        ("[a-z]", value("ms"), value("us"), times, policy, cpu, prop::option::of(0..100_u32)).prop_map(
            |(name, period, compute, times, policy, cpu, priority)| {
                let times: String = times.iter().map(|(key, value)| format!("{key} = {value:?}\n")).collect();
                let policy = policy.map_or(String::new(), |policy| format!("policy = {policy:?}\n"));
                let priority = priority.map_or(String::new(), |priority| format!("priority = {priority}\n"));
                format!(
                    "[[task]]\nname = {name:?}\nperiod = {period:?}\ncompute = {compute:?}\ncpu = {cpu}\n{times}{policy}{priority}"
                )
            },
        )
    }

    /// What both readers promise of a set that they accept.
    fn is_sound(set: &TaskSet) -> bool {
        let names: std::collections::BTreeSet<&str> = set.tasks.iter().map(|task| task.name.as_str()).collect();
        names.len() == set.tasks.len()
            && set.tasks.iter().all(|task| {
                (1..=task.period_ns).contains(&task.compute_ns)
                    && task.deadline_ns > 0
                    && task.period_ns <= u64::MAX / 1_000
                    && task.cpu < set.limits.cpus
            })
    }

    /// The same cases in every run, so that as many sets get as far each time.
    fn count(sets: impl Strategy<Value = String>, read: impl Fn(&str) -> Result<TaskSet, Error>) -> (u32, u32) {
        use proptest::test_runner::{Config, TestRunner};
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 2_000, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let (taken, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let result = runner.run(&sets, |text| {
            match read(&text) {
                Ok(set) => {
                    prop_assert!(is_sound(&set), "{text}\n{set:?}");
                    taken.set(taken.get() + 1);
                }
                Err(error) => {
                    prop_assert!(!error.to_string().contains('\n'), "{error}");
                    refused.set(refused.get() + 1);
                }
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{error}"));
        (taken.get(), refused.get())
    }

    #[test]
    fn any_values_in_a_task_set_are_taken_or_refused() {
        let sets = prop::collection::vec(task(), 1..4).prop_map(|tasks| tasks.concat());
        let (taken, refused) = count(sets, TaskSet::parse_toml);
        eprintln!("{taken} taken, {refused} refused");
        assert!(taken >= 100 && refused >= 100, "{taken} taken, {refused} refused");
    }

    #[test]
    fn any_values_in_an_rt_app_file_are_taken_or_refused() {
        let number = || prop_oneof![6 => 1..100_000_u64, 1 => prop::sample::select(vec![0, 1 << 32, u64::MAX / 1_000, u64::MAX])];
        let policy = prop::sample::select(vec!["SCHED_FIFO", "SCHED_DEADLINE", "SCHED_OTHER", "SCHED_RR"]);
        let task = ("[a-d]", number(), number(), number(), number(), policy, number()).prop_map(
            |(name, run, period, cpu, times, policy, instances)| {
                format!(
                    r#""{name}": {{"policy": "{policy}", "priority": 10, "cpus": [{}], "instance": {}, "loop": {},
                       "run": {run}, "timer": {{"period": {period}}}, "dl-deadline": {period}}}"#,
                    if cpu < 90_000 { cpu % 8 } else { cpu },
                    if instances < 90_000 { 1 } else { instances },
                    if times < 90_000 { times % 3 } else { times },
                )
            },
        );
        let sets =
            prop::collection::vec(task, 1..4).prop_map(|tasks| format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(",")));
        let (taken, refused) = count(sets, TaskSet::parse_rt_app);
        eprintln!("{taken} taken, {refused} refused");
        assert!(taken >= 100 && refused >= 100, "{taken} taken, {refused} refused");
    }

    proptest! {
        #[test]
        fn text_that_is_no_task_set_is_refused(text in "\\PC*") {
            prop_assert!(TaskSet::parse_toml(&text).is_err());
            prop_assert!(TaskSet::parse_rt_app(&text).is_err());
        }
    }
}
