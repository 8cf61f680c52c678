//! Whether a thread waits for what comes by a connection that it accepted: that is where a server gets its requests. Waits for
//! other threads alone do not tell who asks whom.
//!
//! A thread of its own looks: the tables may be long, and a program in the midst of `exec` can keep whoever reads its
//! `/proc/TID/syscall` waiting for as long as it likes.

use super::requests::Requests;
use punctual_kernel::clock;
use punctual_kernel::scheduling::{Scheduling, set_scheduling};
use punctual_recording::Stage;
use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The calls by which a thread waits for one connection.
const READS: [libc::c_long; 4] = [libc::SYS_read, libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmsg];
/// So often is looked at all threads together, ...
const MAX_LOOKS: usize = 512;
/// ... while that has taken no more CPU time than this, ns: each look reads tables of all connections.
const MAX_CPU_NS: u64 = 200_000_000;
/// What is not in so much of a table is not known, bytes.
const MAX_TABLE: usize = 4 << 20;
/// So long is waited for a look; if it takes longer, it counts later.
const PATIENCE: Duration = Duration::from_millis(2);
/// How the tables write that a socket listens, or is connected.
const UNIX_LISTENS: &str = "00010000";
const UNIX_CONNECTED: &str = "03";
const TCP_LISTENS: &str = "0A";
const TCP_CONNECTED: &str = "01";

/// Looks at followed threads while they wait.
pub(super) struct Looks {
    /// Asks for a look at a thread, and says what was seen; `None` if there are no looks any more.
    looker: Option<(Sender<u32>, Receiver<Option<Seen>>)>,
    /// Whether a look was asked for that is not over.
    is_asked: bool,
}

/// A thread that waited for what comes by a connection that it accepted, if it waited from the beginning of the look to its
/// end: two times, ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
struct Seen {
    tid: u32,
    begun_ns: u64,
    over_ns: u64,
}

impl Looks {
    /// For requests; in a PID namespace `/proc` knows threads by other numbers.
    pub(super) fn new(stage: Stage) -> Looks {
        let is_wanted = stage == Stage::Request && !clock::in_pid_namespace();
        Looks { looker: if is_wanted { begin() } else { None }, is_asked: false }
    }

    /// Asks for a look at one thread, if there is one of which it is not known yet where it gets its requests.
    pub(super) fn look(&mut self, requests: &mut Requests) {
        let Some((ask, _)) = &self.looker else { return };
        if self.is_asked {
            return self.take(requests, Duration::ZERO);
        }
        let Some(tid) = requests.to_look_at() else { return };
        self.is_asked = ask.send(tid).is_ok();
        self.take(requests, PATIENCE);
    }

    fn take(&mut self, requests: &mut Requests, patience: Duration) {
        let Some((_, told)) = &self.looker else { return };
        match told.recv_timeout(patience) {
            Ok(seen) => {
                self.is_asked = false;
                // Whether it waited there all the time shows when the wait is over.
                if let Some(seen) = seen {
                    requests.waits_at_accepted(seen.tid, seen.begun_ns, seen.over_ns);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.looker = None,
        }
    }
}

/// Begins a thread that looks until nobody asks any more. Nobody waits for its end: if a look does not come back, it ends with
/// the process.
fn begin() -> Option<(Sender<u32>, Receiver<Option<Seen>>)> {
    let (ask, asked) = channel::<u32>();
    let (tell, told) = channel();
    let body = move || {
        // Whoever begins it may be ahead of others at that time.
        let _ = set_scheduling(Scheduling::Other);
        for tid in asked.iter().take(MAX_LOOKS) {
            let begun_ns = clock::monotonic_ns();
            let is_accepted = waits_at_accepted(tid).unwrap_or(false);
            let seen = is_accepted.then(|| Seen { tid, begun_ns, over_ns: clock::monotonic_ns() });
            if tell.send(seen).is_err() || clock::thread_cpu_ns() > MAX_CPU_NS {
                return;
            }
        }
    };
    std::thread::Builder::new().name("looks".to_owned()).spawn(body).ok().map(|_| (ask, told))
}

/// `None` if that is not known: it does not wait so, or ended, or may not be looked at.
fn waits_at_accepted(tid: u32) -> Option<bool> {
    let directory = format!("/proc/{tid}");
    let call = std::fs::read_to_string(format!("{directory}/syscall")).ok()?;
    let descriptor = descriptor(&call)?;
    let link = std::fs::read_link(format!("{directory}/fd/{descriptor}")).ok()?;
    let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    let has = |name: &str, is_accepted: fn(&str, &str) -> bool| {
        let file = File::open(format!("{directory}/net/{name}")).ok();
        file.and_then(whole).is_some_and(|table| is_accepted(&table, inode))
    };
    Some(has("unix", is_accepted_unix) || ["tcp", "tcp6"].iter().any(|name| has(name, is_accepted_tcp)))
}

/// A table, unless it is too long. Names of sockets are any bytes.
fn whole(table: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    table.take(MAX_TABLE as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_TABLE).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The descriptor for which a thread waits, as `/proc/TID/syscall` has it: the call's number, its arguments, ...
fn descriptor(call: &str) -> Option<u64> {
    let mut words = call.split_ascii_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let first = words.next()?.strip_prefix("0x")?;
    READS.contains(&number).then(|| u64::from_str_radix(first, 16).ok())?
}

/// Whether a local socket has the path of one that listens: the side that connects has none.
fn is_accepted_unix(table: &str, inode: &str) -> bool {
    // Num RefCount Protocol Flags Type St Inode Path
    let rows = || table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    // The kernel writes line breaks of paths as they are: whoever chooses a path can make up rows.
    let mut found = rows().filter(|row| row.len() > 6 && row[6] == inode);
    let (Some(own), None) = (found.next(), found.next()) else { return false };
    let is_connected = own.len() > 7 && own[5] == UNIX_CONNECTED;
    is_connected && rows().any(|row| row.len() > 7 && row[3] == UNIX_LISTENS && row[7..] == own[7..])
}

/// Whether a socket has the port of one that listens: the side that connects has a port of its own.
fn is_accepted_tcp(table: &str, inode: &str) -> bool {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    let rows = || table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let port = |row: &[&str]| row[1].rsplit(':').next().map(str::to_owned);
    let own = rows().find(|row| row.len() > 9 && row[9] == inode && row[3] == TCP_CONNECTED);
    own.is_some_and(|own| rows().any(|row| row.len() > 9 && row[3] == TCP_LISTENS && port(&row) == port(&own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_is_that_of_a_read_and_of_nothing_else() {
        let line = |number: libc::c_long| format!("{number} 0x1f 0x7ffc00 0x40 0x0 0x0 0x0 0x7ffc10 0x7f00\n");
        for number in READS {
            assert_eq!(descriptor(&line(number)), Some(31));
        }
        assert_eq!(descriptor(&line(libc::SYS_write)), None);
        for other in ["running\n", "-1 0x7ffc10 0x7f00\n", "", "0"] {
            assert_eq!(descriptor(other), None, "{other:?}");
        }
    }

    #[test]
    fn the_side_that_accepted_has_the_path_or_the_port_of_who_listens() {
        let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 100 /run/api.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 101 /run/api.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 102\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 103 /run/of-a-client\n";
        let accepted = ["100", "101", "102", "103", "104"].map(|inode| is_accepted_unix(unix, inode));
        assert_eq!(accepted, [false, true, false, false, false]);
        let made_up = format!("{unix}0: 00000003 00000000 00000000 0001 03 102 /run/api.sock\n");
        assert!(!is_accepted_unix(&made_up, "102"), "a row that a path makes up");
        assert!(is_accepted_unix(&made_up, "101"));
        let row = |local: &str, remote: &str, state: &str, inode: u32| {
            format!(
                "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0\n"
            )
        };
        let tcp = row("0100007F:1F90", "00000000:0000", "0A", 200)
            + &row("0100007F:1F90", "0100007F:A000", "01", 201)
            + &row("0100007F:A000", "0100007F:1F90", "01", 202);
        assert_eq!(["200", "201", "202"].map(|inode| is_accepted_tcp(&tcp, inode)), [false, true, false]);
    }

    #[test]
    fn a_table_is_read_whole_or_not_at_all_whatever_names_are_in_it() {
        let named = whole(&b"a \xff\xfe b"[..]);
        assert!(named.as_deref().is_some_and(|text| text.starts_with("a ") && text.ends_with(" b")), "{named:?}");
        assert_eq!(whole(std::io::repeat(b'x').take(MAX_TABLE as u64)).map(|text| text.len()), Some(MAX_TABLE));
        assert_eq!(whole(std::io::repeat(b'x')), None);
    }

    #[test]
    fn a_look_that_does_not_come_back_holds_nobody_up() {
        let (ask, _asked) = channel();
        let (_tell, told) = channel();
        let mut looks = Looks { looker: Some((ask, told)), is_asked: true };
        looks.look(&mut Requests::default());
        assert!(looks.is_asked && looks.looker.is_some());
        // Whoever looks has taken its time and ended.
        let (ask, _) = channel();
        let (_, told) = channel();
        let mut looks = Looks { looker: Some((ask, told)), is_asked: true };
        looks.look(&mut Requests::default());
        assert!(looks.looker.is_none());
    }
}
