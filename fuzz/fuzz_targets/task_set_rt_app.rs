#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| punctual_fuzz::place("task_set_rt_app"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| punctual_fuzz::reader("task_set_rt_app").expect("a reader")(&PLACE, bytes));
