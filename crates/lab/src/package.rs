//! The kernel in a distribution's package. It is read from what the package unpacks to, and nothing else of that is kept
//! or written anywhere. What is unpacked is an open file: where it came from, its path, only stands in messages, and whoever
//! may write there changes nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why there is no kernel in a package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The program that unpacks packages is missing.
    #[error("{}: a Debian package, but dpkg-deb, which unpacks those, is not installed", .0.display())]
    Missing(PathBuf),
    /// It cannot be run.
    #[error("{}: cannot run dpkg-deb: {source}", path.display())]
    NotRun {
        /// The package.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The kernel is for other machines.
    #[error("{}: a package for {architecture}, but guests are amd64", path.display())]
    Architecture {
        /// The package.
        path: PathBuf,
        /// What it is for.
        architecture: String,
    },
    /// It has no kernel.
    #[error("{}: no kernel image (vmlinuz) in the package", .0.display())]
    NoImage(PathBuf),
    /// It has no hypervisor.
    #[error("{}: no hypervisor (xen-*.gz) in the package", .0.display())]
    NoHypervisor(PathBuf),
    /// It unpacks to more than any kernel's package.
    #[error("{}: the package, or the kernel in it, unpacks to more than punctual reads of one", .0.display())]
    Large(PathBuf),
    /// It does not unpack.
    #[error("{}: damaged, or not a Debian package: dpkg-deb cannot unpack it", .0.display())]
    Damaged(PathBuf),
    /// It is of a sort that is not unpacked.
    #[error("{}: an RPM package: unpack it with rpm2cpio and cpio, and give the vmlinuz from it", .0.display())]
    Rpm(PathBuf),
}

/// How packages begin: an archive of `ar`, and RPM's lead.
const DEB: &[u8] = b"!<arch>\n";
const RPM: &[u8] = b"\xed\xab\xee\xdb";

/// No kernel's image is longer, and no description of a package, bytes.
const MAX_KERNEL_BYTES: u64 = 256 << 20;
const MAX_CONTROL_BYTES: u64 = 1 << 20;
/// Of what a package unpacks to no more is looked through, bytes.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// No name, version or architecture that is shown is longer.
const MAX_WORD: usize = 100;

/// Whether the first bytes of a file are those of a package that can be unpacked.
///
/// # Errors
///
/// If they are those of a package that cannot.
pub(crate) fn is_package(bytes: &[u8], path: &Path) -> Result<bool, PackageError> {
    if bytes.starts_with(RPM) { Err(PackageError::Rpm(path.to_owned())) } else { Ok(bytes.starts_with(DEB)) }
}

/// A package's name and version, provided that it is for the machine that guests are.
pub(crate) fn version_of(deb: &File, path: &Path) -> Result<String, PackageError> {
    let is_control = |path: &Path| path.file_name().is_some_and(|name| name == "control");
    let control = file_in((deb, path), "--ctrl-tarfile", is_control, MAX_CONTROL_BYTES)?;
    let control = control.ok_or_else(|| PackageError::Damaged(path.to_owned()))?;
    let text = String::from_utf8_lossy(&control);
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let is_shown = |word: &&str| {
            (1..=MAX_WORD).contains(&word.len()) && word.chars().all(|character| character.is_ascii_graphic())
        };
        value.filter(is_shown).ok_or_else(|| PackageError::Damaged(path.to_owned()))
    };
    let architecture = field("Architecture")?;
    if architecture != "amd64" {
        return Err(PackageError::Architecture { path: path.to_owned(), architecture: architecture.to_owned() });
    }
    Ok(format!("{} {}", field("Package")?, field("Version")?))
}

/// The kernel image in a package.
pub(crate) fn image_of(deb: &File, path: &Path) -> Result<Vec<u8>, PackageError> {
    let is_image = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"vmlinuz"));
    let image = file_in((deb, path), "--fsys-tarfile", is_image, MAX_KERNEL_BYTES)?;
    image.ok_or_else(|| PackageError::NoImage(path.to_owned()))
}

/// The hypervisor in a package, packed as it is there.
pub(crate) fn hypervisor_of(deb: &File, path: &Path) -> Result<Vec<u8>, PackageError> {
    let is_hypervisor = |path: &Path| {
        path.file_name().is_some_and(|name| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"xen-") && name.ends_with(b".gz")
        })
    };
    let hypervisor = file_in((deb, path), "--fsys-tarfile", is_hypervisor, MAX_KERNEL_BYTES)?;
    hypervisor.ok_or_else(|| PackageError::NoHypervisor(path.to_owned()))
}

/// A file out of one of the two archives in a package, or nothing if that is whole and does not have it.
fn file_in(
    (deb, path): (&File, &Path),
    archive: &str,
    is_wanted: fn(&Path) -> bool,
    max: u64,
) -> Result<Option<Vec<u8>>, PackageError> {
    let mut command = Command::new("dpkg-deb");
    // Opened anew, it is read from its beginning each time.
    command.arg(archive).arg("/dev/stdin").stdout(Stdio::piped()).stderr(Stdio::null());
    let spawned = deb.try_clone().and_then(|input| command.stdin(input).spawn());
    let mut child = spawned.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => PackageError::Missing(path.to_owned()),
        _ => PackageError::NotRun { path: path.to_owned(), source },
    })?;
    let mut stream = child.stdout.take().expect("a pipe").take(MAX_UNPACKED_BYTES);
    let mut found = find(&mut stream, is_wanted, max);
    // Only at its end dpkg-deb says whether the package is whole.
    let is_at_end = matches!(found, Ok(None));
    if is_at_end && let Err(error) = io::copy(&mut stream, &mut io::sink()) {
        found = Err(error);
    }
    let is_cut = stream.limit() == 0;
    drop(stream);
    if !is_at_end || is_cut {
        let _ = child.kill();
    }
    let is_whole = child.wait().is_ok_and(|status| status.success());
    match found {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(PackageError::Large(path.to_owned())),
        _ if is_cut => Err(PackageError::Large(path.to_owned())),
        Ok(None) if is_whole => Ok(None),
        Ok(None) | Err(_) => Err(PackageError::Damaged(path.to_owned())),
    }
}

/// The first file of an archive that is wanted.
fn find(archive: impl Read, is_wanted: fn(&Path) -> bool, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut archive = tar::Archive::new(archive);
    // Each entry as it stands: one that only holds the name of the next could claim any length.
    for entry in archive.entries()?.raw(true) {
        let entry = entry?;
        if !entry.header().entry_type().is_file() || !is_wanted(&entry.path()?) {
            continue;
        }
        let length = entry.size();
        if length > max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        entry.take(max).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 == length;
        return if is_whole { Ok(Some(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
    }
    Ok(None)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write as _;

    /// A package of these files, as dpkg-deb reads it.
    pub(crate) fn deb(architecture: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let control = format!("Package: linux-image-test\nVersion: 6.12-1\nArchitecture: {architecture}\n");
        let control = tar_of(&[("./control", control.as_bytes())]);
        let mut bytes = DEB.to_vec();
        for (name, member) in
            [("debian-binary", b"2.0\n".to_vec()), ("control.tar", control), ("data.tar", tar_of(files))]
        {
            let (zero, mode, length) = (0, "100644", member.len());
            bytes.extend(format!("{name:<16}{zero:<12}{zero:<6}{zero:<6}{mode:<8}{length:<10}`\n").into_bytes());
            bytes.extend(&member);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        bytes
    }

    fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, contents) in files {
            let mut header = tar::Header::new_gnu();
            // As it is, wherever it leads.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(contents.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append(&header, *contents).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn a_file_is_taken_whole_or_not_at_all() {
        let is_image = |path: &Path| path.ends_with("vmlinuz");
        let files =
            [("./boot/config", &[7; 3000][..]), ("./boot/vmlinuz", &[1; 5000][..]), ("./vmlinuz", &b"later"[..])];
        let archive = tar_of(&files);
        let found = find(&archive[..], is_image, 5000).unwrap();
        assert_eq!(found, Some(vec![1; 5000]));
        let large = find(&archive[..], is_image, 4999).unwrap_err();
        assert_eq!(large.kind(), io::ErrorKind::FileTooLarge);
        for length in [700, 4000, 6000, 9000] {
            assert!(find(&archive[..length], is_image, 5000).is_err(), "{length} bytes of it");
        }
        assert_eq!(find(&tar_of(&files[..1])[..], is_image, 5000).unwrap(), None);
    }

    /// An entry that only holds the name of the next one is passed over like any other: it could claim any length.
    #[test]
    fn a_name_in_an_entry_of_its_own_is_not_read() {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(8);
        header.set_cksum();
        let mut archive = header.as_bytes().to_vec();
        archive.extend_from_slice(b"vmlinuz\0");
        archive.resize(1024, 0);
        archive.extend(tar_of(&[("another", &b"no kernel"[..])]));
        assert_eq!(find(&archive[..], |path| path.ends_with("vmlinuz"), 5000).unwrap(), None);
        assert!(find(&archive[..], |path| path.ends_with("another"), 5000).unwrap().is_some());
    }

    #[test]
    fn a_packages_kernel_is_taken_and_what_is_wrong_with_one_is_said() {
        if Command::new("dpkg-deb").arg("--version").stdout(Stdio::null()).status().is_err() {
            return punctual_testing::skip("packages", "dpkg-deb is not installed");
        }
        // Nothing is read from the path.
        let path = Path::new("-test.deb");
        let opened = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            file
        };
        let kernel = ("./boot/vmlinuz-6.12", &b"a kernel"[..]);
        let whole = deb("amd64", &[("../../outside", &b"evil"[..]), ("./etc/junk", &[0; 9999][..]), kernel]);
        assert!(is_package(&whole, path).unwrap() && !is_package(b"\x7fELF", path).unwrap());
        let file = opened(&whole);
        for _ in 0..2 {
            assert_eq!(version_of(&file, path).unwrap(), "linux-image-test 6.12-1");
            assert_eq!(image_of(&file, path).unwrap(), b"a kernel");
        }
        let without = opened(&deb("amd64", &[("./etc/junk", &b"no kernel"[..])]));
        assert!(matches!(image_of(&without, path), Err(PackageError::NoImage(_))));
        let foreign = opened(&deb("arm64", &[kernel]));
        assert!(matches!(version_of(&foreign, path), Err(PackageError::Architecture { .. })));
        for damaged in [&whole[..whole.len() / 2], b"!<arch>\nwhatever"] {
            let said = image_of(&opened(damaged), path);
            assert!(matches!(said, Err(PackageError::Damaged(_))), "{} bytes", damaged.len());
        }
        let said = is_package(b"\xed\xab\xee\xdb\x03", path).unwrap_err().to_string();
        assert!(said.contains("rpm2cpio") && said.lines().count() == 1, "{said}");
    }
}
