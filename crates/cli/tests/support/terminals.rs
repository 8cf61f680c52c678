//! Programs at modems' terminals.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a terminal as a program does; reading never waits.
pub(crate) fn open(path: &str) -> File {
    // O_NOCTTY and O_NONBLOCK on Linux.
    File::options().read(true).write(true).custom_flags(0o400 | 0o4000).open(path).unwrap()
}

/// Reads until the terminal has said this.
pub(crate) fn until(terminal: &mut File, said: &str) -> String {
    let (mut heard, mut buffer, began) = (String::new(), [0; 4_096], Instant::now());
    while !heard.contains(said) {
        assert!(began.elapsed() < PATIENCE, "`{said}` never came: {heard:?}");
        match terminal.read(&mut buffer) {
            Ok(count) => heard += &String::from_utf8_lossy(&buffer[..count]),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    heard
}
