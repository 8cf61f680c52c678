//! Names of code: the kernel's from its own list, programs' from their files. Used off every measuring path.

use super::program_files::ProgramFile;
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use punctual_kernel::clock;
use punctual_kernel::scheduling::Boosted;
use punctual_recording::episode::Frame;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Functions of the kernel, its modules and BPF programs, from `/proc/kallsyms`.
#[derive(Default)]
pub(crate) struct KernelSymbols {
    text: String,
    /// Address, and where its name begins and ends in the text, sorted by address.
    symbols: Vec<(u64, u32, u32)>,
    /// Where each module begins and ends.
    modules: HashMap<String, (u64, u64)>,
    /// When the reading of them began, ns of `CLOCK_MONOTONIC`: what has come since may be missing.
    pub(super) read_ns: u64,
}

/// No function is longer; an address further from a symbol than this belongs to something without one.
const MAX_FUNCTION: u64 = 1 << 20;
/// The trampolines that the kernel makes to call BPF programs are no longer than this; the kernel does not say where they end.
const MAX_TRAMPOLINE: u64 = 512;

/// The kernel's own limit: the longest that linkers make by themselves, a SHA-1.
const MAX_BUILD_ID: usize = 20;

impl KernelSymbols {
    pub(crate) fn read() -> KernelSymbols {
        KernelSymbols::read_unless(&AtomicBool::new(false))
    }

    /// The same; none once they are not wanted any more.
    pub(super) fn read_unless(unwanted: &AtomicBool) -> KernelSymbols {
        // Before the list, which takes long: a module that comes meanwhile counts as one that has come since.
        let (read_ns, modules) = (clock::monotonic_ns(), modules());
        let mut symbols = KernelSymbols::parse(list(unwanted).unwrap_or_default());
        (symbols.read_ns, symbols.modules) = (read_ns, modules);
        symbols
    }

    /// Whether modules have come or gone since.
    pub(super) fn are_of_other_modules(&self) -> bool {
        self.modules != modules()
    }

    pub(super) fn parse(text: String) -> KernelSymbols {
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
        // Without the privilege to see them, all addresses are 0.
        if symbols.last().is_none_or(|last| last.0 == 0) {
            symbols.clear();
        }
        KernelSymbols { text, symbols, modules: HashMap::new(), read_ns: 0 }
    }

    /// The function of the kernel or a module that contains an address. BPF programs are left out: their symbols do not
    /// say where they end, and what followed one may be gone.
    pub(crate) fn find(&self, address: u64) -> Option<Frame> {
        let after = self.symbols.partition_point(|symbol| symbol.0 <= address);
        let &(start, begin, end) = self.symbols.get(after.checked_sub(1)?)?;
        if address - start > MAX_FUNCTION {
            return None;
        }
        let (name, module) = self.name(begin, end)?;
        if module == "bpf" && (name.starts_with(PROGRAM) || address - start > MAX_TRAMPOLINE) {
            return None;
        }
        // After a module there may have been another one, or a BPF program.
        if self.modules.get(module).is_some_and(|(_, end)| address >= *end) {
            return None;
        }
        let module = if module.is_empty() { "kernel" } else { module };
        Some(Frame { function: name.to_owned(), module: module.to_owned() })
    }

    /// The function of a BPF program that begins at an address.
    pub(super) fn program_at(&self, address: u64) -> Option<&str> {
        let at = self.symbols.partition_point(|symbol| symbol.0 < address);
        let equal = self.symbols[at..].iter().take_while(|symbol| symbol.0 == address);
        // bpf_prog_<16 digits of its tag>_<name>
        let own = |symbol: &(u64, u32, u32)| match self.name(symbol.1, symbol.2)? {
            (name, "bpf") => name.strip_prefix(PROGRAM)?.get(17..),
            _ => None,
        };
        equal.into_iter().find_map(own)
    }

    /// Name and module of a symbol.
    fn name(&self, begin: u32, end: u32) -> Option<(&str, &str)> {
        let line = self.text.get(begin as usize..end as usize)?;
        let (name, module) = line.split_once('\t').unwrap_or((line, ""));
        Some((name, module.trim_matches(['[', ']'])))
    }
}

/// So much of the list is read before it matters again whether it is still wanted, bytes.
const PART_BYTES: u64 = 64 << 10;

/// The kernel's list; `None` if it cannot be read, or is not wanted any more.
fn list(unwanted: &AtomicBool) -> Option<String> {
    let mut file = std::fs::File::open("/proc/kallsyms").ok()?;
    let mut text = Vec::new();
    while !unwanted.load(Ordering::Relaxed) {
        if file.by_ref().take(PART_BYTES).read_to_end(&mut text).ok()? == 0 {
            return String::from_utf8(text).ok();
        }
    }
    None
}

/// Where the modules are that are loaded now.
fn modules() -> HashMap<String, (u64, u64)> {
    parse_modules(&std::fs::read_to_string("/proc/modules").unwrap_or_default())
}

/// How the symbols of BPF programs begin.
const PROGRAM: &str = "bpf_prog_";

/// Where modules begin and end: `NAME SIZE USERS BY STATE ADDRESS`. Without the privilege to see them, none.
fn parse_modules(text: &str) -> HashMap<String, (u64, u64)> {
    let module = |line: &str| {
        let mut words = line.split(' ');
        let (name, size) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        let start = u64::from_str_radix(words.nth(3)?.trim_start_matches("0x"), 16).ok()?;
        (start > 0).then(|| (name.to_owned(), (start, start + size)))
    };
    text.lines().filter_map(module).collect()
}

/// A stretch of a process's memory that holds code from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    offset: u64,
    path: Arc<str>,
}

/// A process may map as many pieces of code as it likes: this many are considered, ...
const MAX_MAPPINGS: usize = 4096;
/// ... in this much of the kernel's list of them, bytes, ...
const MAX_MAPS_BYTES: u64 = 4 << 20;
/// ... and with paths of this many bytes.
const MAX_PATHS_BYTES: usize = 256 << 10;

impl Mapping {
    /// Whether an address lies in it.
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The offset in the file of an address that lies in it.
    pub(crate) fn offset_of(&self, address: u64) -> Option<u64> {
        self.holds(address).then(|| address - self.start + self.offset)
    }

    /// The file, as the process sees it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// The code that a process has mapped now; empty when it is gone.
pub(crate) fn mappings(process: u32) -> Vec<Mapping> {
    parse_mappings(&mapped(process))
}

/// What a process or thread has mapped now, as the kernel lists it; empty when it is gone, and for one that ends
/// meanwhile whatever was read until then.
pub(super) fn mapped(process: u32) -> String {
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(format!("/proc/{process}/maps")) {
        // The kernel holds the lock of its memory for each part that is read, and the process may be waiting for it.
        let _boosted = Boosted::begin();
        let _ = file.take(MAX_MAPS_BYTES).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn parse_mappings(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut paths = 0;
    for mut mapping in text.lines().filter_map(parse_mapping).take(MAX_MAPPINGS) {
        match mappings.last().filter(|last| last.path == mapping.path) {
            Some(last) => mapping.path = Arc::clone(&last.path),
            None => paths += mapping.path.len(),
        }
        if paths > MAX_PATHS_BYTES {
            break;
        }
        mappings.push(mapping);
    }
    mappings
}

pub(crate) fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.as_bytes().get(2) == Some(&b'x');
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let path = words.nth(2).unwrap_or("").trim().into();
    let address = |text| u64::from_str_radix(text, 16).ok();
    is_code.then_some(Mapping { start: address(start)?, end: address(end)?, offset, path })
}

/// A place in a program by its file's name and the offset into it; [`offset_of_unnamed`] recovers the offset.
fn unnamed(path: &str, offset: u64) -> Frame {
    let name = Path::new(path).file_name().map_or(path, |name| name.to_str().unwrap_or(path));
    Frame { function: format!("{name}+{offset:#x}"), module: path.to_owned() }
}

/// The module of code that a program made for itself.
const GENERATED: &str = "generated";

/// Whether memory with this path holds code that the program made while it ran: it is in no file.
fn is_generated(path: &str) -> bool {
    path.is_empty() || path.starts_with("[anon") || path.starts_with("//anon")
}

/// The place of an address in a process with these mappings, without a function's name: that is looked up later, when
/// the measurement is over.
pub(super) fn place(mappings: &[Mapping], address: u64) -> Frame {
    match mappings.iter().find(|mapping| mapping.holds(address)) {
        Some(mapping) if is_generated(&mapping.path) => {
            Frame { function: "generated code".to_owned(), module: GENERATED.to_owned() }
        }
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

/// Names of places in programs. Bounded: results are forgotten when there are many.
pub(super) struct ProgramSymbols {
    symbolizer: Symbolizer,
    found: HashMap<(String, u64), Vec<Frame>>,
    builds: BTreeMap<String, Option<String>>,
    /// Files that were opened: what is at their paths may change, and the symbolizer knows them by their descriptors.
    opened: HashMap<String, Option<ProgramFile>>,
    /// How much of them was copied, bytes.
    copied: u64,
    /// If this process takes more than this, bytes, it lets go of the files before it opens another.
    max_bytes: u64,
    /// What it took once the last file had been looked into for the first time, bytes; `None` until then.
    with_last_file: Option<u64>,
}

const REMEMBERED: usize = 50_000;
/// How much memory what was read of files, and what it takes to find something in them, may occupy, bytes, except for
/// the last file.
const MAX_FILES_BYTES: u64 = 96 << 20;
/// The last file, which may take more than that by itself, is let go of when it takes this much more, bytes.
const MAX_GROWTH_BYTES: u64 = 16 << 20;
/// If more than this was copied of files, bytes, they are let go of before the next one is opened.
const MAX_COPIED_BYTES: u64 = 32 << 20;
/// How many files are open at once.
const MAX_OPEN: usize = 512;

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().enable_code_info(false).enable_inlined_fns(true).build()
}

/// How much memory this process takes; 0 if that cannot be read.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

impl ProgramSymbols {
    pub(super) fn new() -> ProgramSymbols {
        ProgramSymbols {
            symbolizer: symbolizer(),
            found: HashMap::new(),
            builds: BTreeMap::new(),
            opened: HashMap::new(),
            copied: 0,
            max_bytes: resident_bytes() + MAX_FILES_BYTES,
            with_last_file: None,
        }
    }

    /// The functions at an offset into a file, innermost first: inlined ones come before the one that contains them.
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
        let with_last_file = *self.with_last_file.get_or_insert_with(resident_bytes);
        if resident_bytes() > self.max_bytes.max(with_last_file + MAX_GROWTH_BYTES) {
            self.forget_files();
        }
        frames
    }

    /// Lets go of all files; what was found in them stays.
    fn forget_files(&mut self) {
        self.symbolizer = symbolizer();
        self.opened.clear();
        self.copied = 0;
    }

    /// The path of a program's file, as opened, and whether files that it names may be opened too.
    fn open(&mut self, path: &str) -> Option<(PathBuf, bool)> {
        if !self.opened.contains_key(path) {
            if self.copied > MAX_COPIED_BYTES || !self.opened.is_empty() && resident_bytes() > self.max_bytes {
                self.forget_files();
            }
            if self.opened.len() >= MAX_OPEN {
                return None;
            }
            let opened = ProgramFile::open(path);
            self.copied += opened.as_ref().map_or(0, |file| file.copied);
            self.opened.insert(path.to_owned(), opened);
            self.with_last_file = None;
        }
        let file = self.opened.get(path)?.as_ref()?;
        Some((file.path.clone(), file.is_trusted))
    }

    fn look_up(&mut self, path: &str, offset: u64) -> Vec<Frame> {
        let frame = |function: &str| Frame { function: function.to_owned(), module: path.to_owned() };
        let without = || vec![unnamed(path, offset)];
        if !path.starts_with('/') {
            return without();
        }
        let Some((opened, is_trusted)) = self.open(path) else { return without() };
        // Debug information may exist but be unreadable, since it is compressed; the file's own symbols can be read. It may
        // also be in other files: which ones, the file itself says.
        let ways: &[bool] = if is_trusted { &[true, false] } else { &[false] };
        for &debug_syms in ways {
            let source = Source::Elf(Elf { debug_syms, ..Elf::new(&opened) });
            if let Ok(Symbolized::Sym(symbol)) = self.symbolizer.symbolize_single(&source, Input::FileOffset(offset)) {
                let mut frames: Vec<Frame> = symbol.inlined.iter().rev().map(|inlined| frame(&inlined.name)).collect();
                frames.push(frame(&symbol.name));
                return frames;
            }
        }
        without()
    }

    /// The build identifier of a file, in hexadecimal.
    pub(super) fn build_id(&mut self, path: &str) -> Option<String> {
        if self.builds.len() > REMEMBERED / 100 {
            self.builds.clear();
        }
        let opened = self.open(path);
        let read = || {
            let (opened, _) = opened?;
            let id = blazesym::helper::read_elf_build_id(&opened).ok()??;
            // A note of another owner with the same type number, such as a static probe's, is not a build identifier.
            let id = (id.len() <= MAX_BUILD_ID).then_some(id)?;
            Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
        };
        self.builds.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::program_files::{MAX_OWN_BYTES, open_program};
    use super::*;

    #[test]
    fn kernel_functions_are_found_by_address() {
        let list = "ffffffff81000000 T _stext\nffffffff81000100 t early\nffffffff81000200 D data\n\
                    ffffffffc0026130 t bpf_prog_612d71abf41ccb7a_timer_armed\t[bpf]\nffffffffc0030000 t open\t[snd]\n";
        let symbols = KernelSymbols::parse(list.to_owned());
        let found = |address| symbols.find(address).map(|frame| (frame.function, frame.module));
        assert_eq!(found(0xffff_ffff_8100_0150), Some(("early".into(), "kernel".into())));
        assert_eq!(found(0xffff_ffff_8100_0250), Some(("early".into(), "kernel".into())));
        assert_eq!(found(0xffff_ffff_c002_6140), None);
        assert_eq!(symbols.program_at(0xffff_ffff_c002_6130), Some("timer_armed"));
        assert_eq!(symbols.program_at(0xffff_ffff_c002_6131), None);
        assert_eq!(found(0xffff_ffff_c003_0000), Some(("open".into(), "snd".into())));
        assert_eq!(found(0x1000), None);
        assert_eq!(found(u64::MAX), None);
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n".to_owned()).find(5).is_none());
    }

    /// Most systems' C library has no symbols other than those that it offers.
    #[test]
    fn functions_that_a_library_offers_have_names_though_it_is_stripped() {
        let address = libc::clock_gettime as *const () as u64;
        let frame = place(&mappings(std::process::id()), address + 8);
        let found = ProgramSymbols::new().find(&frame.module, offset_of_unnamed(&frame).unwrap());
        assert!(found.last().unwrap().function.contains("clock_gettime"), "{found:?} of {frame:?}");
    }

    #[test]
    fn files_are_let_go_of_where_they_take_much_and_names_stay() {
        let address = libc::clock_gettime as *const () as u64;
        let frame = place(&mappings(std::process::id()), address + 8);
        let offset = offset_of_unnamed(&frame).unwrap();
        let mut symbols = ProgramSymbols { max_bytes: 0, ..ProgramSymbols::new() };
        let found = symbols.find(&frame.module, offset);
        assert!(found.last().unwrap().function.contains("clock_gettime"), "{found:?}");
        assert_eq!(symbols.opened.keys().collect::<Vec<_>>(), [&frame.module]);
        symbols.find("/proc/self/exe", 0);
        assert_eq!(symbols.opened.keys().collect::<Vec<_>>(), ["/proc/self/exe"]);
        assert_eq!(symbols.find(&frame.module, offset), found);
    }

    #[test]
    fn nothing_behind_a_module_or_a_trampoline_is_named_by_it() {
        let list = "ffffffffc0000000 t last\t[snd]\nffffffffc0010000 t bpf_trampoline_12\t[bpf]\n";
        let mut symbols = KernelSymbols::parse(list.to_owned());
        symbols.modules = parse_modules("snd 8192 0 - Live 0xffffffffc0000000\nhidden 4096 0 - Live 0x0\n");
        assert_eq!(symbols.modules.len(), 1);
        assert_eq!(symbols.find(0xffff_ffff_c000_1fff).unwrap().module, "snd");
        assert_eq!(symbols.find(0xffff_ffff_c000_2000), None);
        assert!(symbols.find(0xffff_ffff_c001_0010).is_some());
        assert_eq!(symbols.find(0xffff_ffff_c001_0400), None);
    }

    #[test]
    fn places_in_programs_are_named_by_file_where_nothing_else_is_known() {
        let line = "7f00000000-7f00002000 r-xp 00001000 fe:00 123                        /no/such/lib.so";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!((mapping.offset, &*mapping.path), (0x1000, "/no/such/lib.so"));
        assert_eq!(parse_mapping("7f00000000-7f00002000 rw-p 00000000 00:00 0"), None);
        let frame = place(&[mapping], 0x7f_0000_0010);
        assert_eq!((frame.function.as_str(), offset_of_unnamed(&frame)), ("lib.so+0x1010", Some(0x1010)));
        assert_eq!(ProgramSymbols::new().find(&frame.module, 0x1010), [frame]);
        assert_eq!(place(&[], 5).module, "unmapped");
        for path in ["", "[anon:v8]"] {
            let mapping = parse_mapping(&format!("7f00000000-7f00002000 rwxp 00000000 00:00 0 {path}")).unwrap();
            let frame = place(&[mapping], 0x7f_0000_0010);
            assert_eq!((frame.function.as_str(), offset_of_unnamed(&frame)), ("generated code", None));
        }
    }

    #[test]
    fn mappings_without_end_are_cut() {
        let line =
            |number: usize, path: &str| format!("{:x}-{:x} r-xp 00000000 fe:00 1 {path}\n", number * 2, number * 2 + 1);
        let many: String = (1..100_000).map(|number| line(number, "/lib/x.so")).collect();
        assert_eq!(parse_mappings(&many).len(), MAX_MAPPINGS);
        let long = |number: usize| line(number, &format!("/{number}/{}", "x".repeat(4_000)));
        let long: String = (1..10_000).map(long).collect();
        assert!((1..=MAX_PATHS_BYTES / 4_000).contains(&parse_mappings(&long).len()));
    }

    #[test]
    fn what_is_no_file_is_no_program() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let fifo = path("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let giant = path("giant");
        std::fs::File::create(&giant).unwrap().set_len(MAX_OWN_BYTES + 1).unwrap();
        for path in [fifo.as_str(), giant.as_str(), "/dev/zero", "/proc", "/no/such"] {
            assert!(open_program(path).is_none(), "{path}");
            let mut symbols = ProgramSymbols::new();
            assert_eq!(symbols.find(path, 0x10), [unnamed(path, 0x10)]);
            assert_eq!(symbols.build_id(path), None);
        }
    }

    #[test]
    fn a_function_of_this_program_is_named() {
        let address = places_in_programs_are_named_by_file_where_nothing_else_is_known as fn() as usize as u64;
        let frame = place(&mappings(std::process::id()), address + 1);
        let frames = ProgramSymbols::new().find(&frame.module, offset_of_unnamed(&frame).unwrap());
        assert!(frames.last().unwrap().function.contains("places_in_programs"), "{frames:?}");
    }
}
