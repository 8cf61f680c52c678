//! `punctual modem serve` and `punctual modem call`: two modems, each in a process of its own.

use super::artifacts::{self, Artifacts};
use super::modem_transfer::{MAX_FILE, read};
use crate::args::modem::{ModemCallArguments, ModemEndOptions, ModemServeArguments};
use crate::output::{self, Output};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_kernel::Refused;
use punctual_modem::office::NUMBERS;
use punctual_modem::telephone::{LineOptions, Telephone};
use punctual_recording::counted;
use punctual_report::modem::{LineAnswer, Lined, line_text};
use punctual_report::shell_word;
use punctual_study::modem::apart::{self, Apart, ApartPlan, Ready, Work};
use punctual_study::modem::line::LineStep;

pub(super) fn serve(arguments: &ModemServeArguments, output: Output) -> anyhow::Result<u8> {
    let line =
        LineOptions { signal_to_noise: arguments.snr.0, companding: arguments.law.law(), ..LineOptions::telephone() };
    let plan = plan(&arguments.end, line, arguments.seed)?;
    let words: Vec<String> = super::command_line().iter().skip(1).map(|word| shell_word(word)).collect();
    let next = format!("`punctual {}` answers on a new line", words.join(" "));
    run(&arguments.end, next, output, |ready, go_on| apart::serve(&plan, ready, go_on))
}

pub(super) fn call(arguments: &ModemCallArguments, output: Output) -> anyhow::Result<u8> {
    let plan = plan(&arguments.end, LineOptions::telephone(), 0)?;
    let next = "`punctual modem serve` answers on a new line, and prints the command that calls it".to_owned();
    run(&arguments.end, next, output, |ready, go_on| apart::call(&plan, &arguments.line, ready, go_on))
}

fn plan(options: &ModemEndOptions, line: LineOptions, seed: u64) -> anyhow::Result<ApartPlan> {
    artifacts::check(options.receive.as_ref())?;
    let work = match (&options.send, &options.receive) {
        (Some(file), _) => Work::Send { file: file.clone(), bytes: read(file)? },
        (None, Some(file)) => Work::Receive { file: file.clone(), max: MAX_FILE as usize },
        (None, None) => Work::Terminal,
    };
    let telephone = Telephone { max_rate: options.rate, line, ..Telephone::default() };
    Ok(ApartPlan { telephone, seed, work, duration: options.duration })
}

/// Runs one end and tells what came of it; `next` is what to do if that was nothing.
fn run(
    options: &ModemEndOptions,
    next: String,
    output: Output,
    end: impl FnOnce(&mut dyn FnMut(&Ready), &mut dyn FnMut(LineStep) -> bool) -> Result<Apart, Refused>,
) -> anyhow::Result<u8> {
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(options.quiet, "modem");
    let ended = end(&mut |ready: &Ready| announce(ready, options), &mut |step: LineStep| {
        let (calls, sent) = (counted(step.calls, "call"), counted(step.sent, "byte"));
        let words = format!("{calls}, {sent} sent, {} received", counted(step.received, "byte"));
        progress.show(&words, step.elapsed, options.duration.unwrap_or(step.elapsed));
        !interrupted.is_set()
    });
    progress.done();
    let ended = ended?;
    let mut lined = Lined { run: &ended.run, next: None };
    let (mut artifacts, mut code) = (Artifacts::default(), lined.exit_code());
    lined.next = (code > 0).then_some(next);
    if let (Some(path), Some(bytes)) = (&options.receive, &ended.received) {
        code = code.max(artifacts.write(path, bytes));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), LineAnswer::new(&lined), code);
    } else {
        output::print_text(&line_text(&lined));
    }
    Ok(code)
}

/// Programs that start this command read these lines.
fn announce(ready: &Ready, options: &ModemEndOptions) {
    if let Some(line) = &ready.line {
        let line = line.display().to_string();
        output::say(&format!("line: {line}"));
        let other = match (&options.send, &options.receive) {
            (Some(_), _) => " --receive FILE",
            (None, Some(_)) => " --send FILE",
            (None, None) => "",
        };
        output::say(&format!("next: `punctual modem call {}{other}` calls it", shell_word(&line)));
    }
    if let Some(terminal) = &ready.terminal {
        let (name, number) = if ready.line.is_some() { ("B", NUMBERS[1]) } else { ("A", NUMBERS[0]) };
        output::say(&format!("{name}: {}, number {number}", terminal.display()));
    }
}
