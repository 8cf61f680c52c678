//! What looks into the kernel while a program is used.

use crate::place::{Place, Via};
use crate::processes::program_of;
use punctual_kernel::kernel_types;
use punctual_probe::terminal::stretches::Stretches;
use punctual_probe::terminal::{Seen, TerminalWatch};
use punctual_probe::toolkit::{HandedOn, ToolkitWatch};
use punctual_recording::{InputEvent, Provenance, ToolkitDocument, ToolkitLibrary};

/// What lies outside of a terminal, and outside of a display that is only memory.
const OF_TERMINAL: [&str; 2] = [
    "keyboard, display and terminal emulator: an input begins and ends at the terminal",
    "what a terminal would answer: nobody answers a program's questions to it",
];
const OF_WINDOW: [&str; 2] = [
    "keyboard, window manager, compositor, graphics processor and display: an input begins at the display server, and ends when \
     that has drawn into memory",
    "what a program on the session's bus would answer: it has no such bus",
];
const OF_USERS_WINDOW: [&str; 2] = [
    "keyboard, mouse, window manager, compositor, graphics processor and display: an input begins at the display's server, and \
     ends when that has drawn",
    "what a program on the session's bus would answer: it has no such bus",
];
const OF_COMPOSITOR: [&str; 2] = [
    "keyboard, graphics processor and display: an input begins at the compositor, and ends when that has drawn into memory",
    "what a program on the session's bus would answer: it has no such bus",
];

/// What is not seen of events of toolkits.
const OF_TOOLKITS: &str = "events of toolkits before the first input, and of libraries that are linked into a program";

/// Up to when what was seen is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// As soon as it is in order.
    Settled,
    /// Up to this time, ns.
    Time(u64),
    /// All: nothing more comes.
    End,
}

/// What looks into the kernel.
pub(crate) struct KernelTracing {
    pub(crate) watch: TerminalWatch,
    /// Who had the time.
    pub(crate) stretches: Option<Stretches>,
    pub(crate) seen: Vec<Seen>,
    /// Events of the program's toolkit, where they were asked for.
    toolkit: Option<ToolkitWatch>,
    handed_on: Vec<HandedOn>,
    pub(crate) own_runs_before: (u64, u64),
    /// How many stacks were to be sampled each second on each CPU.
    pub(crate) sample_rate: u32,
    /// What the sampling clock is, if there is one.
    pub(crate) sample_clock: Option<&'static str>,
}

impl KernelTracing {
    /// Looks into the kernel, where allowed, with so many samples a second; not if that is `None`. What is not seen
    /// otherwise goes into `provenance`.
    pub(crate) fn open(
        sample_rate: Option<u32>,
        via: Via,
        place: &Place,
        provenance: &mut Provenance,
    ) -> Option<KernelTracing> {
        let ends = match via {
            Via::Terminal => OF_TERMINAL,
            Via::Window => OF_WINDOW,
            Via::UsersWindow => OF_USERS_WINDOW,
            Via::Wayland => OF_COMPOSITOR,
        };
        let mut blind = ends.map(str::to_owned).to_vec();
        let without = "what the program was waiting for: inputs have a beginning, an end by their output alone, CPU \
             time and time kept from a CPU";
        let Some(sample_rate) = sample_rate else {
            blind.push(without.to_owned());
            provenance.blind = blind;
            return None;
        };
        let _types = kernel_types::keep();
        let started = match place.drawings().zip(place.server()) {
            // What it starts is watched too, and the program with it; `leave_out` ends its own part.
            Some((drawings, server)) => TerminalWatch::start_for(drawings, server, &[std::process::id()]),
            None => TerminalWatch::start(place.own_end(), place.server()),
        };
        let watch = match started {
            Ok(watch) => watch,
            Err(refused) => {
                provenance.fallbacks.push(format!("the program is not followed through the kernel ({refused})"));
                blind.push(without.to_owned());
                provenance.blind = blind;
                return None;
            }
        };
        if place.drawings().is_none() {
            let left = "processes that left the terminal's session, except as somebody for whom the program waits";
            blind.push(left.to_owned());
        }
        blind.push("input that a program takes by io_uring".to_owned());
        Some(KernelTracing::of(watch, sample_rate, blind, provenance))
    }

    /// With programs that are there; the recorder's beside them. What is not seen goes into `provenance`.
    pub(crate) fn of(
        watch: TerminalWatch,
        sample_rate: u32,
        mut blind: Vec<String>,
        provenance: &mut Provenance,
    ) -> KernelTracing {
        let stretches = match Stretches::start(&watch.program_ids(), sample_rate) {
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
        let (seen, handed_on) = (Vec::new(), Vec::new());
        let sample_clock = stretches.as_ref().and_then(Stretches::sample_clock);
        let own_runs_before = (cost.runs, cost.ns);
        let toolkit = None;
        KernelTracing { watch, stretches, seen, toolkit, handed_on, own_runs_before, sample_rate, sample_clock }
    }

    /// Looks for events of toolkits too, from the first [`KernelTracing::look_for_toolkits`] on.
    pub(crate) fn with_toolkits(mut self, provenance: &mut Provenance) -> KernelTracing {
        match ToolkitWatch::start() {
            Ok(watch) => {
                self.toolkit = Some(watch);
                provenance.blind.push(OF_TOOLKITS.to_owned());
            }
            Err(refused) => provenance.fallbacks.push(format!("events of toolkits are not seen ({refused})")),
        }
        self
    }

    /// Looks for toolkits in what a program and those below it have mapped by now.
    pub(crate) fn look_for_toolkits(&mut self, process: u32, speaks_wayland: bool) {
        if let Some(toolkit) = &mut self.toolkit {
            toolkit.look(&program_of(process), speaks_wayland);
        }
    }

    /// Takes what was seen, up to the time that is returned, ns.
    pub(crate) fn look(&mut self, until: Until) -> u64 {
        let settled_ns = match until {
            Until::Settled => self.watch.take(&mut self.seen),
            Until::Time(until_ns) => {
                self.watch.take_before(until_ns, &mut self.seen);
                until_ns
            }
            Until::End => {
                self.watch.take_all(&mut self.seen);
                u64::MAX
            }
        };
        if let Some(toolkit) = &mut self.toolkit {
            toolkit.take(settled_ns, &mut self.handed_on);
            let seen = |event: HandedOn| Seen::handed_on_by_toolkit(event.at_ns, event.process, event.tid, event.name);
            self.seen.extend(self.handed_on.drain(..).map(seen));
            self.seen.sort_by_key(|seen| seen.at_ns);
        }
        settled_ns
    }

    /// An event as it is written down.
    pub(crate) fn event(&self, event: crate::track::HandedOn) -> Option<InputEvent> {
        let (toolkit, name) = self.toolkit.as_ref()?.name(event.name)?;
        Some(InputEvent {
            at_ns: event.at_ns,
            tid: event.tid,
            number: event.input,
            toolkit: toolkit.to_owned(),
            name: name.to_owned(),
        })
    }

    /// What is known about all events of toolkits together.
    pub(crate) fn toolkit(&self, not_kept: u64) -> Option<ToolkitDocument> {
        let toolkit = self.toolkit.as_ref()?;
        let libraries = toolkit.attached().into_iter().map(|one| ToolkitLibrary {
            toolkit: one.toolkit.to_owned(),
            library: one.library,
            function: one.function.to_owned(),
            processes: one.processes,
            why: one.why,
        });
        Some(ToolkitDocument {
            libraries: libraries.collect(),
            stops: toolkit.stops(),
            stop_ns: toolkit.stop_ns(),
            lost: toolkit.lost(),
            unnamed: toolkit.unnamed(),
            refused: toolkit.refused().map(str::to_owned),
            not_kept,
        })
    }
}
