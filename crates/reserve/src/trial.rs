//! A setting, and what trying it showed.

use crate::{AttemptCounts, Class, Reservation};

/// How a thread may be scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// As its program has it.
    AsItWas,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Priority(u32),
    /// A reservation.
    Reserved(Reservation),
}

/// What several attempts under one setting showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// The setting.
    pub setting: Setting,
    /// How many attempts can be judged.
    pub attempts: u32,
    /// In how many of these every job was on time.
    pub succeeded: u32,
    /// How many attempts cannot be judged ([`Class::NotJudged`]).
    pub not_judged: u32,
    /// What was counted in all of them. An attempt ends with its first late job, unless it is of [`Setting::AsItWas`].
    pub counts: AttemptCounts,
}

impl Trial {
    /// Before its first attempt.
    pub fn new(setting: Setting) -> Trial {
        Trial { setting, attempts: 0, succeeded: 0, not_judged: 0, counts: AttemptCounts::default() }
    }

    /// Adds an attempt.
    pub fn add(&mut self, counts: &AttemptCounts) {
        self.attempts += u32::from(counts.is_judged());
        self.not_judged += u32::from(!counts.is_judged());
        self.succeeded += u32::from(counts.succeeded());
        self.counts.add(counts);
    }

    /// Whether it is a reservation that may be sufficient or not, since jobs are undecided and no other one was late.
    pub fn is_open(&self) -> bool {
        matches!(self.setting, Setting::Reserved(_)) && self.class() == Class::NotJudged && self.counts.undecided() > 0
    }

    /// What the attempts so far show.
    pub fn class(&self) -> Class {
        Class::of(self.succeeded, self.attempts)
    }
}
