#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| punctual_fuzz::place("interaction_code"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| punctual_fuzz::reader("interaction_code").expect("a reader")(
    &PLACE, bytes
));
