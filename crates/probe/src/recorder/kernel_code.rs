//! Which function of the kernel an address belonged to at a time. BPF programs come and go, and another one may stand where
//! one stood: each has its time, and where none is known for sure, there is no name.

use super::symbols::KernelSymbols;
use punctual_kernel::bpf_programs::{ProgramCode, code_of, present};
use punctual_kernel::clock;
use punctual_recording::episode::Frame;
use std::collections::BTreeMap;

/// A BPF program: where it stands or stood.
struct Program {
    loaded_ns: u64,
    /// When it was found to be gone.
    gone_ns: Option<u64>,
    /// Beginning, end and name.
    functions: Vec<(u64, u64, String)>,
}

/// Programs that are gone are remembered, the last so many.
const MAX_GONE: usize = 4096;

/// The kernel's functions, its modules' and those of BPF programs, past ones too.
#[derive(Default)]
pub(super) struct KernelCode {
    symbols: KernelSymbols,
    programs: BTreeMap<u32, Program>,
}

impl KernelCode {
    /// What is there now.
    pub(super) fn read() -> KernelCode {
        let mut code = KernelCode { symbols: KernelSymbols::read(), programs: BTreeMap::new() };
        code.refresh();
        code
    }

    /// Looks for what has come or gone; costs a tenth of a second where a program has come.
    pub(super) fn refresh(&mut self) {
        let come = self.note(&present(), clock::monotonic_ns(), code_of);
        if come.is_empty() {
            return;
        }
        self.symbols = KernelSymbols::read();
        for id in come {
            let Some(program) = self.programs.get_mut(&id) else { continue };
            for (start, _, name) in &mut program.functions {
                if let Some(whole) = self.symbols.program_at(*start) {
                    whole.clone_into(name);
                }
            }
        }
    }

    /// Notes where those stand that have come, before anything that takes time: they may be gone soon. Returns which.
    fn note(&mut self, ids: &[u32], now_ns: u64, code_of: impl Fn(u32) -> Option<ProgramCode>) -> Vec<u32> {
        for (id, program) in &mut self.programs {
            if program.gone_ns.is_none() && ids.binary_search(id).is_err() {
                program.gone_ns = Some(now_ns);
            }
        }
        let mut come = Vec::new();
        for &id in ids {
            if self.programs.contains_key(&id) {
                continue;
            }
            let Some(code) = code_of(id) else { continue };
            let functions = code.functions.iter().map(|&(start, end)| (start, end, code.name.clone())).collect();
            self.programs.insert(id, Program { loaded_ns: code.loaded_ns, gone_ns: None, functions });
            come.push(id);
        }
        let gone: Vec<u32> = self.programs.iter().filter(|(_, one)| one.gone_ns.is_some()).map(|(id, _)| *id).collect();
        for id in &gone[..gone.len().saturating_sub(MAX_GONE)] {
            self.programs.remove(id);
        }
        come
    }

    /// The function that an address belonged to at a time, ns of `CLOCK_MONOTONIC`.
    pub(super) fn find(&self, address: u64, at_ns: u64) -> Option<Frame> {
        let was_there =
            |program: &&Program| program.loaded_ns <= at_ns && program.gone_ns.is_none_or(|gone| at_ns <= gone);
        let function = |program: &Program| {
            let mut functions = program.functions.iter();
            functions.find(|(start, end, _)| (*start..*end).contains(&address)).map(|(.., name)| name.clone())
        };
        let there = self.programs.values().filter(was_there);
        let found = there.filter_map(|program| Some((program.loaded_ns, function(program)?)));
        match found.max_by_key(|(loaded_ns, _)| *loaded_ns) {
            Some((_, function)) => Some(Frame { function, module: "bpf".to_owned() }),
            None => self.symbols.find(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelCode, ProgramCode};

    fn at(name: &str, loaded_ns: u64, start: u64) -> ProgramCode {
        ProgramCode { name: name.to_owned(), loaded_ns, functions: vec![(start, start + 0x40)] }
    }

    #[test]
    fn a_program_has_its_name_while_it_was_there_and_none_of_its_neighbours() {
        let mut code = KernelCode::default();
        let all = |id| match id {
            1 => Some(at("neighbour", 10, 0x1000)),
            2 => Some(at("first", 20, 0x1040)),
            3 => Some(at("second", 60, 0x1040)),
            _ => None,
        };
        assert_eq!(code.note(&[1, 2], 30, all), [1, 2]);
        assert!(code.note(&[1], 50, all).is_empty());
        assert_eq!(code.note(&[1, 3], 70, all), [3]);
        let name = |address, at_ns| code.find(address, at_ns).map(|frame| frame.function);
        assert_eq!(name(0x1000, 40).as_deref(), Some("neighbour"));
        assert_eq!(name(0x1050, 40).as_deref(), Some("first"));
        assert_eq!(name(0x1050, 80).as_deref(), Some("second"));
        // Between them, before them, and behind their ends.
        assert_eq!((name(0x1050, 55), name(0x1050, 15), name(0x1080, 80)), (None, None, None));
    }

    #[test]
    fn a_program_that_came_and_went_unseen_has_no_name() {
        let mut code = KernelCode::default();
        assert_eq!(code.note(&[1], 30, |_| Some(at("neighbour", 10, 0x1000))), [1]);
        assert!(code.note(&[1], 50, |_| None).is_empty());
        assert!(code.find(0x1050, 40).is_none());
    }
}
