use super::*;
use crate::adapter::{Cpu, Setup, Stalls};
use crate::station::CallEnding;
use crate::telephone::Telephone;
use proptest::prelude::*;
use punctual_random::Random;

/// Two terminals at an office: what each has been shown, and what it has not typed yet.
struct Terminals {
    office: Office,
    shown: [Vec<u8>; 2],
    typing: [Vec<u8>; 2],
    /// How many bytes each reads in a block; none: as many as there are.
    pace: Option<usize>,
}

impl Terminals {
    fn new(stall_ms: u64) -> Terminals {
        let telephone = Telephone::default();
        let stalls = Stalls::every(stall_ms * 1_000_000, 3_000_000_000);
        let setup = Setup::default();
        let adapter = (stall_ms > 0).then(|| Adapter::new(setup, Cpu::new(None, Some(stalls), 3)));
        let delay = if adapter.is_some() { setup.buffers } else { 1 };
        let stations = [Station::new(telephone, delay), Station::new(telephone, 1)];
        let office = Office::new(stations, adapter, telephone.line, 5);
        Terminals { office, shown: Default::default(), typing: Default::default(), pace: None }
    }

    /// So many s on the line.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * SAMPLE_RATE / BLOCK as u64 {
            for place in 0..2 {
                let station = self.office.station(place);
                let count = station.room().min(self.typing[place].len());
                let typed: Vec<u8> = self.typing[place].drain(..count).collect();
                station.typed(&typed);
                let shown = station.to_show();
                let shown = shown[..self.pace.unwrap_or(shown.len()).min(shown.len())].to_vec();
                station.was_shown(shown.len());
                self.shown[place].extend(shown);
            }
            self.office.step();
        }
    }

    fn types(&mut self, place: usize, text: &str) {
        self.typing[place].extend(text.bytes());
        self.pass(1);
    }

    fn says(&mut self, place: usize) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.shown[place])).replace("\r\n", "|")
    }

    fn connect(&mut self, prelude: &str) {
        self.types(1, &format!("AT{prelude}S0=1\r"));
        self.types(0, &format!("AT{prelude}DT{}\r", NUMBERS[1]));
        self.pass(8);
        let said = [self.says(0), self.says(1)];
        assert!(said.iter().all(|said| said.ends_with("|CONNECT 9600|")), "{said:?}");
    }

    fn endings(&mut self) -> [Vec<CallEnding>; 2] {
        [0, 1].map(|place| self.office.station(place).records().iter().map(|record| record.ending).collect())
    }
}

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..count).map(|_| random.bits() as u8).collect()
}

#[test]
fn a_call_is_answered_talks_escapes_goes_on_and_is_hung_up() {
    let mut terminals = Terminals::new(0);
    terminals.connect("E0");
    terminals.types(0, "hello");
    assert_eq!(terminals.says(1), "hello");
    terminals.pass(2);
    terminals.types(0, "+++");
    terminals.pass(2);
    assert_eq!(terminals.says(0), "|OK|");
    assert_eq!(terminals.says(1), "+++");
    // Whatever comes while commands are taken waits.
    terminals.types(1, "waits");
    assert_eq!(terminals.says(0), "");
    terminals.types(0, "ATO\r");
    assert_eq!(terminals.says(0), "|CONNECT 9600|waits");
    terminals.pass(2);
    terminals.types(0, "+++");
    terminals.pass(2);
    terminals.types(0, "ATH\r");
    terminals.pass(1);
    assert_eq!((terminals.says(0), terminals.says(1)), ("|OK||OK|".to_owned(), "+++|NO CARRIER|".to_owned()));
    assert_eq!(terminals.endings(), [[CallEnding::HungUp], [CallEnding::FarHungUp]]);
    let record = terminals.office.station(0).records()[0];
    assert_eq!((record.sent, record.received, record.bits_per_second, record.damaged), (11, 5, 9_600, 0));
    // The other way round, by hand this time.
    terminals.types(0, "ATE0\r");
    terminals.types(1, "ATD5550100\r\n");
    terminals.pass(3);
    assert_eq!(terminals.says(0), "|OK||RING|");
    terminals.types(0, "ATA\r");
    terminals.pass(4);
    assert_eq!(terminals.says(0), "|CONNECT 9600|");
}

#[test]
fn calls_that_come_to_nothing_say_why() {
    let mut terminals = Terminals::new(0);
    terminals.types(0, "ATE0S7=5DT999\r");
    terminals.pass(2);
    assert_eq!(terminals.says(0), "ATE0S7=5DT999\r|NO CARRIER|");
    terminals.types(0, "ATDT5550101\r");
    terminals.pass(7);
    assert_eq!((terminals.says(0), terminals.says(1)), ("|NO ANSWER|".to_owned(), "|RING|".to_owned()));
    // Both lift their receivers.
    terminals.types(1, "ATE0\r");
    terminals.says(1);
    terminals.typing = [b"ATDT5550101\r".to_vec(), b"ATDT5550100\r".to_vec()];
    terminals.pass(4);
    assert_eq!([terminals.says(0), terminals.says(1)], ["|BUSY|"; 2]);
    terminals.types(1, "ATA\r");
    terminals.pass(8);
    assert_eq!(terminals.says(1), "|NO CARRIER|", "there was nothing to answer");
    let [first, second] = terminals.endings();
    assert_eq!(first, [CallEnding::Unobtainable, CallEnding::NoAnswer, CallEnding::Busy]);
    assert_eq!(second, [CallEnding::Busy, CallEnding::Unobtainable]);
}

#[test]
fn what_was_on_its_way_arrives_although_the_program_has_closed_its_terminal() {
    for prelude in ["E0", "E0\\N0"] {
        let mut terminals = Terminals::new(0);
        terminals.connect(prelude);
        let sent = bytes(9, 1_500);
        terminals.typing[0].extend(&sent);
        terminals.pass(1);
        terminals.office.station(0).closed();
        terminals.pass(4);
        assert!(terminals.shown[1].starts_with(&sent), "{prelude}: {} bytes", terminals.shown[1].len());
        assert_eq!(terminals.shown[1][sent.len()..], *b"\r\nNO CARRIER\r\n", "{prelude}");
        assert_eq!(terminals.endings(), [[CallEnding::HungUp], [CallEnding::FarHungUp]]);
    }
}

#[test]
fn a_terminal_that_reads_nothing_stops_the_other_and_nothing_grows_without_end() {
    let mut terminals = Terminals::new(0);
    terminals.connect("E0");
    terminals.pace = Some(0);
    terminals.typing[0] = bytes(1, 60_000);
    terminals.pass(60);
    let left = terminals.typing[0].len();
    assert!((30_000..50_000).contains(&left), "{left}");
    terminals.pass(10);
    assert_eq!(terminals.typing[0].len(), left, "it goes on sending");
    terminals.pace = None;
    terminals.pass(60);
    assert_eq!(terminals.shown[1], bytes(1, 60_000));
    // The same with characters: the sending terminal is told to stop and to resume.
    let mut terminals = Terminals::new(0);
    terminals.connect("E0&K4");
    terminals.typing[0] = vec![b'a'; 9_000];
    terminals.pass(10);
    let told: Vec<u8> = terminals.shown[0].clone();
    assert!(told.starts_with(&[crate::at::XOFF]) && told.ends_with(&[crate::at::XON]), "{told:?}");
}

#[test]
fn what_waits_for_a_terminal_that_wants_nothing_is_known() {
    let mut terminals = Terminals::new(0);
    terminals.connect("E0&K4");
    terminals.types(1, "\u{13}");
    terminals.types(0, "hello");
    terminals.pass(1);
    let station = terminals.office.station(1);
    assert_eq!((station.to_show().len(), station.waiting()), (0, 5));
    terminals.types(1, "\u{11}");
    assert_eq!((terminals.says(1).as_str(), terminals.office.station(1).waiting()), ("hello", 0));
}

#[test]
fn a_terminal_that_nobody_reads_is_told_the_latest_and_the_rest_is_counted() {
    let mut terminals = Terminals::new(0);
    let station = terminals.office.station(1);
    (0..10_000).for_each(|_| station.signal(Signal::Ring));
    let waits = station.to_show().len() as u64;
    assert!(waits < 70_000, "{waits}");
    assert_eq!(waits + station.given_way(), 10_000 * b"\r\nRING\r\n".len() as u64);
    assert!(station.to_show().ends_with(b"\r\nRING\r\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn bytes_of_both_terminals_arrive_exact_whatever_they_are_and_however_slowly_they_are_read(
        seed in any::<u64>(), counts in [0..4_000usize, 0..4_000usize], pace in prop::option::of(3..40usize),
        stall_ms in prop::sample::select(vec![0, 30, 90]),
    ) {
        let mut terminals = Terminals::new(stall_ms);
        terminals.connect("E0S2=255");
        let sent = [bytes(seed, counts[0]), bytes(!seed, counts[1])];
        terminals.typing = sent.clone();
        terminals.pace = pace;
        for _ in 0..90 {
            terminals.pass(1);
            if (0..2).all(|place| terminals.shown[place].len() >= sent[1 - place].len()) {
                break;
            }
        }
        prop_assert_eq!(&terminals.shown[1], &sent[0]);
        prop_assert_eq!(&terminals.shown[0], &sent[1]);
        let records = [0, 1].map(|place| terminals.office.station(place).records()[0]);
        prop_assert_eq!((records[0].sent, records[0].received), (counts[0] as u64, counts[1] as u64));
        prop_assert_eq!((records[1].sent, records[1].received), (counts[1] as u64, counts[0] as u64));
        prop_assert_eq!(terminals.office.adapter().is_some(), stall_ms > 0);
    }
}
