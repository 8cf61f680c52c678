//! Inputs of a script, as they would be known if somebody had typed them who is only watched.

use punctual_recording::Interaction;

/// The kind of a key that somebody is seen to press, whichever it is.
const KEY: &str = "key";
/// Kinds that a person who is watched has, too.
const KEPT: [&str; 5] = [KEY, "click", "scroll", "line", "paste"];
/// What nobody sees of a person who is watched: a move of the pointer, and that a key comes up.
const NOT_SEEN: [&str; 2] = ["pointer", "release"];

/// Gives inputs the kinds that they would have, and leaves out what would not be seen: of a person's keys nothing is kept.
pub fn as_by_hand(inputs: &mut Vec<Interaction>) {
    inputs.retain(|input| !NOT_SEEN.contains(&input.kind.as_str()));
    for input in inputs.iter_mut().filter(|input| input.is_measured()) {
        if !KEPT.contains(&input.kind.as_str()) {
            input.kind = KEY.to_owned();
        }
        input.label.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_keys_and_what_nobody_sees_is_left_out() {
        let of = |kind: &str| Interaction { kind: kind.to_owned(), label: "x".to_owned(), ..Interaction::default() };
        let kinds = ["start", "key", "enter", "save", "pointer", "click", "press", "release", "scroll"];
        let mut inputs: Vec<Interaction> = kinds.map(of).to_vec();
        as_by_hand(&mut inputs);
        let told: Vec<&str> = inputs.iter().map(|input| input.kind.as_str()).collect();
        assert_eq!(told, ["start", "key", "key", "key", "click", "key", "scroll"]);
        assert!(inputs[0].label == "x" && inputs[1..].iter().all(|input| input.label.is_empty()));
    }
}
