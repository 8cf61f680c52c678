//! What is right for each key of a script, for errors.

/// A right value for each key.
const EXAMPLES: [(&str, &str); 23] = [
    ("name", "\"edit\""),
    ("about", "\"a few words\""),
    ("columns", "100"),
    ("rows", "30"),
    ("median", "\"150ms\""),
    ("spread", "0.35"),
    ("silence", "\"300ms\""),
    ("at_most", "\"10s\""),
    ("programs", "[\"vim\"]"),
    ("apt", "[\"vim\"]"),
    ("task", "\"write\""),
    ("type", "\"Dear all,\\n\""),
    ("key", "\"page-down\""),
    ("click", "\"left\""),
    ("scroll", "\"down\""),
    ("at", "\"50% 40\""),
    ("think", "\"2s\""),
    ("wait", "\"quiet\""),
    ("again", "4"),
    ("steps", "2"),
    ("times", "3"),
    ("as", "\"save\""),
    ("pauses", "[\"120ms\", \"200ms\"]"),
];

/// What would be right for the key whose value is at a place of a text, if a key stands before that on its line:
/// `median = "150ms"`.
pub(super) fn right_for(text: &str, at: usize) -> Option<String> {
    let line = text.get(..at)?.rsplit('\n').next()?;
    let (before, _) = line.rsplit_once('=')?;
    let key = before.trim_end().rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?;
    EXAMPLES.iter().find(|(known, _)| *known == key).map(|(key, value)| format!("{key} = {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_before_a_value_has_its_example() {
        for (before, right) in [
            ("[pace]\nmedian = ", Some("median = \"150ms\"")),
            ("pace = { median = ", Some("median = \"150ms\"")),
            ("pauses = [\"1s\", ", Some("pauses = [\"120ms\", \"200ms\"]")),
            ("at_most=", Some("at_most = \"10s\"")),
            ("median = \"1s\"\n", None),
            ("strange = ", None),
        ] {
            assert_eq!(right_for(before, before.len()).as_deref(), right, "{before}");
        }
        assert_eq!(right_for("median", 99), None);
    }
}
