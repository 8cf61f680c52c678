//! What a benchmark asks before it begins.

use punctual_kernel::Refused;

/// Whether to leave it out, because it is only being listed or may not do what it must; says so in that case.
pub(crate) fn is_left_out(needs: &str, may: impl FnOnce() -> Result<(), Refused>) -> bool {
    if std::env::args().any(|word| word == "--list") {
        return true;
    }
    let refused = may().err();
    if let Some(refused) = &refused {
        println!("SKIPPED: the benchmark {needs} ({refused})");
    }
    refused.is_some()
}
