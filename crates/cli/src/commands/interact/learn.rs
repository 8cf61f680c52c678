//! `punctual interact learn`.

use super::super::artifacts;
use crate::args::{LearnArguments, LearnPlace};
use crate::cannot_write::plain;
use crate::output::{self, Output, Usage};
use crate::signals::Interrupted;
use anyhow::{anyhow, ensure};
use punctual_interact::{LearnEnd, Learned, Target, Via, learn, learn_attached, learn_in_window};
use punctual_recording::Place;
use punctual_report::interact::{LearnAnswer, NotLearned, Session};
use std::path::Path;

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
    if let Some(script) = &learned.script {
        write(&path, script)?;
    }
    let program = target.as_ref().map_or(&arguments.program, |target| &target.words);
    let session = session(program, via, &learned);
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
    written.map_err(|error| anyhow!("cannot write {}: {}; what was learned is lost", path.display(), plain(&error)))
}

fn session<'a>(program: &'a [String], via: Via, learned: &'a Learned) -> Session<'a> {
    let (program_exit_code, is_cut_off) = match learned.end {
        LearnEnd::Program(code) => (code, false),
        LearnEnd::Asked | LearnEnd::HungUp => (None, true),
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
        too_many: learned.too_many,
        left_out: learned.left_out,
        nameless_keys: learned.nameless_keys,
        nameless: &learned.nameless,
        lasted_ns: learned.lasted_ns,
        program_exit_code,
        is_cut_off,
    }
}
