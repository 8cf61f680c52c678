//! `punctual interact learn`.

use super::super::artifacts;
use crate::args::{LearnArguments, LearnPlace};
use crate::cannot_write::plain;
use crate::output::{self, Output, Usage};
use crate::signals::Interrupted;
use anyhow::{anyhow, ensure};
use punctual_interact::{LearnEnd, Learned, Target, Via, learn, learn_attached, learn_in_window};
use punctual_recording::Place;
use punctual_report::interact::{EndedBy, LearnAnswer, NotLearned, Session};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// How many names are tried for a script.
const MAX_NAMES: u32 = 100;

pub(super) fn run(arguments: &LearnArguments, output: Output) -> anyhow::Result<u8> {
    if arguments.attach.is_some() && arguments.via == LearnPlace::Pty {
        return Err(Usage(
            "--attach goes with --via x11: a terminal is passed on to a program that it starts".to_owned(),
        )
        .into());
    }
    let path = arguments.output.clone().unwrap_or_else(|| super::super::fresh_name("learned-", ".toml"));
    ensure!(!path.exists(), "{} exists already: choose another name, or remove it", path.display());
    artifacts::check(Some(&path))?;
    let target = arguments.attach.as_deref().map(Target::find).transpose()?;
    let interrupted = Interrupted::watch();
    let is_asked = || interrupted.is_asked();
    let (learned, via) = match (&target, arguments.via) {
        (Some(target), _) => (learn_attached(target, &is_asked)?, Via::Window),
        (None, LearnPlace::X11) => (learn_in_window(&arguments.program, &is_asked)?, Via::Window),
        (None, LearnPlace::Pty) => (learn(&arguments.program, &is_asked)?, Via::Terminal),
    };
    let written = learned.script.as_deref().map(|script| write(&path, script)).transpose()?;
    let program = target.as_ref().map_or(&arguments.program, |target| &target.words);
    let session = session(program, via, &learned);
    let asked_for = written.as_ref().filter(|written| **written != path).map(|_| path.as_path());
    let answer = LearnAnswer::new(&Session { asked_for, ..session }, written.as_deref());
    let code = answer.code();
    if output.json {
        output::answer(answer, code);
    } else {
        output::print_text(&answer.text());
    }
    Ok(code)
}

/// Writes the script to a new file and returns its path: beside this one, with a number, if something is there by now. The
/// person has used the program for as long as that took.
fn write(path: &Path, script: &str) -> anyhow::Result<PathBuf> {
    for number in 1..=MAX_NAMES {
        let path = if number == 1 { path.to_owned() } else { numbered(path, number) };
        match create(&path, script) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(anyhow!("cannot write {}: {}; what was learned is lost", path.display(), plain(&error)));
            }
            Ok(()) => return Ok(path),
        }
    }
    Err(anyhow!("{} and {MAX_NAMES} names like it are taken; what was learned is lost", path.display()))
}

/// Writes a file that is not there yet, whole or not at all.
fn create(path: &Path, script: &str) -> std::io::Result<()> {
    let place = Place::of(path)?;
    let mut file = place.create_new()?;
    let written = file.write_all(script.as_bytes());
    if written.is_err() {
        place.remove();
    }
    written
}

/// `S-2.toml` for `S.toml`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn session<'a>(program: &'a [String], via: Via, learned: &'a Learned) -> Session<'a> {
    let (program_exit_code, ended_by) = match learned.end {
        LearnEnd::Program(Some(code)) => (Some(code), EndedBy::Program),
        LearnEnd::Program(None) => (None, EndedBy::Signal),
        LearnEnd::Gone => (None, EndedBy::Program),
        LearnEnd::Asked => (None, EndedBy::User),
        LearnEnd::HungUp => (None, EndedBy::HangUp),
    };
    let not = learned.not_learned;
    Session {
        program,
        via: via.name(),
        keys: learned.keys,
        clicks: learned.clicks,
        scrolls: learned.scrolls,
        not_learned: NotLearned {
            drags: not.drags,
            hovers: not.hovers,
            with_key_held: not.with_key_held,
            other_buttons: not.other_buttons,
            other_windows: not.other_windows,
            beside: not.beside,
            elsewhere: not.elsewhere,
            lost: not.lost,
        },
        resized: learned.resized,
        too_many: learned.too_many,
        left_out: learned.left_out,
        nameless_keys: learned.nameless_keys,
        nameless: &learned.nameless,
        lasted_ns: learned.lasted_ns,
        program_exit_code,
        ended_by,
        asked_for: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_never_replaces_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert_eq!(write(&at("s.toml"), "first").unwrap(), at("s.toml"));
        assert_eq!(write(&at("s.toml"), "second").unwrap(), at("s-2.toml"));
        std::fs::create_dir(at("s-3.toml")).unwrap();
        assert_eq!(write(&at("s.toml"), "third").unwrap(), at("s-4.toml"));
        assert_eq!(write(&at("none"), "").unwrap(), at("none"));
        assert_eq!(write(&at("none"), "").unwrap(), at("none-2"));
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        assert_eq!(["s.toml", "s-2.toml", "s-4.toml"].map(read), ["first", "second", "third"]);
        assert!(write(&at("missing/s.toml"), "").unwrap_err().to_string().ends_with("is lost"));
    }
}
