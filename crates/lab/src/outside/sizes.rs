//! How long a module's functions are, from its file: the kernel's list says only where each begins.

use std::collections::BTreeMap;

const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
/// The type of the section that lists symbols.
const SYMBOLS: u32 = 2;
/// Lines such as `name=driver`, each ended by a zero.
const INFORMATION: &str = ".modinfo";

/// A module's name, and how long its functions are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) module: String,
    /// In bytes, by their names; of several with one name the longest.
    pub(super) bytes: BTreeMap<String, u64>,
}

#[derive(Clone, Copy)]
struct Section<'a> {
    name: u64,
    kind: u32,
    link: usize,
    contents: &'a [u8],
}

impl Sizes {
    /// From a module's file for x86-64; `None` if it is none, or has no list of symbols.
    pub(super) fn parse(file: &[u8]) -> Option<Sizes> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let begin = usize::try_from(number(file, 40, 8)?).ok()?;
        let table = file.get(begin..)?;
        let count = usize::try_from(number(file, 60, 2)?).ok()?;
        let names = usize::try_from(number(file, 62, 2)?).ok()?;
        let sections: Vec<Section<'_>> =
            table.chunks(SECTION_BYTES).take(count).map(|header| section(file, header)).collect::<Option<_>>()?;
        let names = sections.get(names)?.contents;
        let information = sections.iter().find(|section| text(names, section.name) == Some(INFORMATION))?;
        let mut lines = information.contents.split(|byte| *byte == 0);
        let module = lines.find_map(|line| std::str::from_utf8(line).ok()?.strip_prefix("name="))?.to_owned();
        let listed = sections.iter().find(|section| section.kind == SYMBOLS)?;
        let strings = sections.get(listed.link)?.contents;
        let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
        for symbol in listed.contents.chunks(SYMBOL_BYTES) {
            let (Some(name), Some(size @ 1..)) = (number(symbol, 0, 4), number(symbol, 16, 8)) else { continue };
            let Some(name) = text(strings, name) else { continue };
            let longest = bytes.entry(name.to_owned()).or_default();
            *longest = size.max(*longest);
        }
        Some(Sizes { module, bytes })
    }
}

fn section<'a>(file: &'a [u8], header: &[u8]) -> Option<Section<'a>> {
    let kind = u32::try_from(number(header, 4, 4)?).ok()?;
    let (at, size) = (number(header, 24, 8)?, number(header, 32, 8)?);
    let (at, size) = (usize::try_from(at).ok()?, usize::try_from(size).ok()?);
    // One of data that begins as zeros has no contents.
    let contents = file.get(at..at.checked_add(size)?).unwrap_or_default();
    Some(Section { name: number(header, 0, 4)?, kind, link: usize::try_from(number(header, 40, 4)?).ok()?, contents })
}

/// A number of some bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// What is at a place, up to the next zero.
fn text(strings: &[u8], at: u64) -> Option<&str> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A module's file with these functions and sizes.
    pub(in super::super) fn module(name: &str, functions: &[(&str, u64)]) -> Vec<u8> {
        let (mut strings, mut symbols) = (vec![0_u8], vec![0_u8; SYMBOL_BYTES]);
        for (function, size) in functions {
            let mut symbol = vec![0_u8; SYMBOL_BYTES];
            symbol[..4].copy_from_slice(&u32::try_from(strings.len()).unwrap().to_le_bytes());
            symbol[16..].copy_from_slice(&size.to_le_bytes());
            symbols.extend(symbol);
            strings.extend(function.bytes().chain([0]));
        }
        let information = format!("license=GPL\0name={name}\0").into_bytes();
        let parts = [
            (0, 0, Vec::new()),
            (1, 1, information),
            (1, 0, b"\0.modinfo\0".to_vec()),
            (3, 0, strings),
            (2, 0, symbols),
        ];
        let mut file = vec![0_u8; 64];
        let mut headers = Vec::new();
        for (kind, name, contents) in parts {
            let mut header = vec![0_u8; SECTION_BYTES];
            let mut put = |at: usize, value: usize| {
                header[at..at + 4].copy_from_slice(&u32::try_from(value).unwrap().to_le_bytes())
            };
            put(0, name);
            put(4, kind);
            put(24, file.len());
            put(32, contents.len());
            // The strings of the list of symbols.
            put(40, 3);
            headers.extend(header);
            file.extend(contents);
        }
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let begin = file.len() as u64;
        file[40..48].copy_from_slice(&begin.to_le_bytes());
        (file[60], file[62]) = (5, 2);
        file.extend(headers);
        file
    }

    #[test]
    fn a_modules_functions_have_their_sizes() {
        let file = module("driver", &[("on_timer", 40), ("one", 1), ("label", 0), ("on_timer", 16)]);
        let sizes = Sizes::parse(&file).unwrap();
        let bytes = [("on_timer", 40), ("one", 1)].map(|(name, size)| (name.to_owned(), size));
        assert_eq!(sizes, Sizes { module: "driver".to_owned(), bytes: BTreeMap::from(bytes) });
    }

    #[test]
    fn what_is_no_module_or_was_cut_has_none() {
        let file = module("driver", &[("on_timer", 40)]);
        for length in 0..file.len() {
            // It may say less, but does not fail.
            let _ = Sizes::parse(&file[..length]);
        }
        assert_eq!(Sizes::parse(b"#!/bin/sh"), None);
        assert_eq!(Sizes::parse(&file[..file.len() - SECTION_BYTES * 4]), None);
    }
}
