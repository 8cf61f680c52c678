//! Reads every input that the fuzz target of marks begins with, or that once was a fault: without a panic, within a second
//! of CPU time.

use punctual_kernel::clock::thread_cpu_ns;
use punctual_probe::eventlog::{Tried, try_marks};
use std::path::Path;

/// A slot that matches its place, from a thread with this number, and a round that reads it.
fn mark(thread: u32) -> Vec<u8> {
    let mut words = [0u8; 64];
    words[16..20].copy_from_slice(&thread.to_le_bytes());
    words[32..36].copy_from_slice(b"text");
    [&[7][..], &words, &[8, 255, 0, 0]].concat()
}

#[test]
fn marks_are_taken_and_what_breaks_the_memory_ends_them() {
    let good = try_marks(&[mark(9), mark(10)].concat()).unwrap();
    assert_eq!(good, Tried { rounds: 2, marks: 2, ..Tried::default() });
    let nobody = try_marks(&mark(0)).unwrap();
    assert_eq!(nobody, Tried { rounds: 1, refused: 1, ..Tried::default() });
    let tail_moved = [&mark(9)[..], &[3, 5, 0, 0, 0, 0, 0, 0, 0], &mark(9)].concat();
    let broken = try_marks(&tail_moved).unwrap();
    assert_eq!(broken, Tried { rounds: 2, marks: 1, is_broken: true, ..Tried::default() });
}

#[test]
fn the_log_answers_to_every_input_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/marks");
    let (mut inputs, mut changed) = (0, 0);
    for entry in std::fs::read_dir(&corpus).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let begun = thread_cpu_ns();
        try_marks(&bytes).unwrap();
        let took_ns = thread_cpu_ns() - begun;
        assert!(took_ns < 1_000_000_000, "{}: {took_ns} ns", path.display());
        inputs += 1;
        for place in 0..40 {
            let at = bytes.len() * place / 40;
            try_marks(&bytes[..at]).unwrap();
            let mut other = bytes.clone();
            other[at] ^= 0x55;
            try_marks(&other).unwrap();
            changed += 2;
        }
    }
    assert!(inputs > 0, "there is no corpus");
    eprintln!("{inputs} inputs, {changed} changed ones");
}
