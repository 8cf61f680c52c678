//! Makes a script of what somebody types at a program, or of what they type, click and scroll in its window.

mod own_terminal;
mod typed;
mod window;
mod write;

pub use window::{learn_attached, learn_in_window};

use crate::plan::InteractError;
use crate::script::{Act, MAX_INPUTS};
use crate::terminal::{Program, Terminal};
use own_terminal::OwnTerminal;
use punctual_kernel::capabilities::find_program;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;
use typed::{Typed, TypedReader};
use write::{Happened, Heading, Size, script};

/// How often everything else is attended to.
const ROUND: Duration = Duration::from_millis(20);
/// A key's bytes come together; this tells Escape by itself from the beginning of another key, ns.
const TOGETHER_NS: u64 = 50_000_000;
/// How long to wait for a program's last output.
const LAST_WORDS: Duration = Duration::from_millis(20);
/// How much is kept; a script has fewer inputs.
const MAX_HAPPENED: usize = MAX_INPUTS as usize;
/// How many keys without a name are named in the answer.
const MAX_NAMELESS: usize = 8;

/// Why a learning session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearnEnd {
    /// The program ended, with this code if no signal ended it.
    Program(Option<i32>),
    /// The program, which somebody else had started, is gone: nobody said how.
    Gone,
    /// The user asked for the end.
    Asked,
    /// The terminal is gone.
    HungUp,
}

/// What was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// The script; `None` if nothing was done that it can contain.
    pub script: Option<String>,
    /// Keys in it.
    pub keys: u64,
    /// Clicks in it, of which a double click is two.
    pub clicks: u64,
    /// Turns of the wheel in it, each by a notch.
    pub scrolls: u64,
    /// Keys that were left out because the terminal's echo was off.
    pub left_out: u64,
    /// What was done in windows and is not in it.
    pub not_learned: NotLearned,
    /// Clicks and turns of the wheel in it that came while their window had another size than when it was first used.
    pub resized: u64,
    /// What there was no room for: a script has a greatest length.
    pub too_many: u64,
    /// Keys for which scripts have no name, as the terminal sent them, in a window what was held and the key's symbol; the
    /// first few.
    pub nameless: Vec<String>,
    /// How many of those there were.
    pub nameless_keys: u64,
    /// How long the session was, ns.
    pub lasted_ns: u64,
    /// Why it is over.
    pub end: LearnEnd,
}

/// What somebody did with keyboard and mouse that is not in the script, how often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotLearned {
    /// A button went down in one place and came up in another.
    pub drags: u64,
    /// The pointer stopped on the program, and nothing was clicked there.
    pub hovers: u64,
    /// A click, or a turn of the wheel, while Shift, Control, Alt or Super was held.
    pub with_key_held: u64,
    /// A button other than the first three and the wheel.
    pub other_buttons: u64,
    /// In a window of the program other than the one that was shown last: scripts know that one.
    pub other_windows: u64,
    /// On the program, but beside that window, as in a menu that reaches beyond it.
    pub beside: u64,
    /// In other programs, or nobody took it.
    pub elsewhere: u64,
    /// It came too fast to be taken.
    pub lost: u64,
}

/// Passes the terminal of this process on to a program until that ends, or `is_asked` says so, and learns what is
/// typed. When this returns, the terminal is as it was before.
///
/// # Errors
/// What was refused: there is no terminal, for instance, or no such program.
pub fn learn(program: &[String], is_asked: &dyn Fn() -> bool) -> Result<Learned, InteractError> {
    let name = program.first().map_or("", String::as_str);
    if find_program(name).is_none() {
        return Err(Refused::because(format!("starting `{name}`"), "there is no such executable program").into());
    }
    let own = OwnTerminal::take()?;
    let size = OwnTerminal::size();
    let terminal = Terminal::make(size)?;
    let running = Program::start(program, terminal.path(), Vec::new(), false)?;
    let mut session =
        Session { own, terminal, size, running, listener: Listener::new(clock::monotonic_ns()), waiting: Vec::new() };
    let end = session.pass_on(is_asked);
    let Session { own, running, mut listener, .. } = session;
    let ended = running.end();
    if !matches!(end, LearnEnd::Program(_)) {
        own.undo();
    }
    drop(own);
    let end = if let LearnEnd::Program(_) = end { LearnEnd::Program(ended.flatten()) } else { end };
    listener.nothing_more();
    Ok(listener.learned(name.rsplit('/').next().unwrap_or(name), size, end))
}

/// The terminal of a person, and that of the program.
struct Session {
    own: OwnTerminal,
    terminal: Terminal,
    size: (u16, u16),
    running: Program,
    listener: Listener,
    /// What the program's terminal has had no room for yet.
    waiting: Vec<u8>,
}

impl Session {
    fn pass_on(&mut self, is_asked: &dyn Fn() -> bool) -> LearnEnd {
        let mut buffer = [0u8; 4_096];
        loop {
            let (is_typed, is_heard) = self.wait();
            if is_typed {
                match rustix::io::read(std::io::stdin(), &mut buffer) {
                    Ok(count) if count > 0 => self.typed(&buffer[..count]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    _ => return LearnEnd::HungUp,
                }
            }
            self.hand_on();
            if is_heard && !self.show(Duration::ZERO) {
                return LearnEnd::HungUp;
            }
            self.listener.time_is(clock::monotonic_ns());
            self.fit();
            if self.running.has_ended().is_some() {
                while self.show_more() {}
                return LearnEnd::Program(None);
            }
            if is_asked() {
                return LearnEnd::Asked;
            }
        }
    }

    /// Waits until somebody types or the program puts something out, and returns which of the two.
    fn wait(&self) -> (bool, bool) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: ROUND.subsec_nanos().into() };
        let stdin = std::io::stdin();
        let near = self.terminal.near();
        let mut waited =
            [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN), PollFd::from_borrowed_fd(near, PollFlags::IN)];
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) => (!waited[0].revents().is_empty(), waited[1].revents().contains(PollFlags::IN)),
            Err(_) => (false, false),
        }
    }

    fn typed(&mut self, bytes: &[u8]) {
        let now = clock::monotonic_ns();
        if self.terminal.hides_input() {
            self.listener.left_out(bytes, now);
        } else {
            self.listener.typed(bytes, now);
        }
        self.waiting.extend_from_slice(bytes);
    }

    fn hand_on(&mut self) {
        if !self.waiting.is_empty() {
            let taken = self.terminal.put_in(&self.waiting);
            self.waiting.drain(..taken);
        }
    }

    /// Shows what the program put out; false if nobody sees it any more.
    fn show(&mut self, patience: Duration) -> bool {
        if self.terminal.listen(patience).is_none() {
            return true;
        }
        self.listener.heard(clock::monotonic_ns());
        self.own.show(self.terminal.heard())
    }

    /// Shows what is left; false if nothing more comes.
    fn show_more(&mut self) -> bool {
        self.terminal.listen(LAST_WORDS).is_some() && self.own.show(self.terminal.heard())
    }

    /// Gives the program's terminal the size of the person's.
    fn fit(&mut self) {
        let size = OwnTerminal::size();
        if size != self.size {
            self.size = size;
            self.terminal.resize(size);
        }
    }
}

/// Notes what is typed, and when.
struct Listener {
    reader: TypedReader,
    happened: Vec<Happened>,
    nameless: Vec<String>,
    /// Keys left out, and those without a name.
    counts: (u64, u64),
    /// Keys for which there was no room.
    too_many: u64,
    began_ns: u64,
    /// When something was last typed; before that, when the program put something out.
    last_ns: u64,
    is_typed: bool,
    /// When an incomplete key began, and since when keys are left out.
    within_ns: u64,
    hidden_ns: Option<u64>,
    now_ns: u64,
}

impl Listener {
    fn new(now_ns: u64) -> Listener {
        Listener {
            reader: TypedReader::default(),
            happened: Vec::new(),
            nameless: Vec::new(),
            counts: (0, 0),
            too_many: 0,
            began_ns: now_ns,
            last_ns: now_ns,
            is_typed: false,
            within_ns: now_ns,
            hidden_ns: None,
            now_ns,
        }
    }

    fn typed(&mut self, bytes: &[u8], now_ns: u64) {
        self.now_ns = now_ns;
        self.hidden_ns = None;
        if !self.reader.is_within() {
            self.within_ns = now_ns;
        }
        let at_ns = self.within_ns;
        let typed = self.reader.take(bytes);
        self.note(typed, at_ns);
        self.within_ns = now_ns;
    }

    /// Only the number of these is kept.
    fn left_out(&mut self, bytes: &[u8], now_ns: u64) {
        self.nothing_more();
        let count = bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
        self.counts.0 += count;
        let took = Duration::from_nanos(now_ns.saturating_sub(self.last_ns));
        let is_full = self.happened.len() >= MAX_HAPPENED;
        match self.happened.last_mut().filter(|_| self.hidden_ns.is_some()) {
            Some(Happened::LeftOut { keys, took: all }) => {
                *keys += count;
                *all += took;
            }
            _ if is_full => {}
            _ => self.happened.push(Happened::LeftOut { keys: count, took }),
        }
        (self.hidden_ns, self.is_typed) = (Some(now_ns), true);
        (self.last_ns, self.now_ns) = (now_ns, now_ns);
    }

    fn note(&mut self, typed: Vec<Typed>, at_ns: u64) {
        for one in typed {
            match one {
                Typed::Key(_) if self.happened.len() >= MAX_HAPPENED => self.too_many += 1,
                Typed::Key(name) => {
                    let pause = Duration::from_nanos(at_ns.saturating_sub(self.last_ns));
                    self.happened.push(Happened::Key { name, pause });
                    (self.last_ns, self.is_typed) = (at_ns, true);
                }
                Typed::Nameless(bytes) => {
                    self.counts.1 += 1;
                    if self.nameless.len() < MAX_NAMELESS {
                        self.nameless.push(bytes.escape_ascii().to_string().chars().take(40).collect());
                    }
                }
                Typed::Told => {}
            }
        }
    }

    /// Before the first key, the person waits for what the program shows.
    fn heard(&mut self, now_ns: u64) {
        if !self.is_typed {
            self.last_ns = now_ns;
        }
    }

    fn time_is(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        if self.reader.is_within() && now_ns > self.within_ns + TOGETHER_NS {
            self.nothing_more();
        }
    }

    /// A key that could have gone on does not.
    fn nothing_more(&mut self) {
        let typed = self.reader.end();
        self.note(typed, self.within_ns);
    }

    fn learned(self, program: &str, size: (u16, u16), end: LearnEnd) -> Learned {
        let (left_out, nameless_keys) = self.counts;
        let lasted_ns = self.now_ns.saturating_sub(self.began_ns);
        let learned = written(program, Size::Terminal(size), &self.happened, lasted_ns, end);
        let too_many = learned.too_many + self.too_many;
        Learned { left_out, nameless: self.nameless, nameless_keys, too_many, ..learned }
    }
}

/// The script of what happened, and what is in it.
fn written(program: &str, size: Size, happened: &[Happened], lasted_ns: u64, end: LearnEnd) -> Learned {
    let short: String = program.chars().filter(|letter| !letter.is_control()).take(60).collect();
    let about = format!("learned from {} s of somebody's use of {short}", lasted_ns / 1_000_000_000);
    let (text, kept) = script(&Heading { name: &format!("{short}, learned"), about: &about, size }, happened);
    let (inside, outside) = happened.split_at(kept);
    let is_input = |one: &&Happened| matches!(one, Happened::Key { .. } | Happened::Mouse { .. });
    let count = |is_one: &dyn Fn(&Happened) -> bool| inside.iter().filter(|one| is_one(one)).count() as u64;
    let keys = count(&|one| matches!(one, Happened::Key { .. }));
    let clicks = count(&|one| matches!(one, Happened::Mouse { act: Act::Click(_), .. }));
    let scrolls = count(&|one| matches!(one, Happened::Mouse { act: Act::Scroll(_), .. }));
    Learned {
        script: (keys + clicks + scrolls > 0).then_some(text),
        keys,
        clicks,
        scrolls,
        left_out: 0,
        not_learned: NotLearned::default(),
        resized: 0,
        too_many: outside.iter().filter(is_input).count() as u64,
        nameless: Vec::new(),
        nameless_keys: 0,
        lasted_ns,
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn pauses_escape_and_what_is_hidden() {
        let mut listener = Listener::new(0);
        listener.heard(500 * MS);
        listener.typed(b"a", 800 * MS);
        listener.typed(b"\x1b", 1_000 * MS);
        listener.time_is(1_020 * MS);
        listener.time_is(1_060 * MS);
        listener.typed(b"\x1b[", 1_300 * MS);
        listener.typed(b"A\x1b[24;80R", 1_310 * MS);
        listener.left_out(b"sec", 1_500 * MS);
        listener.left_out("rét\r".as_bytes(), 1_700 * MS);
        listener.typed(b"b", 2_000 * MS);
        let keys: Vec<(String, u128)> = listener
            .happened
            .iter()
            .map(|one| match one {
                Happened::Key { name, pause } => (name.clone(), pause.as_millis()),
                Happened::LeftOut { keys, took } => (format!("{keys} left out"), took.as_millis()),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [("a", 300), ("escape", 200), ("up", 300), ("7 left out", 400), ("b", 300)];
        assert_eq!(keys, expected.map(|(name, ms)| (name.to_owned(), ms)));
        let learned = listener.learned("cat", (80, 24), LearnEnd::Asked);
        let script = learned.script.unwrap();
        assert!(!script.contains("sec") && script.contains("# 7 keys left out"), "{script}");
        assert_eq!((learned.keys, learned.left_out), (4, 7));
        assert_eq!(Listener::new(0).learned("cat", (80, 24), LearnEnd::Asked).script, None);
    }
}
