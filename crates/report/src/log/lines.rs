//! An event log line by line, for people and for spreadsheets.

use crate::encode::csv::quoted;
use punctual_recording::LogRow;
use punctual_recording::episode::{Event, EventKind, LEFT_FOR_IO, LEFT_UNINTERRUPTIBLE};
use punctual_recording::{agreeing, counted};

/// The first line of a log as CSV.
pub const CSV_HEADER: &str = "time_ns,cpu,class,kind,tid,thread,priority,context,steal_ns,value,extra,name";

/// The value of a kind whose value has a sign.
pub(crate) fn signed_value(event: &Event) -> Option<i64> {
    matches!(event.kind, EventKind::Mark | EventKind::FutexEnd).then(|| event.value.cast_signed())
}

/// A row as CSV.
pub fn csv_line(row: &LogRow<'_>) -> String {
    let event = &row.event;
    let value = signed_value(event).map_or_else(|| event.value.to_string(), |value| value.to_string());
    let steal = if event.steal_ns > 0 { (event.steal_ns - 1).to_string() } else { String::new() };
    format!(
        "{},{},{},{},{},{},{},{},{steal},{value},{},{}",
        event.at_ns,
        event.cpu,
        event.kind.class().name(),
        event.kind.name(),
        event.tid,
        quoted(row.thread),
        event.priority,
        event.context,
        event.extra,
        quoted(row.name)
    )
}

/// Operations of futex calls by number.
const FUTEX_OPERATIONS: [&str; 14] = [
    "wait",
    "wake",
    "fd",
    "requeue",
    "compare-requeue",
    "wake-op",
    "lock-pi",
    "unlock-pi",
    "trylock-pi",
    "wait-bitset",
    "wake-bitset",
    "wait-requeue-pi",
    "compare-requeue-pi",
    "lock-pi2",
];
/// What may accompany the operation: private to a process, or by the wall clock.
const FUTEX_FLAGS: u64 = 128 | 256;

/// A row as a line for people. Its time is in microseconds since `started_ns`.
pub fn line(row: &LogRow<'_>, started_ns: u64) -> String {
    let event = &row.event;
    let after = event.at_ns.cast_signed().wrapping_sub(started_ns.cast_signed());
    let (sign, after) = (if after < 0 { "-" } else { "" }, after.unsigned_abs());
    let time = format!("{sign}{}.{:03}", after / 1_000, after % 1_000);
    let thread = match (event.tid, row.thread) {
        (0, _) => "idle".to_owned(),
        (tid, "") => format!("thread {tid}"),
        (tid, name) => format!("{name} ({tid})"),
    };
    let what = what(row);
    let thread = if event.kind == EventKind::Dropped { "" } else { &thread };
    format!("{time:>15} us  CPU {:<3} {thread:<24} {what}", event.cpu)
}

/// A thread other than the current one.
fn other(row: &LogRow<'_>) -> String {
    match (row.event.value as u32, row.name) {
        (0, _) => "idle".to_owned(),
        (tid, "") => format!("thread {tid}"),
        (tid, name) => format!("{name} ({tid})"),
    }
}

#[expect(clippy::too_many_lines, reason = "one flat match: a line for each kind of event")]
fn what(row: &LogRow<'_>) -> String {
    let (event, name) = (&row.event, row.name);
    let value = event.value;
    let unnamed = || if name.is_empty() { String::new() } else { format!(" {name}") };
    match event.kind {
        EventKind::Switch => {
            let left = event.left_state();
            let why = match left {
                0 => "preempted",
                left if left & LEFT_FOR_IO != 0 => "waits for I/O",
                left if left & LEFT_UNINTERRUPTIBLE != 0 => "blocked",
                left if left & (16 | 32 | 128) != 0 => "ended",
                _ => "sleeps",
            };
            let why = if event.tid == 0 { String::new() } else { format!("{why}, ") };
            format!("{why}switch to {}", other(row))
        }
        EventKind::Waking => format!("wakes {}", other(row)),
        EventKind::Migrate => {
            format!("moves {} from CPU {} to CPU {}", other(row), event.extra as u32, event.extra >> 32)
        }
        EventKind::VectorBegin => format!("interrupt {name} begins"),
        EventKind::VectorEnd => format!("interrupt {name} ends"),
        EventKind::HandlerBegin => format!("handler {name} (interrupt {value}) begins"),
        EventKind::HandlerEnd => format!("handler{} (interrupt {value}) ends", unnamed()),
        EventKind::SoftirqBegin => format!("softirq {name} begins"),
        EventKind::SoftirqEnd => format!("softirq {name} ends"),
        EventKind::FunctionAsked => format!("has a function called on CPU {}", event.extra),
        EventKind::FunctionBegin => format!("the requested function {name} begins"),
        EventKind::FunctionEnd => format!("function {name} ends"),
        EventKind::InterruptSent => format!("interrupts CPU {value}"),
        EventKind::InterruptsSent => format!("interrupts {}", counted(value.count_ones(), "CPU")),
        EventKind::TaskletBegin => format!("tasklet {name} begins"),
        EventKind::TaskletEnd => "tasklet ends".to_owned(),
        EventKind::TimerBegin => {
            let late = event.at_ns.saturating_sub(event.extra);
            // Much later than anything that can happen: another clock's time.
            let late = if late < 10_000_000_000 {
                format!(", due {}.{:03} us ago", late / 1_000, late % 1_000)
            } else {
                String::new()
            };
            format!("timer {name} begins{late}")
        }
        EventKind::TimerEnd => "timer ends".to_owned(),
        EventKind::CallbackBegin => format!("timer callback {name} begins"),
        EventKind::CallbackEnd => "timer callback ends".to_owned(),
        EventKind::WorkQueued => "hands the kernel's workers a work item".to_owned(),
        EventKind::WorkBegin => format!("work {name} begins"),
        EventKind::WorkEnd => "work ends".to_owned(),
        EventKind::FaultUser => format!("page fault at {value:#x}"),
        EventKind::FaultKernel => format!("page fault in the kernel at {value:#x}"),
        EventKind::FaultEnd => "page fault ends".to_owned(),
        EventKind::OutOfQuota => format!("thread {value} waits for new quota of the control group {name}"),
        EventKind::QuotaRefill => format!("the control group {name} is given new quota"),
        EventKind::StopAsked => format!("sends thread {value} signal {}, which stops it", event.extra >> 32),
        EventKind::RequestBegin => format!("a request of {} to a disk", counted(event.extra, "byte")),
        EventKind::RequestEnd => format!("a request to the disk {name} is done"),
        EventKind::LockBegin => format!("waits for the lock at {value:#x}"),
        EventKind::LockEnd => format!("has the lock at {value:#x}"),
        EventKind::ProcessFork if event.extra == value => format!("makes process {value}"),
        EventKind::ProcessFork => format!("makes thread {value} of process {}", event.extra),
        EventKind::ProcessExec => format!("becomes {name}"),
        EventKind::ProcessExit => {
            let whose = if event.extra == 1 { "process ends" } else { "thread ends" };
            match (value & 0x7f, value >> 8 & 0xff) {
                (0, code) => format!("{whose} with code {code}"),
                (signal, _) => format!("{whose} by signal {signal}"),
            }
        }
        EventKind::Rename if value as u32 == event.tid => format!("is called {name} from now on"),
        EventKind::Rename => format!("calls thread {value} {name}"),
        EventKind::FutexBegin => {
            let operation = event.extra & u64::from(u32::MAX) & !FUTEX_FLAGS;
            let operation = FUTEX_OPERATIONS.get(operation as usize).copied().unwrap_or("call");
            format!("futex {operation} at {value:#x}, value {}", event.extra >> 32)
        }
        EventKind::FutexEnd => match value.cast_signed() {
            error @ -4095..0 => format!("futex call fails with error {}", -error),
            result => format!("futex call returns {result}"),
        },
        EventKind::Mark if event.extra == 1 => format!("mark \"{name}\""),
        EventKind::Mark => format!("mark \"{name}\" {}", value.cast_signed()),
        EventKind::Dropped if value == 0 => format!("--- {name} end here: it corrupted the memory that it shares ---"),
        EventKind::Dropped => {
            format!("--- {} {} dropped here ({name}) ---", counted(value, "event"), agreeing(value, "was", "were"))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use punctual_recording::episode::IN_INTERRUPT;

    pub(crate) fn event(at_ns: u64, kind: EventKind) -> Event {
        let context = IN_INTERRUPT & (1 << 16);
        Event { at_ns, cpu: 1, kind, tid: 7, priority: 120, context, steal_ns: 0, value: 9, extra: 0, name: 0 }
    }

    #[test]
    fn every_kind_has_its_line() {
        let mut lines = String::new();
        for (number, &kind) in EventKind::ALL.iter().enumerate() {
            let event = event(1_000_000 + number as u64 * 1_234, kind);
            lines += &line(&LogRow { event, thread: "worker", name: "thing" }, 1_000_000);
            lines.push('\n');
        }
        insta::assert_snapshot!(lines);
    }

    #[test]
    fn values_have_a_sign_where_they_need_one() {
        let mut mark = event(5, EventKind::Mark);
        mark.value = u64::MAX;
        let row = LogRow { event: mark, thread: "a,b", name: "x" };
        assert_eq!(csv_line(&row), "5,1,mark,mark,7,\"a,b\",120,65536,,-1,0,x");
        assert!(line(&row, 10).contains("-0.005 us") && line(&row, 10).ends_with("mark \"x\" -1"));
        mark.kind = EventKind::FutexEnd;
        mark.value = (-11_i64).cast_unsigned();
        assert!(line(&LogRow { event: mark, thread: "a", name: "" }, 0).ends_with("fails with error 11"));
    }
}
