//! What tests of datapumps in the kernel share.

/// What the kernel says about the program's verification.
pub(crate) fn verified_instructions() -> Option<u64> {
    let files = std::fs::read_dir("/proc/self/fdinfo").ok()?;
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let values = texts
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("verified_insns:")?.trim().parse().ok()));
    values.max()
}
