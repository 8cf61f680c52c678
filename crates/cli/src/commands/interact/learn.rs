//! `punctual interact learn`.

use super::super::artifacts;
use crate::args::LearnArguments;
use crate::cannot_write::CannotWrite;
use crate::output::{self, Output};
use crate::signals::Interrupted;
use anyhow::ensure;
use punctual_interact::{LearnEnd, Learned, learn};
use punctual_recording::Place;
use punctual_report::interact::{LearnAnswer, Session};
use std::path::Path;

pub(super) fn run(arguments: &LearnArguments, output: Output) -> anyhow::Result<u8> {
    let path = arguments.output.clone().unwrap_or_else(|| super::super::fresh_name("learned-", ".toml"));
    ensure!(!path.exists(), "{} exists already: choose another name, or remove it", path.display());
    artifacts::check(Some(&path))?;
    let interrupted = Interrupted::watch();
    let learned = learn(&arguments.program, &|| interrupted.is_asked())?;
    if let Some(script) = &learned.script {
        write(&path, script)?;
    }
    let session = session(&arguments.program, &learned);
    let answer = LearnAnswer::new(&session, learned.script.is_some().then_some(path.as_path()));
    let code = answer.code();
    if output.json {
        output::answer(answer, code);
    } else {
        output::print_text(&answer.text());
    }
    Ok(code)
}

fn write(path: &Path, script: &str) -> anyhow::Result<()> {
    let written = Place::of(path).and_then(|place| place.write(script.as_bytes()));
    written.map_err(|error| CannotWrite::beforehand(&format!("cannot write {}", path.display()), &error).into())
}

fn session<'a>(program: &'a [String], learned: &'a Learned) -> Session<'a> {
    let (program_exit_code, is_cut_off) = match learned.end {
        LearnEnd::Program(code) => (code, false),
        LearnEnd::Asked | LearnEnd::HungUp => (None, true),
    };
    Session {
        program,
        keys: learned.keys,
        left_out: learned.left_out,
        nameless_keys: learned.nameless_keys,
        nameless: &learned.nameless,
        lasted_ns: learned.lasted_ns,
        program_exit_code,
        is_cut_off,
    }
}
