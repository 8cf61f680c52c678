//! Where functions of the kernel are, for programs that recognise a timer by the function it calls.
//!
//! The BPF library would read the kernel's whole list of symbols for every object that names one, a character at a
//! time. Here the kernel is asked, where that is quick. Otherwise its list is read once, and only until everything is
//! found.

use crate::asked_function::Finder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Mutex, PoisonError};

const LIST: &str = "/proc/kallsyms";
/// The kernel gives a page at a time.
const BUFFER: usize = 4096;

/// What was looked up before.
static KNOWN: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// The addresses of these functions, in this order; 0 for one that this kernel does not have, and for all where it
/// hides them from this process.
pub fn function_addresses<const N: usize>(names: [&'static str; N]) -> [u64; N] {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let unknown: Vec<&'static str> = names.into_iter().filter(|name| !known.contains_key(name)).collect();
    if !unknown.is_empty() {
        let found = asked(&unknown).unwrap_or_else(|| listed(&unknown));
        // One that is not there is not looked up again.
        known.extend(unknown.iter().map(|name| (*name, 0)));
        known.extend(found);
    }
    names.map(|name| known.get(name).copied().unwrap_or(0))
}

/// The kernel's own answer, where it gives one quickly.
fn asked<'a>(names: &[&'a str]) -> Option<Vec<(&'a str, u64)>> {
    let finder = Finder::load()?;
    names.iter().map(|name| Some((*name, finder.find(name)?))).collect()
}

/// What its list says.
fn listed<'a>(names: &[&'a str]) -> Vec<(&'a str, u64)> {
    let found = File::open(LIST).map(|list| find(BufReader::with_capacity(BUFFER, list), names));
    found.unwrap_or_default()
}

/// Reads `ADDRESS KIND NAME`, and after a tab a module, line by line until all are found. Of two with the same name the
/// first counts.
fn find<'a>(mut list: BufReader<impl Read>, names: &[&'a str]) -> Vec<(&'a str, u64)> {
    let (mut found, mut line) = (Vec::with_capacity(names.len()), Vec::new());
    while found.len() < names.len() {
        line.clear();
        if !list.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            break;
        }
        let Some((address, name)) = taken_apart(&line) else { continue };
        let wanted = names.iter().find(|wanted| wanted.as_bytes() == name);
        if let Some(wanted) = wanted.filter(|wanted| found.iter().all(|(known, _)| known != *wanted)) {
            found.push((*wanted, address));
        }
    }
    found
}

fn taken_apart(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut words = line.trim_ascii_end().splitn(3, |&byte| byte == b' ');
    let (address, _kind, name) = (words.next()?, words.next()?, words.next()?);
    let name = name.split(|&byte| byte == b'\t').next()?;
    Some((u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A fixed\nffffffff81000010 t one\nnonsense\nffffffff81000020 T two.cold\n\
                        ffffffff81000030 T two\nffffffffc0000000 t three\t[module]\nffffffff81000040 t two\nlast";

    #[test]
    fn the_first_of_a_name_counts_and_others_are_not_found() {
        let mut met = 0;
        for (names, expected) in [
            (&["two", "one"][..], &[("one", 0xffff_ffff_8100_0010), ("two", 0xffff_ffff_8100_0030)][..]),
            (&["three"], &[("three", 0xffff_ffff_c000_0000)]),
            (&["tw", "last", "wo"], &[]),
        ] {
            assert_eq!(find(BufReader::new(TEXT.as_bytes()), names), expected);
            met += 1;
        }
        assert_eq!(met, 3);
    }

    #[test]
    fn what_is_found_stands_in_the_kernels_list() {
        let names = ["hrtimer_wakeup", "no_such_function_of_a_kernel", "it_real_fn"];
        let found = function_addresses(names);
        assert_eq!(found[1], 0);
        assert_eq!(function_addresses(names), found, "the same when it is asked again");
        let listed: BTreeMap<_, _> = listed(&names).into_iter().collect();
        assert_eq!(names.map(|name| listed.get(name).copied().unwrap_or(0)), found, "as in the list");
        let text = std::fs::read_to_string(LIST).unwrap_or_default();
        for (name, address) in names.into_iter().zip(found).filter(|(_, address)| *address != 0) {
            let stands = text
                .lines()
                .any(|line| line.ends_with(&format!(" {name}")) && line.starts_with(&format!("{address:016x} ")));
            assert!(stands, "{name} at {address:#x}");
        }
    }
}
