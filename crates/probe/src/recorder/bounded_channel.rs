//! The evidence that waits to be written: bounded by the memory that it takes, not by the number of items.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The share of free memory that waiting evidence may take, and the most, bytes.
const SHARE_OF_FREE: u64 = 8;
const MAX_BYTES: u64 = 96 << 20;

/// What may wait here, bytes.
pub(super) fn max_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available_bytes(&text).map_or(MAX_BYTES, |free| (free / SHARE_OF_FREE).min(MAX_BYTES))
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[derive(Default)]
struct Counts {
    bytes: AtomicU64,
    messages: AtomicU64,
}

/// The end that puts in; it never waits.
pub(super) struct BoundedSender<T> {
    sender: Sender<(T, u64)>,
    counts: Arc<Counts>,
    most: u64,
}

/// The end that takes out.
pub(super) struct BoundedReceiver<T> {
    receiver: Receiver<(T, u64)>,
    counts: Arc<Counts>,
}

/// A queue that is full when `most` bytes or more wait in it: the last item may exceed that by its own size.
pub(super) fn queue<T>(most: u64) -> (BoundedSender<T>, BoundedReceiver<T>) {
    let (sender, receiver) = channel();
    let counts = Arc::new(Counts::default());
    (BoundedSender { sender, counts: Arc::clone(&counts), most }, BoundedReceiver { receiver, counts })
}

impl<T> BoundedSender<T> {
    /// Whether there is no room for anything that takes memory.
    pub(super) fn is_full(&self) -> bool {
        self.counts.bytes.load(Ordering::Relaxed) >= self.most
    }

    /// Whether it is filled to one part in so many.
    pub(super) fn is_filled_to(&self, part: u64) -> bool {
        self.counts.bytes.load(Ordering::Relaxed) >= self.most / part
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> u64 {
        self.counts.messages.load(Ordering::Relaxed)
    }

    /// Puts in something that takes this many bytes. False if nobody takes anything out any more.
    pub(super) fn put(&self, message: T, bytes: u64) -> bool {
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counts.messages.fetch_add(1, Ordering::Relaxed);
        self.sender.send((message, bytes)).is_ok()
    }
}

impl<T> BoundedReceiver<T> {
    /// Hands on what is put in until nobody puts anything in any more. What is handed on counts as waiting until it is done.
    pub(super) fn for_each(self, mut take: impl FnMut(T)) {
        for (message, bytes) in self.receiver {
            take(message);
            self.counts.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.counts.messages.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_waits_whole_and_bytes_are_the_bound() {
        let (sender, receiver) = queue(1_000);
        for number in 0..240 {
            assert!(!sender.is_full() && sender.put(number, 4));
        }
        assert_eq!(sender.waiting(), 240);
        assert!(!sender.is_full() && sender.put(240, 40));
        assert!(sender.is_full());
        let counts = Arc::clone(&sender.counts);
        drop(sender);
        let mut taken = Vec::new();
        receiver.for_each(|number| taken.push(number));
        assert_eq!(taken, (0..=240).collect::<Vec<_>>());
        assert_eq!((counts.bytes.load(Ordering::Relaxed), counts.messages.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn nobody_to_take_out_is_told() {
        let (sender, receiver) = queue(1);
        drop(receiver);
        assert!(!sender.put(1, 1));
    }

    #[test]
    fn free_memory_is_read() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(available_bytes(""), None);
        assert!(max_bytes() <= MAX_BYTES);
    }
}
