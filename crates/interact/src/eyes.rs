//! What looks into the kernel while a program is used.

use crate::place::{Place, Via};
use punctual_probe::terminal::stretches::Stretches;
use punctual_probe::terminal::{Seen, TerminalWatch};
use punctual_recording::Provenance;

/// What lies outside of a terminal, and outside of a display that is only memory.
const OF_TERMINAL: [&str; 2] = [
    "keyboard, display and terminal emulator: an input begins and ends at the terminal",
    "what a terminal would answer: a program's questions to it stay without an answer",
];
const OF_WINDOW: [&str; 2] = [
    "keyboard, window manager, compositor, graphics processor and display: an input begins at the display server, and ends when \
     that has drawn into memory",
    "what a program on the session's bus would answer: it has no such bus",
];
const OF_COMPOSITOR: [&str; 2] = [
    "keyboard, graphics processor and display: an input begins at the compositor, and ends when that has drawn into memory",
    "what a program on the session's bus would answer: it has no such bus",
];

/// What looks into the kernel.
pub(crate) struct Eyes {
    pub(crate) watch: TerminalWatch,
    /// Who had the time.
    pub(crate) stretches: Option<Stretches>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) own_runs_before: (u64, u64),
}

impl Eyes {
    /// Looks into the kernel, where `wanted` and allowed; what is not seen otherwise goes into `provenance`.
    pub(crate) fn open(wanted: bool, via: Via, place: &Place, provenance: &mut Provenance) -> Option<Eyes> {
        let ends = match via {
            Via::Terminal => OF_TERMINAL,
            Via::Window => OF_WINDOW,
            Via::Wayland => OF_COMPOSITOR,
        };
        let mut blind = ends.map(str::to_owned).to_vec();
        let without = "what the program was waiting for: inputs have a beginning, an end by the output alone, CPU time and \
                       time kept from a CPU";
        if !wanted {
            blind.push(without.to_owned());
            provenance.blind = blind;
            return None;
        }
        let watch = match TerminalWatch::start(place.own_end(), place.server()) {
            Ok(watch) => watch,
            Err(refused) => {
                provenance.fallbacks.push(format!("the program is not followed through the kernel ({refused})"));
                blind.push(without.to_owned());
                provenance.blind = blind;
                return None;
            }
        };
        blind.push("processes that left the terminal's session, but as those whom the program waits for".to_owned());
        blind.push("input that a program takes by io_uring".to_owned());
        Some(Eyes::of(watch, blind, provenance))
    }

    /// With programs that are there; the recorder's beside them. What is not seen goes into `provenance`.
    pub(crate) fn of(watch: TerminalWatch, mut blind: Vec<String>, provenance: &mut Provenance) -> Eyes {
        let stretches = match Stretches::start(&watch.program_ids()) {
            Ok(stretches) => {
                blind.extend(stretches.blind());
                Some(stretches)
            }
            Err(refused) => {
                provenance.fallbacks.push(format!("what the time was spent on is not recorded ({refused})"));
                None
            }
        };
        provenance.blind = blind;
        let cost = watch.cost();
        Eyes { watch, stretches, seen: Vec::new(), own_runs_before: (cost.runs, cost.ns) }
    }
}
