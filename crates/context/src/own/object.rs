//! Examines an object before anything is done with it: what a device's work may not contain.
//!
//! The kernel proves that a program ends, not when: helpers that loop, and functions that it verifies once but that are
//! called often, can make a program arbitrarily long. Without them it is as long as what the kernel walks, at most a
//! million instructions.

use super::bytes::{number, text_at};
use super::{FUNCTION, HEADER_NAME, signature};

/// `e_machine` of BPF.
const MACHINE: u16 = 247;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const INSTRUCTION: usize = 8;
const SYMBOLS: u32 = 2;
/// A symbol that is a variable.
const OBJECT: u8 = 1;
const WRITABLE: u64 = 1;
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;

/// Says in a line what may not be there; the object is not changed.
pub(super) fn check(object: &[u8]) -> Result<(), String> {
    let object =
        Object::open(object).ok_or("it is not a BPF object of this byte order (clang -target bpf makes one)")?;
    let sections = object.sections().ok_or(DAMAGED)?;
    let mut has_code = false;
    for (index, section) in sections.iter().enumerate() {
        match section {
            Section { flags, name, .. } if flags & EXECUTABLE != 0 => {
                if name != ".text" && section.size != 0 {
                    return Err(format!("it has a program of its own, `{name}`: only a function is called"));
                }
                check_instructions(section.bytes)?;
                has_code |= section.size != 0;
            }
            // Compilers leave empty ones.
            Section { flags, size, .. } if flags & ALLOCATED == 0 || *size == 0 => {}
            Section { flags, name, .. } if flags & WRITABLE != 0 => {
                let name = variable(&sections, index).unwrap_or_else(|| name.clone());
                return Err(format!("it has variables or maps (`{name}`): what persists is kept in block->state"));
            }
            Section { name, .. } if name.starts_with(".rodata.str") => {
                return Err(
                    "it has text in quotes: only tables can be used, such as static const char text[] = \"...\""
                        .to_owned(),
                );
            }
            Section { name, .. } if name != ".rodata" => {
                return Err(format!("its tables are in `{name}`: include punctual_work.h, which keeps them together"));
            }
            _ => {}
        }
    }
    if !has_code {
        return Err(DAMAGED.to_owned());
    }
    check_symbols(&sections)?;
    let information = sections.iter().find(|section| section.name == ".BTF");
    let information =
        information.ok_or("it has no type information: compile it with -g (clang -target bpf -mcpu=v3 -g -O2)")?;
    signature::check(information.bytes)
}

/// The name of the first variable in this section.
fn variable(sections: &[Section<'_>], index: usize) -> Option<String> {
    let table = sections.iter().find(|section| section.kind == SYMBOLS)?;
    let names = sections.get(table.link as usize)?;
    let is_in = |symbol: &&[u8; SYMBOL]| symbol[4] & 15 == OBJECT && number(*symbol, 6, 2) == Some(index as u64);
    let symbol = table.bytes.as_chunks::<SYMBOL>().0.iter().find(is_in)?;
    text_at(names.bytes, number(symbol, 0, 4)? as usize)
}

const DAMAGED: &str = "it is damaged, or not an object with a function in it";

fn check_symbols(sections: &[Section<'_>]) -> Result<(), String> {
    let table = sections.iter().find(|section| section.kind == SYMBOLS).ok_or(DAMAGED)?;
    let names = sections.get(table.link as usize).ok_or(DAMAGED)?;
    let mut found = false;
    for symbol in table.bytes.as_chunks::<SYMBOL>().0.iter().skip(1) {
        let name = text_at(names.bytes, number(symbol, 0, 4).ok_or(DAMAGED)? as usize).ok_or(DAMAGED)?;
        let (kind, binding, section) = (symbol[4] & 15, symbol[4] >> 4, number(symbol, 6, 2).ok_or(DAMAGED)?);
        if binding == 0 {
            continue;
        }
        if section == 0 && name == "work" {
            return Err(format!("it has no function {}", signature::WANTED));
        }
        if section == 0 {
            return Err(format!(
                "it calls or uses `{name}`, which it does not define: only what is in the file can be used"
            ));
        }
        if name != FUNCTION {
            return Err(format!("`{name}` can be seen from outside: declare it static"));
        }
        found = kind == 2;
    }
    if found {
        Ok(())
    } else {
        Err(format!("it does not include {HEADER_NAME}: begin with it, and write {}", signature::WANTED))
    }
}

fn check_instructions(code: &[u8]) -> Result<(), String> {
    let mut instructions = code.as_chunks::<INSTRUCTION>().0.iter();
    while let Some(instruction) = instructions.next() {
        let called = instruction[1] >> 4;
        match instruction[0] {
            // One that is no number: the map behind a descriptor of this process, or what the kernel has at a name.
            0x18 if called != 0 => {
                return Err("it names memory outside the file: only its block and its tables can be used".into());
            }
            // A number of 64 bits takes two. Relocations say where one leads that is the address of a table.
            0x18 => drop(instructions.next()),
            // A function of the same object; relocations say where it leads.
            0x85 if called == 1 => {}
            0x85 | 0x8d => {
                return Err("it calls a kernel function: only functions in the file can be called".into());
            }
            0xe5 => return Err("it has a loop without a bound (may_goto): every loop needs a constant one".into()),
            _ => {}
        }
    }
    Ok(())
}

struct Section<'a> {
    name: String,
    kind: u32,
    flags: u64,
    link: u32,
    size: u64,
    bytes: &'a [u8],
}

struct Object<'a>(&'a [u8]);

impl<'a> Object<'a> {
    /// A 64-bit ELF file for BPF, in this machine's byte order.
    fn open(bytes: &'a [u8]) -> Option<Object<'a>> {
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        let right = bytes.get(..6)? == [0x7f, b'E', b'L', b'F', 2, order].as_slice();
        (right && number(bytes, 18, 2)? == u64::from(MACHINE)).then_some(Object(bytes))
    }

    fn sections(&self) -> Option<Vec<Section<'a>>> {
        let (table, count) = (number(self.0, 40, 8)? as usize, number(self.0, 60, 2)? as usize);
        let header = |index: usize| self.0.get(table.checked_add(index * SECTION)?..)?.get(..SECTION);
        let contents = |header: &[u8]| {
            // What is all zeros takes no room in a file.
            let length = if number(header, 4, 4)? == 8 { 0 } else { number(header, 32, 8)? as usize };
            self.0.get(number(header, 24, 8)? as usize..)?.get(..length)
        };
        let names = contents(header(number(self.0, 62, 2)? as usize)?)?;
        let section = |index: usize| {
            let header = header(index)?;
            Some(Section {
                name: text_at(names, number(header, 0, 4)? as usize)?,
                kind: number(header, 4, 4)? as u32,
                flags: number(header, 8, 8)?,
                link: number(header, 40, 4)? as u32,
                size: number(header, 32, 8)?,
                bytes: contents(header)?,
            })
        };
        (0..count).map(section).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device_irq_own.bpf.o"));

    #[test]
    fn what_is_no_work_is_refused_with_the_reason() {
        let words = |object: &[u8]| check(object).unwrap_err();
        assert!(words(b"int work();").contains("not a BPF object"));
        assert!(words(PROGRAMS).contains("a kernel function"), "{}", words(PROGRAMS));
        // Another machine's, and one that ends early.
        let mut other = PROGRAMS.to_vec();
        other[18] = 62;
        assert!(words(&other).contains("not a BPF object"));
        for length in [6, 63, 64, 1_000, PROGRAMS.len() - 1] {
            assert!(check(&PROGRAMS[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn only_functions_of_the_file_are_called() {
        let call = |source: u8| [0x85, source << 4, 0, 0, 1, 0, 0, 0];
        let (exit, jump) = ([0x95, 0, 0, 0, 0, 0, 0, 0], [0x05, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(check_instructions(&[call(1), jump, exit].concat()), Ok(()));
        for refused in [call(0), call(2), [0x8d, 0, 0, 0, 0, 0, 0, 0], [0xe5, 0, 1, 0, 0, 0, 0, 0]] {
            assert!(check_instructions(&[refused, exit].concat()).is_err(), "{refused:?}");
            // The second half of a number of 64 bits is not an instruction; what follows it is.
            let wide = [0x18, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(check_instructions(&[wide, refused, exit].concat()), Ok(()));
            assert!(check_instructions(&[wide, exit, refused].concat()).is_err());
        }
    }

    /// A compiler leaves it to relocations where an address leads. Written by hand, an instruction may name a map behind a
    /// descriptor of this process, such as the one with the device's own limits.
    #[test]
    fn no_memory_outside_the_file_is_named() {
        for source in 1..=6 {
            let named = [[0x18, source << 4, 0, 0, 5, 0, 0, 0], [0; 8]].concat();
            assert!(check_instructions(&named).unwrap_err().contains("outside the file"), "{source}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
            let mut object = PROGRAMS.to_vec();
            for (place, byte) in changes {
                // Sizes and places are in the headers at both ends.
                let place = place.index(4_096);
                let length = object.len();
                object[if place < 64 { place } else { length - place }] = byte;
            }
            let _ = check(&object);
        }
    }
}
