//! One of the two modems, and what is done with it: a terminal for programs, or a file.

use super::{ApartPlan, Work};
use crate::modem::line::{LineStep, Terminal, step};
use punctual_kernel::Refused;
use punctual_modem::apart::{DELAY, Frame, Garbled, respond};
use punctual_modem::office::{EndRun, FileRun, LineRun, NUMBERS};
use punctual_modem::serial::MAX_UNSENT;
use punctual_modem::station::{CallEnding, Station};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The places of the two subscribers.
pub(super) const CALLS: usize = 0;
pub(super) const ANSWERS: usize = 1;

/// Without echo and results, so that whatever is shown is of the file, and without an escape that could be in it.
const QUIET: &str = "ATE0Q1S2=255";

pub(super) struct End {
    place: usize,
    station: Station,
    hands: Hands,
}

/// Who works at the modem.
enum Hands {
    Terminal(Terminal),
    File(Transfer),
}

/// A file and its way through the modem.
struct Transfer {
    file: PathBuf,
    /// What is typed first.
    commands: String,
    /// What is sent; `None`: it receives.
    sends: Option<Vec<u8>>,
    /// How much of it the modem has taken, and the other end acknowledged.
    typed: usize,
    acknowledged: usize,
    received: Vec<u8>,
    max: usize,
    was_connected: bool,
    is_through: bool,
}

impl End {
    pub(super) fn new(plan: &ApartPlan, place: usize) -> Result<End, Refused> {
        let hands = match &plan.work {
            Work::Terminal => Hands::Terminal(Terminal::make()?),
            Work::Send { file, bytes } => Hands::File(Transfer::new(file, Some(bytes.clone()), 0, place)),
            Work::Receive { file, max } => Hands::File(Transfer::new(file, None, *max, place)),
        };
        Ok(End { place, station: Station::new(plan.telephone, DELAY), hands })
    }

    /// Where programs open it, if it is a terminal.
    pub(super) fn terminal(&self) -> Option<PathBuf> {
        match &self.hands {
            Hands::Terminal(terminal) => Some(terminal.path()),
            Hands::File(_) => None,
        }
    }

    pub(super) fn station(&mut self) -> &mut Station {
        &mut self.station
    }

    pub(super) fn step(&mut self, elapsed: Duration) -> LineStep {
        step(&mut self.station, elapsed)
    }

    /// Before each block: what goes to the modem, and what comes from it. Returns whether its work is over.
    pub(super) fn work(&mut self) -> bool {
        match &mut self.hands {
            Hands::Terminal(terminal) => {
                terminal.exchange(&mut self.station);
                false
            }
            Hands::File(transfer) => {
                transfer.exchange(&mut self.station);
                transfer.is_over(&mut self.station)
            }
        }
    }

    /// Works on what the exchange tells.
    pub(super) fn respond(&mut self, number: u32, told: &Frame) -> Result<Frame, Garbled> {
        respond(&mut self.station, number, told)
    }

    /// Shows a terminal the last words of its modem.
    pub(super) fn show(&mut self) {
        if let Hands::Terminal(terminal) = &mut self.hands {
            terminal.exchange(&mut self.station);
        }
    }

    /// Writes down what came of it; returns the file, if it arrived.
    pub(super) fn ended(mut self, run: &mut LineRun) -> Option<Vec<u8>> {
        let transfer = match self.hands {
            Hands::Terminal(terminal) => {
                run.ends.push(terminal.ended(self.place, &mut self.station));
                return None;
            }
            Hands::File(transfer) => transfer,
        };
        let (calls, counted) = (self.station.records(), self.station.calls());
        run.ends.push(EndRun { place: self.place, path: transfer.file, calls, counted, unread: 0 });
        let is_through = transfer.is_through;
        if is_through {
            // Whoever is gone after that has cost nothing.
            run.lost = None;
        }
        run.file = Some(match &transfer.sends {
            Some(bytes) => {
                FileRun { length: Some(bytes.len() as u64), bytes: transfer.acknowledged as u64, is_through }
            }
            None => FileRun { length: None, bytes: transfer.received.len() as u64, is_through },
        });
        (is_through && transfer.sends.is_none()).then_some(transfer.received)
    }
}

impl Transfer {
    fn new(file: &Path, sends: Option<Vec<u8>>, max: usize, place: usize) -> Transfer {
        let commands = match place {
            CALLS => format!("{QUIET}DT{}\r", NUMBERS[ANSWERS]),
            _ => format!("{QUIET}S0=1\r"),
        };
        Transfer {
            file: file.to_owned(),
            commands,
            sends,
            typed: 0,
            acknowledged: 0,
            received: Vec::new(),
            max,
            was_connected: false,
            is_through: false,
        }
    }

    fn exchange(&mut self, station: &mut Station) {
        station.typed(std::mem::take(&mut self.commands).as_bytes());
        self.was_connected |= station.is_connected();
        let shown = station.to_show().to_vec();
        station.was_shown(shown.len());
        // What comes before that is the echo of the commands.
        if self.was_connected && self.sends.is_none() {
            self.received.extend(shown);
        }
        if station.is_connected() {
            self.send(station);
        }
    }

    /// As much as the modem takes; hangs up once the other end has acknowledged everything.
    fn send(&mut self, station: &mut Station) {
        let Some(bytes) = &self.sends else { return };
        let count = station.room().min(bytes.len() - self.typed);
        station.typed(&bytes[self.typed..self.typed + count]);
        self.typed += count;
        self.acknowledged = self.typed.saturating_sub(MAX_UNSENT.saturating_sub(station.room()));
        if self.acknowledged == bytes.len() {
            self.is_through = true;
            station.closed();
        }
    }

    /// Whether the call is over, or brought more than fits.
    fn is_over(&mut self, station: &mut Station) -> bool {
        if self.sends.is_none() && self.received.len() > self.max {
            return true;
        }
        if station.calls() == 0 || station.call().is_some() {
            return false;
        }
        if self.sends.is_none() {
            let ending = station.records().last().map(|record| record.ending);
            self.is_through = self.was_connected && ending == Some(CallEnding::FarHungUp);
        }
        true
    }
}

#[cfg(test)]
mod tests;
