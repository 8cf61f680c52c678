//! What a number without a unit means: every option that takes a time says it in its help, or refuses such a number.

use super::Arguments;
use clap::builder::ValueParser;
use clap::{Arg, Command, CommandFactory};

/// Values with a time in them; `~` is where its unit goes.
const FORMS: [&str; 9] = [
    "10~",
    "10~..20~",
    "10~@20~",
    "10~/20~",
    "key=10~",
    "max=10~",
    "cycle:max=10~",
    "reservation:10~/20~",
    "18@7200Hz:2s+10~/20~",
];

/// What an option with this parser says against a value.
fn refusal(parser: &ValueParser, value: &str) -> Option<String> {
    let command = Command::new("test").no_binary_name(true).disable_help_flag(true);
    let command = command.arg(Arg::new("value").value_parser(parser.clone()));
    command.try_get_matches_from([value]).err().map(|error| error.to_string())
}

/// What the help of an option, and the end of its command's, say.
fn help(command: &Command, option: &Arg) -> String {
    let of_option = [option.get_help(), option.get_long_help()];
    let of_command = [command.get_after_help(), command.get_after_long_help()];
    of_option.into_iter().chain(of_command).flatten().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The options and arguments of this command and those below it that take a time, and those that take a bare number for
/// one without a word in their help, or refuse it with another reason than that.
fn examine(command: &Command, path: &str, met: &mut Vec<String>, wrong: &mut Vec<String>) {
    for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
        let parser = option.get_value_parser();
        for form in FORMS {
            let is_of_a_time = refusal(parser, &form.replace('~', "ms")).is_none()
                && refusal(parser, &form.replace('~', "mx")).is_some();
            if !is_of_a_time {
                continue;
            }
            let name = format!("{path} {}", option.get_id());
            let is_documented = help(command, option).contains("bare number is");
            match refusal(parser, &form.replace('~', "")) {
                _ if is_documented => {}
                Some(said) if said.contains("has no unit: write ") => {}
                said => wrong.push(format!("{name} with {form}: {}", said.unwrap_or_else(|| "taken".to_owned()))),
            }
            met.push(name);
        }
    }
    for below in command.get_subcommands() {
        examine(below, &format!("{path} {}", below.get_name()), met, wrong);
    }
}

#[test]
fn a_bare_number_is_explained_or_refused_by_every_option_that_takes_a_time() {
    let mut root = Arguments::command();
    root.build();
    let (mut met, mut wrong) = (Vec::new(), Vec::new());
    examine(&root, "punctual", &mut met, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for known in [
        "punctual record interval",
        "punctual record why",
        "punctual record limit",
        "punctual record period",
        "punctual check duration",
        "punctual report interarrival",
        "punctual drill lengths",
        "punctual interact patience",
        "punctual modem transfer stall",
        "punctual reserve deadline",
        "punctual reserve run reservation",
        "punctual device run context",
        "punctual device run phases",
        "punctual timers stall",
    ] {
        assert!(met.iter().any(|name| name == known), "{known} is not among {met:?}");
    }
    assert!(met.len() > 40, "only {}: {met:?}", met.len());
}

/// Those that cyclictest has too keep its unit, a run's length its seconds; whatever is refused is answered by what to write.
#[test]
fn each_bare_number_means_what_its_help_says() {
    let said = |words: &str| {
        let words = std::iter::once("punctual").chain(words.split(' '));
        Arguments::command().try_get_matches_from(words).err().map(|error| error.to_string())
    };
    for taken in
        ["record -i 64", "record --interval 64", "record -b 200", "record -D 5", "check -i 1000 -D 5", "timers -i 500"]
    {
        assert_eq!(said(taken), None, "{taken}");
    }
    for (words, number) in [
        ("record --why 20", "20"),
        ("record --limit max=200", "200"),
        ("record --comm x --period 1000", "1000"),
        ("record --comm x --period 1ms --limit cycle:max=1", "1"),
        ("report a --interarrival 100us,1", "1"),
        ("reserve --deadline 1 -- true", "1"),
        ("reserve run 280/500 -- true", "280"),
        ("device run v90 --context reservation:2/8", "2"),
        ("idle --threshold 5", "5"),
        ("timers --stall 5", "5"),
        ("drill irq --for 2", "2"),
        ("interact --patience key=50 -- true", "50"),
        ("modem transfer a --stall 60@10", "60"),
    ] {
        let said = said(words).unwrap_or_default();
        let line = format!("`{number}` has no unit: write {number}us, or {number}ms if you mean that");
        assert!(said.contains(&line), "{words}: {said}");
    }
    // 0 is the same in every unit.
    assert_eq!([said("timers --stall 0"), said("modem transfer a --compute 0")], [None, None]);
}
