//! Reads a script, and says where something is wrong in it and what would be right.

use super::examples::right_for;
use super::{Act, Button, Direction, MAX_INPUTS, MIDDLE, Pace, Press, Quiet, Script, Spot, Step, key, typed};
use punctual_load::packages::Packages;
use punctual_recording::{BareUnit, parse_duration};
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// A script that cannot be used, in one line: file, line, column, what is wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

impl ScriptError {
    pub(super) fn new(what: String) -> ScriptError {
        ScriptError(what)
    }
}

/// A longer file is no script.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// No pause or wait is longer than this.
const MAX_TIME: Duration = Duration::from_secs(3_600);
/// Names are no longer than this, characters.
const MAX_NAME: usize = 100;
/// The silence to wait for, and the longest wait, if the script does not say.
const QUIET: Quiet = Quiet { silence: Duration::from_millis(300), at_most: Duration::from_secs(10) };

/// The longest part of a recorded pause that is left once the pointer is there: what was done before may move the window.
const POINTED: Duration = Duration::from_millis(150);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    columns: Option<Spanned<u16>>,
    rows: Option<Spanned<u16>>,
    pace: Option<WrittenPace>,
    ready: Option<WrittenQuiet>,
    #[serde(default)]
    needs: WrittenNeeds,
    #[serde(default)]
    packages: Packages,
    #[serde(default)]
    step: Vec<Spanned<WrittenStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPace {
    median: Option<Spanned<String>>,
    spread: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenQuiet {
    silence: Option<Spanned<String>>,
    at_most: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNeeds {
    #[serde(default)]
    programs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    task: Option<Spanned<String>>,
    #[serde(rename = "type")]
    text: Option<Spanned<String>>,
    key: Option<Spanned<String>>,
    click: Option<Spanned<String>>,
    scroll: Option<Spanned<String>>,
    at: Option<Spanned<String>>,
    think: Option<Spanned<String>>,
    wait: Option<Spanned<String>>,
    again: Option<Spanned<u32>>,
    steps: Option<Spanned<u32>>,
    times: Option<Spanned<u32>>,
    #[serde(rename = "as")]
    kind: Option<Spanned<String>>,
    pauses: Option<Spanned<Vec<Spanned<String>>>>,
    silence: Option<Spanned<String>>,
    at_most: Option<Spanned<String>>,
}

/// A file's name and text, for the places of errors.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// File, line and column.
    fn place(&self, span: &Range<usize>) -> String {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.file)
    }

    /// What the reader of TOML says, in one line, and what would be right there.
    fn not_read(&self, error: &toml::de::Error) -> ScriptError {
        let what = error.message().lines().collect::<Vec<_>>().join(" ");
        let span = error.span().unwrap_or(0..0);
        let right = right_for(self.text, span.start);
        self.wrong(&span, right.map_or_else(|| what.clone(), |right| format!("{what}: write {right}, for instance")))
    }

    fn wrong(&self, span: &Range<usize>, what: impl std::fmt::Display) -> ScriptError {
        ScriptError(format!("{}: {what}", self.place(span)))
    }

    fn time(&self, written: &Spanned<String>) -> Result<Duration, ScriptError> {
        let nanoseconds =
            parse_duration(written.get_ref(), BareUnit::Seconds).map_err(|what| self.wrong(&written.span(), what))?;
        let time = Duration::from_nanos(nanoseconds);
        if time > MAX_TIME {
            return Err(self.wrong(&written.span(), format!("`{}` is longer than an hour", written.get_ref())));
        }
        Ok(time)
    }

    fn name(&self, written: &Spanned<String>, what: &str) -> Result<String, ScriptError> {
        let name = written.get_ref().trim();
        let is_name = !name.is_empty() && name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control);
        if is_name {
            Ok(name.to_owned())
        } else {
            Err(self.wrong(&written.span(), format!("{what} takes 1 to {MAX_NAME} printable characters")))
        }
    }

    fn pace(&self, written: Option<&WrittenPace>) -> Result<Pace, ScriptError> {
        let mut pace = Pace::default();
        let Some(written) = written else { return Ok(pace) };
        if let Some(median) = &written.median {
            pace.median_ns = self.time(median)?.as_nanos() as u64;
            if pace.median_ns == 0 {
                return Err(self.wrong(&median.span(), "a pause of 0 is --pace full: write 150ms, for instance"));
            }
        }
        if let Some(spread) = &written.spread {
            pace.spread = *spread.get_ref();
            if !(0.0..=2.0).contains(&pace.spread) {
                return Err(self.wrong(&spread.span(), "a spread is between 0 and 2: write 0.35, for instance"));
            }
        }
        Ok(pace)
    }

    fn quiet(
        &self,
        silence: Option<&Spanned<String>>,
        at_most: Option<&Spanned<String>>,
    ) -> Result<Quiet, ScriptError> {
        let silence = silence.map_or(Ok(QUIET.silence), |silence| self.time(silence))?;
        let at_most = at_most.map_or(Ok(QUIET.at_most.max(silence * 2)), |at_most| self.time(at_most))?;
        Ok(Quiet { silence, at_most })
    }
}

impl Script {
    /// Reads a script; `file` is its name in errors.
    ///
    /// # Errors
    /// One line with the file, line, column, what is wrong there and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
        let source = Source { file, text };
        if text.len() > MAX_BYTES {
            return Err(ScriptError(format!("{file}: is longer than {MAX_BYTES} bytes: that is not a script")));
        }
        let written: Written = toml::from_str(text).map_err(|error| source.not_read(&error))?;
        let pace = source.pace(written.pace.as_ref())?;
        let side = |written: &Option<Spanned<u16>>, usual: u16| match written {
            None => Ok(usual),
            Some(side) if (2..=500).contains(side.get_ref()) => Ok(*side.get_ref()),
            Some(side) => Err(source.wrong(&side.span(), "a terminal has 2 to 500 columns and rows")),
        };
        let ready = written.ready.as_ref();
        let ready = source
            .quiet(ready.and_then(|ready| ready.silence.as_ref()), ready.and_then(|ready| ready.at_most.as_ref()))?;
        let mut steps = Vec::new();
        let (mut inputs, mut pointer, mut wants_window) = (0, MIDDLE, None);
        for (at, one) in written.step.iter().enumerate() {
            if wants_window.is_none() && one.get_ref().has_mouse() {
                wants_window = Some(source.place(&one.span()));
            }
            let made = steps_of(&source, &written.step, at, &mut pointer)?;
            inputs += made.iter().map(|step| if let Step::Inputs(all) = step { all.len() } else { 0 }).sum::<usize>();
            steps.extend(made);
            if inputs.max(steps.len()) > MAX_INPUTS as usize {
                let what = format!("the script has more than {MAX_INPUTS} inputs or steps");
                return Err(source.wrong(&one.span(), what));
            }
        }
        if inputs == 0 {
            let what = "the script has no input: add [[step]] with type = \"...\", key = \"...\" or click = \"...\"";
            return Err(source.wrong(&(text.len()..text.len()), what));
        }
        Ok(Script {
            name: source.name(&written.name, "a name")?,
            about: written.about,
            size: (side(&written.columns, 80)?, side(&written.rows, 24)?),
            pace,
            ready,
            steps,
            digest: format!("{:016x}", punctual_recording::digest(text)),
            wants_window,
            programs: written.needs.programs,
            packages: written.packages,
        })
    }
}

impl WrittenStep {
    /// Whether it uses a mouse.
    fn has_mouse(&self) -> bool {
        self.click.is_some() || self.scroll.is_some()
    }

    /// A key that goes with nothing in this step: its place, its name, and what it would go with.
    fn strays(&self) -> Option<(Range<usize>, &'static str, &'static str)> {
        let puts_in = self.text.is_some() || self.key.is_some() || self.has_mouse();
        let (typed, waits) = ("type, key, click or scroll", "wait = \"quiet\"");
        let all = [
            (puts_in, "times", self.times.as_ref().map(Spanned::span), typed),
            (puts_in, "as", self.kind.as_ref().map(Spanned::span), typed),
            (puts_in, "pauses", self.pauses.as_ref().map(Spanned::span), typed),
            (self.has_mouse(), "at", self.at.as_ref().map(Spanned::span), "click or scroll"),
            (self.wait.is_some(), "silence", self.silence.as_ref().map(Spanned::span), waits),
            (self.wait.is_some(), "at_most", self.at_most.as_ref().map(Spanned::span), waits),
            (self.again.is_some(), "steps", self.steps.as_ref().map(Spanned::span), "again"),
        ];
        let mut strays = all.into_iter().filter(|(fits, ..)| !fits);
        strays.find_map(|(_, name, span, with)| Some((span?, name, with)))
    }
}

/// What a step of a script stands for: itself, or those just before it once more.
fn steps_of(
    source: &Source<'_>,
    all: &[Spanned<WrittenStep>],
    at: usize,
    pointer: &mut Spot,
) -> Result<Vec<Step>, ScriptError> {
    let Some(spanned) = all.get(at) else { return Ok(Vec::new()) };
    check(source, spanned)?;
    let Some(again) = &spanned.get_ref().again else { return Ok(vec![step(source, spanned, pointer)?]) };
    let steps = spanned.get_ref().steps.as_ref().map_or(1, |steps| *steps.get_ref() as usize);
    let before = at.checked_sub(steps).and_then(|from| all.get(from..at)).unwrap_or_default();
    if before.is_empty() || before.iter().any(|one| one.get_ref().again.is_some()) {
        let what = "again repeats the steps just before it, none of which says again: steps = 2 are the last two";
        return Err(source.wrong(&again.span(), what));
    }
    let times = *again.get_ref() as usize;
    if times == 0 || times.saturating_mul(steps) > MAX_INPUTS as usize {
        return Err(source.wrong(&again.span(), format!("again is between 1 and {MAX_INPUTS} steps in all")));
    }
    // Where the pointer is differs from time to time.
    let repeated = std::iter::repeat_n(before, times).flatten();
    repeated.map(|one| step(source, one, pointer)).collect()
}

/// Whether a step has what a step must have, and nothing else.
fn check(source: &Source<'_>, spanned: &Spanned<WrittenStep>) -> Result<(), ScriptError> {
    let step = spanned.get_ref();
    let given = [&step.task, &step.text, &step.key, &step.click, &step.scroll, &step.think, &step.wait];
    let given = given.into_iter().flatten().count() + usize::from(step.again.is_some());
    if given != 1 {
        let what = "a step has one of task, type, key, click, scroll, think, wait and again";
        return Err(source.wrong(&spanned.span(), format!("{what}: this one has {given}")));
    }
    match step.strays() {
        Some((span, name, with)) => Err(source.wrong(&span, format!("{name} goes with {with}"))),
        None => Ok(()),
    }
}

/// A step that stands for itself.
fn step(source: &Source<'_>, spanned: &Spanned<WrittenStep>, pointer: &mut Spot) -> Result<Step, ScriptError> {
    let step = spanned.get_ref();
    if let Some(task) = &step.task {
        return source.name(task, "a task").map(Step::Task);
    }
    if let Some(think) = &step.think {
        return source.time(think).map(Step::Think);
    }
    if let Some(wait) = &step.wait {
        if wait.get_ref() != "quiet" {
            return Err(source.wrong(&wait.span(), "a step can only wait for quiet: write wait = \"quiet\""));
        }
        return source.quiet(step.silence.as_ref(), step.at_most.as_ref()).map(Step::Wait);
    }
    let mut presses = presses(source, step)?;
    if let Some(at) = &step.at {
        let spot = Spot::parse(at.get_ref()).map_err(|what| source.wrong(&at.span(), what))?;
        if spot != *pointer {
            // A person points first, and presses a moment after that.
            *pointer = spot;
            let act = Act::Point(spot);
            let after = presses.first_mut().and_then(|first| {
                let whole = first.after?;
                let rest = (whole / 2).min(POINTED);
                first.after = Some(rest);
                Some(whole - rest)
            });
            presses.insert(0, Press { kind: act.kind().to_owned(), act, after });
        }
    }
    Ok(Step::Inputs(presses))
}

/// What a step puts in once.
fn acts(source: &Source<'_>, step: &WrittenStep) -> Result<Vec<Act>, ScriptError> {
    if let Some(text) = &step.text {
        let is_strange = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        if text.get_ref().chars().any(is_strange) {
            let what = "a text has no control characters but new lines and tabs: write them as key = \"ctrl-c\"";
            return Err(source.wrong(&text.span(), what));
        }
        return Ok(text.get_ref().chars().map(|letter| Act::Key(typed(letter))).collect());
    }
    let named = [
        step.key.as_ref().map(|name| (name, key(name.get_ref()).map(Act::Key))),
        step.click.as_ref().map(|name| (name, Button::named(name.get_ref()).map(Act::Click))),
        step.scroll.as_ref().map(|name| (name, Direction::named(name.get_ref()).map(Act::Scroll))),
    ];
    let act =
        |(name, act): (&Spanned<String>, Result<Act, String>)| act.map_err(|what| source.wrong(&name.span(), what));
    named.into_iter().flatten().map(act).collect()
}

fn presses(source: &Source<'_>, step: &WrittenStep) -> Result<Vec<Press>, ScriptError> {
    let mut acts = acts(source, step)?;
    if let Some(times) = &step.times {
        let all = acts.len().saturating_mul(*times.get_ref() as usize);
        if *times.get_ref() == 0 || all > MAX_INPUTS as usize {
            return Err(source.wrong(&times.span(), format!("times is between 1 and {MAX_INPUTS} inputs in all")));
        }
        acts = acts.iter().cycle().take(all).cloned().collect();
    }
    let kind = step.kind.as_ref().map(|kind| source.name(kind, "a kind")).transpose()?;
    let mut pauses = vec![None; acts.len()];
    if let Some(written) = &step.pauses {
        if written.get_ref().len() != acts.len() {
            let what =
                format!("there are {} pauses for {} keys: give one for each", written.get_ref().len(), acts.len());
            return Err(source.wrong(&written.span(), what));
        }
        for (pause, written) in pauses.iter_mut().zip(written.get_ref()) {
            *pause = Some(source.time(written)?);
        }
    }
    let press = |(act, after): (Act, Option<Duration>)| {
        let kind = kind.clone().unwrap_or_else(|| act.kind().to_owned());
        Press { act, kind, after }
    };
    Ok(acts.into_iter().zip(pauses).map(press).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "edit"
about = "a few words"
columns = 100
[pace]
median = "120ms"
[[step]]
wait = "quiet"
silence = "200ms"
[[step]]
task = "write"
[[step]]
type = "ab\n"
pauses = ["100ms", "200ms", "1s"]
[[step]]
think = "2s"
[[step]]
key = "ctrl-s"
as = "save"
times = 2
"#;

    #[test]
    fn a_script_is_read() {
        let script = Script::parse("edit.toml", GOOD).unwrap();
        assert_eq!((script.name.as_str(), script.size, script.pace.median_ns), ("edit", (100, 24), 120_000_000));
        assert_eq!((script.steps.len(), script.inputs(), script.has_recorded_pauses()), (5, 5, false));
        let Step::Inputs(keys) = &script.steps[2] else { panic!() };
        assert_eq!((keys[2].kind.as_str(), keys[2].after), ("enter", Some(Duration::from_secs(1))));
        let Step::Inputs(keys) = &script.steps[4] else { panic!() };
        assert_eq!((keys.len(), keys[1].kind.as_str(), keys[1].act.label().as_str()), (2, "save", "ctrl-s"));
    }

    #[test]
    fn a_script_names_the_programs_that_it_is_for_and_what_installs_them() {
        let needs = "[needs]\nprograms = [\"a|b\"]\n[packages]\napt = [\"ab\"]\n[pace]";
        let script = Script::parse("edit.toml", &GOOD.replacen("[pace]", needs, 1)).unwrap();
        assert_eq!((script.programs, script.packages.apt), (vec!["a|b".to_owned()], vec!["ab".to_owned()]));
        let said = Script::parse("edit.toml", &GOOD.replacen("[pace]", "[needs]\ncpus = 2\n[pace]", 1)).unwrap_err();
        assert!(said.to_string().contains("unknown field `cpus`"), "{said}");
        let script = Script::parse("edit.toml", GOOD).unwrap();
        assert!(script.programs.is_empty() && script.packages.apt.is_empty());
    }

    #[test]
    fn somebody_points_before_they_click_where_the_pointer_is_not_yet() {
        let clicks =
            "click = \"left\"\n[[step]]\nclick = \"right\"\nat = \"5 9\"\n[[step]]\nscroll = \"down\"\nat = \"5 9\"";
        let script = Script::parse("edit.toml", &GOOD.replacen("key = \"ctrl-s\"\nas = \"save\"", clicks, 1)).unwrap();
        let all: Vec<(String, String)> =
            script.presses().skip(3).map(|press| (press.kind.clone(), press.act.label())).collect();
        let expected =
            [("click", "left"), ("pointer", "to 5 9"), ("click", "right"), ("scroll", "down"), ("scroll", "down")];
        assert_eq!(all, expected.map(|(kind, label)| (kind.to_owned(), label.to_owned())));
        assert_eq!(script.wants_window.as_deref(), Some("edit.toml:17:1"));
        // The way there is a part of a recorded pause.
        for (whole, parts) in [("900ms", [750, 150, 80]), ("0", [0, 0, 80]), ("60ms", [30, 30, 80])] {
            let clicks = format!("click = \"left\"\nat = \"5 9\"\npauses = [\"{whole}\", \"80ms\"]");
            let text = GOOD.replacen("key = \"ctrl-s\"\nas = \"save\"", &clicks, 1);
            let script = Script::parse("edit.toml", &text).unwrap();
            let pauses: Vec<u128> = script.presses().skip(3).map(|press| press.after.unwrap().as_millis()).collect();
            assert_eq!(pauses, parts);
        }
        assert_eq!(Script::parse("edit.toml", GOOD).unwrap().wants_window, None);
    }

    #[test]
    fn steps_come_again_with_the_pointer_moved_back() {
        let clicks =
            "click = \"left\"\nat = \"5 9\"\n[[step]]\nclick = \"left\"\nat = \"7 9\"\n[[step]]\nagain = 2\nsteps = 2";
        let script =
            Script::parse("edit.toml", &GOOD.replacen("key = \"ctrl-s\"\nas = \"save\"\ntimes = 2", clicks, 1));
        let all: Vec<String> = script.unwrap().presses().skip(3).map(|press| press.act.label()).collect();
        assert_eq!(all, ["to 5 9", "left", "to 7 9", "left"].repeat(3));
        let script = Script::parse("edit.toml", &format!("{GOOD}[[step]]\nagain = 4\n")).unwrap();
        assert_eq!(script.inputs(), 3 + 2 * 5);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line_with_its_place() {
        let with = |old: &str, new: &str| Script::parse("edit.toml", &GOOD.replacen(old, new, 1));
        for (old, new, place, words) in [
            ("ctrl-s", "strg-s", "edit.toml:18:7:", "page-down"),
            ("wait = \"quiet\"", "wait = \"idle\"", "edit.toml:8:8:", "write wait = \"quiet\""),
            ("[\"100ms\", ", "[", "edit.toml:14:10:", "2 pauses for 3 keys"),
            ("times = 2", "times = 0", "edit.toml:20:9:", "times is between"),
            ("think = \"2s\"", "think = \"2 hours\"", "edit.toml:16:9:", "2 hours"),
            ("columns = 100", "columns = 1", "edit.toml:4:11:", "2 to 500"),
            ("median = \"120ms\"", "median = \"0\"", "edit.toml:6:10:", "--pace full"),
            ("task = \"write\"", "task = \"write\"\nkey = \"a\"", "edit.toml:10:1:", "this one has 2"),
            (
                "task = \"write\"",
                "task = \"write\"\ntimes = 3",
                "edit.toml:12:9:",
                "times goes with type, key, click or scroll",
            ),
            ("key = \"ctrl-s\"", "click = \"first\"", "edit.toml:18:9:", "left, middle or right"),
            ("key = \"ctrl-s\"", "scroll = \"up\"\nat = \"5\"", "edit.toml:19:6:", "50% 40"),
            ("times = 2", "at = \"5 5\"", "edit.toml:20:6:", "at goes with click or scroll"),
            ("key = \"ctrl-s\"\nas = \"save\"\ntimes = 2", "again = 0", "edit.toml:18:9:", "between 1 and"),
            ("key = \"ctrl-s\"\nas = \"save\"\ntimes = 2", "again = 2\nsteps = 9", "edit.toml:18:9:", "just before it"),
            ("times = 2", "steps = 2", "edit.toml:20:9:", "steps goes with again"),
            ("key = \"ctrl-s\"", "press = \"ctrl-s\"", "edit.toml:18:1:", "unknown field `press`"),
            ("name = \"edit\"", "name = 5", "edit.toml:2:8:", "expected a string: write name = \"edit\", for instance"),
            ("median = \"120ms\"", "median = 150", "edit.toml:6:10:", "write median = \"150ms\", for instance"),
            ("times = 2", "times = \"2\"", "edit.toml:20:", "write times = 3, for instance"),
            ("\"100ms\", \"200ms\"", "100, 200", "edit.toml:14:", "write pauses = [\"120ms\", \"200ms\"]"),
            ("think = \"2s\"", "think = ", "edit.toml:16:", "value"),
        ] {
            let said = with(old, new).unwrap_err().to_string();
            assert!(said.starts_with(place) && said.contains(words) && said.lines().count() == 1, "{said}");
        }
        let said = Script::parse("x.toml", "name = \"x\"\n").unwrap_err().to_string();
        assert!(said.contains("no input"), "{said}");
    }
}
