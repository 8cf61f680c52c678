//! A user's own display: the one on which a running program shows its windows, or that of whoever asks; and a connection
//! to it.

use punctual_recording::input::open_file;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{geteuid, getuid};
use std::collections::HashMap;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use x11rb::rust_connection::{DefaultStream, RustConnection};

/// The longest environment or file of keys, bytes.
const MAX_BYTES: u64 = 1 << 20;
/// How a client shows that it may connect.
const PROTOCOL: &[u8] = b"MIT-MAGIC-COOKIE-1";

/// Display servers that are named; others are called a display server.
const SERVERS: [&str; 5] = ["Xorg", "Xwayland", "Xvfb", "Xephyr", "Xvnc"];

/// A display, as a process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsersDisplay {
    process: u32,
    /// Whose process it is.
    user: u32,
    number: u32,
    /// The file with the key.
    authority: Option<String>,
    key: Option<Vec<u8>>,
}

impl UsersDisplay {
    /// The display of a process, or why it has none, in words.
    pub(crate) fn of(process: u32) -> Result<UsersDisplay, String> {
        let user = std::fs::metadata(format!("/proc/{process}")).map_err(|error| error.to_string())?.uid();
        let environment = bytes_of(&format!("/proc/{process}/environ"), None).ok_or_else(|| {
            let remedy = if geteuid().is_root() { ", not even by root" } else { ": run it with sudo" };
            format!("its environment cannot be read{remedy}")
        })?;
        let words = environment.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok());
        let words: HashMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let name = words.get("DISPLAY").filter(|name| !name.is_empty()).ok_or("it has no X display (DISPLAY)")?;
        let told = |name: &str| words.get(name).map(|word| (*word).to_owned());
        UsersDisplay::named(process, user, name).map(|display| display.with_key(told("XAUTHORITY"), told("HOME")))
    }

    /// The display of whoever asks, under `sudo` whoever asked that, or why there is none, in words.
    pub(crate) fn of_asker() -> Result<UsersDisplay, String> {
        let told = |name: &str| std::env::var(name).ok().filter(|word| !word.is_empty());
        let own = getuid().as_raw();
        let asker = told("SUDO_UID").filter(|_| own == 0).and_then(|user| user.parse().ok());
        let name = told("DISPLAY").ok_or("there is no X display (DISPLAY is not set)")?;
        let display = UsersDisplay::named(std::process::id(), asker.unwrap_or(own), &name)?;
        Ok(display.with_key(told("XAUTHORITY"), told("HOME")))
    }

    /// Without the key.
    fn named(process: u32, user: u32, name: &str) -> Result<UsersDisplay, String> {
        let number = number(name)?;
        Ok(UsersDisplay { process, user, number, authority: None, key: None })
    }

    /// With the key from this file, or else from the usual one below this directory.
    fn with_key(mut self, file: Option<String>, home: Option<String>) -> UsersDisplay {
        let Some(path) = file.or_else(|| home.map(|home| format!("{home}/.Xauthority"))) else { return self };
        // As the process sees it, and only what belongs to its user, because root reads it for them.
        let keys = bytes_of(&format!("/proc/{}/root{path}", self.process), Some(self.user));
        self.key = keys.and_then(|keys| key(&keys, self.number));
        self.authority = Some(path);
        self
    }

    /// The same as [`UsersDisplay::connect`], where that display belongs to whoever asks: they run its server, or have the
    /// key to one that root runs.
    pub(crate) fn connect_as_owner(&self) -> Result<(RustConnection, u32), String> {
        self.connect_where(|owner| {
            if owner == self.user || self.key.is_some() {
                return Ok(());
            }
            let file = self.authority.as_deref().unwrap_or("XAUTHORITY");
            Err(format!("{} is not known to be yours: {file} of user {} has no key to it", self.name(), self.user))
        })
    }

    /// What a program must have in its environment to show its windows there.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let authority = self.authority.iter().map(|path| ("XAUTHORITY".to_owned(), path.clone()));
        [("DISPLAY".to_owned(), self.name())].into_iter().chain(authority).collect()
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        format!(":{}", self.number)
    }

    /// A connection, and the process of the server.
    pub(crate) fn connect(&self) -> Result<(RustConnection, u32), String> {
        self.connect_where(|_| Ok(()))
    }

    /// The same, if whoever runs the server is right.
    fn connect_where(&self, is_right: impl Fn(u32) -> Result<(), String>) -> Result<(RustConnection, u32), String> {
        let path = format!("/proc/{}/root/tmp/.X11-unix/X{}", self.process, self.number);
        let name = self.name();
        let stream = UnixStream::connect(path).map_err(|error| format!("connecting to {name}: {error}"))?;
        let server = socket_peercred(stream.as_fd()).map_err(|error| format!("connecting to {name}: {error}"))?;
        let (owner, server) = (server.uid.as_raw(), server.pid.as_raw_nonzero().get().unsigned_abs());
        // Whoever listens there gets the key.
        if owner != 0 && owner != self.user {
            return Err(format!("{name} is another user's ({owner})"));
        }
        // The process itself chose where that path leads, and the key: root must not hand it to some service of root's.
        let is_asked_for_another = geteuid().as_raw() != self.user;
        if owner != self.user && is_asked_for_another && !is_display_server(server) {
            return Err(format!("{name} is not served by an X server (process {server})"));
        }
        is_right(owner)?;
        let (stream, _) = DefaultStream::from_unix_stream(stream).map_err(|error| error.to_string())?;
        let (protocol, key) = match &self.key {
            Some(key) => (PROTOCOL.to_vec(), key.clone()),
            None => (Vec::new(), Vec::new()),
        };
        let connection = RustConnection::connect_to_stream_with_auth_info(stream, 0, protocol, key);
        let connection = connection.map_err(|error| format!("connecting to {name}: {error}"))?;
        Ok((connection, server))
    }
}

/// The name of a display's server.
pub(crate) fn server_name(process: u32) -> &'static str {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let known = SERVERS.into_iter().find(|known| name.trim() == *known);
    known.unwrap_or("the display server")
}

/// Whether the program of a process is an X server, by its name: `Xorg`, `Xwayland`, `Xvfb`, ...
fn is_display_server(process: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{process}/exe"));
    program.is_ok_and(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"X")))
}

/// The content of a file; `owner` says whose it has to be. The process chose the path: what is no file is not opened.
fn bytes_of(path: &str, owner: Option<u32>) -> Option<Vec<u8>> {
    let file = open_file(Path::new(path)).ok()?;
    let about = file.metadata().ok()?;
    if owner.is_some_and(|owner| about.uid() != owner) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The number of a display of this machine: `:1`, `:1.0`, `unix:1`.
fn number(name: &str) -> Result<u32, String> {
    let parts = name.rsplit_once(':').and_then(|(machine, rest)| {
        let number = rest.split_once('.').map_or(rest, |(number, _)| number);
        Some((machine, number.parse().ok()?))
    });
    let (machine, number) =
        parts.ok_or_else(|| format!("{name:?} is not the name of a display, as :0 is (DISPLAY)"))?;
    if !matches!(machine, "" | "unix") {
        return Err(format!("its display {name} is on another machine"));
    }
    Ok(number)
}

/// The key of a display in a file of keys: of each a family, and four texts with their lengths: where, which, how, and the key.
fn key(mut bytes: &[u8], number: u32) -> Option<Vec<u8>> {
    fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        *bytes = rest;
        Some(text)
    }
    let wanted = number.to_string();
    loop {
        bytes = bytes.get(2..)?;
        let [_, which, how, key] = [text(&mut bytes)?, text(&mut bytes)?, text(&mut bytes)?, text(&mut bytes)?];
        if how == PROTOCOL && (which.is_empty() || which == wanted.as_bytes()) {
            return Some(key.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_of_this_machine_have_a_number() {
        let names = [":1", ":0.0", "unix:12", "far.example:1", "far.example:10.0", ":", "x", ""];
        assert_eq!(names.map(|name| number(name).ok()), [Some(1), Some(0), Some(12), None, None, None, None, None]);
        let why = [("far.example:1", "another machine"), ("x", "not the name of a display"), ("x:y", "not the name")];
        assert!(why.iter().all(|(name, why)| number(name).unwrap_err().contains(why)));
    }

    #[test]
    fn a_display_has_the_key_of_its_number_and_what_is_no_file_of_keys_has_none() {
        let entry = |which: &str, how: &[u8], key: &[u8]| {
            let texts = [b"host".as_slice(), which.as_bytes(), how, key];
            let told = texts.iter().flat_map(|text| [&(text.len() as u16).to_be_bytes()[..], text].concat());
            [&[1u8, 0][..], &told.collect::<Vec<u8>>()].concat()
        };
        let keys = [entry("2", b"OTHER-1", b"x"), entry("1", PROTOCOL, b"one"), entry("2", PROTOCOL, b"two")].concat();
        assert_eq!(key(&keys, 2), Some(b"two".to_vec()));
        assert_eq!(key(&keys, 3), None);
        assert_eq!(key(&entry("", PROTOCOL, b"any"), 3), Some(b"any".to_vec()));
        for broken in [&keys[..keys.len() - 1], b"root:x:0:0:root:/root:/bin/bash\n", b"", b"1"] {
            assert_eq!(key(broken, 2), None);
        }
    }

    #[test]
    fn only_a_file_of_its_user_has_keys_and_nothing_else_is_opened() {
        use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        std::fs::write(path("keys"), "keys").unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, directory.path(), WatchFlags::OPEN).unwrap();
        let own = geteuid().as_raw();
        assert_eq!(bytes_of(&path("pipe"), Some(own)), None);
        let mut room = [std::mem::MaybeUninit::uninit(); 1_024];
        assert!(Reader::new(&watch, &mut room).next().is_err(), "it was opened");
        assert_eq!(bytes_of(&path("keys"), Some(own)).as_deref(), Some(b"keys".as_slice()));
        assert_eq!(bytes_of(&path("keys"), Some(own + 1)), None);
    }

    #[test]
    fn what_is_no_display_server_is_not_taken_for_one() {
        assert!(!is_display_server(std::process::id()));
        assert!(!is_display_server(u32::MAX));
        let directory = tempfile::tempdir().unwrap();
        let server = directory.path().join("Xserver");
        std::fs::copy("/bin/sleep", &server).unwrap();
        let mut child = std::process::Command::new(&server).arg("60").spawn().unwrap();
        assert!(is_display_server(child.id()));
        let _ = child.kill().and_then(|()| child.wait());
    }

    #[test]
    fn a_program_without_a_display_is_said_to_have_none() {
        let mut child = std::process::Command::new("sleep").arg("60").env_clear().spawn().unwrap();
        assert_eq!(UsersDisplay::of(child.id()), Err("it has no X display (DISPLAY)".to_owned()));
        let _ = child.kill().and_then(|()| child.wait());
    }
}
