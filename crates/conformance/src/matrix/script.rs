//! The shell scripts that guests run.

use super::plan::{Boot, Command, Drill, Length, table};
use crate::truth::culprit;
use std::fmt::Write as _;

/// Below /out: what each command printed, by its position.
pub(super) const CELLS: &str = "cells";
/// Below /out: the commands' recordings.
pub(super) const WORK: &str = "work";

/// How long a command may take, s of the guest's time.
const MAX_COMMAND_S: u32 = 90;

/// `cell NAME COMMAND` runs the command, and keeps what it prints, its exit code and what the kernel logs meanwhile.
const HEAD: &str = r#"PATH=/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p /out/cells /out/work
chmod 1777 /out/work
cd /out/work
# A background job of a shell without job control does not hear SIGINT.
set -m
dmesg -c >/dev/null
# reading: uptime, idle time, and how long threads have run on all CPUs, ns; 0 from a kernel that does not say.
reading() {
    local up idle name ran sum=0
    read -r up idle </proc/uptime
    if [ -r /proc/schedstat ]; then
        while read -r name _ _ _ _ _ _ ran _; do
            case $name in cpu*) sum=$((sum + ran)) ;; esac
        done </proc/schedstat
    fi
    echo "$up $idle $sum"
}
# times FILE READING: since then, to now.
times() { echo "$2 $(reading)" >"$1"; }
cell() {
    mkdir -p "/out/cells/$1"
    local began
    began=$(reading)
    echo "${began%% *} command $1" >/dev/console
    timeout -k 5 "$limit" $wrap bash -c "$2" >"/out/cells/$1/stdout" 2>"/out/cells/$1/stderr" </dev/null
    echo $? >"/out/cells/$1/code"
    times "/out/cells/$1/times" "$began"
    dmesg -c >"/out/cells/$1/kernel-log"
}
"#;

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A script of these parts, one after the other.
pub(super) fn whole(parts: &[String]) -> String {
    format!("{HEAD}{}{END}", parts.concat())
}

/// All wanted commands, one after the other.
pub(super) fn commands(boot: &Boot, wanted: impl Fn(&Command) -> bool) -> String {
    let variant = &boot.variant;
    let mut script = format!("limit={MAX_COMMAND_S}\nwrap={}\n{}\n", quoted(&variant.wrap), variant.prelude);
    for (position, command) in table().command.iter().enumerate() {
        if !wanted(command) {
            continue;
        }
        if let Some(limit_s) = command.limit_s {
            let _ = writeln!(script, "limit={limit_s}");
        }
        let _ = writeln!(script, "cell {position} {}", quoted(&command.run));
        if command.limit_s.is_some() {
            let _ = writeln!(script, "limit={MAX_COMMAND_S}");
        }
    }
    script
}

/// How long it took, for how much of that the guest was idle, and how long threads ran.
const END: &str = "reading >/out/uptime\n";

/// Drills run one after the other beside a recording: two cannot share a CPU, and beginning a recording costs more than
/// all drills together. Followed victims make its first wakeups, so a short drill begins it.
///
/// Injections are longer than the pieces of work in which the emulated kernel cannot be preempted (0.4 ms, while it
/// reads the list of its symbols): those would use up what a recording keeps.
const DRILLS: &str = r#"
has_wakeups() { grep -qs '"wakeups": *[1-9]' "$1/recording.json"; }
is_recording() { kill -0 $measuring 2>/dev/null; }
drill() {
    local began cell=/out/cells/drill-$1 made=$count
    began=$(reading)
    echo "${began%% *} drill $1" >/dev/console
    mkdir -p "$cell"
    # Nothing is judged without a recording.
    is_recording || made=1
    timeout -k 5 600 punctual drill "$1" -q --yes --for 800us..2500us --every "$every" -D 10m --count $made --seed 7 \
        -o "truth-$1" >"$cell/stdout" 2>"$cell/stderr" </dev/null
    echo $? >"$cell/code"
    times "$cell/times" "$began"
    dmesg -c >"$cell/kernel-log"
}
# beside RECORDING FIRST WORDS DRILLS: runs drills while it is recorded; FIRST is drilled until the recording has begun.
beside() {
    recording=$1 first=$2 words=$3
    shift 3
    local began
    began=$(reading)
    mkdir -p "/out/cells/$recording"
    punctual record -q -D 60m --why 500us $words -o "$recording" >"$recording.out" 2>&1 &
    measuring=$!
    starting=
    if [ -n "$first" ]; then
        punctual drill "$first" -q --yes --for 300us --every 20ms -D 10m >/dev/null 2>&1 &
        starting=$!
    fi
    tries=600
    until has_wakeups "$recording"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] && is_recording || break
        sleep 0.1
    done
    if [ -n "$starting" ]; then
        kill -INT $starting
        wait $starting
    fi
    times "/out/cells/$recording/times" "$began"
    for drill; do drill "$drill"; done
    sleep 0.5
    kill -INT $measuring
    wait $measuring
    echo $? >"$recording.code"
    dmesg -c >>"/out/cells/drill-$drill/kernel-log"
}
"#;

/// The wanted drills, each beside a recording: of the measuring thread that it disturbs, or of the victim that it
/// brings.
pub(super) fn drills(length: Length, wanted: impl Fn(&Drill) -> bool) -> String {
    let mut script = format!("count={}\nevery={}\n", length.injections, length.every);
    script.push_str(DRILLS);
    for (recording, brings_victim, words) in
        [(DISTURBED, false, ""), (VICTIMS, true, "--comm ^drill-victim --why-stage response")]
    {
        let drills = table().drill.into_iter().filter(&wanted).map(|drill| drill.name);
        let drills: Vec<String> = drills.filter(|name| culprit(name).brings_victim == brings_victim).collect();
        if drills.is_empty() {
            continue;
        }
        let first = if brings_victim { "lock" } else { "''" };
        let _ = writeln!(script, "beside {recording} {first} {} {}", quoted(words), drills.join(" "));
    }
    script
}

const DISTURBED: &str = "disturbed.punctual";
const VICTIMS: &str = "victims.punctual";

/// The recordings of [`drills`], for their cost.
pub(super) const RECORDINGS: [&str; 2] = [DISTURBED, VICTIMS];

/// The recording beside which a drill runs.
pub(super) fn recording_of(drill: &str) -> &'static str {
    if culprit(drill).brings_victim { VICTIMS } else { DISTURBED }
}

/// A recording whose bytes must be the same in two runs.
pub(super) const REPEATED: &str =
    "mkdir -p /out/work && cd /out/work && punctual record -q --why 15us -D 300ms -o late.punctual";

/// The same without causes, which takes half as long.
pub(super) const REPEATED_IN_BRIEF: &str =
    "mkdir -p /out/work && cd /out/work && punctual record -q -D 300ms -o plain.punctual";
