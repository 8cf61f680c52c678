//! Commands that no guest runs.

/// Commands that have no row, and why. A test of the program compares this with the commands that it has.
pub const ROWLESS: [(&str, &str); 7] = [
    ("load install", "a guest has no package manager"),
    ("interact install", "a guest has no package manager"),
    ("interact learn", "it takes a person at a terminal"),
    ("sim papers", "all experiments take long in an emulator, no kernel changes the answer, and `sim run` has one"),
    ("lab kernels", "a guest has neither an emulator nor kernels to boot in one"),
    ("lab run", "a guest has neither an emulator nor kernels to boot in one"),
    ("lab why", "a guest has neither an emulator nor kernels to boot in one"),
];

#[cfg(test)]
mod tests {
    use super::ROWLESS;
    use std::path::Path;

    #[test]
    fn the_page_names_every_command_without_a_row() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kernels.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (command, reason) in ROWLESS {
            assert!(page.contains(&format!("`{command}`")) && !reason.is_empty(), "{command}");
        }
    }
}
