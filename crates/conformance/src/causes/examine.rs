//! Plays a scene while the program under examination records the victim, and asks it why.

use super::cause::{Cause, Stage};
use super::judge::{Tally, Truth, judge};
use super::scene::{Refused, Scene};
use super::{all, group, system};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The hidden command that plays a single scene.
pub const SCENE: &str = "scene";

/// How often a cause is recorded at most.
const MAX_RUNS: u64 = 12;
/// A scene that keeps nobody waiting is given up after this many of its recordings.
const MAX_IDLE_RUNS: u64 = 3;

/// The name of the recording in the directory of a scene.
const RECORDING: &str = "recording.punctual";

/// If a recorder takes longer than this to begin, the machine is slow.
const SLOW: Duration = Duration::from_secs(3);

/// How to examine.
pub struct Examiner {
    /// The program under examination.
    pub program: PathBuf,
    /// Injections of each cause in one recording.
    pub count: usize,
    /// Make further recordings until this many were met, twelve at most; 0: one recording.
    pub met: u64,
    /// What keeps the machine busy meanwhile (`record --load`).
    pub load: Option<String>,
    /// Where to keep recordings, answers and logs.
    pub keep: Option<PathBuf>,
    /// Whether the user wants to end.
    pub is_ending: fn() -> bool,
}

/// What came of a cause.
pub enum Examined {
    /// Judged.
    Told(Tally),
    /// This machine cannot do it.
    Skipped(String),
    /// The program or the scene failed.
    Failed(String),
}

/// A child that is killed when it is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("error")).or(text.lines().next());
    line.unwrap_or_default().chars().take(240).collect()
}

impl Examiner {
    /// Examines one cause.
    #[must_use]
    pub fn examine(&self, cause: &Cause) -> Examined {
        let mut tally = Tally::default();
        let mut idle_runs = 0;
        loop {
            let run = tally.runs + 1;
            let examined = self.try_to(cause, run).unwrap_or_else(|error| Examined::Failed(error.to_string()));
            group::sweep(system::pid());
            let more = match examined {
                Examined::Told(more) => more,
                Examined::Failed(reason) if tally.runs > 0 => {
                    eprintln!("causes: {}: run {run} failed, those before it count: {reason}", cause.name);
                    return Examined::Told(tally);
                }
                examined => return examined,
            };
            idle_runs = if more.met == 0 { idle_runs + 1 } else { 0 };
            tally.add(more);
            if tally.met >= self.met || tally.runs >= MAX_RUNS || idle_runs >= MAX_IDLE_RUNS || (self.is_ending)() {
                return Examined::Told(tally);
            }
        }
    }

    fn knows_requests(&self) -> bool {
        let help = Command::new(&self.program).args(["record", "--help"]).output();
        // As a possible value; the word alone also appears in other options.
        let is_value = |line: &str| {
            let line = line.trim();
            line.starts_with("- request") || (line.contains("possible values") && line.contains(", request"))
        };
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).lines().any(is_value))
    }

    fn try_to(&self, cause: &Cause, run: u64) -> std::io::Result<Examined> {
        let directory = tempfile::Builder::new().prefix("causes-").tempdir()?;
        let mut scene = Command::new(std::env::current_exe()?);
        scene.arg(SCENE).arg(cause.name).arg(self.count.to_string()).arg(directory.path()).arg(&self.program);
        scene.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut scene = Ended(system::bound(&mut scene).spawn()?);
        let mut out = BufReader::new(scene.0.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line)?;
        if line.trim() != "ready" {
            return Ok(refused(&mut scene));
        }
        let recording = directory.path().join(RECORDING);
        let mut recorder = Ended(self.record(cause, &recording, directory.path())?);
        let began = Instant::now();
        if let Some(failure) = self.armed(&mut recorder, directory.path()) {
            return Ok(Examined::Failed(failure));
        }
        // A machine on which that takes long also needs longer for its first samples, and to write the last ones.
        let settle = (began.elapsed() / 5).clamp(Duration::from_millis(300), Duration::from_secs(10));
        std::thread::sleep(settle);
        scene.0.stdin.take().expect("piped").write_all(b"go\n")?;
        if let Some(failure) = self.play_out(&mut scene, &mut recorder, directory.path())? {
            return Ok(Examined::Failed(failure));
        }
        if !scene.0.wait()?.success() {
            return Ok(refused(&mut scene));
        }
        std::thread::sleep(settle);
        if let Some(failure) = end(&mut recorder, &recording, directory.path())? {
            return Ok(Examined::Failed(failure));
        }
        let answer = Command::new(&self.program).arg("why").arg(&recording).arg("--json").output()?;
        let truth = std::fs::read_to_string(directory.path().join("truth.jsonl"))?;
        self.keep((cause, run), &recording, &answer.stdout, truth.as_bytes())?;
        let Ok(value) = serde_json::from_slice::<Value>(&answer.stdout) else {
            return Ok(Examined::Failed(format!("why: {}", first_line(&String::from_utf8_lossy(&answer.stderr)))));
        };
        if !value["episodes"].is_array() {
            return Ok(Examined::Failed(format!("why: {}", first_line(&value.to_string()))));
        }
        Ok(Examined::Told(judge(cause, &Truth::read(&truth), &value)))
    }

    /// Waits until the scene is over; returns what went wrong.
    fn play_out(&self, scene: &mut Ended, recorder: &mut Ended, directory: &Path) -> std::io::Result<Option<String>> {
        while scene.0.try_wait()?.is_none() {
            if (self.is_ending)() {
                return Ok(Some("ended by a signal".into()));
            }
            if recorder.0.try_wait()?.is_some() {
                return Ok(Some(format!("the recorder ended early: {}", said(directory))));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }

    /// Keeps the recording, the answer and the truth, if the user wants them.
    fn keep(&self, (cause, run): (&Cause, u64), recording: &Path, answer: &[u8], truth: &[u8]) -> std::io::Result<()> {
        let Some(keep) = &self.keep else { return Ok(()) };
        let place = keep.join(if run == 1 { cause.name.to_owned() } else { format!("{}-{run}", cause.name) });
        std::fs::create_dir_all(&place)?;
        for (name, bytes) in [("why.json", answer), ("truth.jsonl", truth)] {
            std::fs::write(place.join(name), bytes)?;
        }
        let copied = Command::new("cp").arg("-r").arg(recording).arg(&place).status()?;
        if !copied.success() {
            eprintln!("causes: {}: the recording was not kept", cause.name);
        }
        Ok(())
    }

    fn record(&self, cause: &Cause, recording: &Path, directory: &Path) -> std::io::Result<Child> {
        let stage = match cause.stage {
            Stage::Request if !self.knows_requests() => Stage::Response.name(),
            stage => stage.name(),
        };
        let mut record = Command::new(&self.program);
        record.args([
            "record",
            "-q",
            "-D",
            "1h",
            "--comm",
            "^c-victim",
            "--why",
            cause.threshold,
            "--why-stage",
            stage,
            "-o",
        ]);
        record.arg(recording);
        if let Some(load) = &self.load {
            record.args(["--load", load]);
        }
        let out = std::fs::File::create(directory.join("record.txt"))?;
        record.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        system::bound(&mut record).spawn()
    }

    /// Waits until the recorder's programs are attached; if it ends, returns the reason.
    fn armed(&self, recorder: &mut Ended, directory: &Path) -> Option<String> {
        let links = |pid: u32| {
            let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            targets.filter(|target| target.to_string_lossy().contains("bpf_link")).count()
        };
        // By then it has threads with such names, or no longer has them.
        let has_thread = |pid: u32, wanted: &str| {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let mut names = threads.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
            names.any(|name| name.trim() == wanted)
        };
        let began = Instant::now();
        let limit = began + Duration::from_secs(120);
        let mut last = (0, began);
        loop {
            std::thread::sleep(Duration::from_millis(50));
            if let Ok(Some(_)) = recorder.0.try_wait() {
                let text = std::fs::read_to_string(directory.join("record.txt")).unwrap_or_default();
                return Some(format!("the recorder ended: {}", first_line(&text)));
            }
            let count = links(recorder.0.id());
            if count != last.0 {
                last = (count, Instant::now());
            }
            // What it has attached has not changed for a while.
            let pid = recorder.0.id();
            let still = last.1.elapsed();
            let wanted = Duration::from_millis(if has_thread(pid, "drain") { 200 } else { 5_000 });
            // On a slow machine that may be between two of its parts: there, the recorder has to say that it measures.
            let has_begun = began.elapsed() < SLOW || measures(directory);
            if count > 4 && has_begun && !has_thread(pid, "getting-ready") && still > wanted {
                return None;
            }
            if Instant::now() > limit {
                return Some("the recorder attached nothing within 120 s".into());
            }
        }
    }
}

/// Whether the recorder has been counting for a while: it says so every second.
fn measures(directory: &Path) -> bool {
    let said = std::fs::read_to_string(directory.join(RECORDING).join("events/recorder.json")).unwrap_or_default();
    serde_json::from_str::<Value>(&said).is_ok_and(|said| said["armed_ns"].as_u64().is_some_and(|ns| ns > 0))
}

/// Ends the recorder as Ctrl-C does; returns what went wrong.
fn end(recorder: &mut Ended, recording: &Path, directory: &Path) -> std::io::Result<Option<String>> {
    system::kill(recorder.0.id() as system::Pid, libc::SIGINT);
    let limit = Instant::now() + Duration::from_secs(90);
    while recorder.0.try_wait()?.is_none() {
        if Instant::now() > limit {
            return Ok(Some("the recorder did not end 90 s after Ctrl-C".into()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if !recording.exists() {
        return Ok(Some(format!("no recording was written: {}", said(directory))));
    }
    Ok(None)
}

/// The first line that the recorder wrote.
fn said(directory: &Path) -> String {
    first_line(&std::fs::read_to_string(directory.join("record.txt")).unwrap_or_default())
}

/// The reason that a scene gave.
fn refused(scene: &mut Ended) -> Examined {
    let mut text = String::new();
    if let Some(mut error) = scene.0.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut error, &mut text);
    }
    let _ = scene.0.wait();
    let line = text.lines().last().unwrap_or("the scene ended without a word");
    match line.strip_prefix("refused: ") {
        Some(reason) => Examined::Skipped(reason.to_owned()),
        None => Examined::Failed(line.to_owned()),
    }
}

/// Removes control groups left behind by an examiner that was killed.
pub fn sweep() {
    group::sweep(system::pid());
}

/// Plays a scene: the hidden command.
///
/// # Errors
///
/// If the machine does not allow it, or something fails.
pub fn play(arguments: &[String]) -> Result<(), String> {
    let [name, count, directory, program] = arguments else { return Err("not the examiner's words".into()) };
    let cause = all().find(|cause| cause.name == name).ok_or("no such cause")?;
    let count = count.parse().map_err(|_| "not a number")?;
    let owner = std::os::unix::process::parent_id() as system::Pid;
    system::end_with(owner);
    // A role that panics must not continue as the scene.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        system::leave(101);
    }));
    let directory = PathBuf::from(directory);
    let told = |Refused(reason)| format!("refused: {reason}");
    let mut scene =
        Scene::new(count, directory.clone(), owner, PathBuf::from(program)).map_err(|error| error.to_string())?;
    let board = scene.board;
    (cause.make)(&mut scene).map_err(told)?;
    scene.play().map_err(told)?;
    let write = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(directory.join("truth.jsonl"))?);
        board.write(&mut file)?;
        file.flush()
    };
    write().map_err(|error| error.to_string())
}
