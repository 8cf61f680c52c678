//! A kernel of the user's own: what it says of itself decides what commands must give on it.

use punctual_lab::table::Kernel;
use regex::bytes::Regex;
use std::path::{Path, PathBuf};

/// A kernel of the user's own that can be tried.
#[derive(Clone, Debug)]
pub struct OwnKernel {
    /// It as an entry of the table.
    pub kernel: Kernel,
    /// Its release.
    pub version: String,
    /// It as an ELF file.
    pub elf: PathBuf,
}

/// Reads what an ELF file says of the kernel that is in it. `given` is where the user has that kernel.
///
/// # Errors
///
/// If the file cannot be read or does not say which kernel it is.
pub fn own(given: &Path, elf: PathBuf) -> std::io::Result<OwnKernel> {
    let banner = banner(&std::fs::read(&elf)?);
    let banner = banner.ok_or_else(|| std::io::Error::other("it does not say which kernel it is"))?;
    let (release, is_real_time) = told(&banner);
    // Names of guests become names of directories.
    let name = std::path::absolute(given)?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let kernel = Kernel {
        name,
        series: release.clone(),
        flavour: if is_real_time { "rt-own" } else { "own" }.to_owned(),
        suites: Vec::new(),
        fast: false,
        recorded: None,
    };
    Ok(OwnKernel { kernel, version: release, elf })
}

/// The line with which a kernel introduces itself at its boot.
fn banner(elf: &[u8]) -> Option<String> {
    let pattern = Regex::new(r"(?-u)Linux version \d+\.\d+[^\n\x00]*").expect("a fixed pattern");
    pattern.find(elf).map(|found| String::from_utf8_lossy(found.as_bytes()).into_owned())
}

/// The release in such a line, and whether the kernel is one with `PREEMPT_RT`.
fn told(banner: &str) -> (String, bool) {
    let release = banner.split_whitespace().nth(2).unwrap_or_default();
    (release.to_owned(), banner.contains("PREEMPT_RT"))
}

#[cfg(test)]
mod tests {
    use super::own;

    fn told(bytes: &[u8]) -> std::io::Result<(String, String, String)> {
        let directory = tempfile::tempdir()?;
        let elf = directory.path().join("digest");
        std::fs::write(&elf, bytes)?;
        let found = own(std::path::Path::new("/boot/vmlinuz-own"), elf)?;
        Ok((found.kernel.name, found.kernel.flavour, found.version))
    }

    #[test]
    fn a_kernel_says_its_release_and_whether_it_is_a_real_time_one() {
        let stock = b"\x7fELF\0%s version %s\0Linux version %s\0Linux version 6.8.0-45-generic (a@b) #45 SMP\n\0more";
        let expected = ("vmlinuz-own".to_owned(), "own".to_owned(), "6.8.0-45-generic".to_owned());
        assert_eq!(told(stock).unwrap(), expected);
        let real_time =
            b"\x7fELF\0Linux version 6.12.0 (a@b) (gcc \xff) #1 SMP PREEMPT_RT Debian\n\0Linux version 1.0\0";
        assert_eq!(told(real_time).unwrap().1, "rt-own");
        assert!(told(b"\x7fELF\0nothing").is_err());
    }
}
