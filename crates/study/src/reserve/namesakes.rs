//! Threads of a program that have the same name.

use punctual_kernel::other_thread::{Before, family, threads_of};

/// Which of the threads with its name a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nth {
    /// Its number in the order in which they came, from 1.
    pub nth: usize,
    /// How many there are.
    pub of: usize,
}

impl Nth {
    /// Of a thread of this process, or of what that has started; `None` if it has ended.
    pub(super) fn of(process: u32, tid: u32) -> Option<Nth> {
        let own = Before::of(tid).ok()?;
        let namesakes = named(process, |name| name == own.name);
        let place = namesakes.iter().position(|other| other.tid == tid)?;
        Some(Nth { nth: place + 1, of: namesakes.len() })
    }

    /// What a reader must know who names the thread, if the name is not its own alone.
    pub(super) fn in_words(self, name: &str) -> Option<String> {
        let Nth { nth, of } = self;
        (of > 1).then(|| {
            format!(
                "{of} of its threads are named `{name}`: this one is number {nth} in the order in which they came, to `reserve run` \
                 `--nth {nth}` beside `--thread`. Without that all {of} have the reservation."
            )
        })
    }
}

/// The threads of this process, and of what it has started, whose names are wanted, in the order in which they came.
pub(super) fn named(process: u32, is_wanted: impl Fn(&str) -> bool) -> Vec<Before> {
    let tids = family(process).into_iter().flat_map(threads_of);
    let mut found: Vec<Before> =
        tids.filter_map(|tid| Before::of(tid).ok()).filter(|thread| is_wanted(&thread.name)).collect();
    found.sort_by_key(Before::order);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Starts a thread of this name, which ends when what is returned is dropped.
    fn start(name: &str) -> (u32, mpsc::Sender<()>) {
        let ((tell, told), (ends, end)) = (mpsc::channel(), mpsc::channel::<()>());
        let body = move || {
            tell.send(punctual_kernel::clock::thread_id()).unwrap();
            let _ = end.recv();
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(body).unwrap();
        (told.recv().unwrap(), ends)
    }

    #[test]
    fn threads_of_one_name_are_told_apart_by_the_order_in_which_they_came() {
        let threads = ["one-name", "another-name", "one-name", "one-name"].map(start);
        let own = std::process::id();
        let nth = |place: usize| Nth::of(own, threads[place].0);
        assert_eq!(nth(0), Some(Nth { nth: 1, of: 3 }));
        assert_eq!(nth(3), Some(Nth { nth: 3, of: 3 }));
        let alone = nth(1).unwrap();
        assert_eq!((alone, alone.in_words("another-name")), (Nth { nth: 1, of: 1 }, None));
        let said = nth(2).unwrap().in_words("one-name").unwrap();
        assert!(said.starts_with("3 of its threads are named `one-name`: this one is number 2 "), "{said}");
        let tids: Vec<u32> = named(own, |name| name == "one-name").iter().map(|thread| thread.tid).collect();
        assert_eq!(tids, [threads[0].0, threads[2].0, threads[3].0]);
    }
}
