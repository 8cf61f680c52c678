//! What tells devices of one name apart.

use crate::notation::parse_period;
use crate::profile::{Profile, Unit};
use punctual_recording::format_ns;

impl Profile {
    /// Its id and, beside others of that id, what tells it from them, as a specification has it: `audio 64@48kHz`,
    /// `audio x3`, `audio compute=400us`.
    pub fn id_among<'a>(&self, others: impl IntoIterator<Item = &'a Profile>) -> String {
        let alike: Vec<&Profile> = others.into_iter().filter(|other| other.id == self.id).collect();
        format!("{}{}", self.id, self.apart_from(&alike))
    }

    /// Its name for people and, beside others of that name, what tells it from them.
    pub fn name_among<'a>(&self, others: impl IntoIterator<Item = &'a Profile>) -> String {
        let alike: Vec<&Profile> = others.into_iter().filter(|other| other.name == self.name).collect();
        format!("{}{}", self.name, self.apart_from(&alike))
    }

    /// What tells it from those that are called the same, to follow that; empty if nothing does.
    fn apart_from(&self, alike: &[&Profile]) -> String {
        let mut words = String::new();
        if alike.iter().any(|other| other.period_ns != self.period_ns) {
            words += &format!(" {}", written_period(self));
        }
        if alike.iter().any(|other| other.buffers != self.buffers) {
            words += &format!(" x{}", self.buffers);
        }
        // Another period changes the work with it, which says nothing new.
        let has_both = |other: &&&Profile| other.period_ns == self.period_ns && other.buffers == self.buffers;
        let of_both: Vec<&&Profile> = alike.iter().filter(has_both).collect();
        if of_both.iter().any(|other| other.compute_ns != self.compute_ns) {
            words += &format!(" compute={}", short(self.compute_ns));
        }
        if of_both.iter().any(|other| other.compute_ns == self.compute_ns && other.want_s != self.want_s) {
            words += &format!(" want={}s", self.want_s);
        }
        words
    }
}

/// A period in frames or samples at their rate where it is a whole number of them, otherwise in time.
fn written_period(device: &Profile) -> String {
    let frames = device.at_its_rate(device.period_ns).filter(|_| device.unit != Some(Unit::Slot));
    let written = frames.and_then(|frames| device.frames_as_period(&format!("{frames:.0}")));
    let is_exact = |written: &String| parse_period(written).is_ok_and(|period_ns| period_ns == device.period_ns);
    written.filter(is_exact).unwrap_or_else(|| short(device.period_ns))
}

/// A time as specifications have it, without a space.
fn short(nanoseconds: u64) -> String {
    format_ns(nanoseconds).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, Profile};

    #[test]
    fn devices_of_one_id_are_told_apart_by_what_differs() {
        let catalogue = Catalogue::shipped();
        let cases: &[&[(&str, &str)]] = &[
            &[("audio 64@48kHz", "audio 64@48kHz"), ("audio 128@48kHz", "audio 128@48kHz"), ("modem", "modem")],
            &[("audio", "audio x2"), ("audio x3", "audio x3")],
            &[("audio 64@48kHz", "audio 64@48kHz x2"), ("audio 2ms x3", "audio 96@48kHz x3")],
            &[("modem", "modem 8.00ms"), ("modem 10ms", "modem 10.0ms")],
            &[("sdr 1024@2.4MS/s", "sdr 1024@2400kHz"), ("sdr 2048@2.4MS/s", "sdr 2048@2400kHz")],
            &[("audio", "audio compute=533us"), ("audio compute=400us", "audio compute=400us")],
            &[("audio want=1h", "audio want=3600s"), ("audio want=1/day", "audio want=86400s")],
            // The same one twice is one.
            &[("audio", "audio"), ("audio", "audio")],
            &[("audio64", "audio64"), ("audio256", "audio256")],
        ];
        for case in cases {
            let devices: Vec<Profile> = case.iter().map(|(spec, _)| catalogue.parse_spec(spec).unwrap()).collect();
            for (device, (spec, expected)) in devices.iter().zip(*case) {
                assert_eq!(device.id_among(&devices), *expected, "{spec} in {case:?}");
            }
        }
    }

    /// People's own profiles may share a name, or an id may.
    #[test]
    fn ids_and_names_are_told_apart_each_by_themselves() {
        let audio = Catalogue::shipped().find("audio").unwrap();
        let own = Profile { id: "mine".to_owned(), ..audio.with_buffers(3) };
        assert_eq!(audio.id_among([audio, &own]), "audio");
        assert_eq!(audio.name_among([audio, &own]), "Audio x2");
        assert_eq!(own.name_among([audio, &own]), "Audio x3");
        assert_eq!(audio.name_among([audio]), "Audio");
    }
}
