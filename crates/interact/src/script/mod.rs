//! What is typed and clicked: scripts in TOML.
//!
//! ```
//! use punctual_interact::script::{Script, Step};
//!
//! let text = r#"
//! name = "a word"
//! [[step]]
//! task = "write"
//! [[step]]
//! type = "hello"
//! [[step]]
//! key = "page-down"
//! times = 3
//! "#;
//! let script = Script::parse("word.toml", text).unwrap();
//! assert_eq!((script.inputs(), &script.steps[0]), (8, &Step::Task("write".into())));
//!
//! let wrong = Script::parse("word.toml", "name = \"x\"\n[[step]]\nkey = \"pagedown\"\n").unwrap_err();
//! assert!(wrong.to_string().starts_with("word.toml:3:7: `pagedown` is not a key"), "{wrong}");
//! ```

mod examples;
mod halves;
mod keys;
mod pace;
mod pointer;
mod read;
mod shipped;

pub(crate) use keys::name_of;
pub use keys::{Key, Stroke, key, typed};
pub use pace::Pace;
pub use pointer::{Act, Button, Direction, Length, MIDDLE, PRESS, RELEASE, Spot};
pub(crate) use read::MAX_BYTES;
pub use read::ScriptError;
pub use shipped::{default_for, names, shipped};

use punctual_load::packages::Packages;
use std::time::Duration;

/// The kinds of inputs to which a script gives no kind of its own.
pub const KINDS: [&str; 9] = ["key", "enter", "erase", "move", "page", "control", "pointer", "click", "scroll"];

/// Inputs that one script may have.
pub const MAX_INPUTS: u32 = punctual_recording::MAX_INTERACTIONS - 1;

/// What is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// What it is, in a line; may be empty.
    pub about: String,
    /// Size of the terminal: columns and rows.
    pub size: (u16, u16),
    /// How a person would type it.
    pub pace: Pace,
    /// How long to wait for the program to be ready before the first input.
    pub ready: Quiet,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// A digest of its text.
    pub digest: String,
    /// Where it first needs a mouse, and so a window: file, line and column.
    pub wants_window: Option<String>,
    /// The programs that it is for; `a|b` is one of several names.
    pub programs: Vec<String>,
    /// What installs those.
    pub packages: Packages,
}

/// A wait for silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// Nothing was put out for this long.
    pub silence: Duration,
    /// The longest wait.
    pub at_most: Duration,
}

/// An action.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// What follows belongs to this task.
    Task(String),
    /// Inputs, one after another.
    Inputs(Vec<Press>),
    /// Nothing for this long: somebody thinks.
    Think(Duration),
    /// Waits until the program is silent.
    Wait(Quiet),
}

/// A key or an action with the mouse, its kind from the script, and the recorded pause before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// The action.
    pub act: Act,
    /// The kind of input.
    pub kind: String,
    /// The pause before it in a recorded session.
    pub after: Option<Duration>,
}

impl Script {
    /// Everything that is put in, in order.
    pub fn presses(&self) -> impl Iterator<Item = &Press> {
        self.steps.iter().flat_map(|step| if let Step::Inputs(presses) = step { &presses[..] } else { &[] })
    }

    /// How many inputs it has.
    pub fn inputs(&self) -> u64 {
        self.presses().count() as u64
    }

    /// Whether every key has the pause of a recorded session.
    pub fn has_recorded_pauses(&self) -> bool {
        self.presses().all(|press| press.after.is_some())
    }
}
