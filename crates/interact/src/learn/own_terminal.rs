//! The user's terminal, which is passed on to another program for a while.

use punctual_kernel::Refused;
use rustix::termios::{OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{ErrorKind, Write};
use std::time::Duration;

/// What a program may leave behind if it is cut off: the other screen, a hidden cursor, reports of the mouse, marks
/// around what is pasted, keys in another form, colours.
const UNDONE: &[u8] =
    b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[m\r\n";
/// How long to wait for a terminal that shows nothing.
const SHOWN: Duration = Duration::from_secs(5);

/// Until this is dropped, bytes pass unchanged and nothing is echoed; then the terminal is as it was.
pub(super) struct OwnTerminal {
    before: Termios,
}

impl OwnTerminal {
    /// Takes it over.
    pub(super) fn take() -> Result<OwnTerminal, Refused> {
        let doing = "passing your terminal on to the program";
        let is_there = isatty(std::io::stdin()) && isatty(std::io::stdout());
        if !is_there {
            let which = if isatty(std::io::stdin()) { "output" } else { "input" };
            let reason = format!("the standard {which} is not a terminal: start it in one, without a pipe");
            return Err(Refused::because(doing, reason));
        }
        let refused = |error: rustix::io::Errno| Refused::because(doing, std::io::Error::from(error).to_string());
        let before = tcgetattr(std::io::stdin()).map_err(refused)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).map_err(refused)?;
        Ok(OwnTerminal { before })
    }

    /// Its columns and rows.
    pub(super) fn size() -> (u16, u16) {
        let usual = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let size = tcgetwinsize(std::io::stdin()).ok().filter(|size| size.ws_col > 1 && size.ws_row > 1);
        let size = size.unwrap_or(usual);
        (size.ws_col.min(500), size.ws_row.min(500))
    }

    /// Shows what a program put out; false if nobody sees it any more.
    pub(super) fn show(&self, mut bytes: &[u8]) -> bool {
        let mut output = std::io::stdout().lock();
        let until = std::time::Instant::now() + SHOWN;
        while !bytes.is_empty() {
            match output.write(bytes) {
                Ok(0) => return false,
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && std::time::Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(_) => return false,
            }
        }
        output.flush().is_ok()
    }

    /// Undoes what a program that was cut off could not undo.
    pub(super) fn undo(&self) {
        self.show(UNDONE);
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
