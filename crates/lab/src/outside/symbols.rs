//! The functions of a kernel.

/// Beyond this many bytes after a function's beginning it is no longer that function.
const MAX_FUNCTION_BYTES: u64 = 64 << 10;

/// Functions by their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    // Sorted by address; the names have the same index.
    starts: Vec<u64>,
    names: Vec<String>,
}

impl Symbols {
    /// From `/proc/kallsyms`, as root reads it; anything that is not an entry is left out.
    #[must_use]
    pub fn parse(text: &str) -> Symbols {
        let mut functions: Vec<(u64, &str)> = text.lines().filter_map(function).collect();
        functions.sort_by_key(|(start, _)| *start);
        // Of several names for one place, the first.
        functions.dedup_by_key(|(start, _)| *start);
        let starts = functions.iter().map(|(start, _)| *start).collect();
        Symbols { starts, names: functions.into_iter().map(|(_, name)| name.to_owned()).collect() }
    }

    /// The number of the function that an address belongs to.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<usize> {
        let number = self.starts.partition_point(|start| *start <= address).checked_sub(1)?;
        (address - self.starts[number] < MAX_FUNCTION_BYTES).then_some(number)
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

fn function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address >> 63 == 1)?;
    matches!(kind, "t" | "T" | "w" | "W").then_some((address, name))
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
}
