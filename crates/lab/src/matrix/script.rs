//! The shell scripts that guests run.

use super::{Boot, Length, table};
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
dmesg -c >/dev/null
cell() {
    mkdir -p "/out/cells/$1"
    read -r began _ </proc/uptime
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

/// All commands, one after the other.
pub(super) fn commands(boot: &Boot) -> String {
    let variant = &boot.variant;
    let mut script = format!("{HEAD}limit={MAX_COMMAND_S}\nwrap={}\n{}\n", quoted(&variant.wrap), variant.prelude);
    for (position, command) in table().command.iter().enumerate() {
        let _ = writeln!(script, "cell {position} {}", quoted(&command.run));
    }
    script
}

/// Every drill beside a recording that goes on: first those that disturb the measuring thread, then those that bring a
/// victim of their own.
pub(super) fn drills(length: Length) -> String {
    let limit = length.drill_s * 20 + 240;
    let drill_s = length.drill_s;
    let mut script = format!("{HEAD}limit={limit}\nwrap=\n");
    script.push_str(
        r#"
# beside RECORDING WORDS DRILLS: runs drills one after the other while it is recorded.
beside() {
    recording=$1 words=$2
    shift 2
    punctual record -q -D 10m --why 150us $words -o "$recording" >"/out/work/$recording.out" 2>&1 &
    measuring=$!
    # It notes its wakeups every second, so it measures when this is there.
    tries=0
    until grep -qs '"wakeups": *[1-9]' "$recording/recording.json" || [ "$words" != "" ] && [ -e "$recording/recording.json" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] && kill -0 $measuring 2>/dev/null || break
        sleep 0.1
    done
    for drill; do
        cell "drill-$drill" "punctual drill $drill -q --yes --for 300us..2ms --every 20ms -D ${seconds}s --seed 7 -o truth-$drill"
    done
    kill -INT $measuring
    wait $measuring
    echo $? >"/out/work/$recording.code"
    timeout 300 punctual why "$recording" --json >"/out/work/$recording.why" 2>"/out/work/$recording.why-errors"
}
"#,
    );
    let _ = writeln!(script, "seconds={drill_s}");
    let of = |brings_victim: bool| {
        let drills = table().drill;
        let names = drills.iter().filter(|drill| crate::truth::culprit(&drill.name).brings_victim == brings_victim);
        names.map(|drill| drill.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(script, "beside {OWN} '' {}", of(false));
    let _ = writeln!(script, "beside {VICTIMS} '--comm ^drill-victim --why-stage response' {}", of(true));
    script
}

/// The recording of the measuring thread beside drills, and that of the drills' victims.
pub(super) const OWN: &str = "own.punctual";
pub(super) const VICTIMS: &str = "victims.punctual";

/// A recording whose bytes are to be the same in two runs.
pub(super) const REPEATED: &str = "mkdir -p /out/work && cd /out/work && punctual record -q -D 500ms -o plain.punctual && punctual record -q --why 15us -D 300ms -o late.punctual";
