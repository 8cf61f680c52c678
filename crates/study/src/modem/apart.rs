//! Two modems in two processes of one user: one has the exchange and the line and answers, the other calls.
//!
//! The one that answers leads, by this machine's clock: for each block of time it tells the other what its modem hears,
//! and waits for what that sends. So nothing is lost when either is late, and a process that is gone, says nothing or
//! says something else is a lost carrier.

mod end;

use super::line::{LineStep, note, wait};
use end::{ANSWERS, CALLS, End};
use punctual_kernel::local_line::{Came, Connection, Listening, Lost};
use punctual_kernel::{Refused, clock};
use punctual_modem::adapter::BLOCK_NS;
use punctual_modem::apart::{Frame, Garbled, LENGTH, Remote, Says};
use punctual_modem::office::{LineRun, Office};
use punctual_modem::station::Signal;
use punctual_modem::telephone::Telephone;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the other end's process may say nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long whoever has come may take to say that it is a modem.
const GREETING: Duration = Duration::from_secs(1);
/// After how many blocks to look whether to go on: 0.1 s.
const LOOK: u64 = 8;

/// A modem, and what to do with it.
#[derive(Debug, Clone)]
pub struct ApartPlan {
    /// The modem and, where it answers, what is between both.
    pub telephone: Telephone,
    /// Chooses the line's noise.
    pub seed: u64,
    /// What it is for.
    pub work: Work,
    /// After how long it ends by itself; `None`: when somebody ends it, or the other end is done.
    pub duration: Option<Duration>,
}

/// What is done with a modem.
#[derive(Debug, Clone)]
pub enum Work {
    /// It is a terminal for programs.
    Terminal,
    /// It sends a file, as soon as there is a call.
    Send {
        /// Its name, for the answer.
        file: PathBuf,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// It receives a file.
    Receive {
        /// Its name, for the answer.
        file: PathBuf,
        /// How long it may be.
        max: usize,
    },
}

/// Where a modem can be reached.
#[derive(Debug)]
pub struct Ready {
    /// The line, where it answers.
    pub line: Option<PathBuf>,
    /// Its terminal, if it has one.
    pub terminal: Option<PathBuf>,
}

/// What came of a modem.
#[derive(Debug)]
pub struct Apart {
    /// Its calls, and the line.
    pub run: LineRun,
    /// The file that it received, if all of it arrived.
    pub received: Option<Vec<u8>>,
}

/// Why the line to the other process is no more.
enum Broken {
    /// The other end is done.
    Left,
    /// This end was asked to end.
    Stopped,
    /// It was lost.
    Lost(String),
}

impl From<Lost> for Broken {
    fn from(lost: Lost) -> Broken {
        match lost {
            Lost::Stopped => Broken::Stopped,
            Lost::Ended => Broken::Lost("the process at the other end is gone".to_owned()),
            Lost::Silent => {
                Broken::Lost(format!("the process at the other end said nothing for {} s", PATIENCE.as_secs()))
            }
        }
    }
}

impl From<Garbled> for Broken {
    fn from(garbled: Garbled) -> Broken {
        Broken::Lost(garbled.to_string())
    }
}

/// Receives a frame.
fn next(connection: &mut Connection, go_on: &mut dyn FnMut() -> bool) -> Result<Frame, Broken> {
    let mut bytes = [0; LENGTH];
    connection.receive(&mut bytes, PATIENCE, go_on)?;
    let frame = Frame::parse(&bytes)?;
    if frame.says == Says::Leaves { Err(Broken::Left) } else { Ok(frame) }
}

/// Sends a frame. The other end may be gone because it was done, and have said so.
fn send(connection: &mut Connection, frame: &Frame, go_on: &mut dyn FnMut() -> bool) -> Result<(), Broken> {
    match connection.send(&frame.bytes(), PATIENCE, go_on) {
        Err(Lost::Ended) => match next(connection, go_on) {
            Err(Broken::Left) => Err(Broken::Left),
            _ => Err(Lost::Ended.into()),
        },
        sent => Ok(sent?),
    }
}

/// Tells the other end that this one is done.
fn leave(connection: &mut Connection, number: u32) {
    // If it does not hear that, it sees that this process is gone.
    let _ = connection.send(&Frame::silent(number, Says::Leaves).bytes(), GREETING, &mut || true);
}

/// The modem that answers, the exchange, and whoever has come.
struct Serving {
    listening: Listening,
    end: End,
    office: Office<Remote>,
    caller: Option<Connection>,
    number: u32,
    refused: u64,
}

impl Serving {
    fn start(plan: &ApartPlan) -> Result<Serving, Refused> {
        let modems = [Remote::default(), Remote::default()];
        Ok(Serving {
            listening: Listening::start()?,
            end: End::new(plan, ANSWERS)?,
            office: Office::new(modems, None, plan.telephone.line, plan.seed),
            caller: None,
            number: 0,
            refused: 0,
        })
    }

    /// Lets in whoever has come, if it is a modem. One line has one caller: then it listens no more.
    fn greet(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<(), Refused> {
        match self.listening.accept()? {
            Came::Nobody => {}
            Came::Stranger => self.refused += 1,
            Came::In(mut connection) => {
                let mut bytes = [0; LENGTH];
                match connection.receive(&mut bytes, GREETING, go_on) {
                    Ok(()) if Frame::parse(&bytes).is_ok_and(|frame| frame.says == Says::Hello) => {
                        self.listening.close();
                        // Of what was reported before, nothing was for this one.
                        self.office.station(CALLS).gone();
                        self.caller = Some(connection);
                    }
                    Err(Lost::Stopped) => {}
                    _ => self.refused += 1,
                }
            }
        }
        Ok(())
    }

    /// A block of time.
    fn block(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<(), Broken> {
        self.step()?;
        let Some(caller) = &mut self.caller else { return Ok(()) };
        let told = self.office.station(CALLS).tell(self.number);
        send(caller, &told, go_on)?;
        let answer = next(caller, go_on)?;
        self.office.station(CALLS).answered(self.number, &answer)?;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// The exchange's part of a block, and this process's modem's.
    fn step(&mut self) -> Result<(), Garbled> {
        self.office.step();
        let told = self.office.station(ANSWERS).tell(self.number);
        let answer = self.end.respond(self.number, &told)?;
        self.office.station(ANSWERS).answered(self.number, &answer)
    }

    /// The other end is gone: the exchange tells the modem, and that its terminal.
    fn hang_up(&mut self) {
        self.office.station(CALLS).gone();
        let _ = self.step();
        self.end.show();
    }

    /// Writes down what came of it.
    fn ended(mut self, mut run: LineRun, broken: Option<Broken>) -> Apart {
        match broken {
            Some(Broken::Left) => self.hang_up(),
            Some(Broken::Lost(why)) => {
                self.hang_up();
                run.lost = Some(why);
            }
            Some(Broken::Stopped) | None => {
                if let Some(caller) = &mut self.caller {
                    leave(caller, self.number);
                }
            }
        }
        run.refused_connections = self.refused;
        let received = self.end.ended(&mut run);
        Apart { run, received }
    }
}

/// Answers on a new line, which `ready` is told, until its work is over, the process that called is done or lost, its
/// time is up, or `go_on` says so.
///
/// # Errors
/// What the system refused.
pub fn serve(
    plan: &ApartPlan,
    ready: &mut dyn FnMut(&Ready),
    go_on: &mut dyn FnMut(LineStep) -> bool,
) -> Result<Apart, Refused> {
    let mut serving = Serving::start(plan)?;
    ready(&Ready { line: Some(serving.listening.path()), terminal: serving.end.terminal() });
    let mut run = LineRun::default();
    let begin_ns = clock::monotonic_ns();
    let mut due_ns = begin_ns;
    let mut step = serving.end.step(Duration::ZERO);
    let broken = loop {
        let elapsed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(begin_ns));
        if run.blocks.is_multiple_of(LOOK) {
            step = serving.end.step(elapsed);
            if !go_on(step) {
                break None;
            }
        }
        if serving.end.work() || plan.duration.is_some_and(|duration| elapsed >= duration) {
            break None;
        }
        if serving.caller.is_none() {
            serving.greet(&mut || go_on(step))?;
        }
        if let Err(broken) = serving.block(&mut || go_on(step)) {
            // What came before that may have been all of it.
            serving.end.work();
            break Some(broken);
        }
        run.blocks += 1;
        due_ns += BLOCK_NS;
        due_ns = wait(due_ns, &mut run);
    };
    Ok(serving.ended(run, broken))
}

/// Calls over a line on which another process answers, until its work is over or, with a terminal, until `go_on` says so,
/// its time is up, or the other process is done or lost.
///
/// # Errors
/// If nobody answers there, and what the system refused.
pub fn call(
    plan: &ApartPlan,
    line: &Path,
    ready: &mut dyn FnMut(&Ready),
    go_on: &mut dyn FnMut(LineStep) -> bool,
) -> Result<Apart, Refused> {
    let mut connection = Connection::to(line)?;
    let mut end = End::new(plan, CALLS)?;
    ready(&Ready { line: None, terminal: end.terminal() });
    let (mut run, mut number) = (LineRun::default(), 0);
    let begin_ns = clock::monotonic_ns();
    let (mut due_ns, mut step) = (begin_ns, end.step(Duration::ZERO));
    let mut passed = send(&mut connection, &Frame::silent(number, Says::Hello), &mut || go_on(step));
    let broken = loop {
        let told = match passed.and_then(|()| next(&mut connection, &mut || go_on(step))) {
            Ok(told) => told,
            Err(broken) => break broken,
        };
        // The other process keeps the time; how late its blocks come is counted from the first.
        due_ns = if run.blocks == 0 { clock::monotonic_ns() } else { note(due_ns + BLOCK_NS, &mut run) };
        let elapsed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(begin_ns));
        if run.blocks.is_multiple_of(LOOK) {
            step = end.step(elapsed);
            if !go_on(step) {
                break Broken::Stopped;
            }
        }
        if end.work() || plan.duration.is_some_and(|duration| elapsed >= duration) {
            break Broken::Stopped;
        }
        let answer = end.respond(number, &told).map_err(Broken::from);
        passed = answer.and_then(|answer| send(&mut connection, &answer, &mut || go_on(step)));
        number = number.wrapping_add(1);
        run.blocks += 1;
    };
    match broken {
        Broken::Stopped => leave(&mut connection, number),
        Broken::Left | Broken::Lost(_) => {
            // What came before that may have been all of it.
            end.work();
            end.station().signal(Signal::Released);
            end.show();
        }
    }
    if let Broken::Lost(why) = broken {
        run.lost = Some(why);
    }
    let received = end.ended(&mut run);
    Ok(Apart { run, received })
}
