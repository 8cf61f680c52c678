//! Answers whoever wants time. A connection stands for one reservation and one time constraint; both go away with it.

use super::door::{Door, REST};
use super::record::{Record, Served};
use super::time::Time;
use super::words::{MAX_LINE, Request};
use punctual_kernel::clock;
use punctual_kernel::local_line::is_trusted;
use punctual_rialto::Share;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{PipeReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How many at a time; those beyond wait until one ends.
const MAX_HOLDERS: usize = 32;

/// Somebody at the other end of a connection.
struct Holder {
    stream: UnixStream,
    /// What it has said of the current line.
    text: Vec<u8>,
    reservation: Option<Reserved>,
    constraint: Option<Constrained>,
    is_gone: bool,
}

struct Reserved {
    number: u8,
    share: Share,
    moved: u64,
}

struct Constrained {
    number: u8,
    deadline_ns: u64,
}

/// Serves until the other end of `ended` is closed.
pub(super) fn serve(listener: &UnixListener, ended: &PipeReader, time: &Time, record: &Record) {
    let mut service = Service { time, record, holders: Vec::new(), door: Door::default() };
    loop {
        let (mut came, mut is_over) = (Vec::new(), false);
        let mut is_new = false;
        let shut_for = service.door.shut_for(Instant::now());
        {
            let mut waited = vec![PollFd::new(ended, PollFlags::IN)];
            waited.extend(service.holders.iter().map(|holder| PollFd::new(&holder.stream, PollFlags::IN)));
            if service.holders.len() < MAX_HOLDERS && shut_for.is_none() {
                waited.push(PollFd::new(listener, PollFlags::IN));
            }
            match poll(&mut waited, shut_for.map(timespec).as_ref()) {
                Ok(_) => {
                    let is_there = |number: usize| waited.get(number).is_some_and(|one| !one.revents().is_empty());
                    is_over = is_there(0);
                    came = (0..service.holders.len()).filter(|number| is_there(number + 1)).collect();
                    is_new = is_there(service.holders.len() + 1);
                }
                Err(Errno::INTR) => {}
                // If not even waiting works, nobody can be heard for a while either.
                Err(_) => std::thread::sleep(REST),
            }
        }
        if is_over {
            return;
        }
        for number in came {
            service.hear(number);
        }
        for holder in service.holders.extract_if(.., |holder| holder.is_gone).collect::<Vec<_>>() {
            service.forget(holder);
        }
        if is_new {
            service.let_in(listener);
        }
    }
}

/// A time as the kernel takes it.
fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() }
}

struct Service<'a> {
    time: &'a Time,
    record: &'a Record,
    holders: Vec<Holder>,
    door: Door,
}

impl Service<'_> {
    /// Takes the next connection, unless it is a stranger's.
    fn let_in(&mut self, listener: &UnixListener) {
        match listener.accept() {
            Ok((stream, _)) => {
                let is_welcome = is_trusted(&stream) && stream.set_nonblocking(true).is_ok();
                let holder = Holder { stream, text: Vec::new(), reservation: None, constraint: None, is_gone: false };
                self.holders.extend(is_welcome.then_some(holder));
            }
            Err(error) => self.door.failed(&error, Instant::now()),
        }
    }

    /// Reads what a holder says, and answers each line of it.
    fn hear(&mut self, number: usize) {
        let mut bytes = [0; MAX_LINE];
        let read = self.holders[number].stream.read(&mut bytes);
        match read {
            Ok(0) => self.holders[number].is_gone = true,
            Ok(count) => self.holders[number].text.extend_from_slice(&bytes[..count]),
            Err(error) => {
                let again = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::Interrupted];
                self.holders[number].is_gone = !again.contains(&error.kind());
            }
        }
        while let Some(end) = self.holders[number].text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.holders[number].text.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            let answer = match Request::parse(&line) {
                Some(request) => self.answer(number, request),
                None => refused("no such request"),
            };
            let holder = &mut self.holders[number];
            holder.is_gone |= holder.stream.write_all((answer + "\n").as_bytes()).is_err();
        }
        // A line without an end is none.
        self.holders[number].is_gone |= self.holders[number].text.len() > MAX_LINE;
    }

    fn answer(&mut self, number: usize, request: Request) -> String {
        match request {
            Request::Reserve { process, share, name } => self.reserve(number, process, share, &name),
            Request::Release => match self.release(number) {
                Some(served) => serde_json::to_string(&served).unwrap_or_default(),
                None => refused("it has no reservation"),
            },
            Request::Constrain { thread, estimate_ns, deadline_ns } => {
                self.constrain(number, thread, estimate_ns, deadline_ns)
            }
            Request::End => {
                self.end(number);
                granted()
            }
        }
    }

    fn reserve(&mut self, number: usize, process: u32, share: Share, name: &str) -> String {
        if self.holders[number].reservation.is_some() {
            return refused("it has a reservation");
        }
        match self.time.current().reserve(share, self.time.now_ns()) {
            Ok(new) => {
                if new.has_moved_others {
                    let others = self.holders.iter_mut().filter_map(|holder| holder.reservation.as_mut());
                    others.for_each(|other| other.moved += 1);
                }
                self.record.begin(new.number, &share, process, name);
                self.time.set(new.table);
                self.holders[number].reservation = Some(Reserved { number: new.number, share, moved: 0 });
                granted()
            }
            Err(error) => refused(&error.to_string()),
        }
    }

    fn release(&mut self, number: usize) -> Option<Served> {
        let Reserved { number, share, moved } = self.holders[number].reservation.take()?;
        self.record.end(number);
        self.time.set(self.time.current().release(number));
        let served = self.record.served(number, &share);
        let (unheard, unheard_why) = (self.door.failures, self.door.why.clone());
        Some(Served { moved, latest_ns: self.time.latest_ns(), unheard, unheard_why, ..served })
    }

    fn constrain(&mut self, number: usize, thread: u32, estimate_ns: u64, deadline_ns: u64) -> String {
        let now_ns = self.time.now_ns();
        self.end(number);
        // Those whose deadline is over hold nothing any more, whether they have said so or not.
        for other in 0..self.holders.len() {
            if self.holders[other].constraint.as_ref().is_some_and(|constraint| constraint.deadline_ns <= now_ns) {
                self.end(other);
            }
        }
        let deadline_ns = self.time.since_start(deadline_ns);
        match self.time.current().constrain(now_ns, deadline_ns, estimate_ns) {
            Ok((table, place)) => {
                self.record.constrain(place, thread);
                self.time.set(table);
                self.holders[number].constraint = Some(Constrained { number: place, deadline_ns });
                granted()
            }
            Err(refusal) => refused(&refusal.to_string()),
        }
    }

    fn end(&mut self, number: usize) {
        if let Some(constraint) = self.holders[number].constraint.take() {
            self.record.constrain(constraint.number, 0);
            self.time.set(self.time.current().end(constraint.number));
        }
    }

    /// A connection is gone, and with it what it stood for.
    fn forget(&mut self, holder: Holder) {
        let number = self.holders.len();
        self.holders.push(holder);
        self.release(number);
        self.end(number);
        self.holders.truncate(number);
    }
}

fn granted() -> String {
    format!("granted {}", clock::monotonic_ns())
}

fn refused(why: &str) -> String {
    format!("refused {} {why}", clock::monotonic_ns())
}
