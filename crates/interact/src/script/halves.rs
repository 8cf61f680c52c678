//! Keys as two inputs each: they go down, are held, and come up again.

use super::{Act, MAX_INPUTS, PRESS, Pace, Press, RELEASE, Script, ScriptError, Step};
use punctual_random::Random;
use punctual_recording::counted;
use std::time::Duration;

/// A key is held for this share of the usual pause between keys: whoever types at the paper's pace of 150 ms holds one for
/// about 75 ms.
const HELD_SHARE: f64 = 0.5;
/// No key is held for longer, because keyboards repeat keys from half a second or so on.
const MAX_HELD: Duration = Duration::from_millis(200);

impl Pace {
    /// How long a key is held.
    pub fn hold(self, random: &mut Random) -> Duration {
        self.pause(random).mul_f64(HELD_SHARE).min(MAX_HELD)
    }
}

impl Script {
    /// The same with two inputs for each key: of the kind [`PRESS`], unless the script gives the key a kind of its own, and of
    /// the kind [`RELEASE`].
    ///
    /// # Errors
    /// If that are too many.
    pub fn with_releases(self) -> Result<Script, ScriptError> {
        let halves = |press: Press| match press.act {
            Act::Key(key) => {
                let kind = if press.kind == key.kind { PRESS.to_owned() } else { press.kind };
                let down = Press { act: Act::KeyDown(key.clone()), kind, after: press.after };
                // A recorded session has no pauses between these.
                let after = press.after.map(|_| Duration::ZERO);
                let up = Press { act: Act::KeyUp(key), kind: RELEASE.to_owned(), after };
                vec![down, up]
            }
            _ => vec![press],
        };
        let step = |step| match step {
            Step::Inputs(presses) => Step::Inputs(presses.into_iter().flat_map(halves).collect()),
            other => other,
        };
        let steps: Vec<Step> = self.steps.into_iter().map(step).collect();
        // Two scripts of which one releases keys by themselves do not type the same.
        let digest = format!("{}-releases", self.digest);
        let script = Script { steps, digest, ..self };
        if script.inputs() > u64::from(MAX_INPUTS) {
            return Err(ScriptError::new(format!(
                "{}: with releases it has {}, and {MAX_INPUTS} are the most",
                script.name,
                counted(script.inputs(), "input")
            )));
        }
        Ok(script)
    }

    /// Whether keys go down and come up as inputs of their own.
    pub fn has_releases(&self) -> bool {
        self.presses().any(|press| press.act.is_release())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\"\n[[step]]\ntype = \"aB\\n\"\npauses = [\"1s\", \"2s\", \"3s\"]\n[[step]]\nkey = \
                        \"ctrl-s\"\nas = \"save\"\n[[step]]\nclick = \"left\"\n[[step]]\nthink = \"1s\"\n";

    #[test]
    fn each_key_is_two_inputs_and_nothing_else_changes() {
        let script = Script::parse("x.toml", TEXT).unwrap();
        assert!(!script.has_releases());
        let both = script.clone().with_releases().unwrap();
        let told: Vec<(String, &str, Option<u64>)> = both
            .presses()
            .map(|press| (press.act.label(), press.kind.as_str(), press.after.map(|after| after.as_secs())))
            .collect();
        let expected = [
            ("a", "press", Some(1)),
            ("a", "release", Some(0)),
            ("B", "press", Some(2)),
            ("B", "release", Some(0)),
            ("enter", "press", Some(3)),
            ("enter", "release", Some(0)),
            ("ctrl-s", "save", None),
            ("ctrl-s", "release", None),
            ("left", "click", None),
        ];
        assert_eq!(told, expected.map(|(label, kind, after)| (label.to_owned(), kind, after)));
        assert!(both.has_releases() && both.digest != script.digest);
        assert_eq!((both.steps.len(), &both.steps[3..]), (script.steps.len(), &script.steps[3..]));
    }

    #[test]
    fn as_many_inputs_as_a_recording_has_are_the_most() {
        let script = |times: u32| {
            let text = format!("name = \"x\"\n[[step]]\nkey = \"a\"\ntimes = {times}\n");
            Script::parse("x.toml", &text).unwrap().with_releases()
        };
        assert_eq!(script(MAX_INPUTS / 2).unwrap().inputs(), u64::from(MAX_INPUTS / 2 * 2));
        let said = script(MAX_INPUTS / 2 + 1).unwrap_err().to_string();
        assert!(said.starts_with("x: with releases it has ") && said.lines().count() == 1, "{said}");
    }

    #[test]
    fn keys_are_held_for_less_than_they_repeat() {
        let mut random = Random(7);
        let mut held: Vec<Duration> = (0..2_001).map(|_| Pace::default().hold(&mut random)).collect();
        held.sort_unstable();
        assert!((70..=80).contains(&held[1_000].as_millis()), "{:?}", held[1_000]);
        let slow = Pace { median_ns: 5_000_000_000, spread: 0.0 };
        assert_eq!(slow.hold(&mut random), MAX_HELD);
    }
}
