//! Whatever others do around a recording that is being written, it is never written anywhere else.

use punctual_recording::{Directory, EndReason, Ended, Place, Provenance, Recording, Standing, Task, Wakeup, Writer};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const MS: u64 = 1_000_000;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn task() -> Task {
    Task { measure: "fifo:80".into(), tid: 7, cpu: Some(0), period_ns: MS, counters: Default::default() }
}

fn wakeup(index: u64) -> Wakeup {
    let expected = (1_000 + index) * MS;
    Wakeup { cpu: 0, tid: 7, expected_ns: expected, total_ns: 5_000, ..Wakeup::default() }
}

/// Writes a recording in this many flushes; between two of them something may happen.
fn write(path: &Path, flushes: u64, mut between: impl FnMut(u64)) -> punctual_recording::Result<()> {
    let mut writer = Writer::create(path, Provenance { started_ns: MS, ..Provenance::default() }, vec![task()])?;
    for flush in 0..flushes {
        (0..10).for_each(|index| writer.push(0, &wakeup(flush * 10 + index)));
        between(flush);
        writer.flush()?;
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }, Vec::new()).map(drop)
}

/// The names under which a recording's files are written before they are renamed, and their final names.
const NAMES: [&str; 8] = [
    "recording.tmp",
    "tail.tmp",
    "recording.json",
    "tail.parquet",
    "wakeups/000003.tmp",
    "wakeups/000004.parquet",
    "maxima/000001.tmp",
    "wakeups/000001-000060.tmp",
];

#[test]
fn planted_links_lead_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let planted = AtomicU64::new(0);
    // A link that comes between a file and its renaming may spoil the recording, but nothing else: then the next
    // attempt follows.
    for attempt in 0..100 {
        let path = directory.path().join(format!("{attempt}.punctual"));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for name in NAMES {
                        planted.fetch_add(u64::from(symlink(&victim, path.join(name)).is_ok()), Ordering::Relaxed);
                    }
                }
            });
            let written = write(&path, 200, |_| std::thread::yield_now());
            over.store(true, Ordering::Relaxed);
            eprintln!("written: {written:?}");
        });
        if attempt > 3 && planted.load(Ordering::Relaxed) > 8 {
            break;
        }
    }
    eprintln!("{} links were planted", planted.load(Ordering::Relaxed));
    assert!(planted.load(Ordering::Relaxed) > 8);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn links_that_stand_there_are_replaced_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let path = directory.path().join("a.punctual");
    let mut planted = 0;
    write(&path, 70, |flush| {
        if flush == 1 {
            for name in NAMES {
                let _ = std::fs::remove_file(path.join(name));
                symlink(&victim, path.join(name)).unwrap();
                planted += 1;
            }
        }
    })
    .unwrap();
    assert_eq!(planted, NAMES.len());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.document().counters.wakeups, 700);
    assert!(!path.join("recording.json").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_directory_that_is_swapped_away_is_written_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for above in ["above", "other", "other/a.punctual", "other/a.punctual/wakeups", "other/a.punctual/maxima"] {
        std::fs::create_dir(at(above)).unwrap();
    }
    write(&at("above/a.punctual"), 65, |flush| match flush {
        3 => {
            std::fs::rename(at("above"), at("moved")).unwrap();
            symlink(at("other"), at("above")).unwrap();
        }
        10 => std::fs::rename(at("moved/a.punctual"), at("moved/b.punctual")).unwrap(),
        _ => {}
    })
    .unwrap();
    let recording = Recording::open(at("moved/b.punctual")).unwrap();
    assert_eq!(recording.document().counters.wakeups, 650);
    assert!(!recording.is_cut());
    let strays = ["other/a.punctual", "other/a.punctual/wakeups", "other/a.punctual/maxima"];
    let strays: usize = strays.map(|stray| std::fs::read_dir(at(stray)).unwrap().count()).iter().sum();
    // The two directories that were put there.
    assert_eq!(strays, 2);
}

#[test]
fn what_is_discarded_takes_nothing_else_along() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("precious/below")).unwrap();
    std::fs::write(at("precious/below/file"), "precious").unwrap();
    // A directory that was made is removed with everything in it; links are removed, but not what they lead to.
    let made = Directory::make(&at("made")).unwrap();
    made.below("events").unwrap();
    symlink(at("precious"), at("made/link")).unwrap();
    std::fs::write(at("made/events/file"), "").unwrap();
    made.discard();
    assert!(!at("made").exists());
    // Another one is in its place by now.
    let made = Directory::make(&at("made")).unwrap();
    std::fs::rename(at("made"), at("moved")).unwrap();
    symlink(at("precious"), at("made")).unwrap();
    made.discard();
    // One that was there before stays.
    std::fs::create_dir(at("before")).unwrap();
    let before = Directory::make(&at("before")).unwrap();
    before.below("events").unwrap();
    before.discard();
    assert_eq!(std::fs::read_dir(at("before")).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(at("precious/below/file")).unwrap(), "precious");
}

#[test]
fn another_users_directory_is_refused() {
    if !is_root() {
        return punctual_testing::skip("another user's directory", "only root can give a directory away");
    }
    let directory = tempfile::tempdir().unwrap();
    let theirs = directory.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(65_534), None).unwrap();
    let error = write(&theirs, 1, |_| ()).unwrap_err().to_string();
    assert!(error.contains("belongs to another user") && error.lines().count() == 1, "{error}");
    assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
    // A new one within it is the caller's own.
    write(&theirs.join("own"), 1, |_| ()).unwrap();
    assert_eq!(theirs.join("own/recording.json").metadata().unwrap().uid(), 0);
}

#[test]
fn only_links_of_the_callers_own_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("there")).unwrap();
    symlink(at("there"), at("own")).unwrap();
    symlink("own", at("again")).unwrap();
    symlink("there/new", at("dangling")).unwrap();
    symlink("round", at("round")).unwrap();
    write(&at("again/a.punctual"), 1, |_| ()).unwrap();
    assert!(at("there/a.punctual/recording.json").exists());
    let place = Place::of(&at("dangling")).unwrap();
    assert_eq!(place.standing().unwrap(), Standing::Nothing);
    place.write(b"text").unwrap();
    assert_eq!(std::fs::read_to_string(at("there/new")).unwrap(), "text");
    assert_eq!(Place::of(&at("dangling")).unwrap().standing().unwrap(), Standing::File);
    assert_eq!(Place::of(Path::new("/dev/null")).unwrap().standing().unwrap(), Standing::Special);
    assert_eq!(Place::of(&at("own")).unwrap().standing().unwrap(), Standing::Directory);
    assert!(Place::of(&at("round")).is_err());
    assert!(Place::of(Path::new("")).is_err());
    if !is_root() {
        return punctual_testing::skip("another user's links", "only root can give a link away");
    }
    symlink(at("there"), at("theirs")).unwrap();
    std::os::unix::fs::lchown(at("theirs"), Some(65_534), None).unwrap();
    for path in [at("theirs"), at("theirs/b"), at("theirs/b/c")] {
        assert!(Place::of(&path).unwrap_err().to_string().contains("belongs to another user"));
        assert!(write(&path, 1, |_| ()).is_err());
    }
    assert_eq!(std::fs::read_dir(at("there")).unwrap().count(), 2);
}

#[test]
fn what_is_made_nobody_else_may_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("above/a.punctual");
    write(&path, 65, |_| ()).unwrap();
    let mut met = 0;
    let mut ahead = vec![directory.path().join("above")];
    while let Some(next) = ahead.pop() {
        let about = next.symlink_metadata().unwrap();
        let mode = about.permissions().mode() & 0o7777;
        assert_eq!(mode & !(if about.is_dir() { 0o755 } else { 0o644 }), 0, "{} has {mode:o}", next.display());
        if about.is_dir() {
            ahead.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
        }
        met += 1;
    }
    eprintln!("{met} files and directories have no more than 644 and 755");
    assert!(met > 6);
}

/// Files that may make, rename or remove something by its path, and why.
const MAY_WRITE_BY_PATH: [&str; 4] = [
    // Within a directory that only this process's user can enter.
    "kernel/src/guard/runner.rs",
    "kernel/src/guard.rs",
    "load/src/built_in.rs",
    // The kernel's own files.
    "kernel/src/trace_marker.rs",
];

/// Crates that no user runs: what boots other kernels writes into its own cache, what judges punctual writes as its
/// developer, and what compiles BPF programs runs in build scripts.
const OF_DEVELOPERS: [&str; 3] = ["lab/", "conformance/", "bpf/"];

#[test]
fn nothing_else_in_the_workspace_writes_by_path() {
    let by_path = ["File::create", "fs::write(", "fs::rename(", "create_dir", "fs::remove", "remove_dir"];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut met, mut wrong) = (0, Vec::new());
    let mut ahead: Vec<_> =
        std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(next) = ahead.pop() {
        if next.is_dir() {
            ahead.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = next.strip_prefix(&crates).unwrap().display().to_string();
        let is_a_test = name.ends_with("_tests.rs") || name.ends_with("/tests.rs");
        if !name.ends_with(".rs") || is_a_test || OF_DEVELOPERS.iter().any(|at| name.starts_with(at)) {
            continue;
        }
        met += 1;
        let text = std::fs::read_to_string(&next).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        let lines = || program.lines().filter(|line| !line.trim_start().starts_with("//"));
        let found: Vec<_> = by_path.into_iter().filter(|call| lines().any(|line| line.contains(call))).collect();
        if !found.is_empty() && !MAY_WRITE_BY_PATH.contains(&name.as_str()) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    eprintln!("{met} files were looked through");
    assert!(met > 200 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_pipe_is_written_to_only_where_somebody_reads() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let begun = std::time::Instant::now();
    let error = Place::of(&pipe).unwrap().write(b"a page").unwrap_err();
    assert!(error.to_string().contains("nobody reads"), "{error}");
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    // More than a pipe holds at once: the reader takes its time. Until it arrives, nobody reads.
    let page = vec![b'x'; 1 << 20];
    let mut written = Place::of(&pipe).unwrap().write(&page);
    while written.is_err() && begun.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        written = Place::of(&pipe).unwrap().write(&page);
    }
    written.unwrap();
    assert_eq!(reader.join().unwrap().len(), page.len());
}

/// A file under another name comes first where half of one could be read; here it would replace what has that name.
#[test]
fn what_a_reader_gives_replaces_no_file_with_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let own = Directory::make(&directory.path().join("x")).unwrap();
    let names = ["a.tmp", "a.json", "a", "a.txt", "a.json"];
    for name in names {
        own.write_from(name, &mut name.as_bytes()).unwrap();
    }
    for name in names {
        assert_eq!(own.read(name, 100).unwrap(), name.as_bytes());
    }
    // A reader that fails leaves nothing.
    let mut broken = std::io::Read::chain(&b"half"[..], Broken);
    assert!(own.write_from("broken", &mut broken).is_err() && !own.path().join("broken").exists());
}

/// A guest of the lab may leave directories 16 deep; what an earlier try left of them must not be taken for the next one's.
#[test]
fn what_lies_deep_is_discarded_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    Directory::make(&path).unwrap();
    let deep = path.join("d/".repeat(20));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("stale"), "").unwrap();
    let own = Directory::make(&path).unwrap();
    own.discard();
    assert!(own.is_empty().unwrap() && path.is_dir());
}

struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}
