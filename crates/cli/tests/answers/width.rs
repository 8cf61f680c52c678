//! Every text answer to the golden recordings, and every one that needs no recording, on a terminal of 80 columns; and
//! what colour adds.

use crate::support::{self, ANSWERS, code, every_command, punctual, stdout, tests_all};
use std::path::Path;

/// Columns.
const WIDTH: usize = 80;

/// The answer to each of these, and of [`ANSWERS`], fits; an answer that cannot be made here has no text.
const COMMANDS: &[&str] = &[
    "report record.punctual --by-cpu",
    "report record.punctual --interarrival 30us,50us",
    "report interact.punctual --interarrival 100us",
    "forecast record.punctual --device modem --want 1/day --curve --reliability 99",
    "forecast check --table",
    "why why.punctual",
    "why why.punctual --all",
    "why why.punctual --episode 2",
    "why why.punctual --all-handlers",
    "why --explain irq",
    "log show log.punctual --to 20ms",
    "device show v90",
    "sim run soft-modem-callbacks",
    "sim run soft-modem-table3 --sweep device.policy.reservation.runtime=1..2",
    "sim whatif --device modem --duration 10s --bystander 20",
    "modem stalls --lengths 5ms --calls 10",
    "modem judge --modem 9600 --calls 1 --losses 50ms",
    "modem study --row 3/17 --bytes 100 --attempts 1",
    "load list",
    "load install cpu",
    "drill list",
    "lab kernels",
    "capabilities stages",
];

/// All of these commands.
fn every_answer() -> impl Iterator<Item = &'static str> {
    ANSWERS.iter().chain(COMMANDS).copied()
}

/// The standard output of a command in the directory of the recordings, and its exit code.
fn said(words: &str, set: &[(&str, &str)]) -> (String, i32) {
    let golden = support::golden();
    let mut command = punctual();
    command.current_dir(&golden).env("TZ", "UTC").args(words.split_whitespace());
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    let output = command.envs(set.iter().copied()).output().expect("the program starts");
    (stdout(&output), code(&output))
}

/// The same command with its Markdown in a file.
fn into(command: &str, file: &Path) -> String {
    format!("{command} --export-markdown {}", file.display())
}

/// What was looked at in answers, and what was wrong.
#[derive(Default)]
struct Met {
    lines: usize,
    /// A 1 and what stands after it.
    ones: usize,
    tables: usize,
    wrong: Vec<String>,
}

impl Met {
    /// The text for a terminal fits, and after a 1 stands no plural.
    fn look_at_text(&mut self, command: &str, text: &str) {
        let one = regex::Regex::new(r"(?:^|[^0-9.,x/:] ?)\b1 ((?:more |late )?[a-z]+s)\b").unwrap();
        // Units, and words that continue the sentence.
        let no_nouns =
            ["us", "ms", "ns", "s", "is", "was", "has", "as", "its", "holds", "fails", "lies", "stands", "takes"];
        let wide = text.lines().filter(|line| line.chars().count() > WIDTH);
        self.wrong.extend(wide.map(|line| format!("punctual {command}: {} columns: {line}", line.chars().count())));
        for line in text.lines() {
            self.lines += 1;
            self.ones += line.matches(" 1 ").count();
            let noun = |found: &regex::Captures<'_>| found[1].split(' ').next_back().unwrap_or_default().to_owned();
            let is_plural = one.captures_iter(line).any(|found| !no_nouns.contains(&noun(&found).as_str()));
            self.wrong.extend(is_plural.then(|| format!("punctual {command}: a plural after a 1: {line}")));
        }
    }

    /// Each row has as many cells as its table's ruler, and nothing stands right above or below.
    fn look_at_tables(&mut self, command: &str, markdown: &str) {
        let cells = |row: &str| row.replace("\\|", "").matches('|').count();
        for block in markdown.split("\n\n").map(str::trim).filter(|block| block.starts_with("| ")) {
            let rows: Vec<&str> = block.lines().collect();
            let is_ruler =
                rows.get(1).is_some_and(|row| row.starts_with("| --") && !row.contains(char::is_alphanumeric));
            let is_whole = is_ruler && rows.iter().all(|row| cells(row) == cells(rows[1]));
            self.wrong.extend((!is_whole).then(|| format!("punctual {command}: no whole table: {block}")));
            self.tables += 1;
        }
    }

    /// What `docs/style.md` replaces is in no sentence.
    fn look_at_words(&mut self, command: &str, unbroken: &str) {
        const REPLACED: [&str; 5] = ["latest", "without kernel event", "blamed", "writes a page", "a longer time"];
        self.lines += unbroken.lines().count();
        let replaced = unbroken.lines().filter(|line| REPLACED.iter().any(|words| line.contains(words)));
        self.wrong.extend(replaced.map(|line| format!("punctual {command}: a word that is replaced: {line}")));
    }

    fn is_right(&self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}

/// Each command is asked once, for its text and for its Markdown, in which no sentence is broken: all that must hold for every
/// answer is looked for in these. The file has what `--markdown` prints, and the terminal shows what it shows without it:
/// commands are asked for that again, by default every third.
#[test]
fn every_answer_fits_eighty_columns_agrees_in_number_and_can_be_markdown() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("answer.md");
    let narrow = [("COLUMNS", "80")];
    let step = if tests_all() { 1 } else { 3 };
    let is_same_again = |command: &str| {
        ANSWERS.iter().chain(&["why --explain irq", "log show log.punctual --to 20ms"]).any(|same| *same == command)
    };
    let (mut met, mut answers, mut again) = (Met::default(), 0, 0);
    for command in every_answer() {
        let answer = said(&into(command, &file), &narrow);
        let (text, code) = &answer;
        assert!([0, 1, 2].contains(code) && !text.is_empty(), "{command}: exit code {code}");
        let markdown = std::fs::read_to_string(&file).expect(command);
        std::fs::remove_file(&file).unwrap();
        met.look_at_text(command, text);
        met.look_at_tables(command, &markdown);
        met.look_at_words(command, &markdown);
        if is_same_again(command) && answers % step == 0 {
            assert_eq!(answer, said(command, &narrow), "{command}");
            assert_eq!(markdown.trim_end(), said(&format!("{command} --markdown"), &[]).0.trim_end(), "{command}");
            again += 1;
        }
        answers += 1;
    }
    let Met { lines, ones, tables, .. } = met;
    eprintln!("{answers} answers with {lines} lines, {ones} ones and {tables} tables, {again} of them asked for again");
    met.is_right();
    assert!(answers > 50 && lines > 1_000 && ones > 20 && tables > 30 && again * step > 27, "too few were met");
}

#[test]
fn no_help_has_a_word_that_the_style_page_replaces() {
    let mut met = Met::default();
    for command in every_command() {
        let command = format!("{command} --help");
        // So wide that no sentence is broken.
        met.look_at_words(&command, &said(&command, &[("COLUMNS", "2000")]).0);
    }
    assert!(met.lines > 1_000, "only {} lines were read", met.lines);
    met.is_right();
}

/// The text is laid out for its reader whether a file gets its Markdown or not, and is for people in both.
#[test]
fn markdown_in_a_file_leaves_the_answer_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("answer.md");
    let widths: [&[(&str, &str)]; 2] = [&[], &[("COLUMNS", "60")]];
    for columns in widths {
        assert_eq!(said(&into("why why.punctual", &file), columns), said("why why.punctual", columns));
    }
    assert_eq!(said(&into("device list --markdown", &file), &[]), said("device list --markdown", &[]));
    // It is text: programs are given JSON.
    assert_eq!(said("device list --markdown --json", &[]).1, 129);
}

/// The verdict has not scrolled away when what to do next appears.
#[test]
fn who_was_late_and_what_to_do_next_fit_a_terminal() {
    for (columns, rows) in [("80", 30), ("200", 24)] {
        let (text, _) = said("why why.punctual", &[("COLUMNS", columns)]);
        let count = text.lines().count();
        assert!((10..=rows).contains(&count), "{count} rows at {columns} columns:\n{text}");
        assert!(
            text.starts_with("33 wakeups were later") && text.lines().any(|line| line.starts_with("next: ")),
            "{text}"
        );
        assert!(text.lines().any(|line| line.starts_with("unknown ")), "{text}");
        let (whole, _) = said("why why.punctual --all", &[("COLUMNS", columns)]);
        assert!(whole.lines().count() > count && whole.contains("its cost: "), "{whole}");
    }
    // As narrow as a split screen: figures stay beside their names, and no line is cut.
    let (text, _) = said("why why.punctual", &[("COLUMNS", "40")]);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 40 && !line.contains('`')).collect();
    assert!(wide.is_empty() && text.contains("26.6 %"), "{wide:?}\n{text}");
}

/// A file that cannot be written is refused before anything else; one that cannot be written in the end takes nothing from the answer.
#[test]
fn a_markdown_file_that_cannot_be_written_is_said_to_be_so() {
    let directory = tempfile::tempdir().unwrap();
    let said = |words: &str| {
        let output = support::run(directory.path(), &words.split(' ').collect::<Vec<_>>());
        (code(&output), stdout(&output), support::stderr(&output))
    };
    let (code, answer, error) = said("device list --export-markdown nowhere/a.md");
    let expected = "error: cannot write nowhere/a.md: there is no directory nowhere\n";
    assert_eq!((code, answer.as_str(), error.as_str()), (1, "", expected));
    let (code, answer, error) = said("device list --export-markdown /dev/full");
    assert_eq!((code, &answer), (1, &said("device list").1), "{error}");
    assert_eq!(error, "error: cannot write /dev/full: no space left on the disk\n");
    // What is not text for people goes into no such file; an error is said where it always is.
    let (code, answer, error) = said("completions bash --export-markdown a.md");
    assert!(code == 1 && answer.contains("punctual") && error.contains("is not text for people"), "{code}: {error}");
    let (code, _, error) = said("report nowhere.punctual --export-markdown a.md");
    assert!(code == 1 && error.lines().count() <= 2 && error.contains("nowhere.punctual"), "{code}: {error}");
    // Programs are given JSON, on failure too.
    let (code, answer, _) = said("device list --export-markdown a.md --json");
    assert!(code == 129 && answer.contains("\"exit_code\": 129"), "{code}: {answer}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "something was written");
}

/// Of many devices a verdict names a few: the table has them all.
#[test]
fn a_verdict_is_no_list() {
    for command in ["forecast check", "forecast record.punctual", "forecast device.punctual"] {
        let (text, _) = said(command, &[("COLUMNS", "80")]);
        let verdict: Vec<&str> = text.lines().take_while(|line| !line.is_empty() && !line.starts_with('!')).collect();
        assert!((1..=4).contains(&verdict.len()), "{command}: {verdict:#?}");
        assert!(verdict.concat().contains(" more "), "{command}: {verdict:#?}");
    }
}

/// One function words a count, so that no sentence makes its own plural.
#[test]
fn no_sentence_makes_its_own_plural() {
    let own = regex::Regex::new(
        r#"\{[a-z_.0-9:]*\} (?:more |late |other )?(?:wakeups|events|episodes|inputs|outputs|threads|runs|stalls|gaps|cycles|requests|blocks|samples|underruns|overruns|callbacks|jobs|rows|bytes|keystrokes|periods|attempts|calls|recordings) ?["a-z(,.;:]"#,
    )
    .unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut files, mut wrong) = (0, Vec::new());
    let mut open = vec![root];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                let is_source = path.ends_with("src") || path.components().any(|part| part.as_os_str() == "src");
                let is_crate = path.join("Cargo.toml").exists();
                // What tests and checks print is not for users.
                let is_for_users = !path.ends_with("conformance") && !path.ends_with("testing");
                open.extend((is_for_users && (is_source || is_crate)).then_some(path));
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.to_string_lossy().contains("test")
            {
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = code
                    .lines()
                    .filter(|line| own.is_match(line) && !EXPECTED_PLURALS.iter().any(|part| line.contains(part)));
                wrong.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
            }
        }
    }
    assert!(files > 300, "only {files} files were looked at");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bounds, counts that are never 1, and a verb.
const EXPECTED_PLURALS: [&str; 16] = [
    "are read at most",
    "holds more than",
    "rows are said to be there",
    "a dictionary of",
    "{} MiB",
    "holds {many} recordings",
    "runs of a second or more",
    "runs under",
    "of {chosen} episodes",
    "number_of(&threads)",
    "from the maximum",
    "late wakeups on average",
    "more than can be replayed",
    "are too many",
    "rows for {max_marks} marks",
    "{with} jobs were",
];

/// All predictions take minutes; what is known at an interruption is shown in the same way.
#[test]
fn the_papers_fit_eighty_columns() {
    let program = punctual().get_program().to_owned();
    let shown_after = |seconds: &str| {
        let mut command = std::process::Command::new("timeout");
        command.args(["-s", "INT", seconds]).arg(&program).args(["sim", "papers"]).env("COLUMNS", "80");
        stdout(&command.output().expect("timeout starts"))
    };
    // A busy machine has computed nothing after the first of these.
    let text = ["3", "6", "12", "30"].into_iter().map(shown_after).find(|text| text.lines().count() > 20);
    let text = text.expect("something is known");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn every_help_fits_eighty_columns_and_its_examples_can_be_copied() {
    let commands = every_command();
    assert!(commands.len() > 30, "only {} commands", commands.len());
    let (mut wide, mut met): (Vec<String>, usize) = (Vec::new(), 0);
    for command in commands {
        let help = |columns| said(&format!("{command} --help"), &[("COLUMNS", columns)]).0;
        let (narrow, usual) = (help("80"), help("100"));
        let lines = narrow.lines().filter(|line| line.chars().count() > WIDTH);
        wide.extend(lines.map(|line| format!("punctual {command} --help: {line}")));
        assert_eq!(examples(&narrow), examples(&usual), "{command}");
        met += examples(&usual).len();
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
    assert!(met > 80, "only {met} examples");
}

/// The examples of a help as a shell reads them, without what each is for.
fn examples(help: &str) -> Vec<String> {
    let below = help.split("\nExample").nth(1).unwrap_or_default().replace(" \\\n      ", " ");
    let is_example = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let examples = below.lines().skip(1).filter(is_example).map(str::trim_start);
    examples.map(|line| line.split("  ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn without_a_terminal_lines_stay_whole() {
    let (text, _) = said("device list", &[]);
    assert!(text.lines().any(|line| line.chars().count() > WIDTH), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn colour_only_adds() {
    let commands = ["why why.punctual", "report record.punctual", "report log.punctual", "forecast record.punctual"];
    for command in commands {
        let (plain, _) = said(command, &[]);
        let (coloured, _) = said(command, &[("CLICOLOR_FORCE", "1")]);
        assert!(coloured.contains("\u{1b}[1m"), "{command}: no verdict in bold");
        assert_eq!(without_colour(&coloured), plain, "{command}");
        assert_eq!(said(command, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).0, plain, "{command}");
        assert!(!plain.contains('\u{1b}'), "{command}");
    }
    for format in ["report record.punctual --json", "report record.punctual --csv", "why why.punctual --folded"] {
        assert!(!said(format, &[("CLICOLOR_FORCE", "1")]).0.contains('\u{1b}'), "{format}");
    }
}

fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

/// At most two lines say what comes next, and they are the last ones.
#[test]
fn an_answer_ends_with_what_to_run_next() {
    let cases = [
        ("why why.punctual", "sudo punctual record --why 120us --sample-rate 200 -i 10ms -a 1"),
        ("why why.punctual --episode 2", "punctual why --explain blind"),
        ("forecast record.punctual", "sudo punctual record --why 90us -i 5ms -a 1"),
        ("compare check/idle.punctual check/loaded.punctual", "punctual compare --help"),
        ("report idle.punctual", "sudo punctual idle --policy fifo -D 1s -a 1"),
        ("report validate.punctual", "sudo punctual interact -- PROGRAM"),
        ("report interact.punctual", "punctual why --explain same_priority"),
        ("report log.punctual", "punctual log show log.punctual"),
        ("log show log.punctual --to 20ms", "punctual log show log.punctual --perfetto log.pftrace"),
        ("report device.punctual", "sudo punctual reserve v90"),
        ("compare check/idle.punctual check/loaded.punctual record.punctual", "punctual compare A B C"),
    ];
    for (command, next) in cases {
        let (text, _) = said(command, &[]);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("next: ")).collect();
        assert!((1..=2).contains(&lines.len()), "{command}: {lines:?}");
        assert!(lines[0].contains(&format!("`{next}`")), "{command}: {lines:?}");
        assert!(text.lines().last().is_some_and(|line| line.starts_with("next: ")), "{command}");
        // Programs get the same.
        let (json, _) = said(&format!("{command} --json"), &[]);
        let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
        let steps = answer["next"].as_array().unwrap();
        assert!((1..=2).contains(&steps.len()) && steps[0]["command"] == next, "{command}: {steps:?}");
    }
}
