//! What tells devices of one family apart.

use crate::Profile;

/// Calls each device as it was written, one specification each, where another of them has the same id and is a different
/// device: `audio 64@48kHz` beside `audio 256@48kHz` in place of `audio` twice.
pub fn name_apart(devices: &mut [Profile], written: &[String]) {
    let is_ambiguous = |device: &Profile| devices.iter().any(|other| other.id == device.id && other != device);
    let ambiguous: Vec<bool> = devices.iter().map(is_ambiguous).collect();
    for ((device, spec), is_ambiguous) in devices.iter_mut().zip(written).zip(ambiguous) {
        if is_ambiguous {
            let words = one_spaced(spec);
            device.name += words.strip_prefix(device.id.as_str()).unwrap_or_default();
            device.id = words;
        }
    }
}

/// The position of the specification that a device with this id was named by, if any: as a whole, or by its first word.
pub fn position_of(id: &str, written: &[String]) -> Option<usize> {
    let whole = written.iter().position(|spec| one_spaced(spec) == id);
    whole.or_else(|| written.iter().position(|spec| spec.split_whitespace().next() == Some(id)))
}

/// Words with one space between them.
fn one_spaced(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn devices_of_one_family_are_called_as_they_were_written() {
        let named = |written: &[&str]| -> Vec<(String, String)> {
            let written: Vec<String> = written.iter().map(|spec| (*spec).to_owned()).collect();
            let parse = |spec: &String| Catalogue::shipped().parse_spec(spec).unwrap();
            let mut devices: Vec<Profile> = written.iter().map(parse).collect();
            name_apart(&mut devices, &written);
            devices.into_iter().map(|device| (device.id, device.name)).collect()
        };
        let of = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        let apart = named(&["audio  64@48kHz", "modem", "audio"]);
        assert_eq!(apart[0], of("audio 64@48kHz", "Audio 64@48kHz"));
        assert_eq!(apart[1].0, "modem");
        assert_eq!(apart[2], of("audio", "Audio"));
        // One device, and the same one twice, need no other name.
        assert_eq!(named(&["audio 64@48kHz"]), [of("audio", "Audio")]);
        assert_eq!(named(&["audio x3", "audio x3"]), [of("audio", "Audio"), of("audio", "Audio")]);
    }

    #[test]
    fn a_device_is_found_among_those_that_were_written() {
        let written = ["audio  64@48kHz", "audio", "modem x3"].map(str::to_owned);
        let found = ["audio 64@48kHz", "audio", "modem", "sdr"].map(|id| position_of(id, &written));
        assert_eq!(found, [Some(0), Some(1), Some(2), None]);
    }
}
