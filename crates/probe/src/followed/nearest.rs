//! What somebody may have meant by a name that no thread has.

use super::selection::{NAME_BYTES, Selection, name_of, processes, threads_of};
use std::collections::BTreeSet;

/// Names that are looked at: a machine may have any number of threads.
const MAX_NAMES: usize = 16_384;
/// How alike a name must be, of 1, to be told.
const ALIKE: f64 = 0.6;

/// For each name that was asked for: that it is longer than the kernel keeps, or the name there is that it is most like.
pub(super) fn nearest_names(selection: &Selection) -> Vec<String> {
    let literals = selection.expressions().filter_map(literal);
    let mut names: Option<BTreeSet<String>> = None;
    literals.filter_map(|literal| nearest_name(&literal, names.get_or_insert_with(all_names))).collect()
}

fn all_names() -> BTreeSet<String> {
    processes().into_iter().flat_map(threads_of).filter_map(name_of).take(MAX_NAMES).collect()
}

/// The name that a regular expression stands for, where it stands for one.
fn literal(expression: &str) -> Option<String> {
    let name = expression.trim_start_matches('^').trim_end_matches('$');
    let stands_for_itself = |letter: char| letter.is_alphanumeric() || "-_/:. ".contains(letter);
    name.chars().all(stands_for_itself).then(|| name.to_owned())
}

/// That a name is longer than the kernel keeps, or the one of these that it is most like: `did you mean ffmpeg?`.
pub fn nearest_name(wanted: &str, names: &BTreeSet<String>) -> Option<String> {
    if let Some(kept) = wanted.get(..NAME_BYTES).filter(|kept| *kept != wanted) {
        return Some(format!("the kernel keeps {NAME_BYTES} bytes of a name: write {kept}"));
    }
    let wanted = wanted.to_lowercase();
    // A name may be meant by how it begins, as kworker/0:1-events by kworker.
    let alike = |name: &String| {
        let name = name.to_lowercase();
        let beginning: String = name.chars().take(wanted.chars().count() + 1).collect();
        let by_beginning = strsim::normalized_damerau_levenshtein(&wanted, &beginning);
        strsim::normalized_damerau_levenshtein(&wanted, &name).max(0.95 * by_beginning)
    };
    let best = names.iter().max_by(|left, right| alike(left).total_cmp(&alike(right)))?;
    (alike(best) >= ALIKE).then(|| format!("did you mean {best}?"))
}

#[cfg(test)]
mod tests {
    use super::{literal, nearest_name};

    #[test]
    fn the_name_that_was_meant() {
        let names = ["ffmpeg", "pipewire", "GUI Thread", "kworker/0:1-events"].map(str::to_owned).into();
        let told = |wanted: &str| nearest_name(&literal(wanted)?, &names);
        assert_eq!(told("^ffmpg$").as_deref(), Some("did you mean ffmpeg?"));
        assert_eq!(told("gui thread").as_deref(), Some("did you mean GUI Thread?"));
        assert_eq!(told("kworkr").as_deref(), Some("did you mean kworker/0:1-events?"));
        assert_eq!(told("toaster"), None);
        // Neither of two names is one that is too long.
        assert_eq!(told("ffmpg|pipewire-pulse"), None);
        let long = "a-name-of-more-than-15";
        assert_eq!(told(long).as_deref(), Some("the kernel keeps 15 bytes of a name: write a-name-of-more-"));
    }
}
