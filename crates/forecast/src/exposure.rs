//! Time, and hours of use.

/// A class of use. The figures are those of Cota-Robles and Held, OSDI 1999, section 3.1: how many hours a person
/// uses such programs, and how many of these hours an hour of a driven load stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadClass {
    /// Office programs: 40 hours a week in 5 days; an hour of load is 10 of use.
    Office,
    /// Engineering programs: 30 hours a week in 5 days; an hour of load is 5 of use.
    Workstation,
    /// Games: 12.5 hours a week in 5 days; an hour of load is 1 of use.
    Games,
    /// Browsing with sound and pictures: 3.5 hours a day, 7 days a week; an hour of load is 4 of use.
    Web,
}

impl LoadClass {
    /// Hours of use for an hour of load, times 1,000.
    pub fn compression_thousandths(self) -> u64 {
        match self {
            LoadClass::Office => 10_000,
            LoadClass::Workstation => 5_000,
            LoadClass::Games => 1_000,
            LoadClass::Web => 4_000,
        }
    }

    fn usage(self) -> Usage {
        let hours = |day: f64, week: f64| Usage { day_s: day * 3_600.0, week_s: week * 3_600.0, continuous: false };
        match self {
            LoadClass::Office => hours(8.0, 40.0),
            LoadClass::Workstation => hours(6.0, 30.0),
            LoadClass::Games => hours(2.5, 12.5),
            LoadClass::Web => hours(3.5, 24.5),
        }
    }
}

/// How long a day and a week of use are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// A day of use, s.
    pub day_s: f64,
    /// A week of use, s.
    pub week_s: f64,
    /// Whether that is around the clock, because nothing is known of the load's users.
    pub continuous: bool,
}

impl Usage {
    /// The usage of a class, if one is given; otherwise a day is 24 hours of use and a week 168, as in a want.
    pub fn of(class: Option<LoadClass>) -> Usage {
        class.map_or(Usage { day_s: 86_400.0, week_s: 604_800.0, continuous: true }, LoadClass::usage)
    }
}

/// How far ahead a worst case is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Horizon {
    /// An hour of use.
    Hour,
    /// A day of use: see [`Usage`].
    Day,
    /// A week of use: see [`Usage`].
    Week,
    /// This many nanoseconds of use.
    Nanoseconds(u64),
}

impl Horizon {
    /// Reads `hour`, `day`, `week` or a duration such as `10m`.
    ///
    /// # Errors
    /// [`crate::Error::Question`], in a sentence.
    pub fn parse(text: &str) -> Result<Horizon, crate::Error> {
        let wrong = || {
            let message = format!("`{text}` is not a horizon: write hour, day, week, or a duration such as 30m");
            crate::Error::Question(message)
        };
        match text {
            "hour" => Ok(Horizon::Hour),
            "day" => Ok(Horizon::Day),
            "week" => Ok(Horizon::Week),
            _ => {
                let parsed = punctual_recording::parse_duration(text, punctual_recording::BareUnit::Refused);
                let length = parsed.map_err(|_| wrong())?;
                if length == 0 { Err(wrong()) } else { Ok(Horizon::Nanoseconds(length)) }
            }
        }
    }

    /// Its length, s of use.
    pub fn seconds(self, usage: Usage) -> f64 {
        match self {
            Horizon::Hour => 3_600.0,
            Horizon::Day => usage.day_s,
            Horizon::Week => usage.week_s,
            Horizon::Nanoseconds(length) => length as f64 / 1e9,
        }
    }
}

impl std::fmt::Display for Horizon {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Horizon::Hour => formatter.write_str("hour"),
            Horizon::Day => formatter.write_str("day"),
            Horizon::Week => formatter.write_str("week"),
            Horizon::Nanoseconds(length) if length % 1_000_000_000 == 0 => {
                write!(formatter, "{}s", length / 1_000_000_000)
            }
            Horizon::Nanoseconds(length) => formatter.write_str(&punctual_recording::format_ns(*length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_hours() {
        // Four hours of the office benchmark are a week of 40, six of the engineering one a week of 30.
        for (class, measured_hours) in
            [(LoadClass::Office, 4.0), (LoadClass::Workstation, 6.0), (LoadClass::Games, 12.5)]
        {
            let use_hours = measured_hours * class.compression_thousandths() as f64 / 1_000.0;
            assert_eq!(Usage::of(Some(class)).week_s / 3_600.0, use_hours);
        }
        // Browsing: 8 hours at 4:1 cover a week of 24.5 hours and more.
        assert!(Usage::of(Some(LoadClass::Web)).week_s / 3_600.0 <= 8.0 * 4.0);
    }

    #[test]
    fn horizons_as_people_write_them() {
        assert_eq!(Horizon::parse("week"), Ok(Horizon::Week));
        assert_eq!(Horizon::parse("30m"), Ok(Horizon::Nanoseconds(1_800_000_000_000)));
        let short = Horizon::parse("1500ms").unwrap();
        assert_eq!(short.seconds(Usage::of(None)), 1.5);
        // A day is the one that `--want 1/day` counts.
        assert_eq!(Horizon::Day.seconds(Usage::of(None)), punctual_device::parse_want("1/day").unwrap() as f64);
        assert!(Horizon::parse("soon").unwrap_err().to_string().contains("soon"));
        assert!(Horizon::parse("0").is_err());
        assert!(Horizon::parse("30").unwrap_err().to_string().ends_with("or a duration such as 30m"));
    }
}
