use super::*;
use crate::SAMPLE_RATE;
use crate::office::{NUMBERS, Office};
use crate::station::CallEnding;
use crate::telephone::Telephone;
use proptest::prelude::*;
use punctual_random::Random;

/// An exchange, and two modems that know nothing of it but frames.
struct Apart {
    office: Office<Remote>,
    stations: [Station; 2],
    shown: [Vec<u8>; 2],
    number: u32,
}

impl Apart {
    fn new() -> Apart {
        let telephone = Telephone::default();
        let office = Office::new([Remote::default(), Remote::default()], None, telephone.line, 5);
        let stations = [Station::new(telephone, DELAY), Station::new(telephone, DELAY)];
        // The numbers go around meanwhile.
        Apart { office, stations, shown: Default::default(), number: u32::MAX - 300 }
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * SAMPLE_RATE / BLOCK as u64 {
            self.office.step();
            for (place, station) in self.stations.iter_mut().enumerate() {
                let told = Frame::parse(&self.office.station(place).tell(self.number).bytes()).unwrap();
                let answer = respond(station, self.number, &told).unwrap();
                let answer = Frame::parse(&answer.bytes()).unwrap();
                self.office.station(place).answered(self.number, &answer).unwrap();
                let shown = station.to_show().to_vec();
                station.was_shown(shown.len());
                self.shown[place].extend(shown);
            }
            self.number = self.number.wrapping_add(1);
        }
    }

    fn connect(&mut self) {
        self.stations[1].typed(b"ATE0S0=1\r");
        self.stations[0].typed(format!("ATE0DT{}\r", NUMBERS[1]).as_bytes());
        self.pass(9);
        for shown in &mut self.shown {
            let shown = String::from_utf8(std::mem::take(shown)).unwrap();
            assert!(shown.ends_with("\r\nCONNECT 9600\r\n"), "{shown:?}");
        }
    }

    fn endings(&mut self) -> [Vec<CallEnding>; 2] {
        self.stations.each_mut().map(|station| station.records().iter().map(|record| record.ending).collect())
    }
}

#[test]
fn a_call_over_frames_is_as_good_as_one_without() {
    let mut apart = Apart::new();
    apart.connect();
    let mut random = Random(3);
    let bytes: Vec<u8> = (0..1_800).map(|_| random.bits() as u8).collect();
    for place in 0..2 {
        apart.stations[place].typed(&bytes);
        apart.pass(4);
        assert!(apart.shown[1 - place] == bytes, "{} bytes", apart.shown[1 - place].len());
    }
    apart.stations[0].closed();
    apart.pass(2);
    assert_eq!(apart.endings(), [[CallEnding::HungUp], [CallEnding::FarHungUp]]);
    for station in &mut apart.stations {
        let record = station.records()[0];
        assert_eq!((record.sent, record.received, record.bits_per_second), (1_800, 1_800, 9_600));
    }
}

#[test]
fn whoever_is_gone_has_hung_up() {
    let mut apart = Apart::new();
    apart.connect();
    apart.office.station(0).gone();
    // Its process answers no more.
    for _ in 0..3 {
        apart.office.step();
        let told = apart.office.station(1).tell(7);
        let answer = respond(&mut apart.stations[1], 7, &told).unwrap();
        apart.office.station(1).answered(7, &answer).unwrap();
    }
    assert_eq!(apart.endings(), [[CallEnding::Open], [CallEnding::FarHungUp]]);
    assert!(String::from_utf8_lossy(apart.stations[1].to_show()).contains("NO CARRIER"));
}

#[test]
fn what_comes_out_of_turn_is_not_taken() {
    let (mut remote, mut station) = (Remote::default(), Station::new(Telephone::default(), DELAY));
    let told = remote.tell(4);
    assert_eq!(respond(&mut station, 5, &told), Err(Garbled::OutOfTurn));
    let answer = respond(&mut station, 4, &told).unwrap();
    assert_eq!(respond(&mut station, 4, &answer), Err(Garbled::OutOfTurn));
    assert_eq!(remote.answered(5, &answer), Err(Garbled::OutOfTurn));
    for says in [Says::Hello, Says::Leaves, Says::Heard(1)] {
        assert_eq!(remote.answered(4, &Frame::silent(4, says)), Err(Garbled::OutOfTurn));
    }
    assert_eq!(remote.answered(4, &answer), Ok(()));
    let mut bytes = answer.bytes();
    bytes[3] = 9;
    assert_eq!(Frame::parse(&bytes), Err(Garbled::Version(9)));
    bytes[0] = 0;
    assert_eq!(Frame::parse(&bytes), Err(Garbled::NoFrame));
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    // Few random bytes begin as a frame does.
    (any::<bool>(), 0..4u8, 0..40u32, prop::collection::vec(any::<u8>(), LENGTH)).prop_map(
        |(begins, kind, value, mut bytes)| {
            if begins {
                bytes[..5].copy_from_slice(&[b'p', b'm', b'l', 1, kind]);
                bytes[9..13].copy_from_slice(&value.to_le_bytes());
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whatever_is_taken_for_a_frame_is_one(bytes in frame()) {
        let bytes: [u8; LENGTH] = bytes.try_into().unwrap();
        if let Ok(frame) = Frame::parse(&bytes) {
            prop_assert_eq!(frame.bytes(), bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn neither_side_is_harmed_by_what_the_other_says(seed in any::<u64>()) {
        let mut random = Random(seed);
        let mut office = Office::new([Remote::default(), Remote::default()], None, Telephone::default().line, seed);
        let mut station = Station::new(Telephone::default(), DELAY);
        station.typed(b"ATS0=1\r");
        for number in 0..400 {
            office.step();
            for place in 0..2 {
                office.station(place).tell(number);
                let samples = std::array::from_fn(|_| random.bits() as i16);
                let answer = Frame { number, says: Says::Sent(random.below(3) as u32), samples };
                office.station(place).answered(number, &answer).unwrap();
            }
            let samples = std::array::from_fn(|_| random.bits() as i16);
            let told = Frame { number, says: Says::Heard(random.below(32) as u8), samples };
            let answer = respond(&mut station, number, &told).unwrap();
            prop_assert!(matches!(answer.says, Says::Sent(_)));
            let shown = station.to_show().len();
            station.was_shown(shown);
        }
    }
}
