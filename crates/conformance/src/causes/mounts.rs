//! Disks that are files, and mounts that go away while they are in use.

use super::system::checked;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn control(descriptor: i32, request: u64, argument: u64) -> io::Result<i32> {
    // SAFETY: callers hand over plain numbers, or addresses of structures of the request's kind that live through the call.
    checked(unsafe { libc::ioctl(descriptor, request as _, argument) }.into())
}

/// A disk that is a file; it disappears with the last process that has it open.
pub(super) fn loop_device(file: i32) -> io::Result<(i32, String)> {
    const NEXT_FREE: u64 = 0x4c82;
    const CONFIGURE: u64 = 0x4c0a;
    const GOES_ON_CLOSE: u32 = 4;
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::fs::OpenOptionsExt;
    let number = control(std::fs::File::open("/dev/loop-control")?.as_raw_fd(), NEXT_FREE, 0)?;
    let mut options = std::fs::File::options();
    let device = options.read(true).write(true).custom_flags(libc::O_DIRECT).open(format!("/dev/loop{number}"))?;
    // `struct loop_config`: the file first, and the flags of its `loop_info64`.
    let mut setting = [0_u32; 76];
    (setting[0], setting[15]) = (file as u32, GOES_ON_CLOSE);
    control(device.as_raw_fd(), CONFIGURE, setting.as_ptr() as u64)?;
    Ok((device.into_raw_fd(), format!("loop{number}")))
}

/// Takes a mount away from its place; it lasts for those that have anything on it open.
pub(super) fn detach(place: &Path) -> io::Result<()> {
    let place = CString::new(place.as_os_str().as_bytes())?;
    // SAFETY: the path ends with NUL.
    checked(unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH) }.into()).map(drop)
}
