//! Asks the process that serves for time.

use super::record::Served;
use super::words::Request;
use super::{PLACE, is_trusted};
use punctual_kernel::Refused;
use punctual_rialto::Share;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

/// A connection to the process that serves: what it was granted lasts as long as this does.
pub struct Client {
    reader: BufReader<UnixStream>,
}

/// An answer, and when it was given, ns of the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The reason where it was refused.
    pub refusal: Option<String>,
    /// When the process that serves had decided.
    pub at_ns: u64,
}

/// An answer takes microseconds; whoever does not give one in this time does not serve.
const PATIENCE: Duration = Duration::from_secs(10);

impl Client {
    /// Connects to the process that serves; `None` where there is none.
    ///
    /// # Errors
    /// Where its name is held by somebody who need not be trusted.
    pub fn connect() -> Result<Option<Client>, Refused> {
        let doing = "asking for a reservation";
        let address = SocketAddr::from_abstract_name(PLACE);
        let stream = match address.and_then(|address| UnixStream::connect_addr(&address)) {
            Ok(stream) => stream,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => return Ok(None),
            Err(error) => return Err(Refused::because(doing, punctual_kernel::plain(&error))),
        };
        if !is_trusted(&stream) {
            return Err(Refused::because(doing, "another user holds the name of the process that serves"));
        }
        let prepared = stream.set_read_timeout(Some(PATIENCE));
        prepared.map_err(|error| Refused::because(doing, punctual_kernel::plain(&error)))?;
        Ok(Some(Client { reader: BufReader::new(stream) }))
    }

    /// Asks for a reservation of a process's threads, or of those of them whose name begins like this.
    ///
    /// # Errors
    /// Where nobody answers. A refusal is an answer.
    pub fn reserve(&mut self, process: u32, share: Share, name: &str) -> Result<Answered, Refused> {
        self.ask(&Request::Reserve { process, share, name: name.to_owned() }).and_then(|line| answered(&line))
    }

    /// Gives the reservation back, and says what it got.
    ///
    /// # Errors
    /// Where nobody answers.
    pub fn release(&mut self) -> Result<Served, Refused> {
        let line = self.ask(&Request::Release)?;
        serde_json::from_str(&line).map_err(|_| unexpected(&line))
    }

    /// Asks for CPU time of the calling thread until a time of the monotonic clock.
    ///
    /// # Errors
    /// Where nobody answers. A refusal is an answer.
    pub fn constrain(&mut self, thread: u32, estimate_ns: u64, deadline_ns: u64) -> Result<Answered, Refused> {
        self.ask(&Request::Constrain { thread, estimate_ns, deadline_ns }).and_then(|line| answered(&line))
    }

    /// The work of the time constraint is done, or given up.
    ///
    /// # Errors
    /// Where nobody answers.
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
