//! The file system of a guest: a shell, a few tools, the program under test, and the command to run.

use crate::cpio::Archive;
use punctual_recording::input;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is missing to make a guest's file system.
#[derive(Debug, thiserror::Error)]
pub enum UserlandError {
    /// A program is nowhere on the path.
    #[error("{0} is not installed (Debian has it in {package})", package = package_of(.0))]
    Missing(&'static str),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What is copied if the host has it.
const TOOLS: [&str; 6] = ["taskset", "chrt", "prlimit", "unshare", "setpriv", "stress-ng"];

/// Sets the guest up, runs `/command`, and sends what is in /out through the second serial line.
const INIT: &str = "\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
hostname guest
ip link set lo up 2>/dev/null
stty -F /dev/ttyS1 raw -echo
cd /tmp
bash /command >/tmp/.output 2>&1 </dev/null
echo $? >/out/.code
mv /tmp/.output /out/.output
dmesg >/out/.kernel-log
tar -C /out -cf /dev/ttyS1 .
sync
";

/// How a guest ends, after that.
pub(crate) const END: &str = "poweroff -f\n";

/// Of a file that goes into a guest no more is read, bytes: its memory would not hold it.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

fn read(path: &Path) -> Result<(Vec<u8>, u32), UserlandError> {
    let file = |source| UserlandError::File { path: path.to_owned(), source };
    let mode = path.metadata().map_err(file)?.permissions().mode() & 0o7777;
    Ok((input::read_file(path, MAX_FILE_BYTES).map_err(file)?, mode))
}

/// The shared libraries that a program needs to start; none for a static one.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let Ok(output) = Command::new("ldd").arg(program).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(PathBuf::from).collect()
}

/// Where a program is, on the path or where administrators' programs are.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(program)).find(|place| place.is_file())
}

/// Adds a file and, if it is a program, the libraries that it needs to start.
fn add(archive: &mut Archive, host: &Path, guest: &str) -> Result<(), UserlandError> {
    let (bytes, mode) = read(host)?;
    archive.file(guest, mode, &bytes);
    for library in libraries(host) {
        let (bytes, mode) = read(&library)?;
        archive.file(&library.to_string_lossy(), mode, &bytes);
    }
    Ok(())
}

/// Debian's package of a program that guests need.
fn package_of(program: &str) -> &'static str {
    match program {
        "busybox" => "busybox-static",
        "setpriv" => "util-linux",
        _ => "bash",
    }
}

/// A program without debug information and symbols, which may be four fifths of the bytes to load; unchanged if there
/// is no `strip`, or no room for its output.
fn stripped(program: &Path) -> Result<Vec<u8>, UserlandError> {
    let strip = || {
        // A file without a name, so that nothing is left of it however this program ends.
        let mut target = tempfile::tempfile().ok()?;
        let mut command = Command::new("strip");
        command.args(["-o", "/dev/stdout"]).arg(program).stdout(target.try_clone().ok()?).stderr(Stdio::null());
        command.status().ok().filter(std::process::ExitStatus::success)?;
        target.rewind().ok()?;
        let mut bytes = Vec::new();
        target.read_to_end(&mut bytes).ok().filter(|length| *length > 0)?;
        Some(bytes)
    };
    strip().map_or_else(|| Ok(read(program)?.0), Ok)
}

/// Makes the archive: tools, the host's files with their places in the guest, the stripped program, the command, and how
/// the guest ends after it.
pub(crate) fn archive(
    program: Option<&Path>,
    files: &[(PathBuf, String)],
    command: &str,
    end: &str,
) -> Result<Vec<u8>, UserlandError> {
    let mut archive = Archive::default();
    for directory in ["bin", "dev", "etc", "out", "proc", "root", "run", "sbin", "sys", "usr", "usr/bin", "usr/sbin"] {
        archive.directory(directory, 0o755);
    }
    archive.directory("tmp", 0o1777);
    archive.device("dev/console", 0o600, (5, 1));
    archive.device("dev/null", 0o666, (1, 3));
    let busybox = find("busybox").ok_or(UserlandError::Missing("busybox"))?;
    add(&mut archive, &busybox, "bin/busybox")?;
    // busybox's shell puts its own tools before those on the path.
    add(&mut archive, &find("bash").ok_or(UserlandError::Missing("bash"))?, "bin/bash")?;
    for tool in TOOLS {
        if let Some(host) = find(tool) {
            add(&mut archive, &host, &format!("usr/bin/{tool}"))?;
        }
    }
    if let Some(program) = program {
        archive.file("usr/bin/punctual", 0o755, &stripped(program)?);
        for library in libraries(program) {
            let (bytes, mode) = read(&library)?;
            archive.file(&library.to_string_lossy(), mode, &bytes);
        }
    }
    for (host, guest) in files {
        add(&mut archive, host, guest)?;
    }
    archive.file("etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n");
    archive.file("init", 0o755, format!("{INIT}{end}").as_bytes());
    archive.file("command", 0o755, command.as_bytes());
    Ok(archive.finish())
}
