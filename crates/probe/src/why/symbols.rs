//! Names of code: the kernel's from its own list, programs' from their files. Used off every measuring path.

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use punctual_recording::episode::Frame;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Functions of the kernel, its modules and BPF programs, from `/proc/kallsyms`.
#[derive(Default)]
pub(crate) struct KernelSymbols {
    text: String,
    /// Address, and where its line's name begins and ends in the text, by address.
    symbols: Vec<(u64, u32, u32)>,
}

/// No function is longer; an address further from a symbol than this belongs to something without one.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// The kernel's own limit: the longest that linkers make by themselves, a SHA-1.
const LONGEST_BUILD_ID: usize = 20;

impl KernelSymbols {
    pub(crate) fn read() -> KernelSymbols {
        KernelSymbols::parse(std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: String) -> KernelSymbols {
        let mut symbols = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let begin = offset;
            offset += line.len();
            let Some((address, rest)) = line.split_once(' ') else { continue };
            if !matches!(rest.as_bytes().first(), Some(b't' | b'T' | b'w' | b'W')) {
                continue;
            }
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            let name = begin + (line.len() - rest.len()) + 2;
            symbols.push((address, name as u32, (begin + line.trim_end().len()) as u32));
        }
        symbols.sort_by_key(|symbol| symbol.0);
        // Without the privilege to see them all addresses are 0.
        if symbols.last().is_none_or(|last| last.0 == 0) {
            symbols.clear();
        }
        KernelSymbols { text, symbols }
    }

    /// The function that an address lies in.
    pub(crate) fn find(&self, address: u64) -> Option<Frame> {
        let after = self.symbols.partition_point(|symbol| symbol.0 <= address);
        let &(start, begin, end) = self.symbols.get(after.checked_sub(1)?)?;
        if address - start > LONGEST_FUNCTION {
            return None;
        }
        let line = self.text.get(begin as usize..end as usize)?;
        let (name, module) = line.split_once('\t').unwrap_or((line, ""));
        let module = module.trim_matches(['[', ']']);
        // bpf_prog_<16 digits of its tag>_<name>
        let own = name.strip_prefix("bpf_prog_").and_then(|rest| rest.get(17..)).filter(|_| module == "bpf");
        let module = if module.is_empty() { "kernel" } else { module };
        Some(Frame { function: own.unwrap_or(name).to_owned(), module: module.to_owned() })
    }
}

/// A stretch of a process's memory that holds code of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

impl Mapping {
    /// Whether an address lies in it.
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The code that a process has mapped now; empty when it is gone.
pub(super) fn mappings(process: u32) -> Vec<Mapping> {
    let text = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(parse_mapping).collect()
}

pub(super) fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.as_bytes().get(2) == Some(&b'x');
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let path = words.nth(2).unwrap_or("").trim().to_owned();
    let address = |text| u64::from_str_radix(text, 16).ok();
    is_code.then_some(Mapping { start: address(start)?, end: address(end)?, offset, path })
}

/// A place in a program by its file's name and the offset into it; [`offset_of_unnamed`] finds that again.
fn unnamed(path: &str, offset: u64) -> Frame {
    let name = Path::new(path).file_name().map_or(path, |name| name.to_str().unwrap_or(path));
    Frame { function: format!("{name}+{offset:#x}"), module: path.to_owned() }
}

/// The place of an address in a process with these mappings, without a function's name: that is found later, when
/// nothing is measured any more.
pub(super) fn place(mappings: &[Mapping], address: u64) -> Frame {
    match mappings.iter().find(|mapping| mapping.holds(address)) {
        Some(mapping) => unnamed(&mapping.path, address - mapping.start + mapping.offset),
        None => Frame { function: format!("{address:#x}"), module: "unmapped".to_owned() },
    }
}

/// The offset in the frame of a place that has no name yet.
pub(super) fn offset_of_unnamed(frame: &Frame) -> Option<u64> {
    if !frame.module.starts_with('/') {
        return None;
    }
    let (_, offset) = frame.function.rsplit_once("+0x")?;
    u64::from_str_radix(offset, 16).ok()
}

/// Names of places in programs. Bounded: what was found is forgotten when there is much of it.
pub(super) struct ProgramSymbols {
    symbolizer: Symbolizer,
    found: HashMap<(String, u64), Vec<Frame>>,
    builds: BTreeMap<String, Option<String>>,
}

const REMEMBERED: usize = 50_000;

impl ProgramSymbols {
    pub(super) fn new() -> ProgramSymbols {
        let symbolizer = Symbolizer::builder().enable_code_info(false).enable_inlined_fns(true).build();
        ProgramSymbols { symbolizer, found: HashMap::new(), builds: BTreeMap::new() }
    }

    /// The functions at an offset into a file, innermost first: inlined ones come before the one they stand in.
    pub(super) fn find(&mut self, path: &str, offset: u64) -> Vec<Frame> {
        let key = (path.to_owned(), offset);
        if let Some(known) = self.found.get(&key) {
            return known.clone();
        }
        if self.found.len() > REMEMBERED {
            self.found.clear();
        }
        let frames = self.look_up(path, offset);
        self.found.insert(key, frames.clone());
        frames
    }

    fn look_up(&self, path: &str, offset: u64) -> Vec<Frame> {
        let frame = |function: &str| Frame { function: function.to_owned(), module: path.to_owned() };
        let without = || vec![unnamed(path, offset)];
        if !path.starts_with('/') {
            return without();
        }
        let source = Source::Elf(Elf::new(PathBuf::from(path)));
        match self.symbolizer.symbolize_single(&source, Input::FileOffset(offset)) {
            Ok(Symbolized::Sym(symbol)) => {
                let mut frames: Vec<Frame> = symbol.inlined.iter().rev().map(|inlined| frame(&inlined.name)).collect();
                frames.push(frame(&symbol.name));
                frames
            }
            _ => without(),
        }
    }

    /// The build identifier of a file, in hexadecimal.
    pub(super) fn build_id(&mut self, path: &str) -> Option<String> {
        if self.builds.len() > REMEMBERED / 100 {
            self.builds.clear();
        }
        let read = || {
            let id = blazesym::helper::read_elf_build_id(path).ok()??;
            // A note of another owner with the same type number, such as a static probe's, is no build identifier.
            let id = (id.len() <= LONGEST_BUILD_ID).then_some(id)?;
            Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
        };
        self.builds.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_functions_are_found_by_address() {
        let list = "ffffffff81000000 T _stext\nffffffff81000100 t early\nffffffff81000200 D data\n\
                    ffffffffc0026130 t bpf_prog_612d71abf41ccb7a_timer_armed\t[bpf]\nffffffffc0030000 t open\t[snd]\n";
        let symbols = KernelSymbols::parse(list.to_owned());
        let found = |address| symbols.find(address).map(|frame| (frame.function, frame.module));
        assert_eq!(found(0xffff_ffff_8100_0150), Some(("early".into(), "kernel".into())));
        assert_eq!(found(0xffff_ffff_8100_0250), Some(("early".into(), "kernel".into())));
        assert_eq!(found(0xffff_ffff_c002_6140), Some(("timer_armed".into(), "bpf".into())));
        assert_eq!(found(0xffff_ffff_c003_0000), Some(("open".into(), "snd".into())));
        assert_eq!(found(0x1000), None);
        assert_eq!(found(u64::MAX), None);
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n".to_owned()).find(5).is_none());
    }

    #[test]
    fn places_in_programs_are_named_by_file_where_nothing_else_is_known() {
        let line = "7f00000000-7f00002000 r-xp 00001000 fe:00 123                        /no/such/lib.so";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!((mapping.offset, mapping.path.as_str()), (0x1000, "/no/such/lib.so"));
        assert_eq!(parse_mapping("7f00000000-7f00002000 rw-p 00000000 00:00 0"), None);
        let frame = place(&[mapping], 0x7f_0000_0010);
        assert_eq!((frame.function.as_str(), offset_of_unnamed(&frame)), ("lib.so+0x1010", Some(0x1010)));
        assert_eq!(ProgramSymbols::new().find(&frame.module, 0x1010), [frame]);
        assert_eq!(place(&[], 5).module, "unmapped");
    }

    #[test]
    fn a_function_of_this_program_is_named() {
        let address = places_in_programs_are_named_by_file_where_nothing_else_is_known as fn() as usize as u64;
        let frame = place(&mappings(std::process::id()), address + 1);
        let frames = ProgramSymbols::new().find(&frame.module, offset_of_unnamed(&frame).unwrap());
        assert!(frames.last().unwrap().function.contains("places_in_programs"), "{frames:?}");
    }
}
