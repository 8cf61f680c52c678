//! Whether a thread waits for what comes by a connection that it accepted: that is where a server gets its requests. Waits for
//! other threads alone do not tell who asks whom.

use super::requests::Requests;
use punctual_kernel::clock;
use punctual_recording::Stage;

/// The calls by which a thread waits for one connection.
const READS: [libc::c_long; 4] = [libc::SYS_read, libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmsg];
/// So often is looked at all threads together: each look reads tables of all connections.
const MAX_LOOKS: u32 = 512;
/// How the tables write that a socket listens, or is connected.
const UNIX_LISTENS: &str = "00010000";
const UNIX_CONNECTED: &str = "03";
const TCP_LISTENS: &str = "0A";
const TCP_CONNECTED: &str = "01";

/// Looks at followed threads while they wait.
pub(super) struct Looks {
    left: u32,
}

impl Looks {
    /// For requests; in a PID namespace `/proc` knows threads by other numbers.
    pub(super) fn new(stage: Stage) -> Looks {
        Looks { left: if stage == Stage::Request && !clock::in_pid_namespace() { MAX_LOOKS } else { 0 } }
    }

    /// Looks at one thread, if there is one of which it is not known yet where it gets its requests.
    pub(super) fn look(&mut self, requests: &mut Requests) {
        if self.left == 0 {
            return;
        }
        let Some(tid) = requests.to_look_at() else { return };
        self.left -= 1;
        if waits_at_accepted(tid).unwrap_or(false) {
            // Whether it waited there all the time shows when the wait is over.
            requests.waits_at_accepted(tid, clock::monotonic_ns());
        }
    }
}

/// `None` if that is not known: it does not wait so, or ended, or may not be looked at.
fn waits_at_accepted(tid: u32) -> Option<bool> {
    let directory = format!("/proc/{tid}");
    let call = std::fs::read_to_string(format!("{directory}/syscall")).ok()?;
    let descriptor = descriptor(&call)?;
    let link = std::fs::read_link(format!("{directory}/fd/{descriptor}")).ok()?;
    let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    let table = |name: &str| std::fs::read_to_string(format!("{directory}/net/{name}")).unwrap_or_default();
    Some(
        is_accepted_unix(&table("unix"), inode)
            || ["tcp", "tcp6"].iter().any(|name| is_accepted_tcp(&table(name), inode)),
    )
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
    let own = rows().find(|row| row.len() > 7 && row[6] == inode && row[5] == UNIX_CONNECTED);
    own.is_some_and(|own| rows().any(|row| row.len() > 7 && row[3] == UNIX_LISTENS && row[7..] == own[7..]))
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
}
