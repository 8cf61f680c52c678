//! How output looks to its reader: how wide it may be, its colour, which only adds, and how commands in it are typed.

use punctual_kernel::capabilities::is_root;
use punctual_kernel::standard_output;
use punctual_recording::printable;
use punctual_report::{Layout, lay_out, shell_word};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The width assumed for a terminal that does not report its size, columns.
const USUAL_COLUMNS: usize = 80;

/// Set where what is printed goes to others.
static GOES_TO_OTHERS: AtomicBool = AtomicBool::new(false);

/// Lays out text as Markdown where that was asked for, or else as wide as `COLUMNS` says, or else the terminal. Output to a file or a pipe
/// keeps its lines whole unless `COLUMNS` is set.
pub(crate) fn at_the_reader(markdown: bool) {
    if markdown {
        GOES_TO_OTHERS.store(true, Ordering::Relaxed);
        return lay_out(Layout::Markdown);
    }
    let terminal = || std::io::stdout().is_terminal().then(|| standard_output::columns().unwrap_or(USUAL_COLUMNS));
    if let Some(columns) = said_columns().or_else(terminal) {
        lay_out(Layout::Columns(columns));
    }
}

/// The width that `COLUMNS` says.
fn said_columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// How wide help is, columns: the terminal's width comes first here, and help is never wider than its library makes it.
pub(crate) fn help_columns() -> usize {
    const MAX_COLUMNS: usize = 100;
    let terminal = std::io::stdout().is_terminal().then(standard_output::columns).flatten();
    terminal.or_else(said_columns).unwrap_or(MAX_COLUMNS).min(MAX_COLUMNS)
}

/// How lines are coloured, by kind.
#[derive(Debug, Clone, Copy)]
enum Colour {
    Bold,
    Red,
    Yellow,
    Cyan,
}

impl Colour {
    fn around(self, text: &str) -> String {
        let code = match self {
            Colour::Bold => "1",
            Colour::Red => "1;31",
            Colour::Yellow => "33",
            Colour::Cyan => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// What a line may begin with, and its colour. The words alone say everything.
const LABELS: [(&str, Colour); 5] = [
    ("error:", Colour::Red),
    ("warning:", Colour::Yellow),
    ("note:", Colour::Yellow),
    ("hint:", Colour::Cyan),
    ("next:", Colour::Cyan),
];

/// Text with its labels coloured, if its stream shows colour.
pub(crate) fn labelled(text: &str, is_shown: bool) -> String {
    if !is_shown {
        return text.to_owned();
    }
    let line = |line: &str| {
        let label = LABELS.iter().find_map(|(label, colour)| Some((*label, *colour, line.strip_prefix(label)?)));
        label.map_or_else(|| line.to_owned(), |(label, colour, rest)| format!("{}{rest}", colour.around(label)))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// An answer with its verdict, which is its first paragraph, in bold.
pub(crate) fn with_verdict(text: &str) -> String {
    if !on_output() {
        return text.to_owned();
    }
    let lines = text.split('\n').take_while(|line| !line.is_empty() && !is_labelled(line)).count();
    let bold = |(number, line): (usize, &str)| match number < lines {
        true => Colour::Bold.around(line),
        false => line.to_owned(),
    };
    labelled(&text.split('\n').enumerate().map(bold).collect::<Vec<_>>().join("\n"), true)
}

fn is_labelled(line: &str) -> bool {
    LABELS.iter().any(|(label, _)| line.starts_with(label))
}

/// Whether the standard output shows colour.
pub(crate) fn on_output() -> bool {
    static SHOWN: OnceLock<bool> = OnceLock::new();
    *SHOWN.get_or_init(|| shows_colour(std::io::stdout().is_terminal()))
}

/// Whether standard error shows colour.
pub(crate) fn on_errors() -> bool {
    static SHOWN: OnceLock<bool> = OnceLock::new();
    *SHOWN.get_or_init(|| shows_colour(std::io::stderr().is_terminal()))
}

/// Set in what `sudo`, `doas` and `pkexec` start: whoever typed the command is not root then.
const STARTED_BY: [&str; 3] = ["SUDO_COMMAND", "DOAS_USER", "PKEXEC_UID"];

/// The name of the program in commands, where `PATH` finds it.
const NAME: &str = "punctual";

/// An answer with its commands as its reader types them. Markdown goes to others, as JSON and pages do: theirs keep `sudo` and the
/// program's name.
pub(crate) fn as_read(text: String) -> String {
    if GOES_TO_OTHERS.load(Ordering::Relaxed) { text } else { as_typed(text) }
}

/// Text with its commands as whoever started the program types them: root needs no `sudo`, and many systems without users have
/// none; whoever types `./punctual` may have no other.
pub(crate) fn as_typed(text: String) -> String {
    static TYPED: OnceLock<Option<String>> = OnceLock::new();
    let is_typed_by_root = is_root() && STARTED_BY.iter().all(|name| std::env::var_os(name).is_none());
    let text = if is_typed_by_root { without_sudo(&text) } else { text };
    let typed = TYPED.get_or_init(|| typed_name(std::env::args_os().next()?, std::env::var_os("PATH").as_deref()));
    match typed {
        Some(typed) => with_name(&text, typed),
        None => text,
    }
}

/// How the program is called if that is a place below or beside the reader's own, and its name alone is not this program. Scripts
/// and units name a whole place, which nobody types.
fn typed_name(typed: OsString, path: Option<&OsStr>) -> Option<String> {
    let typed = typed.into_string().ok().filter(|typed| typed.contains('/') && !typed.starts_with('/'))?;
    let file = |path: &Path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|it| (it.dev(), it.ino()));
    let found = std::env::split_paths(path.unwrap_or_default()).find_map(|directory| file(&directory.join(NAME)));
    let is_found = found.is_some() && found == file(Path::new(&typed));
    (!is_found).then(|| shell_word(&printable(&typed)))
}

/// Text whose commands call the program so.
fn with_name(text: &str, name: &str) -> String {
    text.replace("`sudo punctual ", &format!("`sudo {name} ")).replace("`punctual ", &format!("`{name} "))
}

/// Text whose commands, which stand between backticks, begin without `sudo`, and write without it where another one's output goes.
fn without_sudo(text: &str) -> String {
    text.replace("`sudo ", "`").replace(" | sudo tee ", " | tee ")
}

/// Whether somebody sees progress on a terminal that can only write one line after another.
pub(crate) fn is_in_lines() -> bool {
    std::io::stderr().is_terminal() && is_dumb()
}

/// Whether the terminal can only write one line after another.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb")
}

/// NO_COLOR and CLICOLOR_FORCE as elsewhere: any non-empty value counts, and NO_COLOR takes precedence.
fn shows_colour(is_terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && (is_set("CLICOLOR_FORCE") || is_terminal && !is_dumb())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_lose_their_sudo() {
        let text =
            "next: `sudo punctual idle` shows it, `echo 1 | sudo tee /x`; sudo is not needed for `punctual why a`";
        let expected = "next: `punctual idle` shows it, `echo 1 | tee /x`; sudo is not needed for `punctual why a`";
        assert_eq!(without_sudo(text), expected);
    }

    #[test]
    fn commands_call_the_program_as_it_was_called() {
        let text = "next: `sudo punctual idle` shows it, `punctual why a` says why; punctual is not `sudo chrt`";
        let expected =
            "next: `sudo ./punctual idle` shows it, `./punctual why a` says why; punctual is not `sudo chrt`";
        assert_eq!(with_name(text, "./punctual"), expected);
        let directory = tempfile::tempdir().unwrap();
        let name = |typed: &str| typed_name(typed.into(), Some(directory.path().as_os_str()));
        for plain in ["punctual", "/usr/bin/punctual"] {
            assert_eq!(name(plain), None);
        }
        assert_eq!(name("./punctual").as_deref(), Some("./punctual"));
        assert_eq!(name("my tools/punctual").as_deref(), Some("'my tools/punctual'"));
        // What its plain name finds is another program.
        std::fs::write(directory.path().join(NAME), "").unwrap();
        assert_eq!(name("./punctual").as_deref(), Some("./punctual"));
        // Tests run where their package is.
        let own = directory.path().join(NAME);
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(Path::new("Cargo.toml").canonicalize().unwrap(), &own).unwrap();
        assert_eq!(name("./Cargo.toml"), None);
    }
}
