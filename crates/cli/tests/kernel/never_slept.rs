//! Programs that start a thread or a process for each job: each of these works once and ends without ever sleeping. They are counted,
//! and no limit counts as kept by what only starts them.

use crate::foreign::followed::{Program, open, record};
use crate::requires;
use crate::support::compiled::compiled;
use crate::support::{code, json, run, stderr, stdout};
use punctual_recording::{Unslept, WithoutSleep};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every 20 ms a timer starts a thread, or a loop a process, a hundred times. Each fifth computes for 25 ms, the others for one. It says how
/// many it started, and how many of them had not slept when they were done, by the kernel's account.
const TICKS: &str = r#"
#define _GNU_SOURCE
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICKS 100
#define PERIOD_NS 20000000L

struct shared { atomic_int ticks, beyond, unslept; sem_t over; };
static struct shared *shared;

static void job(void)
{
	int number = atomic_fetch_add(&shared->ticks, 1);
	struct timespec now;
	struct rusage usage;
	long begun, ns = number % 5 ? 1000000L : 25000000L;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	begun = now.tv_sec * 1000000000L + now.tv_nsec;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000000000L + now.tv_nsec - begun < ns);
	getrusage(RUSAGE_THREAD, &usage);
	if (!usage.ru_nvcsw)
		atomic_fetch_add(&shared->unslept, 1);
}

static void expired(union sigval value)
{
	(void)value;
	if (atomic_load(&shared->ticks) < TICKS) {
		job();
		if (atomic_load(&shared->ticks) >= TICKS)
			sem_post(&shared->over);
	} else {
		/* Started before the last job was done. */
		atomic_fetch_add(&shared->beyond, 1);
	}
}

static void by_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired };
	struct itimerspec every = { { 0, PERIOD_NS }, { 0, PERIOD_NS } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
		_exit(3);
	while (sem_wait(&shared->over))
		;
	timer_delete(timer);
}

static void by_fork(void)
{
	struct timespec due;

	signal(SIGCHLD, SIG_IGN);
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (int tick = 0; tick < TICKS; tick++) {
		due.tv_nsec += PERIOD_NS;
		if (due.tv_nsec >= 1000000000L) {
			due.tv_sec++;
			due.tv_nsec -= 1000000000L;
		}
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL))
			;
		if (!fork()) {
			job();
			_exit(0);
		}
	}
}

int main(int count, char **words)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || sem_init(&shared->over, 1, 0))
		return 3;
	puts("here");
	fflush(stdout);
	getchar();
	if (count > 1 && !strcmp(words[1], "fork"))
		by_fork();
	else
		by_timer();
	usleep(200000);
	printf("%d %d\n", atomic_load(&shared->ticks) + atomic_load(&shared->beyond), atomic_load(&shared->unslept));
	return 0;
}
"#;

/// The program; `None`, loudly, if there is no compiler.
fn ticks(test: &str, directory: &Path) -> Option<PathBuf> {
    let source = directory.join("ticks.c");
    std::fs::write(&source, TICKS).unwrap();
    compiled(test, directory, &source)
}

/// How many threads or processes were started, and how many of them had done a job without having slept.
fn told(said: &str) -> (u64, u64) {
    let numbers =
        |line: &str| line.split_once(' ').and_then(|(jobs, unslept)| jobs.parse().ok().zip(unslept.parse().ok()));
    said.lines().rev().find_map(numbers).unwrap_or_else(|| panic!("{said:?}"))
}

/// Whether these rows have the jobs that the program told of, where each fifth took 25 ms.
fn assert_counted(rows: &[&WithoutSleep], (jobs, unslept): (u64, u64)) {
    let found = Unslept::of(rows.iter().copied());
    assert!(jobs >= 100 && unslept > jobs / 2, "{unslept} of {jobs} did not sleep: nothing to count");
    // The program may have begun before it was followed, and a thread may sleep at its end, for instance for its memory.
    assert!(found.threads <= jobs && found.threads + 2 + unslept / 10 >= unslept, "{found:?} of {unslept} and {jobs}");
    assert!((24_000_000..1_000_000_000).contains(&found.longest_executed_ns), "{found:?}");
}

/// Whether this answer counts such threads, and does not certify a limit.
fn assert_not_certified(answer: &Value) {
    let limit = &answer["limits"][0];
    assert!(limit["found_ns"].is_null() && limit["exceeded"] == false, "{limit}");
    assert_eq!(answer["exit_code"], 1);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains(" The limit on the cycles cannot be judged"), "{verdict}");
    let rows = answer["cycles"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["without_sleep"].as_u64() > Some(50) && row["may_be_more"] == true), "{rows:?}");
}

const REPORT: [&str; 7] = ["report", "a.punctual", "--period", "20ms", "--limit", "cycle:max=1h", "--json"];

#[test]
fn threads_that_a_timer_starts_are_counted_and_no_limit_counts_as_kept() {
    requires!("threads that never sleep", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = ticks("threads that never sleep", directory.path()) else { return };
    let started = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut ticks = Program(started.unwrap());
    ticks.ready();
    let process = ticks.0.id();
    let child = record(directory.path(), &["--pid", &ticks.id(), "--period", "20ms"]);
    ticks.go();
    let said = ticks.said();
    let recorded = child.wait_with_output().unwrap();
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));

    let (recording, _) = open(directory.path());
    let rows = &recording.document().followed.as_ref().unwrap().without_sleep;
    let own: Vec<&WithoutSleep> = rows.iter().filter(|row| row.process == process && row.name == "ticks").collect();
    assert_counted(&own, told(&said));
    assert_eq!(own.len(), rows.len(), "{rows:?}");
    assert!(stdout(&recorded).contains("   never slept "), "{}", stdout(&recorded));
    assert!(stdout(&recorded).contains(" ended without ever sleeping, after up to "), "{}", stdout(&recorded));
    assert_not_certified(&json(&run(directory.path(), &REPORT)));
}

#[test]
fn processes_that_a_loop_starts_are_counted_and_no_limit_counts_as_kept() {
    requires!("processes that never sleep", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = ticks("processes that never sleep", directory.path()) else { return };
    let program = program.to_str().unwrap();
    let words = ["record", "-q", "-o", "a.punctual", "--follow", "--period", "20ms", "--", program, "fork"];
    let recorded = run(directory.path(), &words);
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));
    let (recording, _) = open(directory.path());
    let rows = &recording.document().followed.as_ref().unwrap().without_sleep;
    let own: Vec<&WithoutSleep> = rows.iter().filter(|row| row.process == 0 && row.name == "ticks").collect();
    // What a command prints goes to standard error.
    assert_counted(&own, told(&stderr(&recorded)));
    assert_not_certified(&json(&run(directory.path(), &REPORT)));
}
