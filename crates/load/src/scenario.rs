//! A scenario as a load: a script of `punctual interact`, typed at full speed over and over.

use crate::command::FileCommand;
use crate::written::for_the_shell;
use punctual_recording::{EndReason, FULL_PACE, Recording, digest, required_interaction_document};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// In what a command runs, stands for this program.
const OWN_PROGRAM: &str = "{punctual}";
/// The pace of a person, as recordings name it.
const HUMAN_PACE: &str = "human";
/// No pace has more recordings.
const MAX_RUNS: usize = 1_000;

/// `[scenario]` of a load file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The script: a file beside the load file, or one that comes with the program.
    script: String,
    /// The program that it is typed at.
    program: Vec<String>,
    #[serde(default = "terminal")]
    via: String,
    /// The directory that `punctual interact --pace human,full -o DIRECTORY` has made, beside the load file.
    paces: Option<String>,
}

fn terminal() -> String {
    "pty".to_owned()
}

/// What becomes of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct AsLoad {
    pub(crate) command: FileCommand,
    /// Hours of a person's use that an hour of it stands for, times 1,000; or why that is not known.
    pub(crate) compression: Result<u64, String>,
}

impl Scenario {
    /// The command that types it, with what it stands for. `file` is the load file.
    pub(crate) fn as_load(&self, file: &Path) -> Result<AsLoad, String> {
        if self.program.first().is_none_or(String::is_empty) {
            return Err("scenario: program must not be empty".to_owned());
        }
        if !["pty", "x11", "wayland"].contains(&self.via.as_str()) {
            return Err(format!("scenario: via is `{}`: give pty, x11 or wayland", self.via));
        }
        let beside = |name: &str| -> PathBuf {
            let path = file.parent().unwrap_or(Path::new("")).join(name);
            std::path::absolute(&path).unwrap_or(path)
        };
        let script = Some(beside(&self.script)).filter(|path| path.is_file());
        let compression = match &self.paces {
            Some(paces) => self.compression(&beside(paces), script.as_deref()),
            None => Err("no recordings at both paces are given (paces)".to_owned()),
        };
        let script = script.map_or_else(|| self.script.clone(), |path| path.display().to_string());
        let program: Vec<String> = self.program.iter().map(|word| for_the_shell(word)).collect();
        // Each run leaves a recording, which is removed before the next one.
        let run = format!(
            "rm -rf run.punctual; exec {OWN_PROGRAM} interact -q --no-bpf --pace {FULL_PACE} --via {} --script {} -o run.punctual -- {}",
            self.via,
            for_the_shell(&script),
            program.join(" ")
        );
        let command = FileCommand { name: "scenario".to_owned(), run, repeat: true, pace: None, score: None };
        Ok(AsLoad { command, compression })
    }

    /// A person's time over that at full speed, each from the program's first instruction to its end: so much is repeated.
    fn compression(&self, paces: &Path, script: Option<&Path>) -> Result<u64, String> {
        let text = script.and_then(|path| punctual_recording::input::read_text(path).ok());
        let digest = text.map(|text| format!("{:016x}", digest(&text)));
        let [human, full] =
            [HUMAN_PACE, FULL_PACE].map(|pace| self.median_ns(&paces.join(pace), pace, digest.as_deref()));
        let (human, full) = (human?, full?);
        let thousandths = (human as f64 / full.max(1) as f64 * 1_000.0).round();
        Ok(thousandths.clamp(1.0, 1e9) as u64)
    }

    /// How long whole runs took at a pace, ns: the median.
    fn median_ns(&self, side: &Path, pace: &str, digest: Option<&str>) -> Result<u64, String> {
        let shown = side.display();
        let entries = std::fs::read_dir(side).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let mut runs: Vec<PathBuf> = entries.flatten().take(MAX_RUNS).map(|entry| entry.path()).collect();
        runs.retain(|path| path.extension().is_some_and(|ending| ending == "punctual"));
        let mut lasted = Vec::new();
        for run in runs {
            lasted.extend(self.lasted_ns(&run, pace, digest)?);
        }
        lasted.sort_unstable();
        let middle = lasted.get(lasted.len() / 2).copied();
        middle.ok_or_else(|| format!("{shown} holds no whole run of it at pace {pace}"))
    }

    /// How long a run took; `None` if it was not whole.
    fn lasted_ns(&self, run: &Path, pace: &str, digest: Option<&str>) -> Result<Option<u64>, String> {
        let unread = |error: punctual_recording::Error| error.to_string();
        let about = required_interaction_document(run).map_err(unread)?;
        let is_other = about.program != self.program || about.via != self.via || about.pace != pace;
        if is_other || digest.is_some_and(|digest| digest != about.script_digest) {
            let what = format!("{} is of another program, script or pace", run.display());
            return Err(what);
        }
        let recording = Recording::open(run).map_err(unread)?;
        let document = recording.document();
        let ended = document.ended.as_ref().filter(|ended| ended.reason == EndReason::Completed);
        let ended = ended.filter(|_| about.not_put_in == 0);
        Ok(ended.map(|ended| ended.at_ns.saturating_sub(document.provenance.started_ns)))
    }
}

impl AsLoad {
    /// What a recording says if it is not known how much use it stands for.
    pub(crate) fn note(&self) -> Option<String> {
        let why = self.compression.as_ref().err()?;
        Some(format!("how much use an hour of the scenario stands for is not known: {why}"))
    }
}

/// Replaces what stands for this program in what the shell runs.
pub(crate) fn with_own_program(run: &str, own_program: &Path) -> String {
    run.replace(OWN_PROGRAM, &for_the_shell(&own_program.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{
        Ended, INTERACTIONS_SCHEMA, InteractionDocument, InteractionWriter, Provenance, RecordingKind, Writer,
    };

    const SCRIPT: &str = "name = \"edit\"\n[[step]]\ntype = \"abc\"\n";

    /// A run of `vim -n` at a pace that took so many seconds.
    fn write(path: &Path, pace: &str, seconds: u64, change: impl Fn(&mut InteractionDocument)) {
        let provenance = Provenance { started_ns: 1_000_000_000, ..Provenance::default() };
        let recording = Writer::create_of(RecordingKind::Interaction, path, provenance, Vec::new()).unwrap();
        let mut about = InteractionDocument {
            schema: INTERACTIONS_SCHEMA.to_owned(),
            via: "pty".to_owned(),
            pace: pace.to_owned(),
            program: ["vim", "-n"].map(str::to_owned).to_vec(),
            script_digest: format!("{:016x}", digest(SCRIPT)),
            ..InteractionDocument::default()
        };
        change(&mut about);
        InteractionWriter::create(recording.directory()).unwrap().finish(&about).unwrap();
        let ended = Ended { reason: EndReason::Completed, detail: None, at_ns: (seconds + 1) * 1_000_000_000 };
        recording.finish(ended, Vec::new()).unwrap();
    }

    fn scenario(via: &str) -> Scenario {
        Scenario {
            script: "edit.toml".to_owned(),
            program: ["vim", "-n"].map(str::to_owned).to_vec(),
            via: via.to_owned(),
            paces: Some("paces".to_owned()),
        }
    }

    #[test]
    fn its_compression_is_a_persons_time_over_that_at_full_speed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("edit.toml"), SCRIPT).unwrap();
        let file = directory.path().join("mine.toml");
        let loaded = || scenario("pty").as_load(&file).unwrap();
        let why = loaded().note().unwrap();
        assert!(why.contains("how much use") && why.contains("paces/human cannot be read"), "{why}");
        let run = |side: &str, name: &str| directory.path().join("paces").join(side).join(name);
        for (name, seconds) in [("01.punctual", 20), ("02.punctual", 24), ("03.punctual", 29)] {
            write(&run("human", name), HUMAN_PACE, seconds, |_| {});
        }
        // A run that was cut off tells nothing.
        write(&run("full", "01.punctual"), FULL_PACE, 1, |about| about.not_put_in = 3);
        assert!(loaded().note().unwrap().contains("no whole run of it at pace full"));
        write(&run("full", "02.punctual"), FULL_PACE, 3, |_| {});
        let loaded = loaded();
        assert_eq!((loaded.compression.as_ref(), loaded.note()), (Ok(&8_000), None));
        let run_of_it = with_own_program(&loaded.command.run, Path::new("/bin/punctual"));
        let script = directory.path().join("edit.toml").display().to_string();
        assert!(run_of_it.contains("exec '/bin/punctual' interact -q --no-bpf --pace full --via pty"), "{run_of_it}");
        assert!(run_of_it.ends_with(&format!("--script '{script}' -o run.punctual -- 'vim' '-n'")), "{run_of_it}");
        // Another program's runs, or another script's, say nothing of this one.
        assert!(scenario("x11").as_load(&file).unwrap().note().unwrap().contains("of another program"));
        std::fs::write(directory.path().join("edit.toml"), SCRIPT.replace("abc", "abd")).unwrap();
        assert!(scenario("pty").as_load(&file).unwrap().note().unwrap().contains("of another program, script or pace"));
    }

    #[test]
    fn what_cannot_be_typed_is_refused() {
        let refusal = |scenario: Scenario| scenario.as_load(Path::new("mine.toml")).unwrap_err();
        assert!(refusal(scenario("vnc")).contains("give pty, x11 or wayland"));
        assert!(refusal(Scenario { program: Vec::new(), ..scenario("pty") }).contains("program must not be empty"));
    }
}
