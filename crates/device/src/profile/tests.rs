use super::*;
use crate::Catalogue;
use proptest::prelude::*;

fn profile(period_ns: u64, buffers: u32, compute_ns: u64) -> Profile {
    let source = || Source::Assumption(None);
    let sources = Sources { period: source(), buffers: source(), compute: source(), want: source() };
    Profile {
        id: "x".into(),
        name: "X".into(),
        what: "test".into(),
        period_ns,
        buffers,
        compute_ns,
        want_s: DEFAULT_WANT_S,
        on_miss: OnMiss::Drop,
        unit: None,
        rate_millihertz: None,
        signal: None,
        origin: Origin::Named,
        sources,
        printed: None,
    }
}

#[test]
fn a_device_counts_in_its_users_unit() {
    let of = |spec: &str, nanoseconds: u64| {
        let device = Catalogue::shipped().parse_spec(spec).unwrap();
        (device.unit.map(Unit::name), device.in_units(nanoseconds).map(|units| (units * 1e3).round() / 1e3))
    };
    assert_eq!(of("audio", 4_800_000), (Some("frame"), Some(230.4)));
    // A period in time keeps the rate; one at another rate brings its own.
    assert_eq!(of("audio 2ms", 1_000_000), (Some("frame"), Some(48.0)));
    assert_eq!(of("audio 441@44.1kHz", 1_000_000), (Some("frame"), Some(44.1)));
    assert_eq!(of("sdr 1024@2.048MS/s", 500_000), (Some("sample"), Some(1024.0)));
    // A radio's block of so long is not known by its samples.
    assert_eq!(of("sdr", 100_000), (Some("sample"), Some(3_072.0)));
    assert_eq!(of("sdr 1ms compute=300us x37", 500_000), (None, None));
    assert_eq!(of("5g-slot", 250_000), (Some("slot"), Some(0.5)));
    assert_eq!(of("ethercat1ms 2ms", 1_000_000), (Some("cycle"), Some(0.5)));
    assert_eq!(of("voip", 1_000_000), (None, None));
    // The loop of a player has cycles, and frames in them.
    let player = Profile::of_loop(1_333_333).with_written_period("64@48kHz").unwrap();
    assert_eq!((player.in_units(1_333_333), player.at_its_rate(2_000_000)), (Some(1.0), Some(96.0)));
}

#[test]
fn what_a_loop_is_wanted_to_do_is_assumed_unless_somebody_says_it() {
    let player = Profile::of_loop(1_000_000);
    assert!(player.want_is_assumed() && !player.with_want(86_400).want_is_assumed());
}

#[test]
fn words_that_name_other_numbers_are_said_to_be_of_what_was_changed() {
    let what = |spec: &str| Catalogue::shipped().parse_spec(spec).unwrap().what;
    assert!(what("sdr 1024@2.4MS/s").starts_with("changed from: stream of a software radio at 30.72"));
    assert_eq!(what("audio 64@48kHz x3"), format!("changed from: {}", what("audio")));
    assert_eq!(what("audio 256@48kHz x2"), what("audio"));
}

#[test]
fn the_papers_modem() {
    // Four buffers of 16 ms at a quarter of the processor: 48 ms of buffering, 44 ms of slack.
    let modem = profile(16_000_000, 4, 4_000_000);
    assert_eq!(modem.tolerance_ns(), 48_000_000);
    assert_eq!(modem.usable_slack_ns(), Ok(44_000_000));
}

#[test]
fn a_name_begins_a_sentence_and_an_identifier_stays() {
    for (id, begun) in
        [("audio", "Audio holds."), ("adsl", "ADSL holds."), ("audio64", "audio64 holds."), ("sdr", "sdr holds.")]
    {
        let device = Catalogue::shipped().find(id).unwrap();
        assert_eq!(device.beginning(format!("{id} holds.")), begun);
    }
}

#[test]
fn computing_takes_a_time_or_a_share_of_the_period() {
    let audio = profile(4_000_000, 2, 100_000);
    let written = |text: &str| audio.with_written_compute(text);
    for (text, compute_ns) in
        [("50%", 2_000_000), (" 12.5 % ", 500_000), ("0%", 0), ("400us", 400_000), ("0.4ms", 400_000)]
    {
        let changed = written(text).unwrap();
        assert_eq!((changed.compute_ns, changed.sources.compute), (compute_ns, Source::User), "{text}");
    }
    for text in ["101%", "-1%", "NaN%", "%", "half", "400"] {
        let message = written(text).unwrap_err().to_string();
        assert!(message.contains(text) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn what_cannot_work_says_why() {
    let slow = profile(1_000, 9, 1_001).usable_slack_ns().unwrap_err().to_string();
    assert!(slow.contains("never keep up"), "{slow}");
    let single = profile(1_000, 1, 10);
    assert_eq!(single.slack_ns(), -10);
    assert!(single.usable_slack_ns().unwrap_err().to_string().contains("negative"));
    assert!(single.validate().unwrap_err().to_string().contains("at least 2 buffers"));
    let endless = profile(MAX_PERIOD_NS + 1, 2, 10);
    assert!(endless.validate().unwrap_err().to_string().contains("longer than a month"));
}

proptest! {
    #[test]
    fn arithmetic_never_overflows(period in any::<u64>(), buffers in any::<u32>(), compute in any::<u64>()) {
        let device = profile(period, buffers, compute);
        let _ = (device.tolerance_ns(), device.slack_ns(), device.usable_slack_ns(), device.validate());
        let _ = device.with_period(compute);
    }

    #[test]
    fn another_period_keeps_the_share(period in 1..1u64 << 40, share in 0..1_000u64, other in 1_000..1u64 << 40) {
        let device = profile(period * 1_000, 3, period * share).with_period(other);
        let wanted = u128::from(other) * u128::from(share) / 1_000;
        prop_assert_eq!(u128::from(device.compute_ns), wanted);
    }
}
