//! As much of a file system in user space as it takes to answer for the attributes of its root (<linux/fuse.h>).

use super::super::system;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

const INIT: u32 = 26;
const GET_ATTRIBUTES: u32 = 3;
/// No such call.
const REFUSED: i32 = -libc::ENOSYS;
/// A request's header: length, what, number, node, who.
const HEADER: usize = 40;

/// The daemon's side of a mount.
pub(super) struct Daemon(OwnedFd);

/// A request from the kernel.
pub(super) struct Request {
    what: u32,
    number: u64,
}

impl Daemon {
    /// Mounts it at a directory; answers the kernel's greeting.
    pub(super) fn at(place: &Path) -> io::Result<Daemon> {
        let device = std::fs::File::options().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let (place, options) = (CString::new(place.as_os_str().as_encoded_bytes())?, CString::new(options)?);
        // SAFETY: all of them end with NUL and live through the call.
        let mounted =
            unsafe { libc::mount(c"c-daemon".as_ptr(), place.as_ptr(), c"fuse".as_ptr(), 0, options.as_ptr().cast()) };
        if mounted != 0 {
            return Err(io::Error::last_os_error());
        }
        let daemon = Daemon(device.into());
        let greeting = daemon.next();
        daemon.answer(&greeting);
        Ok(daemon)
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub(super) fn next(&self) -> Request {
        // As large as the kernel wants it, whatever it asks.
        let mut bytes = vec![0; 1 << 17];
        let length = system::read(self.descriptor(), &mut bytes);
        if length < HEADER as isize {
            return Request { what: 0, number: 0 };
        }
        let number = u64::from_ne_bytes(bytes[8..16].try_into().expect("eight"));
        Request { what: u32::from_ne_bytes(bytes[4..8].try_into().expect("four")), number }
    }

    pub(super) fn answer(&self, request: &Request) {
        let body = match request.what {
            INIT => greeting(),
            GET_ATTRIBUTES => attributes(),
            _ => Vec::new(),
        };
        let error = if body.is_empty() { REFUSED } else { 0 };
        let mut bytes = Vec::new();
        bytes.extend(((16 + body.len()) as u32).to_ne_bytes());
        bytes.extend(error.to_ne_bytes());
        bytes.extend(request.number.to_ne_bytes());
        bytes.extend(body);
        system::write(self.descriptor(), &bytes);
    }
}

/// Version 7.31, and nothing that would need more.
fn greeting() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[0..4].copy_from_slice(&7_u32.to_ne_bytes());
    bytes[4..8].copy_from_slice(&31_u32.to_ne_bytes());
    // The longest write.
    bytes[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
    bytes
}

/// A directory whose attributes are asked for again each time, because they are never valid for any time.
fn attributes() -> Vec<u8> {
    const MODE: usize = 16 + 60;
    let mut bytes = vec![0; 104];
    bytes[16..24].copy_from_slice(&1_u64.to_ne_bytes());
    bytes[MODE..MODE + 4].copy_from_slice(&(libc::S_IFDIR | 0o755).to_ne_bytes());
    bytes[MODE + 4..MODE + 8].copy_from_slice(&2_u32.to_ne_bytes());
    bytes
}
