//! Names of what was noted: threads by their ids, functions by their addresses.

use super::merge::Noted;
use crate::followed::shown;
use crate::recorder::symbols::KernelSymbols;
use crate::shared::names::before_zero;
use crate::shared::recent::Recent;
use punctual_kernel::clock;
use punctual_recording::{EventKind, LoggedThread, MAX_LOGGED_THREADS, Softirq, Vector, printable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The kernel's symbols are read again at most this often: BPF programs and modules come and go.
const REFRESH: Duration = Duration::from_secs(2);
/// If threads come and go by the thousands, their names are forgotten from time to time.
const MAX_NAMES: usize = 1 << 17;

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
    fixed: HashMap<&'static str, Arc<str>>,
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
            fixed: HashMap::new(),
        };
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let number: Option<u32> = process.file_name().to_str().and_then(|name| name.parse().ok());
            let tasks = number.and_then(|_| std::fs::read_dir(process.path().join("task")).ok());
            for task in tasks.into_iter().flatten().flatten() {
                let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                let name = names.look_up(tid);
                if let (Some(name), Some(process), true) = (name, number, are_numbered_alike)
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

    fn fixed(&mut self, text: &'static str) -> Arc<str> {
        Arc::clone(self.fixed.entry(text).or_insert_with(|| text.into()))
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

    fn thread(&mut self, tid: u32) -> Arc<str> {
        self.known(tid).unwrap_or_else(|| self.fixed(""))
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
    pub(super) fn of(&mut self, noted: &Noted) -> (Arc<str>, Arc<str>) {
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
                name
            }
            EventKind::ProcessExec | EventKind::ProcessExit | EventKind::FutexBegin => {
                let name = self.text(&noted.comm);
                self.rename(event.tid, &name);
                if event.kind == EventKind::ProcessExec {
                    return (Arc::clone(&name), name);
                }
                name
            }
            EventKind::Waking | EventKind::VectorBegin => {
                // They bring the current thread's name.
                let current = self.text(&noted.comm);
                self.rename(event.tid, &current);
                if event.kind == EventKind::Waking { self.thread(other) } else { self.vector(event.value) }
            }
            EventKind::Migrate => self.thread(other),
            EventKind::VectorEnd => self.vector(event.value),
            EventKind::HandlerBegin => {
                let name = self.text(&noted.comm);
                self.handlers.insert(event.value, Arc::clone(&name));
                name
            }
            EventKind::HandlerEnd => match self.handlers.get(&event.value) {
                Some(name) => Arc::clone(name),
                None => self.fixed(""),
            },
            EventKind::SoftirqBegin | EventKind::SoftirqEnd => {
                if event.kind == EventKind::SoftirqBegin {
                    let current = self.text(&noted.comm);
                    self.rename(event.tid, &current);
                }
                match Softirq::name_of(event.value) {
                    Some(name) => self.fixed(name),
                    None => Softirq::words(event.value).into(),
                }
            }
            EventKind::TimerBegin | EventKind::CallbackBegin | EventKind::WorkBegin | EventKind::TaskletBegin => {
                self.function(event.value)
            }
            EventKind::Mark | EventKind::Dropped => noted.text.as_deref().unwrap_or_default().into(),
            _ => self.fixed(""),
        };
        let thread = match (event.kind, own) {
            (EventKind::Dropped, _) => self.fixed(""),
            (_, Some(own)) => own,
            // A mark may be the first sign of a thread.
            (EventKind::Mark, None) => self.look_up(event.tid).unwrap_or_else(|| self.fixed("")),
            (_, None) => self.thread(event.tid),
        };
        (thread, name)
    }

    fn vector(&mut self, number: u64) -> Arc<str> {
        self.fixed(Vector::name_of(number).unwrap_or("vector"))
    }
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
