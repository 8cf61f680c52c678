//! The fewest of something that are too many.

/// The search for the fewest that are too many: it tries none, doubles their number until they are, and halves what is left.
///
/// Assumes that more are never better.
#[derive(Debug, Clone, Copy)]
pub struct Fewest {
    /// No more are tried.
    most: u32,
    /// So many were not too many.
    borne: Option<u32>,
    too_many: Option<u32>,
}

impl Fewest {
    /// At most so many are tried.
    pub fn up_to(most: u32) -> Fewest {
        Fewest { most, borne: None, too_many: None }
    }

    /// How many to try next; `None` if the answer is known.
    pub fn next(&self) -> Option<u32> {
        match (self.borne, self.too_many) {
            (None, None) => Some(0),
            (None, Some(_)) => None,
            (Some(borne), None) => (borne < self.most).then(|| (2 * borne).clamp(1, self.most)),
            (Some(borne), Some(too_many)) => (too_many - borne > 1).then(|| borne + (too_many - borne) / 2),
        }
    }

    /// Whether those that [`Fewest::next`] asked for are too many; without effect after the answer.
    pub fn tell(&mut self, are_too_many: bool) {
        match self.next() {
            Some(tried) if are_too_many => self.too_many = Some(tried),
            Some(tried) => self.borne = Some(tried),
            None => {}
        }
    }

    /// The fewest that are too many, once the answer is known; `None` if not even the most are.
    pub fn found(&self) -> Option<u32> {
        self.too_many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_that_are_too_many_are_found_in_few_trials() {
        for most in 1..=64 {
            for too_many in 0..=most + 2 {
                let (mut search, mut tried) = (Fewest::up_to(most), Vec::new());
                while let Some(number) = search.next() {
                    assert!((0..=most).contains(&number) && !tried.contains(&number), "{tried:?}, {number}");
                    tried.push(number);
                    search.tell(number >= too_many);
                }
                assert_eq!(search.found(), (too_many <= most).then_some(too_many), "{tried:?}");
                assert!(tried.len() <= 14, "{tried:?}");
                // The one below was tried, unless there is none.
                assert!(search.found().is_none_or(|found| found == 0 || tried.contains(&(found - 1))), "{tried:?}");
            }
        }
    }
}
