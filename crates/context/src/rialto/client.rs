//! Asks the serving process for time.

use super::PLACE;
use super::record::Served;
use super::words::Request;
use punctual_kernel::Refused;
use punctual_kernel::local_line::is_trusted;
use punctual_rialto::Share;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection to the serving process: what it granted lasts as long as this does.
pub struct Client {
    reader: BufReader<UnixStream>,
}

/// An answer, and when it was given, ns of the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The reason, if it was refused.
    pub refusal: Option<String>,
    /// When the serving process had decided.
    pub at_ns: u64,
}

/// An answer takes microseconds; a process that does not give one in this time does not serve.
const PATIENCE: Duration = Duration::from_secs(10);

impl Client {
    /// Connects to the serving process; `None` if there is none.
    ///
    /// # Errors
    /// If somebody holds its name who need not be trusted, or who accepts nobody; in a PID namespace.
    pub fn connect() -> Result<Option<Client>, Refused> {
        let client = Client::to(PLACE)?;
        if client.is_some() {
            super::kernels_numbers("asking for a reservation")?;
        }
        Ok(client)
    }

    fn to(place: &str) -> Result<Option<Client>, Refused> {
        let doing = "asking for a reservation";
        let failed = |error: Errno| Refused::because(doing, punctual_kernel::plain(&error.into()));
        let address = SocketAddrUnix::new_abstract_name(place.as_bytes()).map_err(failed)?;
        // Without waiting: anybody may hold the name and accept nobody, and who that is shows only once this is connected.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
        match connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::CONNREFUSED) => return Ok(None),
            Err(Errno::AGAIN) => return Err(Refused::because(doing, "too many others are waiting to be served")),
            Err(error) => return Err(failed(error)),
        }
        let stream = UnixStream::from(socket);
        if !is_trusted(&stream) {
            return Err(Refused::because(doing, "another user holds the name of the process that serves"));
        }
        let prepared = stream.set_nonblocking(false);
        let prepared = prepared.and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        let prepared = prepared.and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        prepared.map_err(|error| Refused::because(doing, punctual_kernel::plain(&error)))?;
        Ok(Some(Client { reader: BufReader::new(stream) }))
    }

    /// Asks for a reservation for a process's threads, or for those of them whose names begin like this.
    ///
    /// # Errors
    /// If nobody answers. A refusal is an answer.
    pub fn reserve(&mut self, process: u32, share: Share, name: &str) -> Result<Answered, Refused> {
        self.ask(&Request::Reserve { process, share, name: name.to_owned() }).and_then(|line| answered(&line))
    }

    /// Gives the reservation back, and returns what it got.
    ///
    /// # Errors
    /// If nobody answers.
    pub fn release(&mut self) -> Result<Served, Refused> {
        let line = self.ask(&Request::Release)?;
        serde_json::from_str(&line).map_err(|_| unexpected(&line))
    }

    /// Asks for CPU time for the calling thread until a time of the monotonic clock.
    ///
    /// # Errors
    /// If nobody answers. A refusal is an answer.
    pub fn constrain(&mut self, thread: u32, estimate_ns: u64, deadline_ns: u64) -> Result<Answered, Refused> {
        self.ask(&Request::Constrain { thread, estimate_ns, deadline_ns }).and_then(|line| answered(&line))
    }

    /// Says that the time constraint's work is done, or given up.
    ///
    /// # Errors
    /// If nobody answers.
    pub fn end(&mut self) -> Result<(), Refused> {
        self.ask(&Request::End).map(drop)
    }

    fn ask(&mut self, request: &Request) -> Result<String, Refused> {
        let refused = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::BrokenPipe
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::UnexpectedEof => {
                Refused::because("asking for CPU time", "the process that served it has ended")
            }
            _ => Refused::because("asking for CPU time", punctual_kernel::plain(&error)),
        };
        self.reader.get_mut().write_all((request.line() + "\n").as_bytes()).map_err(refused)?;
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => Err(refused(std::io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(refused(error)),
        }
    }
}

fn unexpected(line: &str) -> Refused {
    Refused::because("asking for CPU time", format!("the process that serves answers `{line}`"))
}

/// `granted AT_NS` or `refused AT_NS REASON`.
fn answered(line: &str) -> Result<Answered, Refused> {
    let mut words = line.splitn(3, ' ');
    let first = words.next();
    let at_ns = words.next().and_then(|word| word.parse().ok()).ok_or_else(|| unexpected(line))?;
    let refusal = match first {
        Some("granted") => None,
        Some("refused") => Some(words.next().unwrap_or("no reason").to_owned()),
        _ => return Err(unexpected(line)),
    };
    Ok(Answered { refusal, at_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, listen};

    #[test]
    fn whoever_holds_the_name_and_accepts_nobody_holds_nobody_up() {
        let place = format!("punctual-test-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(place.as_bytes()).unwrap();
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&listener, &address).unwrap();
        listen(&listener, 0).unwrap();
        // As many as find room.
        let mut waiting = Vec::new();
        let refusal = loop {
            match Client::to(&place) {
                Ok(client) => waiting.push(client),
                Err(refusal) => break refusal.to_string(),
            }
            assert!(waiting.len() < 100, "there is no end to the room");
        };
        assert!(refusal.contains("too many others"), "{refusal}");
        drop(listener);
        assert!(Client::to(&place).unwrap().is_none());
    }
}
