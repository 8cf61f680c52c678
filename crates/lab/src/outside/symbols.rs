//! The functions of a kernel.

use super::sizes::Sizes;

/// Beyond this many bytes after a function's beginning it is no longer that function.
const MAX_FUNCTION_BYTES: u64 = 64 << 10;
/// No function's name is longer in Linux, and no module's; the list comes from the guest, which may write anything there.
const MAX_NAME_BYTES: usize = 512;
/// What follows a module's code begins a page of its own.
const PAGE_BYTES: u64 = 4 << 10;
/// BPF programs in place of a module: the kernel puts each at a random place, another one in each run.
const BPF: &str = "[bpf]";

/// Functions by their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    // Sorted by address; ends and names have the same index.
    starts: Vec<u64>,
    ends: Vec<u64>,
    names: Vec<String>,
}

impl Symbols {
    /// From `/proc/kallsyms`, as root reads it; anything that is not an entry is left out, and so are BPF programs. A
    /// function of a module has the module's name behind its own.
    #[must_use]
    pub fn parse(text: &str) -> Symbols {
        let mut functions: Vec<Function<'_>> = text.lines().filter_map(function).collect();
        functions.sort_by_key(|function| function.start);
        // Of several names for one place, the first.
        functions.dedup_by_key(|function| function.start);
        let end = |(number, function): (usize, &Function<'_>)| {
            let next = functions.get(number + 1);
            let is_last_of_module = function.module.is_some() && next.is_none_or(|next| next.module != function.module);
            if is_last_of_module {
                (function.start | (PAGE_BYTES - 1)).saturating_add(1)
            } else {
                function.start.saturating_add(MAX_FUNCTION_BYTES)
            }
        };
        let name = |function: &Function<'_>| match function.module {
            Some(module) => format!("{} {module}", function.name),
            None => function.name.to_owned(),
        };
        Symbols {
            starts: functions.iter().map(|function| function.start).collect(),
            ends: functions.iter().enumerate().map(end).collect(),
            names: functions.iter().map(name).collect(),
        }
    }

    /// Lets a module's functions end where its file says: what lies behind one, such as code that has no symbol, has
    /// none of its name. A file that is no module's changes nothing.
    pub fn bound(&mut self, module_file: &[u8]) {
        let Some(Sizes { module, bytes }) = Sizes::parse(module_file) else { return };
        let behind = format!(" [{module}]");
        for (number, name) in self.names.iter().enumerate() {
            if let Some(size) = name.strip_suffix(&behind).and_then(|name| bytes.get(name)) {
                self.ends[number] = self.ends[number].min(self.starts[number].saturating_add(*size));
            }
        }
    }

    /// The number of the function that an address belongs to.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<usize> {
        let number = self.starts.partition_point(|start| *start <= address).checked_sub(1)?;
        (address < self.ends[number]).then_some(number)
    }

    /// Whether an address is the first of a function.
    #[must_use]
    pub fn begins(&self, number: usize, address: u64) -> bool {
        self.starts.get(number) == Some(&address)
    }

    /// A function's name; words for one that has none.
    #[must_use]
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("code without a name", String::as_str)
    }

    /// The number of the function with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none, as when the list hides its addresses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

struct Function<'a> {
    start: u64,
    name: &'a str,
    // In brackets.
    module: Option<&'a str>,
}

fn function(line: &str) -> Option<Function<'_>> {
    let mut words = line.split_whitespace();
    let (address, kind, name, module) = (words.next()?, words.next()?, words.next()?, words.next());
    let start = u64::from_str_radix(address, 16).ok().filter(|address| *address >> 63 == 1)?;
    let is_function = matches!(kind, "t" | "T" | "w" | "W") && module != Some(BPF);
    let is_named = name.len() <= MAX_NAME_BYTES && module.is_none_or(|module| module.len() <= MAX_NAME_BYTES);
    (is_function && is_named).then_some(Function { start, name, module })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_address_and_data_and_hidden_ones_are_none() {
        let text = "ffffffff81000000 T startup\nffffffff81000040 t schedule\nffffffff81000040 T also\n\
                    ffffffff81000080 D data\n0000000000000000 T hidden\nnonsense\n";
        let symbols = Symbols::parse(text);
        assert_eq!(symbols.len(), 2);
        let name = |address| symbols.at(address).map(|number| symbols.name(number).to_owned());
        assert_eq!(name(0xffff_ffff_8100_003f).as_deref(), Some("startup"));
        assert_eq!(name(0xffff_ffff_8100_0090).as_deref(), Some("schedule"));
        assert_eq!(name(0xffff_ffff_8000_0000), None);
        assert_eq!(name(0xffff_ffff_8200_0000), None, "too far behind the last one");
        let number = symbols.find("schedule").unwrap();
        assert!(symbols.begins(number, 0xffff_ffff_8100_0040) && !symbols.begins(number, 0xffff_ffff_8100_0041));
    }

    #[test]
    fn a_name_that_no_function_could_have_is_none() {
        let entry = |length: usize| format!("ffffffff81000000 T {}\n", "f".repeat(length));
        assert_eq!(Symbols::parse(&entry(MAX_NAME_BYTES)).len(), 1);
        assert!(Symbols::parse(&entry(MAX_NAME_BYTES + 1)).is_empty());
        assert!(Symbols::parse(&format!("ffffffff81000000 t f\t[{}]\n", "m".repeat(MAX_NAME_BYTES))).is_empty());
    }

    #[test]
    fn functions_of_a_module_end_where_its_file_says() {
        let text = "ffffffff81000000 T short\nffffffffc0200010 t short\t[my_driver]\nffffffffc0200050 t long\t[my_driver]\n\
                    ffffffffc0203000 t short\t[another]\n";
        let mut symbols = Symbols::parse(text);
        symbols.bound(b"no module");
        let name = |symbols: &Symbols, address| symbols.at(address).map(|number| symbols.name(number).to_owned());
        assert_eq!(name(&symbols, 0xffff_ffff_c020_0020).as_deref(), Some("short [my_driver]"));
        symbols.bound(&super::super::sizes::tests::module("my_driver", &[("short", 1), ("long", 0)]));
        assert_eq!(name(&symbols, 0xffff_ffff_c020_0010).as_deref(), Some("short [my_driver]"));
        assert_eq!(name(&symbols, 0xffff_ffff_c020_0011), None, "code without a symbol behind it");
        assert_eq!(name(&symbols, 0xffff_ffff_c020_0060).as_deref(), Some("long [my_driver]"), "its size is not known");
        assert_eq!(name(&symbols, 0xffff_ffff_8100_0020).as_deref(), Some("short"), "the kernel's own");
        assert_eq!(name(&symbols, 0xffff_ffff_c020_3020).as_deref(), Some("short [another]"));
    }

    #[test]
    fn functions_of_a_module_have_its_name_and_end_with_its_last_page() {
        let text = "ffffffff81000000 T schedule\nffffffffc0200010 t on_timer\t[driver]\nffffffffc0200f80 t last\t[driver]\n\
                    ffffffffc0201100 t bpf_prog_6deef7357e7b4530_f\t[bpf]\nffffffffc0203000 t other\t[another]\n";
        let symbols = Symbols::parse(text);
        let name = |address| symbols.at(address).map(|number| symbols.name(number).to_owned());
        assert_eq!(name(0xffff_ffff_8100_0000).as_deref(), Some("schedule"));
        assert_eq!(name(0xffff_ffff_c020_0020).as_deref(), Some("on_timer [driver]"));
        assert_eq!(name(0xffff_ffff_c020_0fff).as_deref(), Some("last [driver]"));
        assert_eq!(name(0xffff_ffff_c020_1000), None, "code that somebody put behind the module");
        assert_eq!(name(0xffff_ffff_c020_1100), None, "a BPF program");
        assert_eq!(name(0xffff_ffff_c020_3004).as_deref(), Some("other [another]"));
        assert_eq!(name(0xffff_ffff_c020_4000), None);
    }
}
