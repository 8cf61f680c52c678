//! Whose a device is.

/// Where a profile comes from: tables show what the user named or measured first, then the devices of today, then those of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user named it, in a file of profiles, as an option or for the run that was recorded.
    Named,
    /// A device of today, from the shipped catalogue.
    Today,
    /// A device of the papers of 1999 and 2000, from the shipped catalogue.
    Papers,
}

impl Origin {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Named => "named",
            Origin::Today => "today",
            Origin::Papers => "papers",
        }
    }

    /// Whose its devices are, in words.
    pub fn whose(self) -> &'static str {
        match self {
            Origin::Named => "yours",
            Origin::Today => "today's",
            Origin::Papers => "the papers'",
        }
    }
}
