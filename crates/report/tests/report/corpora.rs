//! Every input that a fuzz target begins with, or that was once a fault, is read without a panic and within a
//! second of CPU time.

#[path = "../../../../fuzz/src/readers.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the fuzz targets")]
mod readers;

use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

/// The CPU time of this process: what others take of a busy machine is not in it.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn every_reader_answers_to_every_input_of_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let (mut inputs, mut changed) = (0, 0);
    for (name, reader) in readers::READERS {
        let directory = std::fs::read_dir(corpora.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let place = readers::place(&format!("test-{name}"));
        let mut own = 0;
        for entry in directory {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let begun = cpu_time();
            reader(&place, &bytes);
            let took = cpu_time() - begun;
            assert!(took < Duration::from_secs(1), "{}: {took:?}", path.display());
            own += 1;
            // And cut off, and with a byte changed, at 40 places each.
            for place_of in 0..40 {
                let at = bytes.len() * place_of / 40;
                reader(&place, &bytes[..at]);
                let mut other = bytes.clone();
                other[at] ^= 0x55;
                reader(&place, &other);
                changed += 2;
            }
        }
        assert!(own > 0, "{name} has no corpus");
        inputs += own;
        let _ = std::fs::remove_dir_all(&place);
    }
    eprintln!("{} readers, {inputs} inputs, {changed} changed ones", readers::READERS.len());
}
