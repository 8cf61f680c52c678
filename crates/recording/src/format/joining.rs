//! Joins a table's small files into larger ones alongside the measurement. That reads and writes a minute's rows, which
//! takes seconds on a busy machine, and the thread that empties the queues of measuring threads must not wait for it.

use crate::error::{Error, ErrorKind, Result};
use crate::format::directory::Directory;
use crate::format::table::{self, Schema};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The stack of the thread, bytes: locked memory holds all of it.
const STACK: usize = 512 << 10;

/// Files to be joined into one.
pub(crate) struct Batch {
    pub(crate) sources: Vec<String>,
    pub(crate) target: String,
}

/// Writes the rows of several files into one and removes them, unless told to stop.
pub(crate) fn join(directory: &Directory, schema: &Schema<'_>, batch: &Batch, go_on: &dyn Fn() -> bool) -> Result<()> {
    if table::concatenate(directory, &batch.sources, &batch.target, schema, go_on)? {
        batch.sources.iter().for_each(|source| directory.remove(source));
    }
    Ok(())
}

/// A thread that joins one batch after another. If none can be started, the batch is joined at once.
pub(crate) struct Joiner {
    directory: Directory,
    schema: &'static Schema<'static>,
    thread: Option<(Sender<Batch>, JoinHandle<()>)>,
    failed: Arc<Mutex<Option<Error>>>,
    /// Set when nobody waits for what has not been joined yet: then it stays in small files.
    given_up: Arc<AtomicBool>,
}

impl Joiner {
    pub(crate) fn new(directory: Directory, schema: &'static Schema<'static>) -> Joiner {
        Joiner { directory, schema, thread: None, failed: Arc::default(), given_up: Arc::default() }
    }

    /// Has a batch joined later, and reports what went wrong with an earlier one.
    pub(crate) fn begin(&mut self, batch: Batch) -> Result<()> {
        self.what_failed()?;
        if self.thread.is_none() {
            self.thread = self.start();
        }
        match &self.thread {
            Some((batches, _)) => batches.send(batch).map_err(|_| self.broken()),
            None => join(&self.directory, self.schema, &batch, &|| true),
        }
    }

    /// Waits until everything that was begun is joined.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if let Some((batches, thread)) = self.thread.take() {
            drop(batches);
            thread.join().map_err(|_| self.broken())?;
        }
        self.what_failed()
    }

    /// What went wrong with a batch, once.
    pub(crate) fn what_failed(&self) -> Result<()> {
        match self.failed.lock().ok().and_then(|mut failed| failed.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn broken(&self) -> Error {
        Error::new(ErrorKind::Io, self.directory.path(), "the thread that joins its files ended early")
    }

    fn start(&self) -> Option<(Sender<Batch>, JoinHandle<()>)> {
        let (sender, batches): (_, Receiver<Batch>) = channel();
        let (directory, schema) = (self.directory.clone(), self.schema);
        let (failed, given_up) = (Arc::clone(&self.failed), Arc::clone(&self.given_up));
        let work = move || {
            for batch in batches {
                let has_failed = || failed.lock().is_ok_and(|failed| failed.is_some());
                let go_on = || !given_up.load(Ordering::Relaxed);
                if !go_on() || has_failed() {
                    return;
                }
                let joined = join(&directory, schema, &batch, &go_on);
                if let (Err(error), Ok(mut failed)) = (joined, failed.lock()) {
                    *failed = Some(error);
                }
            }
        };
        let thread = std::thread::Builder::new().name("join".to_owned()).stack_size(STACK).spawn(work).ok()?;
        Some((sender, thread))
    }
}

impl Drop for Joiner {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if let Some((batches, thread)) = self.thread.take() {
            drop(batches);
            let _ = thread.join();
        }
    }
}
