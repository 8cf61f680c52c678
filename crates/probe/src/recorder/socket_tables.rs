//! The kernel's tables of sockets: which connections somebody accepted, and which somebody asked for.

use super::connections::WaitedFor;
use punctual_kernel::unix_peers::UnixPeers;
use punctual_recording::printable;
use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;

/// A table that is longer than this is not known, bytes.
const MAX_TABLE: usize = 4 << 20;
/// How the tables write that a socket listens, or is connected.
const UNIX_LISTENS: &str = "00010000";
const UNIX_CONNECTED: &str = "03";
const TCP_LISTENS: &str = "0A";
const TCP_CONNECTED: &str = "01";

/// The rows of a table that hold these words, in columns: most rows need not be looked into.
fn rows_with<'a>(table: &'a str, words: &str) -> impl Iterator<Item = Vec<&'a str>> {
    table.lines().filter(move |line| line.contains(words)).map(|line| line.split_ascii_whitespace().collect())
}

/// All sockets, as the kernel lists them. A table is read when it is first needed, since a walk through an empty one takes milliseconds where
/// the kernel has room for many connections; `None` is not known.
#[derive(Default)]
pub(super) struct Tables<'a> {
    /// The thread's, in `/proc`.
    directory: String,
    unix: OnceCell<Option<String>>,
    tcp: OnceCell<Option<String>>,
    /// Tells which local sockets are connected to each other.
    peers: Option<&'a UnixPeers>,
}

impl<'a> Tables<'a> {
    pub(super) fn of(directory: &str, peers: Option<&'a UnixPeers>) -> Tables<'a> {
        Tables { directory: directory.to_owned(), peers, ..Tables::default() }
    }

    fn read(&self, name: &str) -> Option<String> {
        whole(File::open(format!("{}/net/{name}", self.directory)).ok()?)
    }

    fn unix(&self) -> Option<&str> {
        self.unix.get_or_init(|| self.read("unix")).as_deref()
    }

    /// Of both versions: one may listen for both where only connections of the other are.
    fn tcp(&self) -> Option<&str> {
        let both = || self.read("tcp").map(|tcp| tcp + &self.read("tcp6").unwrap_or_default());
        self.tcp.get_or_init(both).as_deref()
    }

    /// Whether the tables of local and of other sockets were needed.
    #[cfg(test)]
    pub(super) fn were_read(&self) -> [bool; 2] {
        [&self.unix, &self.tcp].map(|table| table.get().is_some())
    }

    /// What comes by a connection.
    pub(super) fn awaited(&self, inode: &str) -> Option<WaitedFor> {
        self.brings(inode).map(|(brings, _)| brings)
    }

    /// What comes by a connection and, if it is a local socket, the path at which somebody listens. Where the program listens itself, that is a
    /// request.
    pub(super) fn brings(&self, inode: &str) -> Option<(WaitedFor, Option<String>)> {
        if self.unix().is_some_and(|table| listens(table, inode, 6, UNIX_LISTENS)) {
            return Some((WaitedFor::Request, None));
        }
        let of_unix = self.unix().and_then(|table| accepted_at(table, inode));
        let of_unix = of_unix.map(|path| (WaitedFor::Request, path)).or_else(|| self.answers(inode));
        if let Some((brings, path)) = of_unix {
            return Some((brings, Some(path)));
        }
        let tcp = self.tcp()?;
        let brings = if listens(tcp, inode, 9, TCP_LISTENS) { WaitedFor::Request } else { awaited_tcp(tcp, inode)? };
        Some((brings, None))
    }

    /// Whether somebody may connect to it.
    pub(super) fn listens(&self, inode: &str) -> bool {
        let of_unix = self.unix().is_some_and(|table| listens(table, inode, 6, UNIX_LISTENS));
        of_unix || self.tcp().is_some_and(|table| listens(table, inode, 9, TCP_LISTENS))
    }

    /// A local socket without a path whose other end was accepted has asked for the connection: it brings answers.
    fn answers(&self, inode: &str) -> Option<(WaitedFor, String)> {
        let peers = self.peers.filter(|_| self.has_no_path(inode))?;
        let other = peers.of(inode.parse().ok()?)?.to_string();
        accepted_at(self.unix()?, &other).map(|path| (WaitedFor::Answer, path))
    }

    /// Whether it is a connected local socket without a path, which nobody can have accepted: it asked for the connection, or is one of a pair.
    pub(super) fn has_no_path(&self, inode: &str) -> bool {
        let is_it = |row: Vec<&str>| row.len() == 7 && row[6] == inode && row[5] == UNIX_CONNECTED;
        self.unix().is_some_and(|table| rows_with(table, inode).any(is_it))
    }
}

/// Whether the socket with this inode, which is in this column, has the state of one that listens.
fn listens(table: &str, inode: &str, column: usize, listening: &str) -> bool {
    let mut rows = rows_with(table, inode).filter(|row| row.get(column).is_some_and(|own| *own == inode));
    rows.next().is_some_and(|row| row[3] == listening) && rows.next().is_none()
}

/// A table, unless it is too long. Names of sockets are any bytes.
fn whole(table: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    table.take(MAX_TABLE as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_TABLE).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// A local socket with the path of one that listens was accepted. One without a path asked for the connection, or is one of a
/// pair, of which nothing says who asks: its own row does not tell.
fn accepted_at(table: &str, inode: &str) -> Option<String> {
    // Num RefCount Protocol Flags Type St Inode Path
    let rows = |words| rows_with(table, words);
    // The kernel writes line breaks of paths as they are: whoever chooses a path can make up rows.
    let mut found = rows(inode).filter(|row| row.len() > 6 && row[6] == inode);
    let (Some(own), None) = (found.next(), found.next()) else { return None };
    let is_connected = own.len() > 7 && own[5] == UNIX_CONNECTED;
    let listens = |row: Vec<&str>| row.len() > 7 && row[3] == UNIX_LISTENS && row[7..] == own[7..];
    (is_connected && rows(UNIX_LISTENS).any(listens)).then(|| printable(&own[7..].join(" ")))
}

/// A socket with the port of one that listens was accepted: the side that connects has a port of its own. Where nothing listens any more,
/// as for connections that were accepted before a fork, and for the other side on another machine, nothing tells which it is.
fn awaited_tcp(table: &str, inode: &str) -> Option<WaitedFor> {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    let rows = |words| rows_with(table, words);
    let port = |address: &str| address.rsplit(':').next().map(str::to_owned);
    let own = rows(inode).find(|row| row.len() > 9 && row[9] == inode && row[3] == TCP_CONNECTED)?;
    let listens =
        |at: &str| rows(TCP_LISTENS).any(|row| row.len() > 9 && row[3] == TCP_LISTENS && port(row[1]) == port(at));
    match (listens(own[1]), listens(own[2])) {
        (true, false) => Some(WaitedFor::Request),
        (false, true) => Some(WaitedFor::Answer),
        // Both may use the port at which they listen.
        (true, true) | (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn the_side_that_accepted_has_the_path_or_the_port_of_who_listens() {
        let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 100 /run/api.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 101 /run/api.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 102\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 103 /run/of-a-client\n";
        let found = ["100", "101", "102", "103", "104"].map(|inode| accepted_at(unix, inode));
        assert_eq!(found, [None, Some("/run/api.sock".to_owned()), None, None, None]);
        let tables = Tables { unix: OnceCell::from(Some(unix.to_owned())), ..Tables::default() };
        assert_eq!(["100", "101", "102", "103"].map(|inode| tables.has_no_path(inode)), [false, false, true, false]);
        assert_eq!(["100", "101", "104"].map(|inode| listens(unix, inode, 6, UNIX_LISTENS)), [true, false, false]);
        let made_up = format!("{unix}0: 00000003 00000000 00000000 0001 03 102 /run/api.sock\n");
        assert_eq!(accepted_at(&made_up, "102"), None, "a row that a path makes up");
        assert_eq!(accepted_at(&made_up, "101").as_deref(), Some("/run/api.sock"));
        let row = |local: &str, remote: &str, state: &str, inode: u32| {
            format!(
                "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0\n"
            )
        };
        let tcp = row("0100007F:1F90", "00000000:0000", "0A", 200)
            + &row("0100007F:1F90", "0100007F:A000", "01", 201)
            + &row("0100007F:A000", "0100007F:1F90", "01", 202);
        let found = ["200", "201", "202"].map(|inode| awaited_tcp(&tcp, inode));
        assert_eq!(found, [None, Some(WaitedFor::Request), Some(WaitedFor::Answer)]);
        let tables = Tables { tcp: OnceCell::from(Some(tcp.clone())), ..Tables::default() };
        assert_eq!(["200", "201", "202"].map(|inode| listens(&tcp, inode, 9, TCP_LISTENS)), [true, false, false]);
        assert_eq!(tables.brings("200"), Some((WaitedFor::Request, None)), "who connects there asks");
        // Nobody listens any more, and both do.
        let (_, connected) = tcp.split_once('\n').unwrap();
        let both = row("0100007F:A000", "00000000:0000", "0A", 203) + &tcp;
        for table in [connected, both.as_str()] {
            assert_eq!(["201", "202"].map(|inode| awaited_tcp(table, inode)), [None, None], "{table}");
        }
    }

    /// The sockets of this test: who asked by a path gets answers, who accepted gets requests, and of a pair nothing tells.
    #[test]
    fn a_local_socket_whose_other_end_was_accepted_brings_answers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("api.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let (one, _other) = UnixStream::pair().unwrap();
        let peers = UnixPeers::open();
        let tables = Tables::of("/proc/self", peers.as_ref());
        let brings = |stream: &UnixStream| tables.awaited(&rustix::fs::fstat(stream).unwrap().st_ino.to_string());
        if tables.unix().is_none() {
            return punctual_testing::skip("answers by local sockets", "the table of local sockets is too long");
        }
        assert_eq!(brings(&server), Some(WaitedFor::Request));
        assert_eq!(tables.were_read(), [true, false], "who waits for a local socket needs no others");
        assert_eq!(brings(&one), None);
        let inode = |stream: &UnixStream| rustix::fs::fstat(stream).unwrap().st_ino as u32;
        if peers.as_ref().and_then(|peers| peers.of(inode(&one))).is_none() {
            return punctual_testing::skip("answers by local sockets", "this kernel does not tell (CONFIG_UNIX_DIAG)");
        }
        assert_eq!(brings(&client), Some(WaitedFor::Answer));
        for stream in [&server, &client] {
            let (_, found) = tables.brings(&inode(stream).to_string()).unwrap();
            assert_eq!(found.as_deref(), path.to_str());
        }
        // Nobody listens any more: nothing tells who asked.
        drop(listener);
        let tables = Tables::of("/proc/self", peers.as_ref());
        assert_eq!(tables.awaited(&inode(&client).to_string()), None);
    }

    #[test]
    fn a_table_is_read_whole_or_not_at_all_whatever_names_are_in_it() {
        let named = whole(&b"a \xff\xfe b"[..]);
        assert!(named.as_deref().is_some_and(|text| text.starts_with("a ") && text.ends_with(" b")), "{named:?}");
        assert_eq!(whole(std::io::repeat(b'x').take(MAX_TABLE as u64)).map(|text| text.len()), Some(MAX_TABLE));
        assert_eq!(whole(std::io::repeat(b'x')), None);
    }
}
