//! The shell scripts that guests run.

use super::{Boot, Command, Length, table};
use std::fmt::Write as _;

/// Below /out: what each command printed, by its position.
pub(super) const CELLS: &str = "cells";
/// Below /out: the commands' recordings.
pub(super) const WORK: &str = "work";

/// How long a command may take, s of the guest's time.
const MAX_COMMAND_S: u32 = 90;

/// `cell NAME COMMAND`: runs it, and keeps what it prints, its exit code and what the kernel logs meanwhile.
const HEAD: &str = r#"PATH=/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p /out/cells /out/work
chmod 1777 /out/work
cd /out/work
# A background job of a shell without job control does not hear SIGINT.
set -m
dmesg -c >/dev/null
cell() {
    mkdir -p "/out/cells/$1"
    read -r began _ </proc/uptime
    echo "$began command $1" >/dev/console
    timeout -k 5 "$limit" $wrap bash -c "$2" >"/out/cells/$1/stdout" 2>"/out/cells/$1/stderr" </dev/null
    echo $? >"/out/cells/$1/code"
    read -r ended _ </proc/uptime
    echo "$began $ended" >"/out/cells/$1/times"
    dmesg -c >"/out/cells/$1/kernel-log"
}
"#;

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// All commands that are wanted, one after the other.
pub(super) fn commands(boot: &Boot, wanted: impl Fn(&Command) -> bool) -> String {
    let variant = &boot.variant;
    let mut script = format!("{HEAD}limit={MAX_COMMAND_S}\nwrap={}\n{}\n", quoted(&variant.wrap), variant.prelude);
    for (position, command) in table().command.iter().enumerate() {
        if !wanted(command) {
            continue;
        }
        let _ = writeln!(script, "cell {position} {}", quoted(&command.run));
    }
    script
}

/// A drill goes on until its log has enough injections, and for a while, so that the recording notes what it blames while
/// that is there: a program that came and went unseen has no name. Two drills cannot share a CPU.
/// The first one of victims begins before the recording has a wakeup.
const DRILLS: &str = r#"
say() { echo "$(cut -d ' ' -f 1 /proc/uptime) $1" >/dev/console; }
lines() { wc -l 2>/dev/null <"truth-$1" || echo 0; }
has_wakeups() { grep -qs '"wakeups": *[1-9]' "$1/recording.json"; }
# until_there TRIES CONDITION...: waits until it holds, or the recording has ended.
until_there() {
    tries=$1
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] && kill -0 $measuring 2>/dev/null || return 1
        sleep 0.1
    done
}
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }
has_begun_or_ended() { has_lines "$current" 1 || ! kill -0 $injecting 2>/dev/null; }
drill() {
    current=$1
    mkdir -p "/out/cells/drill-$1"
    say "drill $1"
    punctual drill "$1" -q --yes --for 300us..2ms --every 20ms -D 10m --seed 7 -o "truth-$1" \
        >"/out/cells/drill-$1/stdout" 2>"/out/cells/drill-$1/stderr" </dev/null &
    injecting=$!
    until_there 300 has_begun_or_ended
    if kill -0 $injecting 2>/dev/null; then
        until_there 300 has_wakeups "$recording"
        until_there 3000 has_lines "$1" $(($(lines "$1") + count))
        sleep 1
        kill -INT $injecting
    fi
    wait $injecting
    echo $? >"/out/cells/drill-$1/code"
}
# beside RECORDING WORDS DRILLS: runs drills one after the other while it is recorded.
beside() {
    recording=$1 words=$2
    shift 2
    punctual record -q -D 10m --why 150us $words -o "$recording" >"$recording.out" 2>&1 &
    measuring=$!
    [ "$words" ] || until_there 600 has_wakeups "$recording"
    for drill; do drill "$drill"; done
    say "end of $recording"
    kill -INT $measuring
    wait $measuring
    echo $? >"$recording.code"
    say "$recording is written"
    for drill; do dmesg -c >"/out/cells/drill-$drill/kernel-log"; done
}
"#;

/// Every drill beside a recording: of the measuring thread that it disturbs, or of the victim that it brings.
pub(super) fn drills(length: Length) -> String {
    let mut script = format!("{HEAD}limit=300\nwrap=\ncount={}\n", length.injections);
    script.push_str(DRILLS);
    for drill in table().drill {
        let follow = if crate::truth::culprit(&drill.name).brings_victim { FOLLOW_VICTIMS } else { "" };
        let _ = writeln!(script, "beside {} '{follow}' {}", recording_of(&drill.name), drill.name);
    }
    script
}

/// How those are recorded whom a drill brings along.
const FOLLOW_VICTIMS: &str = "--comm ^drill-victim --why-stage response";

/// Each drill has a recording of its own: one keeps the evidence of so many late wakeups and no more.
pub(super) fn recording_of(drill: &str) -> String {
    format!("{drill}.punctual")
}

/// A recording whose bytes are to be the same in two runs.
pub(super) const REPEATED: &str = "mkdir -p /out/work && cd /out/work && punctual record -q -D 500ms -o plain.punctual && punctual record -q --why 15us -D 300ms -o late.punctual";
