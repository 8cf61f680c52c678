//! Writes the archive that a kernel unpacks as its first file system: cpio in the `newc` format.
//!
//! Times and owners are zero, so that the same files give the same bytes.

use std::collections::BTreeSet;

/// An archive that grows in memory.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<String>,
}

const DIRECTORY: u32 = 0o40_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o20_000;
const END: &str = "TRAILER!!!";

impl Archive {
    /// Adds a file with its permissions, and the directories that it needs. Anything that already has the name stays.
    pub fn file(&mut self, name: &str, permissions: u32, data: &[u8]) {
        let name = name.trim_start_matches('/');
        for (end, _) in name.match_indices('/') {
            self.directory(&name[..end], 0o755);
        }
        self.entry(name, FILE | permissions, data, (0, 0));
    }

    /// Adds a directory with its permissions, unless it is there.
    pub fn directory(&mut self, name: &str, permissions: u32) {
        self.entry(name, DIRECTORY | permissions, &[], (0, 0));
    }

    /// Adds a character device with its major and minor number.
    pub fn device(&mut self, name: &str, permissions: u32, numbers: (u32, u32)) {
        self.entry(name, CHARACTER_DEVICE | permissions, &[], numbers);
    }

    /// The whole archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, &[], (0, 0));
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8], device: (u32, u32)) {
        if !self.names.insert(name.to_owned()) {
            return;
        }
        let inode = u32::try_from(self.names.len()).expect("fewer files than inodes");
        let length = u32::try_from(data.len()).expect("no file of 4 GiB in a guest's memory");
        let name_length = u32::try_from(name.len() + 1).expect("a short name");
        // Inode, mode, owner, group, links, time, length, the file system's device, the device's numbers, name, checksum.
        let fields = [inode, mode, 0, 0, 1, 0, length, 0, 0, device.0, device.1, name_length, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn cpio_reads_what_was_written() {
        let mut archive = Archive::default();
        archive.file("/bin/deep/tool", 0o755, b"abcde");
        archive.file("bin/deep/tool", 0o644, b"the second one is passed over");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        // busybox reads it as a guest would: the matrix needs it anyway.
        let child = Command::new("busybox")
            .args(["cpio", "-t", "-v"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            return punctual_testing::skip("cpio", "no busybox");
        };
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let list = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines.len(), 3, "{list}");
        assert!(lines[2].starts_with("-rwxr-xr-x") && lines[2].ends_with("bin/deep/tool"), "{list}");
    }
}
