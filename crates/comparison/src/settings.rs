//! What was set on command lines and of devices.

use crate::blocks::Run;
use crate::differences::{Difference, differences};
use punctual_device::parse_period;
use punctual_recording::{ActivationDocument, DeviceSummary, format_ns};

/// No more options of a command line, and no more devices of a run than this are compared: a file may name any number.
const MAX_SETTINGS: usize = 256;
const MAX_DEVICES: usize = 16;
/// Options that say where results go, how long is measured or which of several threads of a name are meant, and those
/// with a difference of their own: each with whether it takes a value.
const LEFT_OUT: [(&str, bool); 21] = [
    ("-o", true),
    ("--output", true),
    ("--html", true),
    ("--export-markdown", true),
    ("--perfetto", true),
    ("-D", true),
    ("--duration", true),
    ("--pid", true),
    ("--tid", true),
    ("--load", true),
    ("-p", true),
    ("--priority", true),
    ("--policy", true),
    ("-a", true),
    ("--cpus", true),
    ("--seed", true),
    ("-q", false),
    ("--quiet", false),
    ("--json", false),
    ("--markdown", false),
    ("--ignore-failure", false),
];

/// Everything that differs between two runs, in the order in which it is shown.
pub(crate) fn differences_of_runs(a: &Run, b: &Run) -> Vec<Difference> {
    let mut found = differences(&a.document, &b.document);
    found.extend(of_options(&a.document.provenance.command_line, &b.document.provenance.command_line));
    found.extend(of_devices(&a.devices, &b.devices));
    found
}

/// How the devices of a run were set up, what competed with them included: what, and its value.
pub fn device_settings(activations: &ActivationDocument) -> Vec<(String, String)> {
    let is_alone = activations.devices.len() == 1;
    let mut settings = Vec::new();
    for (index, device) in activations.devices.iter().take(MAX_DEVICES).enumerate() {
        let whose = if is_alone { String::new() } else { format!(" of device {}", index + 1) };
        settings.extend(of_device(device).into_iter().map(|(what, value)| (format!("{what}{whose}"), value)));
    }
    let competitors = &activations.competitors;
    let named = if competitors.is_empty() { "none".to_owned() } else { competitors.join(", ") };
    settings.push(("competitors".to_owned(), named));
    settings
}

fn of_device(device: &DeviceSummary) -> Vec<(&'static str, String)> {
    let work = match (&device.own, &device.decoded) {
        (Some(own), _) => own.name.clone(),
        (None, Some(decoded)) => decoded.signal.clone(),
        (None, None) => "filter".to_owned(),
    };
    let modes = [(device.drop_stale, "drops stale blocks"), (device.reclaim, "reclaims"), (device.compete, "competes")];
    let modes: Vec<&str> = modes.into_iter().filter_map(|(is_set, name)| is_set.then_some(name)).collect();
    vec![
        ("profile", device.device.clone()),
        ("context", device.context.clone()),
        ("woken by", device.wake.clone().unwrap_or_default()),
        ("period", format_ns(device.period_ns)),
        ("buffers", device.buffers.to_string()),
        ("compute time", format_ns(device.compute_ns)),
        ("samples in a block", device.samples.to_string()),
        ("work", work),
        ("mode", modes.join(", ")),
    ]
}

fn of_devices(a: &[(String, String)], b: &[(String, String)]) -> Vec<Difference> {
    let value = |side: &[(String, String)], what: &str| {
        side.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in a.iter().chain(b) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows = names.into_iter().map(|name| (name, value(a, name), value(b, name)));
    rows.filter(|(_, left, right)| left.as_deref().map(in_ns) != right.as_deref().map(in_ns))
        .map(|(name, a, b)| Difference { area: "device", what: name.clone(), a, b })
        .collect()
}

/// The options and arguments that only one of two command lines has.
fn of_options(a: &[String], b: &[String]) -> Option<Difference> {
    // Not every recording knows its command line.
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mut left, mut right) = (settings_of(a), settings_of(b));
    left.retain(|setting| {
        let same = right.iter().position(|other| other.compared == setting.compared);
        same.map(|position| right.remove(position)).is_none()
    });
    let shown = |settings: Vec<Written>| {
        let words: Vec<String> = settings.into_iter().map(|setting| setting.shown).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let (a, b) = (shown(left), shown(right));
    (a != b).then(|| Difference { area: "program", what: "options".to_owned(), a, b })
}

/// A piece of a command line.
struct Written {
    /// As it was written.
    shown: String,
    /// The same for everything that means the same.
    compared: String,
}

/// A text in which each time, and each period that is written as a rate, is in ns: 2500us and 2.5ms are one setting.
fn in_ns(text: &str) -> String {
    const BETWEEN: [char; 5] = [',', '/', ':', '=', '+'];
    let period = |word: &str| parse_period(word).ok().map(|period_ns| format!("{period_ns}ns"));
    let pieces = |word: &str| -> String {
        let piece = |piece: &str| {
            let own = piece.trim_end_matches(BETWEEN);
            period(own).map_or_else(|| piece.to_owned(), |period| period + &piece[own.len()..])
        };
        word.split_inclusive(BETWEEN).map(piece).collect()
    };
    // A rate may have a slash: 2.4MS/s.
    let word = |word: &str| period(word).unwrap_or_else(|| pieces(word));
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

/// A command line in pieces: an option with its value, an argument, or a command with all that is its own.
fn settings_of(words: &[String]) -> Vec<Written> {
    let mut settings = Vec::new();
    let mut words = words.iter().skip(1).map(String::as_str).peekable();
    while settings.len() < MAX_SETTINGS
        && let Some(word) = words.next()
    {
        if word == "--" {
            let command = format!("-- {}", words.by_ref().map(quoted).collect::<Vec<_>>().join(" "));
            settings.push(Written { compared: command.clone(), shown: command });
            break;
        }
        if !word.starts_with('-') {
            settings.push(Written { shown: quoted(word), compared: in_ns(word) });
            continue;
        }
        let (name, attached) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => (name, Some(value)),
            // A short option may have its value attached.
            None if !word.starts_with("--") && word.is_char_boundary(2) && word.len() > 2 => {
                (&word[..2], Some(&word[2..]))
            }
            None => (word, None),
        };
        let left_out = LEFT_OUT.iter().find(|(option, _)| *option == name);
        let takes_value = attached.is_none() && left_out.is_none_or(|(_, takes_value)| *takes_value);
        let value = attached.or_else(|| words.next_if(|next| takes_value && !next.starts_with('-')));
        if left_out.is_none() {
            let with = |value: Option<String>| value.map_or_else(|| name.to_owned(), |value| format!("{name} {value}"));
            settings.push(Written { shown: with(value.map(quoted)), compared: with(value.map(in_ns)) });
        }
    }
    settings
}

fn quoted(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(|word| word.replace('_', " ")).collect()
    }

    #[test]
    fn options_differ_wherever_results_go_and_however_they_are_written() {
        let differ = |a: &str, b: &str| {
            of_options(&words(a), &words(b)).map(|row| (row.a.unwrap_or_default(), row.b.unwrap_or_default()))
        };
        let two = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        let same = "punctual record -D 5s --comm ^api -o b/1.punctual";
        for other in [
            "punctual record -D 9s -o a/2.punctual --comm=^api",
            "./punctual record --comm ^api --output=a/2.punctual -q",
            "punctual record -D5s -oa/2.punctual --comm ^api --load mixed",
            "punctual record --export-markdown a.md -D 5s -o a/2.punctual --markdown --comm ^api",
        ] {
            assert_eq!(differ(same, other), None, "{other}");
        }
        let device = "punctual device run sdr_x2 -c thread:80 -D 8s -o b2.punctual -q";
        assert_eq!(differ(device, &device.replace("x2", "x8")), two("'sdr x2'", "'sdr x8'"));
        assert_eq!(differ(device, &device.replace("thread:80", "irq")), two("-c thread:80", "-c irq"));
        let command = "punctual record --follow -- play -o a";
        assert_eq!(differ(command, "punctual record --follow -- play -o b"), two("-- play -o a", "-- play -o b"));
        assert_eq!(differ(same, "punctual record --comm ^api --why 1ms"), two("", "--why 1ms"));
        // One time in several notations is one setting; a bare number has no unit, and a command's words are its own.
        let run = "punctual device run sdr_1024@2.4MS/s_compute=150us -c reservation:2500us/10ms --limit p99=1ms";
        let other = "punctual device run sdr_1024@2400kHz_compute=0.15ms -c reservation:2.5ms/0.01s --limit p99=1000us";
        assert_eq!(differ(run, other), None);
        assert_eq!(differ("punctual record -i 64@48kHz", "punctual record -i 64@48000Hz"), None);
        let later = run.replace("2500us", "2600us");
        assert_eq!(differ(run, &later), two("-c reservation:2500us/10ms", "-c reservation:2600us/10ms"));
        assert_eq!(differ("punctual record -x 5", "punctual record -x 5us"), two("-x 5", "-x 5us"));
        let command = |time: &str| format!("punctual record --follow -- sleep {time}");
        assert_eq!(differ(&command("1s"), &command("1000ms")), two("-- sleep 1s", "-- sleep 1000ms"));
        assert_eq!(of_options(&[], &words(same)), None);
    }

    #[test]
    fn devices_differ_in_what_was_set_and_in_nothing_that_was_measured() {
        let device = |context: &str, buffers, processed| DeviceSummary {
            device: "sdr".to_owned(),
            context: context.to_owned(),
            buffers,
            processed,
            ..DeviceSummary::default()
        };
        let run = |devices: &[DeviceSummary], competitors: &[&str]| {
            let competitors = competitors.iter().map(|&name| name.to_owned()).collect();
            device_settings(&ActivationDocument {
                devices: devices.to_vec(),
                competitors,
                ..ActivationDocument::default()
            })
        };
        let plain = run(&[device("irq", 8, 100)], &[]);
        assert_eq!(of_devices(&plain, &run(&[device("irq", 8, 90)], &[])), []);
        let found = of_devices(&plain, &run(&[device("thread:80", 2, 90)], &["spin:normal", "walk"]));
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|row| (row.what.as_str(), row.a.as_deref().unwrap_or("-"), row.b.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            found,
            [("context", "irq", "thread:80"), ("buffers", "8", "2"), ("competitors", "none", "spin:normal, walk")]
        );
        // Competitors are kept as they were written.
        let beside = |competitor: &str| run(&[device("irq", 8, 1)], &[competitor]);
        assert_eq!(of_devices(&beside("spin:reservation:2500us/10ms"), &beside("spin:reservation:2.5ms/10ms")), []);
        assert_eq!(of_devices(&beside("spin:reservation:2500us/10ms"), &beside("spin:reservation:2ms/10ms")).len(), 1);
        let two = run(&[device("irq", 8, 1), device("softirq", 8, 1)], &[]);
        assert!(two.iter().any(|(what, value)| what == "context of device 2" && value == "softirq"), "{two:?}");
    }
}
