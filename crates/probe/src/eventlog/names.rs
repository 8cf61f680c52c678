//! Names of what was noted: threads by their ids, functions by their addresses.

use super::merge::Noted;
use crate::followed::shown;
use crate::recorder::symbols::KernelSymbols;
use crate::shared::names::before_zero;
use crate::shared::recent::Recent;
use punctual_kernel::clock;
use punctual_kernel::other_thread::threads_of;
use punctual_kernel::stat_line::processes;
use punctual_recording::{EventKind, LoggedThread, MAX_LOGGED_THREADS, Softirq, Vector, printable};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The kernel's symbols are read again at most this often: BPF programs and modules come and go.
const REFRESH: Duration = Duration::from_secs(2);
/// If threads come and go by the thousands, their names are forgotten from time to time.
const MAX_NAMES: usize = 1 << 17;

/// A name, wherever it is kept: nothing is copied for an event.
pub(super) enum Name<'a> {
    /// The program's own, or the event's.
    Borrowed(&'a str),
    /// Known by [`Names`].
    Known(Arc<str>),
}

/// What has no name.
const UNNAMED: Name<'static> = Name::Borrowed("");

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Name::Borrowed(name) => name,
            Name::Known(name) => name,
        }
    }
}

/// Knows the names of threads as they are at the time of the events, and of the kernel's functions.
pub(super) struct Names {
    /// Each text, once.
    texts: HashMap<[u8; 16], Arc<str>>,
    recent_texts: Recent<[u8; 16], Arc<str>>,
    threads: HashMap<u32, Arc<str>>,
    /// The entries of `threads` that were last asked for.
    recent_threads: Recent<u32, Arc<str>>,
    handlers: HashMap<u64, Arc<str>>,
    functions: HashMap<u64, Arc<str>>,
    symbols: Option<(KernelSymbols, Instant)>,
}

impl Names {
    /// With the names of the threads that exist now.
    pub(super) fn new() -> Names {
        Names::with_threads().0
    }

    /// With the names of the threads that exist now, and which process each belongs to.
    pub(super) fn with_threads() -> (Names, Vec<LoggedThread>) {
        let mut threads = Vec::new();
        // In a PID namespace the kernel's programs know them by other numbers.
        let are_numbered_alike = !clock::in_pid_namespace();
        let mut names = Names {
            texts: HashMap::new(),
            recent_texts: Recent::default(),
            threads: HashMap::from([(0, Arc::from("idle"))]),
            recent_threads: Recent::default(),
            handlers: HashMap::new(),
            functions: HashMap::new(),
            symbols: None,
        };
        for process in processes() {
            for tid in threads_of(process) {
                let name = names.look_up(tid);
                if let (Some(name), true) = (name, are_numbered_alike)
                    && threads.len() < MAX_LOGGED_THREADS
                {
                    threads.push(LoggedThread { tid, process, name: name.to_string() });
                }
            }
        }
        (names, threads)
    }

    /// Asks the kernel for a thread's name; `None` if it is gone.
    fn look_up(&mut self, tid: u32) -> Option<Arc<str>> {
        // A name may be any bytes.
        let text = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
        let name: Arc<str> = printable(String::from_utf8_lossy(&text).trim_end_matches('\n')).into();
        self.rename(tid, &name);
        Some(name)
    }

    fn text(&mut self, comm: &[u8; 16]) -> Arc<str> {
        if let Some(text) = self.recent_texts.get(comm) {
            return Arc::clone(text);
        }
        let text = before_zero(comm);
        let mut key = [0; 16];
        key[..text.len()].copy_from_slice(text);
        if self.texts.len() > MAX_NAMES {
            self.texts.clear();
        }
        let text = Arc::clone(self.texts.entry(key).or_insert_with(|| shown(&key).into()));
        self.recent_texts.put(*comm, Arc::clone(&text));
        text
    }

    fn function(&mut self, address: u64) -> Arc<str> {
        if let Some(name) = self.functions.get(&address) {
            return Arc::clone(name);
        }
        let find = |symbols: &Option<(KernelSymbols, Instant)>| {
            symbols.as_ref().and_then(|(symbols, _)| symbols.find(address)).map(|frame| frame.function)
        };
        let mut found = find(&self.symbols);
        let is_old = self.symbols.as_ref().is_none_or(|(_, read)| read.elapsed() > REFRESH);
        if found.is_none() && is_old {
            self.symbols = Some((KernelSymbols::read(), Instant::now()));
            found = find(&self.symbols);
        }
        let known = found.is_some();
        let name: Arc<str> = found.unwrap_or_else(|| format!("{address:#x}")).into();
        if known {
            self.functions.insert(address, Arc::clone(&name));
        }
        name
    }

    fn thread(&mut self, tid: u32) -> Name<'static> {
        self.known(tid).map_or(UNNAMED, Name::Known)
    }

    /// A thread's name, if one was seen.
    fn known(&mut self, tid: u32) -> Option<Arc<str>> {
        if let Some(name) = self.recent_threads.get(&tid) {
            return Some(Arc::clone(name));
        }
        let name = Arc::clone(self.threads.get(&tid)?);
        self.recent_threads.put(tid, Arc::clone(&name));
        Some(name)
    }

    fn rename(&mut self, tid: u32, name: &Arc<str>) {
        // Each CPU's idle thread has a name of its own and the number 0.
        let is_the_same = self.recent_threads.get(&tid).is_some_and(|known| Arc::ptr_eq(known, name));
        if tid != 0 && !is_the_same {
            self.threads.insert(tid, Arc::clone(name));
            self.recent_threads.put(tid, Arc::clone(name));
        }
    }

    /// The current thread's name and the name that belongs to the event. Remembers what the event says about threads.
    pub(super) fn of<'a>(&mut self, noted: &'a Noted) -> (Name<'a>, Name<'a>) {
        if self.threads.len() > MAX_NAMES {
            *self = Names { symbols: self.symbols.take(), ..Names::new() };
        }
        let event = &noted.event;
        let own = self.known(event.tid);
        let other = event.value as u32;
        let name = match event.kind {
            EventKind::Switch | EventKind::ProcessFork | EventKind::Rename if other == 0 => self.thread(0),
            EventKind::Switch | EventKind::ProcessFork | EventKind::Rename => {
                let name = self.text(&noted.comm);
                self.rename(other, &name);
                Name::Known(name)
            }
            EventKind::ProcessExec | EventKind::ProcessExit | EventKind::FutexBegin => {
                let name = self.text(&noted.comm);
                self.rename(event.tid, &name);
                if event.kind == EventKind::ProcessExec {
                    return (Name::Known(Arc::clone(&name)), Name::Known(name));
                }
                Name::Known(name)
            }
            EventKind::Waking | EventKind::VectorBegin => {
                // They bring the current thread's name.
                let current = self.text(&noted.comm);
                self.rename(event.tid, &current);
                if event.kind == EventKind::Waking { self.thread(other) } else { vector(event.value) }
            }
            EventKind::Migrate => self.thread(other),
            EventKind::VectorEnd => vector(event.value),
            EventKind::HandlerBegin => {
                let name = self.text(&noted.comm);
                self.handlers.insert(event.value, Arc::clone(&name));
                Name::Known(name)
            }
            EventKind::HandlerEnd => {
                self.handlers.get(&event.value).map_or(UNNAMED, |name| Name::Known(Arc::clone(name)))
            }
            EventKind::SoftirqBegin | EventKind::SoftirqEnd => {
                if event.kind == EventKind::SoftirqBegin {
                    let current = self.text(&noted.comm);
                    self.rename(event.tid, &current);
                }
                match Softirq::name_of(event.value) {
                    Some(name) => Name::Borrowed(name),
                    None => Name::Known(Softirq::words(event.value).into()),
                }
            }
            EventKind::TimerBegin | EventKind::CallbackBegin | EventKind::WorkBegin | EventKind::TaskletBegin => {
                Name::Known(self.function(event.value))
            }
            EventKind::Mark | EventKind::Dropped => Name::Borrowed(noted.text.as_deref().unwrap_or_default()),
            _ => UNNAMED,
        };
        let thread = match (event.kind, own) {
            (EventKind::Dropped, _) => UNNAMED,
            (_, Some(own)) => Name::Known(own),
            // A mark may be the first sign of a thread.
            (EventKind::Mark, None) => self.look_up(event.tid).map_or(UNNAMED, Name::Known),
            (_, None) => self.thread(event.tid),
        };
        (thread, name)
    }
}

fn vector(number: u64) -> Name<'static> {
    Name::Borrowed(Vector::name_of(number).unwrap_or("vector"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventlog::merge::tests::noted;

    fn named(kind: EventKind, tid: u32, value: u64, name: &[u8]) -> Noted {
        let mut noted = noted(1, 0);
        (noted.event.kind, noted.event.tid, noted.event.value) = (kind, tid, value);
        noted.comm[..name.len()].copy_from_slice(name);
        noted
    }

    #[test]
    fn a_text_that_is_there_is_not_copied() {
        let mut names = Names::new();
        let mark = Noted { text: Some("here".into()), ..named(EventKind::Mark, 0, 0, b"") };
        assert!(std::ptr::eq(&*names.of(&mark).1, mark.text.as_deref().unwrap()));
        let ends = [named(EventKind::VectorEnd, 0, 1, b""), named(EventKind::VectorEnd, 4_000_001, 1, b"")];
        let [one, other] = ends.each_ref().map(|end| names.of(end).1);
        assert!(!one.is_empty() && std::ptr::eq(&*one, &*other), "{}", &*one);
    }

    #[test]
    fn threads_are_named_by_what_came_before() {
        let mut names = Names::new();
        let mut told = |noted: Noted| {
            let (thread, name) = names.of(&noted);
            (thread.to_string(), name.to_string())
        };
        let pair = |thread: &str, name: &str| (thread.to_owned(), name.to_owned());
        let (one, two) = (4_000_001, 4_000_002);
        assert_eq!(told(named(EventKind::Switch, 0, one.into(), b"one\0rest")), pair("idle", "one"));
        assert_eq!(told(named(EventKind::ProcessFork, one, two.into(), b"one")), pair("one", "one"));
        assert_eq!(told(named(EventKind::Switch, one, two.into(), b"one")), pair("one", "one"));
        assert_eq!(told(named(EventKind::ProcessExec, two, two.into(), b"other")), pair("other", "other"));
        assert_eq!(told(named(EventKind::Waking, two, one.into(), b"other")), pair("other", "one"));
        assert_eq!(told(named(EventKind::Rename, one, one.into(), b"new\x1b")), pair("one", "new\u{fffd}"));
        assert_eq!(told(named(EventKind::Switch, two, 0, b"swapper/1")), pair("other", "idle"));
        assert_eq!(told(named(EventKind::LockBegin, one, 0, b"")), pair("new\u{fffd}", ""));
        assert_eq!(told(named(EventKind::SoftirqEnd, one, 3, b"")), pair("new\u{fffd}", "net_rx"));
    }
}
