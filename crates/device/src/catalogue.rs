//! Profiles in TOML: the shipped ones, and those of users.

use crate::Error;
use crate::Origin;
use crate::Signal;
use crate::notation::{parse_period, parse_want, written_buffers, written_rate};
use crate::profile::{DEFAULT_WANT_S, OnMiss, Printed, Profile, Source, Sources, Unit};
use punctual_recording::{BareUnit, agreeing, is_without_unit, parse_duration};
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::LazyLock;
use toml::Spanned;

static SHIPPED: LazyLock<Catalogue> = LazyLock::new(|| {
    let parse = |text, origin| Catalogue::of(text, origin).expect("the shipped catalogue is tested to be readable");
    let mut shipped = parse(include_str!("catalogue/today.toml"), Origin::Today);
    shipped.profiles.extend(parse(include_str!("catalogue/papers.toml"), Origin::Papers).profiles);
    shipped
});

/// A list of profiles, each id once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    profiles: Vec<Profile>,
}

impl Catalogue {
    /// The catalogue that comes with punctual.
    pub fn shipped() -> &'static Catalogue {
        &SHIPPED
    }

    /// Reads a catalogue written in TOML: a `[[device]]` for each profile.
    ///
    /// # Errors
    /// [`Error::Text`] with the line and what is wrong there: an unknown key, a value of the wrong kind,
    /// a device that could never work, a duplicate id.
    pub fn parse(text: &str) -> Result<Catalogue, Error> {
        Catalogue::of(text, Origin::Named)
    }

    fn of(text: &str, origin: Origin) -> Result<Catalogue, Error> {
        let line_of = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let file: File = toml::from_str(text).map_err(|error| Error::Text {
            line: error.span().map_or(1, |span| line_of(span.start)),
            message: error.message().replace('\n', " "),
        })?;
        let mut catalogue = Catalogue::default();
        let mut ids = HashSet::new();
        for stored in file.device {
            let start = stored.span().start;
            // The line is looked for only where something is wrong: there may be very many.
            let wrong = |at: usize, message: String| Error::Text { line: line_of(at), message };
            let at_field = |found: Wrong| wrong(found.at.unwrap_or(start), found.error.to_string());
            let profile = stored.into_inner().into_profile(origin).map_err(at_field)?;
            let is_usable = profile.validate().and_then(|()| profile.usable_slack_ns().map(|_| ()));
            is_usable.map_err(|error| wrong(start, error.to_string()))?;
            if !ids.insert(profile.id.clone()) {
                return Err(wrong(start, format!("device `{}` is defined twice", profile.id)));
            }
            catalogue.profiles.push(profile);
        }
        Ok(catalogue)
    }

    /// All profiles: those that a user named first, then those of today, then those of the papers.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The profile with this id.
    pub fn find(&self, id: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.id == id)
    }

    /// Adds another catalogue's profiles, each where its origin belongs; of two with the same id, the other catalogue's stays.
    pub fn extend(&mut self, other: Catalogue) {
        self.profiles.retain(|known| other.find(&known.id).is_none());
        self.profiles.extend(other.profiles);
        // Within an origin the order stays.
        self.profiles.sort_by_key(|profile| profile.origin);
    }

    /// Reads a specification: an id, and what is to differ from its profile, separated by spaces.
    ///
    /// `audio 64@48kHz` is audio with another period (and the same share of it to compute in),
    /// `modem 10ms x3 compute=2ms want=1/day` changes everything that can be changed.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Notation`], or [`Error::Profile`] if the result could never work.
    pub fn parse_spec(&self, text: &str) -> Result<Profile, Error> {
        let mut words = text.split_whitespace();
        let Some(id) = words.next() else {
            return Err(Error::Notation("name a device, such as audio or `audio 64@48kHz`".to_owned()));
        };
        let mut profile = self.find(id).cloned().ok_or_else(|| self.unknown(text, id))?;
        let (mut period, mut bare): (Option<&str>, Option<&str>) = (None, None);
        for word in words {
            profile = if let Some(count) = written_buffers(word) {
                let message = || format!("`{word}` is not a number of buffers: write an x and a number, such as x3");
                profile.with_buffers(count.parse().map_err(|_| Error::Notation(message()))?)
            } else if let Some(compute) = word.strip_prefix("compute=") {
                profile.with_written_compute(compute)?
            } else if let Some(want) = word.strip_prefix("want=") {
                profile.with_want(parse_want(want)?)
            } else {
                // Who writes `64 frames` has given one period, without its rate.
                let is_unit = ["frame", "frames", "sample", "samples"].contains(&word);
                if let Some(number) = period.filter(|other| is_unit && is_without_unit(other)) {
                    return profile.with_written_period(number);
                }
                if let Some(other) = period.replace(word) {
                    return Err(Error::Notation(format!(
                        "`{text}` has two periods, `{other}` and `{word}`: write frames@rate or a time, and the number of buffers \
                         with an x, such as `audio 256@48kHz x3`"
                    )));
                }
                // A number may be one of two periods; then that is what is wrong.
                bare = bare.or(is_without_unit(word).then_some(word));
                if bare.is_some() { profile } else { profile.with_written_period(word)? }
            };
        }
        if let Some(bare) = bare {
            return profile.with_written_period(bare);
        }
        profile.validate()?;
        profile.usable_slack_ns()?;
        Ok(profile)
    }

    /// What is wrong with a specification whose first word is no device: most often it is a period.
    fn unknown(&self, text: &str, id: &str) -> Error {
        if is_without_unit(id) {
            return Error::Notation(format!(
                "`{text}` names no device: did you mean `audio {id}@48kHz`? `punctual device list` has them"
            ));
        }
        if parse_period(id).is_ok() {
            let device = if id.contains('@') { "audio" } else { "ros2-control" };
            return Error::Notation(format!(
                "`{text}` begins with a period: name a device first, such as `{device} {id}`; `punctual device list` has them"
            ));
        }
        let known: Vec<&str> = self.profiles.iter().map(|profile| profile.id.as_str()).collect();
        let nearest = nearest(id, &known).or_else(|| begun(id, &known));
        Error::Unknown { id: id.to_owned(), nearest, known: known.join(", ") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: Vec<Spanned<Stored>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    what: String,
    period: Option<Spanned<String>>,
    buffers: Option<u32>,
    compute: Option<Spanned<String>>,
    want: Option<Spanned<String>>,
    on_miss: Option<OnMiss>,
    unit: Option<Unit>,
    rate: Option<String>,
    signal: Option<Signal>,
    #[serde(default)]
    source: Words,
    #[serde(default)]
    assumption: Words,
    printed: Option<StoredRange>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Words {
    period: Option<String>,
    buffers: Option<String>,
    compute: Option<String>,
    want: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    period: (String, String),
    buffers: (u32, u32),
    tolerance: (String, String),
    source: String,
}

impl StoredRange {
    fn into_printed(self) -> Result<Printed, Error> {
        Ok(Printed {
            period_ns: (length(&self.period.0)?, length(&self.period.1)?),
            buffers: self.buffers,
            tolerance_ns: (length(&self.tolerance.0)?, length(&self.tolerance.1)?),
            source: self.source,
        })
    }
}

fn length(text: &str) -> Result<u64, Error> {
    parse_duration(text, BareUnit::Refused).map_err(Error::Notation)
}

/// What is wrong with a stored profile, and in which of its fields, bytes from the beginning of the text.
struct Wrong {
    at: Option<usize>,
    error: Error,
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Wrong {
        Wrong { at: None, error }
    }
}

impl Stored {
    /// The fields that every profile has and this one lacks.
    fn missing(&self) -> Vec<&'static str> {
        let fields = [
            ("`id`", self.id.is_none()),
            ("`period`", self.period.is_none()),
            ("`buffers`", self.buffers.is_none()),
            ("`compute`", self.compute.is_none()),
            ("`on_miss`", self.on_miss.is_none()),
        ];
        fields.into_iter().filter_map(|(name, is_missing)| is_missing.then_some(name)).collect()
    }

    fn into_profile(self, origin: Origin) -> Result<Profile, Wrong> {
        let missing = self.missing();
        let device = self.id.clone().unwrap_or_default();
        let in_device = |error: Error| Error::Profile { device: device.clone(), message: error.to_string() };
        let Words { period, buffers, compute, want } = self.source;
        let source = |stated: Option<String>, assumed| stated.map_or(Source::Assumption(assumed), Source::Stated);
        let sources = Sources {
            period: source(period, self.assumption.period),
            buffers: source(buffers, self.assumption.buffers),
            compute: source(compute, self.assumption.compute),
            want: source(want, self.assumption.want),
        };
        let (Some(id), Some(period), Some(buffers), Some(compute), Some(on_miss)) =
            (self.id, self.period, self.buffers, self.compute, self.on_miss)
        else {
            let fields = agreeing(missing.len(), "field", "fields");
            return Err(Error::Notation(format!("missing {fields} {}", missing.join(", "))).into());
        };
        let in_field =
            |field: &Spanned<String>, error: Error| Wrong { at: Some(field.span().start), error: in_device(error) };
        let period_ns = parse_period(period.get_ref()).map_err(|error| in_field(&period, error))?;
        let compute_ns = length(compute.get_ref()).map_err(|error| in_field(&compute, error))?;
        let want_s = match &self.want {
            Some(want) => parse_want(want.get_ref()).map_err(|error| in_field(want, error))?,
            None => DEFAULT_WANT_S,
        };
        let rate = self.rate.map(|rate| format!("1@{rate}"));
        let rate_millihertz = written_rate(rate.as_deref().unwrap_or(period.get_ref())).map_err(in_device)?;
        Ok(Profile {
            name: self.name.unwrap_or_else(|| id.clone()),
            what: self.what,
            period_ns,
            buffers,
            compute_ns,
            want_s,
            on_miss,
            unit: self.unit.or(rate_millihertz.map(Unit::at_rate)),
            rate_millihertz,
            signal: self.signal,
            origin,
            sources,
            printed: self.printed.map(StoredRange::into_printed).transpose().map_err(in_device)?,
            id,
        })
    }
}

/// How alike two names must be, from 0 to 1, for one to be taken for the other.
const ALIKE: f64 = 0.75;

/// So many letters of a name are meant to be its beginning.
const BEGINNING: usize = 3;

/// The first name that begins so.
fn begun(word: &str, names: &[&str]) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let mut meant = names.iter().filter(|name| word.len() >= BEGINNING && name.starts_with(&word));
    meant.next().map(|name| (*name).to_owned())
}

/// The name that a word is most like, if it is like any.
pub fn nearest(word: &str, names: &[&str]) -> Option<String> {
    let alike = |name: &&str| strsim::normalized_damerau_levenshtein(word, name);
    let best = names.iter().copied().max_by(|left, right| alike(left).total_cmp(&alike(right)))?;
    (alike(&best) >= ALIKE).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shipped_catalogue_is_sound() {
        let shipped = Catalogue::shipped();
        for id in ["adsl", "modem", "rt-audio", "rt-video", "audio", "audio64", "audio256", "ethercat1ms", "video60"] {
            assert!(shipped.find(id).is_some(), "{id}");
        }
        for profile in shipped.profiles() {
            assert!(!profile.what.is_empty() && !profile.what.contains('\n'), "{}", profile.id);
            profile.usable_slack_ns().unwrap();
        }
    }

    #[test]
    fn the_papers_profiles_lie_in_their_printed_ranges() {
        let within = |value: u64, range: (u64, u64)| range.0 <= value && value <= range.1;
        let printed: Vec<_> =
            Catalogue::shipped().profiles().iter().filter(|profile| profile.printed.is_some()).collect();
        assert_eq!(printed.len(), 4);
        for profile in printed {
            let range = profile.printed.as_ref().unwrap();
            assert!(within(profile.period_ns, range.period_ns), "{}", profile.id);
            assert!(within(profile.buffers.into(), (range.buffers.0.into(), range.buffers.1.into())), "{}", profile.id);
            assert!(within(profile.tolerance_ns(), range.tolerance_ns), "{}", profile.id);
        }
    }

    #[test]
    fn nonsense_is_refused_in_one_line_that_names_the_place() {
        let good = "id = \"x\"\nperiod = \"1ms\"\nbuffers = 2\ncompute = \"1us\"\non_miss = \"drop\"\n";
        assert!(Catalogue::parse(&format!("[[device]]\n{good}")).is_ok());
        for (text, line, word) in [
            (format!("[[device]]\n{good}perod = \"1ms\"\n"), 7, "perod"),
            ("[[device]]\nid = \"x\"\n".to_owned(), 1, "missing fields `period`, `buffers`, `compute`, `on_miss`"),
            (format!("[[device]]\n{good}").replace("id = \"x\"\n", ""), 1, "missing field `id`"),
            (format!("[[device]]\n{good}want = \"often\"\n"), 7, "often"),
            (format!("[[device]]\n{good}").replace("\"1us\"", "\"1 banana\""), 5, "banana"),
            (format!("[[device]]\n{good}").replace("\"drop\"", "\"cry\""), 6, "cry"),
            (format!("[[device]]\n{good}").replace("\"1ms\"", "\"soon\""), 3, "soon"),
            (format!("[[device]]\n{good}").replace("\"1us\"", "\"2ms\""), 1, "never keep up"),
            (format!("[[device]]\n{good}").replace("= 2", "= 1"), 1, "at least 2"),
            (format!("[[device]]\n{good}").replace("= 2", "= -2"), 4, ""),
            (format!("[[device]]\n{good}\n[[device]]\n{good}"), 8, "twice"),
            ("device = 3".to_owned(), 1, ""),
            ("[[device]\n".to_owned(), 1, ""),
        ] {
            let error = Catalogue::parse(&text).unwrap_err();
            let Error::Text { line: found, .. } = &error else { panic!("{error}") };
            let message = error.to_string();
            assert_eq!(*found, line, "{message}");
            assert!(message.contains(word) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn the_example_of_the_page_on_devices_can_be_read() {
        let page = include_str!("../../../docs/devices.md");
        let example = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
        let catalogue = Catalogue::parse(example).unwrap();
        let radio = catalogue.find("my-radio").unwrap();
        assert_eq!((radio.buffers, radio.compute_ns, radio.want_s), (8, 150_000, 86_400));
        assert_eq!((radio.name.as_str(), radio.on_miss), ("My radio", OnMiss::Drop));
    }

    #[test]
    fn very_many_profiles_are_read_at_once() {
        let one = |number: usize| {
            format!("[[device]]\nid='{number}'\nperiod='1ms'\nbuffers=2\ncompute='1us'\non_miss='drop'\n")
        };
        let text: String = (0..12_000).map(one).collect();
        let began = std::time::Instant::now();
        let mut catalogue = Catalogue::parse(&text).unwrap();
        assert!(began.elapsed() < std::time::Duration::from_secs(3), "{:?}", began.elapsed());
        assert_eq!(catalogue.profiles.len(), 12_000);
        let twice = Catalogue::parse(&(text + &one(7))).unwrap_err().to_string();
        assert!(twice.contains("`7` is defined twice"), "{twice}");
        catalogue.extend(Catalogue::shipped().clone());
        assert!(catalogue.find("modem").is_some() && catalogue.find("7").is_some());
    }

    #[test]
    fn specifications() {
        let shipped = Catalogue::shipped();
        let audio = shipped.parse_spec("audio 128@48kHz x3 want=1/day").unwrap();
        assert_eq!((audio.period_ns, audio.buffers, audio.want_s), (2_666_667, 3, 86_400));
        assert_eq!(audio.sources.period, Source::User);
        assert_eq!(shipped.parse_spec("audio 128@48kHz buffers=3 want=1/day").unwrap(), audio);
        let unchanged = shipped.parse_spec("modem").unwrap();
        assert_eq!(Some(&unchanged), shipped.find("modem"));
        for (wrong, word) in [
            ("", "name a device"),
            ("toaster", "there is no device `toaster`: give one of"),
            ("audio46", "there is no device `audio46` (did you mean `audio64`?)"),
            ("ethercat", "there is no device `ethercat` (did you mean `ethercat1ms`?)"),
            ("EtherCAT x3", "there is no device `EtherCAT` (did you mean `ethercat1ms`?)"),
            ("et", "there is no device `et`: give one of"),
            ("modem soon", "soon"),
            ("audio 256 3@48kHz", "two periods, `256` and `3@48kHz`"),
            ("audio 64 frames", "`64` has no unit: did you mean 64@48kHz?"),
            ("audio 64 samples x3", "`64` has no unit: did you mean 64@48kHz?"),
            ("audio 256x3@48kHz", "64@48kHz x3"),
            ("1ms", "name a device first, such as `ros2-control 1ms`"),
            ("1kHz", "such as `ros2-control 1kHz`"),
            ("64@48kHz", "such as `audio 64@48kHz`"),
            ("modem x1", "at least 2"),
            ("audio 64@48kHz x99999999999", "`x99999999999` is not a number of buffers"),
            ("modem x", "`x` is not a number of buffers"),
            ("modem buffers=many", "`buffers=many` is not a number of buffers: write an x and a number, such as x3"),
            ("modem compute=1h", "never keep up"),
            ("64", "did you mean `audio 64@48kHz`?"),
            ("audio 64", "`64` has no unit: did you mean 64@48kHz?"),
            ("audio 64 x3", "`64` has no unit: did you mean 64@48kHz?"),
            ("ros2-control 1", "`1` has no unit: write 1us, or 1ms if you mean that"),
            ("sdr 1ms compute=0.4", "`0.4` has no unit: write 0.4us, or 0.4ms if you mean that"),
        ] {
            let message = shipped.parse_spec(wrong).unwrap_err().to_string();
            assert!(message.contains(word) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_users_profile_replaces_the_shipped_one() {
        let mut catalogue = Catalogue::shipped().clone();
        let count = catalogue.profiles().len();
        let text = "[[device]]\nid=\"modem\"\nperiod=\"5ms\"\nbuffers=2\ncompute=\"1ms\"\non_miss=\"drop\"\n";
        catalogue.extend(Catalogue::parse(text).unwrap());
        assert_eq!(catalogue.profiles().len(), count);
        assert_eq!(catalogue.find("modem").unwrap().period_ns, 5_000_000);
        assert_eq!(catalogue.find("modem").unwrap().sources.period, Source::Assumption(None));
        assert_eq!((&*catalogue.profiles()[0].id, catalogue.profiles()[0].origin), ("modem", Origin::Named));
        assert!(catalogue.profiles().is_sorted_by_key(|profile| profile.origin));
    }

    #[test]
    fn a_radio_counts_in_samples_whether_its_file_says_so_or_not() {
        let unit = |lines: &str| {
            let text = format!("[[device]]\nid='x'\nbuffers=8\ncompute='100us'\non_miss='drop'\n{lines}");
            let catalogue = Catalogue::parse(&text).unwrap();
            // Whoever gives its period anew gets the same.
            let again = catalogue.parse_spec("x 1ms").unwrap().with_written_period("2400@2.4MS/s").unwrap();
            assert_eq!(again.unit, catalogue.find("x").unwrap().unit.or(Some(Unit::Sample)), "{lines}");
            catalogue.find("x").unwrap().unit
        };
        assert_eq!(unit("period='1ms'\nrate='2.4MS/s'"), Some(Unit::Sample));
        assert_eq!(unit("period='2400@2.4MS/s'"), Some(Unit::Sample));
        assert_eq!(unit("period='1ms'"), None);
        assert_eq!(unit("period='1ms'\nrate='48kHz'"), Some(Unit::Frame));
        assert_eq!(unit("period='1ms'\nrate='2.4MS/s'\nunit='slot'"), Some(Unit::Slot));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = Catalogue::parse(&text);
            let _ = Catalogue::shipped().parse_spec(&text);
        }
    }
}
