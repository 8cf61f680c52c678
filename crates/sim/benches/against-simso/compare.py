#!/usr/bin/env python3
"""How many jobs a second of CPU time, beside SimSo, on a task set that both can do.

    python3 -m venv /tmp/simso && /tmp/simso/bin/pip install simso
    /tmp/simso/bin/python crates/sim/benches/against-simso/compare.py

Ten periodic tasks at 70 percent under EDF on one processor, periods 10 to 100 ms, the same in `benches/speed.rs`. The
two take turns within one run, so that what else the computer does falls on both. CPU time, without start and without
building the model, on both sides. SimSo's scheduler prints every decision; printing is switched off, in its favour.
Without SimSo, nothing is measured, and that is said.
"""

import argparse
import builtins
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[4]


def skip(why):
    print(f"SKIPPED: nothing was measured: {why}", file=sys.stderr)
    sys.exit(0)


try:
    from simso.configuration import Configuration
    from simso.core import Model
except ImportError as error:
    skip(f"SimSo cannot be imported ({error}); pip install simso, then run this with that Python")


def bench_program():
    """Builds the benchmark and finds its program."""
    command = ["cargo", "bench", "-p", "punctual-sim", "--bench", "speed", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "speed":
            return message["executable"]
    sys.exit("cargo named no program of the benchmark")


def simso(seconds):
    """Jobs that ended, and the CPU time that took."""
    configuration = Configuration()
    configuration.duration = seconds * 1000 * configuration.cycles_per_ms
    for index in range(1, 11):
        configuration.add_task(
            name=f"task {index}",
            identifier=index,
            period=10 * index,
            activation_date=0,
            wcet=0.7 * index,
            deadline=10 * index,
        )
    configuration.add_processor(name="CPU", identifier=1)
    configuration.scheduler_info.clas = "simso.schedulers.EDF"
    configuration.check_all()
    model = Model(configuration)
    loud, builtins.print = builtins.print, lambda *_, **__: None
    try:
        start = time.process_time()
        model.run_model()
        took = time.process_time() - start
    finally:
        builtins.print = loud
    jobs = [job for task in model.results.tasks.values() for job in task.jobs]
    return sum(job.end_date is not None for job in jobs), took


def own(program, seconds):
    """The same of the machine of this crate."""
    line = subprocess.run([program, "--tasks", str(seconds)], stdout=subprocess.PIPE, text=True, check=True).stdout
    jobs, took = line.split()
    return int(jobs), float(took)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=int, default=50, help="simulated by SimSo; this crate does 200 times that")
    given = arguments.parse_args()
    program = bench_program()
    if own(program, given.seconds)[0] != simso(given.seconds)[0]:
        print(f"note: of {given.seconds} s the two end different numbers of jobs: {own(program, given.seconds)[0]}"
              f" here, {simso(given.seconds)[0]} there", file=sys.stderr)
    ratios = []
    for turn in range(1, given.rounds + 1):
        their_jobs, their_time = simso(given.seconds)
        # Longer here, or it would be over before the clock could tell.
        own_jobs, own_time = own(program, 200 * given.seconds)
        their_rate, own_rate = their_jobs / their_time, own_jobs / own_time
        ratios.append(own_rate / their_rate)
        print(
            f"round {turn}: SimSo {their_rate:>12,.0f} jobs/s of CPU time ({their_jobs} in {their_time:.2f} s), "
            f"here {own_rate:>12,.0f} ({own_jobs} in {own_time:.2f} s): {ratios[-1]:,.0f} times"
        )
    print(f"median of {given.rounds} rounds: {statistics.median(ratios):,.0f} times as many jobs a second")


if __name__ == "__main__":
    main()
