//! Names that come from elsewhere and are shown to people.

/// Whether a character may steer what shows it: a control character, or one that turns the direction of writing.
pub fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a name is shown as it is.
pub(crate) fn is_printable(name: &str) -> bool {
    !name.contains(is_control)
}

/// A name in which each character that may steer is replaced.
pub fn printable(name: &str) -> String {
    name.replace(is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_replaced_and_the_rest_stays() {
        let steering = "\n\t\u{1b}\u{7f}\u{9b}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}";
        assert_eq!(printable(steering), "\u{fffd}".repeat(steering.chars().count()));
        let harmless = "kworker/0:1 \u{fffd} \u{e4}\u{5d0}\u{2065}\u{200d}";
        assert!(is_printable(harmless));
        assert_eq!(printable(harmless), harmless);
    }
}
