//! Which function of the kernel an address belonged to at a time. BPF programs come and go, and one may occupy the
//! place of another: each has its time, and if none is known for sure, there is no name.

use super::symbols::KernelSymbols;
use punctual_kernel::bpf_programs::{CodeFinder, FunctionCode, ProgramCode, present};
use punctual_kernel::clock;
use punctual_recording::episode::Frame;
use std::collections::BTreeMap;

/// A BPF program: where it is or was.
struct Program {
    loaded_ns: u64,
    /// When it was found to be gone.
    gone_ns: Option<u64>,
    /// Beginning, end and name.
    functions: Vec<(u64, u64, String)>,
}

/// Programs that are gone are remembered, the last so many.
const MAX_GONE: usize = 4096;

/// The kernel notes when a program is loaded before it verifies it, and lists it afterwards: this takes less, ns.
const VERIFIED_WITHIN_NS: u64 = 5_000_000_000;

/// The kernel's functions, its modules' and those of BPF programs, past ones too.
#[derive(Default)]
pub(super) struct KernelCode {
    symbols: KernelSymbols,
    /// Whether programs have come since the symbols were read, and with them what the kernel makes to call them.
    stale: bool,
    programs: BTreeMap<u32, Program>,
}

impl KernelCode {
    /// What exists now.
    pub(super) fn read() -> KernelCode {
        KernelCode::with(KernelSymbols::read(), &[])
    }

    /// What exists now, with symbols that were read before. The programs `own` are this process's.
    pub(super) fn with(symbols: KernelSymbols, own: &[u32]) -> KernelCode {
        let mut code = KernelCode { symbols, ..KernelCode::default() };
        code.refresh();
        code.disregard(own);
        code
    }

    /// Does not count these programs among those that have come: the kernel makes nothing to call them. Otherwise all symbols
    /// would be read again during the measurement, for the first address without a name.
    fn disregard(&mut self, own: &[u32]) {
        let counts = |(id, program): (&u32, &Program)| !own.contains(id) && self.may_lack(program.loaded_ns);
        self.stale = self.stale && self.programs.iter().any(counts);
    }

    /// Looks for what has come or gone. Costs a tenth of a second if a program has come, since the symbols were read,
    /// without the names of its functions: reading all symbols takes that long, and the kernel is not preempted for much
    /// of it.
    pub(super) fn refresh(&mut self) {
        let mut finder = CodeFinder::default();
        let come = self.note(&present(), clock::monotonic_ns(), |id| finder.code_of(id));
        self.name_functions(&come, KernelSymbols::read);
    }

    /// The same, and looks for modules that have come or gone since the symbols were read.
    pub(super) fn bring_up_to_date(&mut self) {
        if self.symbols.are_of_other_modules() {
            self.renew(KernelSymbols::read());
        }
        self.refresh();
    }

    /// Whether the kernel may have listed a program, loaded then, only after the symbols were read.
    fn may_lack(&self, loaded_ns: u64) -> bool {
        loaded_ns.saturating_add(VERIFIED_WITHIN_NS) >= self.symbols.read_ns
    }

    fn renew(&mut self, symbols: KernelSymbols) {
        self.symbols = symbols;
        self.stale = false;
    }

    /// Gives the functions of these programs the names that they have among the symbols, which are read anew if one of
    /// the programs may have come since.
    fn name_functions(&mut self, ids: &[u32], read: impl Fn() -> KernelSymbols) {
        let is_lacking = |id: &u32| self.programs.get(id).is_some_and(|program| self.may_lack(program.loaded_ns));
        if ids.iter().any(is_lacking) {
            self.renew(read());
        }
        for id in ids {
            let Some(program) = self.programs.get_mut(id) else { continue };
            for (start, _, name) in &mut program.functions {
                if let Some(whole) = self.symbols.program_at(*start) {
                    whole.clone_into(name);
                }
            }
        }
    }

    /// Notes where the new ones are, before anything that takes time: they may be gone soon. Returns which of them do
    /// not tell the names of their functions.
    fn note(&mut self, ids: &[u32], now_ns: u64, mut code_of: impl FnMut(u32) -> Option<ProgramCode>) -> Vec<u32> {
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
            self.stale |= self.may_lack(code.loaded_ns);
            if code.functions.iter().any(|function| function.name.is_none()) {
                come.push(id);
            }
            let function = |FunctionCode { start, end, name }| (start, end, name.unwrap_or_else(|| code.name.clone()));
            let functions = code.functions.into_iter().map(function).collect();
            self.programs.insert(id, Program { loaded_ns: code.loaded_ns, gone_ns: None, functions });
        }
        let gone: Vec<u32> = self.programs.iter().filter(|(_, one)| one.gone_ns.is_some()).map(|(id, _)| *id).collect();
        for id in &gone[..gone.len().saturating_sub(MAX_GONE)] {
            self.programs.remove(id);
        }
        come
    }

    /// In newer symbols, if there can be any.
    fn find_anew(&mut self, address: u64) -> Option<Frame> {
        if !self.stale {
            return None;
        }
        self.renew(KernelSymbols::read());
        self.symbols.find(address)
    }

    /// The function that an address belonged to at a time, ns of `CLOCK_MONOTONIC`.
    pub(super) fn find(&mut self, address: u64, at_ns: u64) -> Option<Frame> {
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
            None => self.symbols.find(address).or_else(|| self.find_anew(address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FunctionCode, KernelCode, KernelSymbols, ProgramCode, VERIFIED_WITHIN_NS};

    fn at(name: &str, loaded_ns: u64, start: u64) -> ProgramCode {
        let functions = vec![FunctionCode { start, end: start + 0x40, name: None }];
        ProgramCode { name: name.to_owned(), loaded_ns, functions }
    }

    #[test]
    fn functions_that_tell_their_names_have_them_even_if_the_program_is_gone_at_once() {
        let mut code = KernelCode::default();
        let function = |start, name: &str| FunctionCode { start, end: start + 0x40, name: Some(name.to_owned()) };
        let functions = vec![function(0x1000, "prepare"), function(0x1040, "callback")];
        let both = ProgramCode { name: "prepare".to_owned(), loaded_ns: 10, functions };
        assert!(code.note(&[7], 30, |_| Some(both.clone())).is_empty(), "nothing is to be looked for");
        assert!(code.note(&[], 50, |_| None).is_empty());
        assert_eq!(code.find(0x1050, 40).unwrap().function, "callback");
        assert_eq!(code.find(0x1010, 40).unwrap().function, "prepare");
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
        let mut name = |address, at_ns| code.find(address, at_ns).map(|frame| frame.function);
        assert_eq!(name(0x1000, 40).as_deref(), Some("neighbour"));
        assert_eq!(name(0x1050, 40).as_deref(), Some("first"));
        assert_eq!(name(0x1050, 80).as_deref(), Some("second"));
        // Between them, before them, and beyond their ends.
        assert_eq!((name(0x1050, 55), name(0x1050, 15), name(0x1080, 80)), (None, None, None));
    }

    #[test]
    fn a_program_that_came_and_went_unseen_has_no_name() {
        let mut code = KernelCode::default();
        assert_eq!(code.note(&[1], 30, |_| Some(at("neighbour", 10, 0x1000))), [1]);
        assert!(code.note(&[1], 50, |_| None).is_empty());
        assert!(code.find(0x1050, 40).is_none());
    }

    #[test]
    fn own_programs_are_no_reason_to_read_the_list_anew() {
        let mut symbols = KernelSymbols::parse(String::new());
        symbols.read_ns = VERIFIED_WITHIN_NS + 50;
        let mut code = KernelCode { symbols, ..KernelCode::default() };
        code.note(&[1, 2, 3], 80, |id| Some(at("come", if id == 3 { 40 } else { 70 }, u64::from(id) << 12)));
        code.disregard(&[1]);
        assert!(code.stale, "somebody else's has come");
        code.disregard(&[1, 2]);
        assert!(!code.stale);
    }

    #[test]
    fn the_list_is_read_anew_only_for_programs_that_have_come_since() {
        let list = |name: &str| {
            let text = format!("0000000000001000 t bpf_prog_612d71abf41ccb7a_{name}\t[bpf]\n");
            let mut symbols = KernelSymbols::parse(text);
            symbols.read_ns = VERIFIED_WITHIN_NS + 50;
            symbols
        };
        let mut code = KernelCode { symbols: list("was_there_before"), ..KernelCode::default() };
        let come = code.note(&[1], 60, |_| Some(at("was_there_befor", 40, 0x1000)));
        assert_eq!(come, [1]);
        code.name_functions(&come, || panic!("it has that program"));
        assert_eq!(code.find(0x1010, 60).unwrap().function, "was_there_before");
        assert!(!code.stale, "nothing has come since");
        // It was being verified when the list was read.
        let come = code.note(&[1, 2], 80, |_| Some(at("has_come_since_", 70, 0x1000)));
        assert!(code.stale);
        code.name_functions(&come, || list("has_come_since_then"));
        assert_eq!(code.find(0x1010, 90).unwrap().function, "has_come_since_then");
    }
}
