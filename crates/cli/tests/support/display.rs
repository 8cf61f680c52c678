//! An X display that a test starts, like the one that a user has.

use super::interact::example;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use x11rb::rust_connection::{DefaultStream, RustConnection};

/// A display for one test alone.
pub(crate) struct Display {
    server: Child,
    number: u32,
}

impl Display {
    pub(crate) fn start() -> Display {
        Display::started(&mut Command::new("Xvfb"))
    }

    /// Starts it as another user: the words that switch to that user come first.
    pub(crate) fn start_as(become_them: &[&str]) -> Display {
        Display::started(Command::new("setpriv").args(become_them).arg("Xvfb"))
    }

    fn started(command: &mut Command) -> Display {
        let words = ["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"];
        let mut server = command.args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Display { server, number: line.trim().parse().expect("a display") }
    }

    pub(crate) fn connect(&self) -> RustConnection {
        let path = format!("/tmp/.X11-unix/X{}", self.number);
        let stream = std::os::unix::net::UnixStream::connect(path).unwrap();
        let (stream, _) = DefaultStream::from_unix_stream(stream).unwrap();
        RustConnection::connect_to_stream(stream, 0).unwrap()
    }

    pub(crate) fn name(&self) -> String {
        format!(":{}", self.number)
    }

    /// Starts a program with a window on this display.
    pub(crate) fn show(&self, program: &str, log: &Path) -> Child {
        let mut command = Command::new(example(program));
        let command = command.arg(log).env("DISPLAY", self.name()).env_remove("WAYLAND_DISPLAY");
        command.env("GDK_BACKEND", "x11").env("XAUTHORITY", "/dev/null").spawn().unwrap()
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // Killed, it would leave its lock, which tests that look for such would find meanwhile.
        super::signal(&self.server, libc::SIGTERM);
        if !super::wait_until(|| !matches!(self.server.try_wait(), Ok(None))) {
            let _ = self.server.kill().and_then(|()| self.server.wait());
        }
    }
}
