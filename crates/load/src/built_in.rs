//! The small load that stands in if stress-ng is not installed: one process per class, until it is ended.

use crate::Class;
use std::io::{Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

/// The hidden subcommand under which it runs: `PROGRAM __load CLASS DIRECTORY`.
pub const SUBCOMMAND: &str = "__load";

/// It ends by itself after this long, whatever became of whoever started it.
const MAX_DURATION: Duration = Duration::from_secs(86_400);
const MEMORY_BYTES: usize = 64 << 20;
const FILE_BYTES: u64 = 64 << 20;

/// Keeps the machine busy until the process is ended.
///
/// # Errors
/// What the operating system refused.
pub fn run(class: Class, scratch: &Path) -> std::io::Result<()> {
    let began = Instant::now();
    let mut step: Box<dyn FnMut() -> std::io::Result<()>> = match class {
        Class::None | Class::Mixed => return Ok(()),
        Class::Cpu => Box::new(arithmetic()),
        Class::Memory => Box::new(memory()),
        Class::Disk => Box::new(disk(scratch)?),
        Class::Network => Box::new(network()?),
        Class::Fork => Box::new(|| std::process::Command::new("true").status().map(drop)),
        Class::Syscall => Box::new(|| {
            for _ in 0..1000 {
                let _ = std::fs::metadata("/");
            }
            Ok(())
        }),
        Class::Timer => Box::new(|| {
            std::thread::sleep(Duration::from_micros(100));
            Ok(())
        }),
    };
    while began.elapsed() < MAX_DURATION {
        step()?;
    }
    Ok(())
}

fn arithmetic() -> impl FnMut() -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move || {
        for _ in 0..1_000_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        std::hint::black_box(state);
        Ok(())
    }
}

fn memory() -> impl FnMut() -> std::io::Result<()> {
    let mut bytes = vec![0u8; MEMORY_BYTES];
    let mut value = 0u8;
    move || {
        value = value.wrapping_add(1);
        bytes.fill(value);
        std::hint::black_box(&bytes);
        Ok(())
    }
}

fn disk(scratch: &Path) -> std::io::Result<impl FnMut() -> std::io::Result<()> + use<>> {
    let mut file = std::fs::File::create(scratch.join("load-file"))?;
    let block = vec![0xa5u8; 1 << 20];
    let mut written = 0;
    Ok(move || {
        file.write_all(&block)?;
        written += block.len() as u64;
        if written >= FILE_BYTES {
            file.sync_data()?;
            file.seek(SeekFrom::Start(0))?;
            written = 0;
        }
        Ok(())
    })
}

fn network() -> std::io::Result<impl FnMut() -> std::io::Result<()>> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(receiver.local_addr()?)?;
    let mut buffer = [0u8; 1024];
    Ok(move || {
        for _ in 0..100 {
            sender.send(&buffer)?;
            receiver.recv(&mut buffer)?;
        }
        Ok(())
    })
}
