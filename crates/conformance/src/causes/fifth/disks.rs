//! A disk that two use, of whom one is under a limit.

use super::super::fourth::loop_device;
use super::super::group::Group;
use super::super::memory::file;
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::system::{self, Memory, PAGE, now};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const MIB: usize = 1 << 20;
/// What is read of the disk at once.
const PIECE: usize = 64 << 10;

/// A process of a group that may read little in a second has asked for pages that the victim, which is in no such group, wants too. The
/// disk is a file, and idle.
pub(super) fn inherited_limit(scene: &mut Scene) -> Made {
    // Less than a piece in each tenth of a second, for which the kernel counts at once.
    const PER_SECOND: u64 = 256 << 10;
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let below = file(scene, "c-below", 4 * MIB)?;
    // It goes with the last role that has it open.
    let (_, name) = loop_device(below.as_raw_fd()).map_err(|error| Refused(format!("no loop device ({error})")))?;
    let open = || File::open(format!("/dev/{name}"));
    let (disk, of_slow) = (open()?, open()?);
    // No more than is asked for.
    system::reads_at_random(of_slow.as_raw_fd());
    let number = disk.metadata()?.st_rdev();
    let group = Group::new(scene, "blkio", "slow")?;
    group.limit_reads(libc::major(number), libc::minor(number), PER_SECOND)?;
    // One more than the number of the piece that is wanted, and of the one that is asked for; 0: none.
    let (wanted, asked) = (&board.words[0], &board.words[1]);
    scene.role("c-slow", || {
        group.take(system::pid())?;
        system::steady(there);
        let mut bytes = vec![0; PIECE];
        board.prepared();
        while !board.is_ending() {
            match wanted.swap(0, AcqRel) {
                0 => system::sleep(MS / 5),
                piece => {
                    asked.store(piece, Release);
                    let _ = of_slow.read_at(&mut bytes, (u64::from(piece) - 1) * PIECE as u64);
                }
            }
        }
        Ok(())
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
            // Else it was there first, and nobody held its own request back.
            if now() - start > 50 * MS {
                board.injected("c-slow", start, now());
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
