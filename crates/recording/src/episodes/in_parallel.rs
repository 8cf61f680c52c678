//! Looks into the episodes of a recording on several CPUs, and passes on the findings in the order of the episodes.
//!
//! Lines go to the threads in batches, in turn, and come back in the same turn: nothing has to be sorted, and no more
//! than [`AHEAD`] batches are under way for each thread. Only the caller's thread looks into episodes that would take
//! up much memory.

use crate::episodes::check::bytes_when_told;
use crate::episodes::episode::Episode;
use crate::episodes::read::{Lines, Met, parse, read_episodes};
use crate::error::Result;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

/// A file shorter than this, bytes, has been read before a thread would have started.
const SHORT_BYTES: u64 = 1 << 20;
/// A thread gets a batch once it has this many bytes.
const BATCH_BYTES: usize = 64 << 10;
/// A batch of more bytes than this is left to the caller's thread, once the others are done.
const LONG_BYTES: usize = 256 << 10;
/// An episode that would take up more bytes than this when it is judged is left to the caller's thread.
const HEAVY_BYTES: usize = 1 << 20;
/// How many batches are under way for each thread.
const AHEAD: usize = 2;

/// Passes on what `look` finds in each episode of a recording, in the order of the episodes, whichever of up to
/// `threads` threads looked. `take` runs in the caller's thread. Returns what
/// [`for_each_episode`](crate::for_each_episode) does.
///
/// # Errors
/// As [`for_each_episode`](crate::for_each_episode); what comes before the damaged line has been passed on by then.
pub fn look_into_episodes<T: Send>(
    recording: &Path,
    threads: usize,
    look: impl Fn(Episode) -> T + Sync,
    mut take: impl FnMut(T),
) -> Result<bool> {
    let lines = Lines::open(recording)?;
    if threads < 2 || lines.bytes() < SHORT_BYTES {
        return read_episodes(lines, |episode| take(look(episode)));
    }
    look_with(lines, threads, &look, &mut take)
}

/// Some lines, one after the other.
struct Batch {
    /// The number of the first.
    first: u64,
    text: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// What comes after the last one: the end of a line, if more may follow.
    then: Result<Met>,
}

impl Batch {
    fn read(lines: &mut Lines) -> Batch {
        let text = Vec::with_capacity(2 * BATCH_BYTES);
        let mut batch = Batch { first: lines.number + 1, text, ends: Vec::new(), then: Ok(Met::Line) };
        while matches!(batch.then, Ok(Met::Line)) && batch.text.len() < BATCH_BYTES {
            batch.then = lines.read(&mut batch.text);
            if matches!(batch.then, Ok(Met::Line)) {
                batch.ends.push(batch.text.len());
            }
        }
        batch
    }

    fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        (self.first..).zip(starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end]))
    }
}

/// What became of a line.
enum Found<T> {
    Looked(T),
    /// Left for the caller's thread.
    Heavy(Box<Episode>),
}

type Batched<T> = Vec<Result<Found<T>>>;

/// A thread that looks.
struct Looker<T> {
    batches: SyncSender<Batch>,
    found: Receiver<Batched<T>>,
}

impl<T: Send> Looker<T> {
    /// `None` if the system does not allow another thread.
    fn start<'scope, 'all: 'scope, L: Fn(Episode) -> T + Sync>(
        scope: &'scope Scope<'scope, 'all>,
        path: &'all Path,
        look: &'all L,
    ) -> Option<Looker<T>>
    where
        T: 'scope,
    {
        let (batches, taken) = sync_channel(AHEAD);
        let (give, found) = channel();
        let work = move || work(path, look, &taken, &give);
        Builder::new().name("look".to_owned()).spawn_scoped(scope, work).ok()?;
        Some(Looker { batches, found })
    }
}

fn work<T>(path: &Path, look: &impl Fn(Episode) -> T, batches: &Receiver<Batch>, found: &Sender<Batched<T>>) {
    for batch in batches {
        let looked = batch.lines().map(|(number, line)| {
            let episode = parse(path, number, line)?;
            let is_heavy = bytes_when_told(&episode) > HEAVY_BYTES;
            Ok(if is_heavy { Found::Heavy(Box::new(episode)) } else { Found::Looked(look(episode)) })
        });
        if found.send(looked.collect()).is_err() {
            return;
        }
    }
}

fn look_with<T: Send>(
    mut lines: Lines,
    threads: usize,
    look: &(impl Fn(Episode) -> T + Sync),
    take: &mut impl FnMut(T),
) -> Result<bool> {
    let path = lines.path.clone();
    std::thread::scope(|scope| {
        let lookers: Vec<Looker<T>> = (0..threads).map_while(|_| Looker::start(scope, &path, look)).collect();
        let mut turn = lookers.iter().cycle();
        let mut under_way = VecDeque::new();
        loop {
            let mut batch = Batch::read(&mut lines);
            let then = std::mem::replace(&mut batch.then, Ok(Met::Line));
            let next = turn.next().filter(|_| batch.text.len() <= LONG_BYTES);
            let room = if next.is_some() { lookers.len() * AHEAD - 1 } else { 0 };
            take_oldest(&mut under_way, room, look, take)?;
            match next {
                Some(looker) => {
                    // A thread that is gone has panicked, which the end of the scope passes on.
                    let _ = looker.batches.send(batch);
                    under_way.push_back(looker);
                }
                None => {
                    for (number, line) in batch.lines() {
                        take(look(parse(&path, number, line)?));
                    }
                }
            }
            if !matches!(then, Ok(Met::Line)) {
                take_oldest(&mut under_way, 0, look, take)?;
                return then.map(|met| met == Met::Cut);
            }
        }
    })
}

/// Passes on what was found in the oldest batches, until no more than `left` are under way.
fn take_oldest<T>(
    under_way: &mut VecDeque<&Looker<T>>,
    left: usize,
    look: &impl Fn(Episode) -> T,
    take: &mut impl FnMut(T),
) -> Result<()> {
    while under_way.len() > left {
        let Some(looker) = under_way.pop_front() else { break };
        for found in looker.found.recv().unwrap_or_default() {
            take(match found? {
                Found::Looked(looked) => looked,
                Found::Heavy(episode) => look(*episode),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episodes::episode::{Event, EventKind, Victim};
    use crate::episodes::files::EpisodeWriter;
    use crate::episodes::read::for_each_episode;
    use crate::format::directory::Directory;
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};

    fn event() -> Event {
        Event {
            at_ns: 900,
            cpu: 1,
            kind: EventKind::Switch,
            tid: 7,
            priority: -1,
            context: 0,
            steal_ns: 5,
            value: 9,
            extra: 0,
            name: 0,
        }
    }

    fn episode(id: u64, names: Vec<String>, events: Vec<Event>) -> Episode {
        let victim = Victim { tid: 9, name: "measure-1".into(), priority: 19, cpu: 1 };
        Episode { id, names, events, ..Episode::of(victim, 1_000, 5_000) }
    }

    /// A recording of this many episodes, each a bit longer than the previous one; those in `long` and `heavy` far more
    /// so.
    fn recording(many: u64, long: u64, heavy: u64) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = EpisodeWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
        for id in 1..=many {
            let (mut names, mut events) = (vec!["x".repeat(3_000 + id as usize)], Vec::new());
            if id == long {
                names.push("y".repeat(LONG_BYTES + 1));
            }
            if id == heavy {
                events = vec![event(); 400];
            }
            writer.push(&episode(id, names, events)).unwrap();
        }
        directory
    }

    #[test]
    fn what_is_found_comes_in_the_order_of_the_episodes_however_many_threads_look() {
        const MANY: u64 = 700;
        let directory = recording(MANY, 300, 500);
        let mut expected = Vec::new();
        assert!(!for_each_episode(directory.path(), |episode| expected.push(episode)).unwrap());
        let mut met = 0;
        for threads in [1, 2, 3, 7] {
            let mut taken = Vec::new();
            let lookers = Mutex::new(BTreeSet::new());
            let look = |episode: Episode| {
                let name = std::thread::current().name().map(str::to_owned);
                lookers.lock().unwrap_or_else(PoisonError::into_inner).insert((episode.id, name));
                episode
            };
            assert!(!look_into_episodes(directory.path(), threads, look, |episode| taken.push(episode)).unwrap());
            assert!(taken == expected, "with {threads} threads");
            let lookers = lookers.into_inner().unwrap();
            let by_others = lookers.iter().filter(|(_, name)| name.as_deref() == Some("look"));
            let by_others: BTreeSet<u64> = by_others.map(|(id, _)| *id).collect();
            match threads {
                1 => assert!(by_others.is_empty()),
                // The caller gets what is long or heavy.
                _ => assert!(by_others.len() > 600 && !by_others.contains(&300) && !by_others.contains(&500)),
            }
            met += taken.len() as u64;
        }
        assert_eq!(met, 4 * MANY);
    }

    #[test]
    fn damage_and_cuts_are_met_where_they_stand() {
        let directory = recording(600, 0, 0);
        let path = directory.path().join("events/episodes.jsonl");
        let whole = std::fs::read(&path).unwrap();
        let met = |text: &[u8], threads| {
            std::fs::write(&path, text).unwrap();
            let mut taken = Vec::new();
            let met = look_into_episodes(directory.path(), threads, |episode| episode.id, |id| taken.push(id));
            (met.map_err(|error| error.to_string()), taken)
        };
        let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
        let damaged = [&lines[..450].concat()[..], b"garbage\n", &lines[450..].concat()].concat();
        let mut cases = 0;
        for text in [&whole[..whole.len() - 9], &damaged, b""] {
            let alone = met(text, 1);
            for threads in [2, 3] {
                assert_eq!(met(text, threads), alone, "with {threads} threads");
                cases += 1;
            }
        }
        let (damage, before) = met(&damaged, 2);
        assert!(damage.unwrap_err().contains("line 451 is damaged"));
        assert_eq!((before.len(), cases), (450, 6));
    }
}
