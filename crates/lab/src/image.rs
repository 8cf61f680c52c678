//! Extracts the kernel proper from a compressed boot image.
//!
//! QEMU boots the ELF file through its PVH note and so skips the emulated decompression, which takes half of the boot.
//! The ELF file also holds the kernel's type information.

use crate::own_place;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is wrong with an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The image, or the file that it was written to.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is neither an ELF file nor an image of the x86 boot protocol 2.08 or newer.
    #[error("{}: neither an ELF file (vmlinux) nor a bzImage (vmlinuz) of x86", .0.display())]
    Foreign(PathBuf),
    /// The kernel in it is packed in a way that this program does not know.
    #[error("{}: packed in a way that punctual does not know; it knows gzip, xz, zstd and lz4", .0.display())]
    Packing(PathBuf),
    /// The program that unpacks it failed.
    #[error("{}: {program} could not unpack it (is {program} installed?)", path.display())]
    Unpack {
        /// The image.
        path: PathBuf,
        /// What was called.
        program: &'static str,
    },
    /// It unpacks to more than any kernel.
    #[error("{}: the kernel in it unpacks to more than the {} MiB that punctual reads of one", .0.display(), MAX_IMAGE_BYTES >> 20)]
    Large(PathBuf),
}

/// No image, including its debug information, is longer, bytes.
pub const MAX_IMAGE_BYTES: u64 = 1 << 30;

const ELF: &[u8] = b"\x7fELF";

/// How kernels are packed: the first bytes and the program that unpacks them.
const PACKINGS: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4")];

/// The packed kernel within an image, or nothing if it is not an image of boot protocol 2.08 or newer.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let protocol = u16::from_le_bytes(image.get(0x206..0x208)?.try_into().ok()?);
    if image.get(0x202..0x206)? != b"HdrS" || protocol < 0x208 {
        return None;
    }
    // Zero means four, in the oldest images.
    let setup_sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (setup_sectors + 1) * 512 + number(0x248)?;
    image.get(start..start.checked_add(number(0x24c)?)?)
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> ImageError {
    let path = path.to_owned();
    |source| ImageError::File { path, source }
}

/// Writes the ELF file of a kernel image, given by its bytes and the file that they are from; an ELF file is copied as it
/// is.
pub(crate) fn extract_from(bytes: &[u8], image: &Path, elf: &Path) -> Result<(), ImageError> {
    if bytes.starts_with(ELF) {
        return own_place::write(elf, bytes).map_err(file(elf));
    }
    let packed = payload(bytes).ok_or_else(|| ImageError::Foreign(image.to_owned()))?;
    if packed.starts_with(ELF) {
        return own_place::write(elf, packed).map_err(file(elf));
    }
    let program = unpacker(packed, image)?;
    // Except for gzip, which gives it itself, the unpacked length follows in four bytes.
    let packed = if program == "gzip" { packed } else { &packed[..packed.len() - 4] };
    unpack_elf(program, packed, image, elf)
}

/// Writes the ELF file of a hypervisor, of which the whole file is packed.
pub(crate) fn extract_whole(bytes: &[u8], image: &Path, elf: &Path) -> Result<(), ImageError> {
    unpack_elf(unpacker(bytes, image)?, bytes, image, elf)
}

/// The program that unpacks what begins like this.
fn unpacker(packed: &[u8], image: &Path) -> Result<&'static str, ImageError> {
    let packing = PACKINGS.iter().find(|(magic, _)| packed.starts_with(magic));
    packing.map(|(_, program)| *program).ok_or_else(|| ImageError::Packing(image.to_owned()))
}

/// Writes what a program makes of packed bytes, provided that it is an ELF file.
fn unpack_elf(program: &'static str, packed: &[u8], image: &Path, elf: &Path) -> Result<(), ImageError> {
    let directory = elf.parent().unwrap_or(Path::new("."));
    let mut source = tempfile::tempfile_in(directory).map_err(file(directory))?;
    source.write_all(packed).and_then(|()| source.rewind()).map_err(file(directory))?;
    let mut unpacked = tempfile::NamedTempFile::new_in(directory).map_err(file(directory))?;
    let is_unpacked = unpack(program, source, unpacked.as_file_mut(), MAX_IMAGE_BYTES);
    let is_unpacked = is_unpacked.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => ImageError::Large(image.to_owned()),
        _ => file(directory)(error),
    })?;
    let mut magic = [0; ELF.len()];
    let is_elf = unpacked.rewind().and_then(|()| unpacked.read_exact(&mut magic)).is_ok() && magic == ELF;
    if !is_unpacked || !is_elf {
        return Err(ImageError::Unpack { path: image.to_owned(), program });
    }
    unpacked.persist(elf).map(drop).map_err(|error| file(elf)(error.error))
}

/// Writes what a program makes of its input to a file; false if the program is missing or fails. A few bytes can unpack to
/// any number: no more than `max` are written.
fn unpack(program: &str, packed: File, unpacked: &mut File, max: u64) -> io::Result<bool> {
    let mut command = Command::new(program);
    command.arg("-dc").stdin(packed).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Ok(false) };
    let mut stream = child.stdout.take().expect("a pipe").take(max);
    let mut copied = io::copy(&mut stream, unpacked);
    let mut rest = stream.into_inner();
    if copied.is_ok() && rest.read(&mut [0]).is_ok_and(|length| length > 0) {
        copied = Err(io::ErrorKind::FileTooLarge.into());
    }
    if copied.is_err() {
        let _ = child.kill();
    }
    // Nobody reads any more: whatever it still writes ends it.
    drop(rest);
    let status = child.wait();
    copied?;
    // gzip complains about what follows the data, but its output is right.
    Ok(status.is_ok_and(|status| status.success() || (program == "gzip" && status.code() == Some(2))))
}

#[cfg(test)]
mod tests {
    use super::{ImageError, extract_from, extract_whole, payload, unpack};
    use std::io::{ErrorKind, Seek, Write};
    use std::process::Command;

    /// An image whose payload is what a program makes of an ELF file's beginning.
    fn image(packed: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&64_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
        image.resize(1024 + 64, 0);
        image.extend_from_slice(packed);
        image.extend_from_slice(b"what follows");
        image
    }

    #[test]
    fn each_packing_is_unpacked() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let kernel = [b"\x7fELF".as_slice(), &[7; 5000]].concat();
        std::fs::write(at("kernel"), &kernel).unwrap();
        let mut tried = 0;
        for (program, words) in
            [("gzip", &["-c"][..]), ("xz", &["-c", "--check=crc32"]), ("zstd", &["-cq"]), ("lz4", &["-clq"])]
        {
            let Ok(output) = Command::new(program).args(words).arg(at("kernel")).output() else {
                punctual_testing::skip(&format!("unpacking {program}"), "not installed");
                continue;
            };
            let mut packed = output.stdout;
            if program != "gzip" {
                packed.extend_from_slice(&5004_u32.to_le_bytes());
            }
            extract_from(&image(&packed), &at("image"), &at("elf")).unwrap();
            assert_eq!(std::fs::read(at("elf")).unwrap(), kernel, "{program}");
            tried += 1;
        }
        assert!(tried > 0);
    }

    #[test]
    fn what_is_packed_as_a_whole_is_unpacked_if_it_is_an_elf_file() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (contents, is_taken) in [(&b"\x7fELF of a hypervisor"[..], true), (b"something else", false)] {
            std::fs::write(at("plain"), contents).unwrap();
            let Ok(output) = Command::new("gzip").arg("-c").arg(at("plain")).output() else {
                return punctual_testing::skip("unpacking a hypervisor", "gzip is not installed");
            };
            let said = extract_whole(&output.stdout, &at("xen.gz"), &at("xen"));
            assert_eq!(said.is_ok(), is_taken, "{said:?}");
            assert_eq!(std::fs::read(at("xen")).unwrap(), b"\x7fELF of a hypervisor");
        }
        let plain = extract_whole(b"\x7fELF", &at("xen.gz"), &at("xen"));
        assert!(matches!(plain, Err(ImageError::Packing(_))), "{plain:?}");
    }

    #[test]
    fn no_more_is_unpacked_than_a_kernel_may_have() {
        let directory = tempfile::tempdir().unwrap();
        let plain = directory.path().join("plain");
        std::fs::write(&plain, "x".repeat(1 << 20)).unwrap();
        let Ok(output) = Command::new("gzip").arg("-c").arg(&plain).output() else {
            return punctual_testing::skip("bounds of what gzip unpacks", "gzip is not installed");
        };
        let unpacked = |max: u64| {
            let mut packed = tempfile::tempfile().unwrap();
            packed.write_all(&output.stdout).unwrap();
            packed.rewind().unwrap();
            let mut unpacked = tempfile::tempfile().unwrap();
            let said = unpack("gzip", packed, &mut unpacked, max).map_err(|error| error.kind());
            (said, unpacked.metadata().unwrap().len())
        };
        assert_eq!(unpacked(1 << 20), (Ok(true), 1 << 20));
        assert_eq!(unpacked(5_000), (Err(ErrorKind::FileTooLarge), 5_000));
        let absent =
            unpack("punctual-unpacks-nothing", tempfile::tempfile().unwrap(), &mut tempfile::tempfile().unwrap(), 1);
        assert!(absent.is_ok_and(|is_unpacked| !is_unpacked));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [image_path, elf] = ["image", "elf"].map(|name| directory.path().join(name));
        for bytes in [&b""[..], b"HdrS", &[0; 4096]] {
            assert_eq!(payload(bytes), None);
            assert!(matches!(extract_from(bytes, &image_path, &elf), Err(ImageError::Foreign(_))));
        }
        let unknown = image(b"no packing that is known");
        assert!(matches!(extract_from(&unknown, &image_path, &elf), Err(ImageError::Packing(_))));
        // A length beyond the end.
        let mut short = image(b"\x1f\x8b");
        short[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload(&short), None);
    }
}
