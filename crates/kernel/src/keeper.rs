//! The keeper: a child process that restores the scheduling of other programs' threads when its parent is gone, however
//! that happened.
//!
//! It is told about each thread before that is changed, over its standard input, a line of JSON at a time. When the
//! input ends without [`Keeper::let_stay`], or when it has not heard from the parent for [`PATIENCE`], since what the
//! parent changed may have taken its CPUs from it, it restores every thread that it was told about, and again at the end
//! if the parent went on in between. It is a session of its own and ignores the signals that ask its parent to end, and
//! nothing of lower priority keeps it from a CPU.

use crate::Refused;
use crate::other_thread::{Before, PutBack, ThreadScheduling, put_back_all};
use crate::reservation_watch::{ReservationWatch, Stuck};
use crate::scheduling::{Scheduling, set_scheduling};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A parent that has changed threads and stays silent for this long is taken to be starved by them.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// How often the parent reports.
const BEAT: Duration = Duration::from_millis(500);

/// The hidden subcommand under which the keeper runs.
pub const SUBCOMMAND: &str = "__keeper";

/// What the keeper is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// This thread is about to be changed.
    Hold(Before),
    /// It is as it was again.
    Forget(u32),
    /// What was changed may stay.
    LetStay,
    /// The parent is alive.
    Beat,
}

/// The parent's side: threads are changed through it, and put back when it is dropped.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    held: Vec<Before>,
    watch: ReservationWatch,
}

impl Keeper {
    /// Starts the keeper, which is this program again, and a thread that tells it that this process still gets CPU time.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start() -> Result<Keeper, Refused> {
        let failed = |error: std::io::Error| Refused::because("starting the keeper process", crate::plain(&error));
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let keeper = Keeper { child, input: Arc::clone(&input), held: Vec::new(), watch: ReservationWatch::default() };
        let beat = move || {
            while tell(&input, &Message::Beat).is_ok() {
                std::thread::sleep(BEAT);
            }
        };
        std::thread::Builder::new().name("beat".to_owned()).spawn(beat).map_err(failed)?;
        Ok(keeper)
    }

    /// Schedules a thread differently until it is put back. It is put back to how it was the first time.
    ///
    /// # Errors
    /// If the thread is gone or the kernel refuses; then it is as it was.
    pub fn change(&mut self, tid: u32, to: ThreadScheduling) -> Result<(), Refused> {
        if !self.held.iter().any(|held| held.tid == tid && held.is_there()) {
            let before = Before::of(tid)?;
            self.held.retain(|held| held.tid != tid);
            tell(&self.input, &Message::Hold(before.clone()))?;
            self.held.push(before);
        }
        to.set(tid)?;
        if let Some(before) = self.held.iter().find(|held| held.tid == tid) {
            self.watch.begin(before, to);
        }
        Ok(())
    }

    /// Frees threads that the kernel keeps from the CPU although they have the reservation that they were given. Call it as often as
    /// you like.
    pub fn free_stuck(&mut self) -> Vec<Stuck> {
        self.watch.look()
    }

    /// The threads that were changed, as they were.
    pub fn held(&self) -> &[Before] {
        &self.held
    }

    /// Puts every thread back, the last one first, and says what happened to each. Whoever could not be put back is still held: a
    /// later change is put back to how it was the first time.
    pub fn put_back(&mut self) -> Vec<(Before, PutBack)> {
        self.watch.rest();
        let held = std::mem::take(&mut self.held);
        let happened = put_back_all(&held);
        for (before, what) in held.iter().zip(&happened) {
            // The keeper tries again where the kernel refused.
            if matches!(what, PutBack::Refused(_)) {
                self.held.push(before.clone());
            } else {
                let _ = tell(&self.input, &Message::Forget(before.tid));
            }
        }
        held.into_iter().zip(happened).collect()
    }

    /// Leaves the threads as they are now, even after this process has ended. Returns how they were.
    ///
    /// # Errors
    /// If the keeper is gone: then they are put back.
    pub fn let_stay(mut self) -> Result<Vec<Before>, Refused> {
        tell(&self.input, &Message::LetStay)?;
        Ok(std::mem::take(&mut self.held))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Here first, in case somebody killed the keeper.
        drop(self.put_back());
        *lock(&self.input) = None;
        let _ = self.child.wait();
    }
}

fn lock(input: &Mutex<Option<ChildStdin>>) -> MutexGuard<'_, Option<ChildStdin>> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(input: &Mutex<Option<ChildStdin>>, message: &Message) -> Result<(), Refused> {
    let failed =
        |why: String| Refused::because("telling the keeper process", format!("{why}: nothing further is changed"));
    let mut input = lock(input);
    let input = input.as_mut().ok_or_else(|| failed("it is gone".to_owned()))?;
    let mut line = serde_json::to_vec(message).map_err(|error| failed(error.to_string()))?;
    line.push(b'\n');
    input.write_all(&line).map_err(|error| failed(crate::plain(&error)))
}

/// Runs until its input ends. Call it from the hidden subcommand [`SUBCOMMAND`].
pub fn serve() {
    let _ = rustix::thread::set_name(c"thread-keeper");
    let _ = rustix::process::setsid();
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: no handler is set, so nothing runs when the signal comes.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // Without the right to it, the changed threads cannot have a higher priority either.
    let _ = set_scheduling(Scheduling::Fifo(99));
    put_back_after(std::io::stdin(), PATIENCE);
}

fn put_back_after(mut input: impl Read + AsFd, patience: Duration) {
    let mut held: Vec<Before> = Vec::new();
    let (mut received, mut chunk) = (Vec::new(), [0u8; 4_096]);
    let (mut heard, mut is_put_back) = (Instant::now(), false);
    loop {
        let is_patient = held.is_empty() || is_put_back;
        let left = if is_patient { patience } else { patience.saturating_sub(heard.elapsed()) };
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let came = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&timeout));
        if matches!(came, Ok(0)) {
            if !is_put_back {
                drop(put_back_all(&held));
            }
            // A parent that goes on believes that they are held, and may change them again without a word.
            is_put_back = true;
            continue;
        }
        let Ok(length @ 1..) = input.read(&mut chunk) else { break };
        (heard, is_put_back) = (Instant::now(), false);
        received.extend_from_slice(&chunk[..length]);
        while let Some(end) = received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = received.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Message::Hold(before)) => held.push(before),
                Ok(Message::Forget(tid)) => held.retain(|before| before.tid != tid),
                Ok(Message::LetStay) => held.clear(),
                Ok(Message::Beat) | Err(_) => {}
            }
        }
    }
    drop(put_back_all(&held));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling::set_nice;

    fn say(output: &mut impl Write, message: &Message) {
        output.write_all((serde_json::to_string(message).unwrap() + "\n").as_bytes()).unwrap();
    }

    #[test]
    fn what_could_not_be_put_back_is_still_held() {
        let mut before = Before::of(crate::clock::thread_id()).unwrap();
        // No kernel gives more time than there is in a period.
        before.scheduling = ThreadScheduling::reserved(20_000_000, 10_000_000);
        let child = Command::new("true").spawn().unwrap();
        let mut keeper =
            Keeper { child, input: Arc::default(), held: vec![before.clone()], watch: ReservationWatch::default() };
        for _ in 0..2 {
            let happened = keeper.put_back();
            assert!(matches!(happened[..], [(_, PutBack::Refused(_))]), "{happened:?}");
            assert_eq!(keeper.held(), [before.clone()]);
        }
    }

    #[test]
    fn what_was_put_back_from_a_silent_parent_is_still_held_when_that_goes_on() {
        const TEST: &str = "what_was_put_back_from_a_silent_parent_is_still_held_when_that_goes_on";
        std::thread::spawn(|| {
            let tid = crate::clock::thread_id();
            let nice = move || ThreadScheduling::of(tid).unwrap().to_string();
            set_nice(0);
            let before = Before::of(tid).unwrap();
            set_nice(5);
            if before.scheduling.to_string() != "other" || !matches!(before.put_back(), PutBack::Done) {
                return punctual_testing::skip(TEST, "this user may not lower a niceness");
            }
            set_nice(5);
            let (input, mut output) = std::io::pipe().unwrap();
            let keeper = std::thread::spawn(move || put_back_after(input, Duration::from_millis(50)));
            say(&mut output, &Message::Hold(before));
            let until = Instant::now() + Duration::from_secs(20);
            while nice() != "other" {
                assert!(Instant::now() < until, "the keeper did not put it back");
                std::thread::sleep(Duration::from_millis(1));
            }
            // The parent was stopped and goes on.
            say(&mut output, &Message::Beat);
            set_nice(5);
            drop(output);
            keeper.join().unwrap();
            assert_eq!(nice(), "other");
        })
        .join()
        .unwrap();
    }

    const TEST: &str = "what_is_held_is_put_back_and_what_may_stay_is_not";

    #[test]
    fn what_is_held_is_put_back_and_what_may_stay_is_not() {
        let hold = |before: &Before| Message::Hold(before.clone());
        std::thread::spawn(move || {
            let tid = crate::clock::thread_id();
            let nice = || ThreadScheduling::of(tid).unwrap().to_string();
            set_nice(0);
            let before = Before::of(tid).unwrap();
            if before.scheduling.to_string() != "other" {
                return punctual_testing::skip(TEST, "this user may not lower a niceness");
            }
            let mut met = 0;
            for (said, stays_open, after) in [
                (vec![hold(&before)], false, "other"),
                (vec![hold(&before), Message::Beat], true, "other"),
                (vec![hold(&before), Message::Forget(tid)], false, "other, nice 5"),
                (vec![hold(&before), Message::LetStay], false, "other, nice 5"),
            ] {
                set_nice(5);
                let (input, mut output) = std::io::pipe().unwrap();
                said.iter().for_each(|message| say(&mut output, message));
                // A parent that is alive but silent is starved.
                let parent = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(if stays_open { 400 } else { 0 }));
                    drop(output);
                });
                put_back_after(input, Duration::from_millis(100));
                parent.join().unwrap();
                if after == "other" && nice() != after {
                    return punctual_testing::skip(TEST, "this user may not lower a niceness");
                }
                assert_eq!(nice(), after);
                met += 1;
            }
            assert_eq!(met, 4);
        })
        .join()
        .unwrap();
    }
}
