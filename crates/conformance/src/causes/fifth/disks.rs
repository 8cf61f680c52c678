//! Two processes use a disk, one of them under a limit: they want the same pages, or use the same journal.

use super::super::group::Group;
use super::super::memory::file;
use super::super::mounts::{detach, loop_device};
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::system::{self, Memory, PAGE, now};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const MIB: usize = 1 << 20;
/// How much is read from the disk, or written to it, at once.
const PIECE: usize = 64 << 10;

/// Words of the board for the number of the piece that is wanted, from 1, and of the one under way; 0: none.
const WANTED: usize = 0;
const ASKED: usize = 1;

/// A process of the group whose disk is slow; it does what is wanted as soon as it is wanted.
fn slow(scene: &mut Scene, group: &Group, mut does: impl FnMut(u32)) -> Made {
    let (board, there) = (scene.board, scene.there);
    scene.role("c-slow", || {
        group.take(system::pid())?;
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            match board.words[WANTED].swap(0, AcqRel) {
                0 => system::sleep(MS / 5),
                number => does(number),
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// A process of a group that may read only a little per second has asked for pages that the victim wants too; the
/// victim is in no such group. The disk is a file, and idle.
pub(super) fn inherited_limit(scene: &mut Scene) -> Made {
    // Less than a piece per tenth of a second, the interval by which the kernel counts.
    const PER_SECOND: u64 = 256 << 10;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let below = file(scene, "c-below", 4 * MIB)?;
    // It disappears with the last role that has it open.
    let (_, name) = loop_device(below.as_raw_fd()).map_err(|error| Refused(format!("no loop device ({error})")))?;
    let open = || File::open(format!("/dev/{name}"));
    let (disk, of_slow) = (open()?, open()?);
    // No more than is asked for.
    system::reads_at_random(of_slow.as_raw_fd());
    let number = disk.metadata()?.st_rdev();
    let group = Group::new(scene, "blkio", "slow")?;
    group.limit_reads(libc::major(number), libc::minor(number), PER_SECOND)?;
    // One more than the number of the wanted piece, and of the one that was asked for.
    let (wanted, asked) = (&board.words[WANTED], &board.words[ASKED]);
    let mut bytes = vec![0; PIECE];
    slow(scene, &group, |piece| {
        asked.store(piece, Release);
        let _ = of_slow.read_at(&mut bytes, (u64::from(piece) - 1) * PIECE as u64);
    })?;
    scene.culprit("c-victim", || {
        real_time(70, here)?;
        let page = Memory::private(PAGE)?;
        board.prepared();
        for number in 0..count {
            if board.is_ending() {
                break;
            }
            system::forget(disk.as_raw_fd());
            let piece = number % (4 * MIB / PIECE);
            wanted.store(piece as u32 + 1, Release);
            while asked.load(Acquire) != piece as u32 + 1 && !board.is_ending() {
                system::sleep(MS / 2);
            }
            let due = now() + 2 * MS;
            system::sleep_until(due);
            let start = now();
            let _ = page.read_into(disk.as_raw_fd(), (piece * PIECE + 2 * PAGE) as u64);
            // Otherwise the victim was there first, and nobody held its own request back.
            if now() - start > 50 * MS {
                board.injected("c-slow", start, now());
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// A file system with a journal of its own, in a file on the disk. It stays for as long as anything on it is open.
///
/// When a file grows, the new data must be on the disk before the journal says that the file grew. That is the usual
/// order, except where space is first allocated as not yet written, which is the default.
fn with_journal(scene: &Scene) -> Result<(Vec<File>, File), Refused> {
    let below = file(scene, "c-below", 64 * MIB)?;
    let (_, name) = loop_device(below.as_raw_fd()).map_err(|error| Refused(format!("no loop device ({error})")))?;
    let device = format!("/dev/{name}");
    let mut make = Command::new("mke2fs");
    let made = make.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-J", "size=4"]).arg(&device).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err(Refused("mke2fs makes no file system with a journal".into()));
    }
    let place = scene.directory.join("journal");
    std::fs::create_dir_all(&place)?;
    mount(&device, &place).map_err(|error| Refused(format!("no ext4 with ordered data ({error})")))?;
    let files = ["c-slow", "c-own"].map(|name| File::create(place.join(name)));
    detach(&place)?;
    let files = files.into_iter().collect::<io::Result<_>>()?;
    Ok((files, File::open(device)?))
}

fn mount(device: &str, place: &Path) -> io::Result<()> {
    let (device, place) = (CString::new(device)?, CString::new(place.as_os_str().as_encoded_bytes())?);
    let options = c"data=ordered,nodioread_nolock";
    // SAFETY: all of them end with NUL and live through the call.
    let mounted = unsafe {
        libc::mount(device.as_ptr(), place.as_ptr(), c"ext4".as_ptr(), libc::MS_NOATIME, options.as_ptr().cast())
    };
    if mounted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A process of a group that may write only a little per second makes its file longer. The victim, which is in no such
/// group, has something of its own written; for that, the journal first waits for the other one.
pub(super) fn limit_behind_journal(scene: &mut Scene) -> Made {
    const PER_SECOND: u64 = 512 << 10;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let (files, disk) = with_journal(scene)?;
    let [of_slow, own] = <[File; 2]>::try_from(files).map_err(|_| Refused("two files".into()))?;
    let number = disk.metadata()?.st_rdev();
    let group = Group::new(scene, "blkio", "slow")?;
    group.limit_writes(libc::major(number), libc::minor(number), PER_SECOND)?;
    let (wanted, asked) = (&board.words[WANTED], &board.words[ASKED]);
    let bytes = vec![7; PIECE];
    slow(scene, &group, |number| {
        let _ = of_slow.set_len(0).and_then(|()| of_slow.write_at(&bytes, 0));
        asked.store(number, Release);
        let _ = of_slow.sync_data();
    })?;
    scene.culprit("c-victim", || {
        real_time(70, here)?;
        let mut own = own;
        board.prepared();
        for number in 1..=count as u32 {
            wanted.store(number, Release);
            while asked.load(Acquire) != number {
                if board.is_ending() {
                    return Ok(());
                }
                system::sleep(MS / 2);
            }
            let due = now() + 4 * MS;
            system::sleep_until(due);
            let start = now();
            let _ = own.write_all(&[1; 512]).and_then(|()| own.sync_all());
            // Otherwise the journal had nothing to wait for.
            if now() - start > 50 * MS {
                board.injected("c-slow", start, now());
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
