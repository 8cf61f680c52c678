//! Who asked for what an interrupt or a kernel worker does, and the words for it.

use std::fmt::{Display, Formatter, Result};

/// Who asked for what an interrupt, a softirq or a kernel worker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// How.
    pub how: Asking,
    /// Whoever may have: if there is more than one, it cannot be told which of them it was.
    pub by: Vec<Asker>,
}

/// How something was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Its timer was armed.
    Armed,
    /// Another CPU had the function called.
    Called,
    /// The interrupt was sent.
    Sent,
    /// A kernel worker was given the work.
    Queued,
}

/// Somebody who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// A thread, with its number.
    Thread(String, u32),
    /// What interrupted a thread that had nothing to do with it: `interrupt` or `softirq`, its name, its CPU.
    Over(&'static str, String, u32),
}

impl Asking {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Asking::Armed => "armed",
            Asking::Called => "called",
            Asking::Sent => "sent",
            Asking::Queued => "queued",
        }
    }
}

impl Display for Asked {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Some((first, others)) = self.by.split_first() else { return Ok(()) };
        let how = match self.how {
            Asking::Armed => "armed by",
            Asking::Called => "asked for by",
            Asking::Sent => "sent by",
            Asking::Queued => "queued by",
        };
        write!(out, "{how} {first}")?;
        if !others.is_empty() {
            write!(out, " and {} more", others.len())?;
        }
        Ok(())
    }
}

impl Display for Asker {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Asker::Thread(name, tid) => write!(out, "{name} (thread {tid})"),
            Asker::Over(what, name, cpu) => write!(out, "{what} {name} on CPU {cpu}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_named_and_the_others_are_counted() {
        let thread = || Asker::Thread("game".to_owned(), 7);
        let over = || Asker::Over("softirq", "timer".to_owned(), 1);
        for (how, by, words) in [
            (Asking::Armed, vec![thread()], "armed by game (thread 7)"),
            (Asking::Called, vec![over()], "asked for by softirq timer on CPU 1"),
            (Asking::Sent, vec![thread(), over(), over()], "sent by game (thread 7) and 2 more"),
            (Asking::Queued, vec![thread()], "queued by game (thread 7)"),
            (Asking::Sent, vec![], ""),
        ] {
            assert_eq!(Asked { how, by }.to_string(), words);
        }
    }
}
