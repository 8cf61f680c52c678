//! What shows a program with a window, and lets it be used.

use crate::script::Act;
use crate::terminal::Arrival;
use punctual_kernel::Refused;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A display of this run's own, or the user's.
pub(crate) trait Screen {
    /// The process that shows what programs draw.
    fn server(&self) -> u32;

    /// Its name.
    fn server_name(&self) -> &'static str;

    /// What a program must have in its environment to find it, and not something else of the user's that it would
    /// prefer: another display, or an instance of itself that runs there.
    fn environment(&self) -> Vec<(String, String)>;

    /// Whether there is a window to type into.
    fn has_window(&self) -> bool;

    /// If others use it too, the connection by which its server reports what the program has drawn, and nothing else.
    fn drawings(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The program has been started; all of its processes are below this one.
    fn program_is_below(&mut self, _process: u32) {}

    /// Whether its server has ended.
    fn is_gone(&mut self) -> bool;

    /// Waits this long for something to be drawn, and for `other` to have something to read; `None` if nothing was
    /// drawn.
    fn listen(&mut self, other: BorrowedFd<'_>, patience: Duration) -> Result<Option<Arrival>, Refused>;

    /// Prepares an input, just before it is put in.
    fn begin(&mut self, act: &Act);

    /// Puts in what is ready, all of it in one message, and returns how many bytes that were.
    fn put_in(&mut self) -> Result<u64, Refused>;
}
