//! One stall of 5 to 200 ms at known places of a call, in virtual time: up to the slack nothing happens; beyond it every stall
//! leaves an event that is counted, and damages frames without a retrain; once the ring wraps, the datapump trains again. Every
//! file arrives as it was sent.

use punctual_modem::adapter::{BLOCK_NS, Moment, Setup, Stalls};
use punctual_modem::arq::Options;
use punctual_modem::telephone::Telephone;
use punctual_modem::transfer::{Attempt, Ending};
use punctual_modem::virtual_time::{Direction, FarEnd, Plan};
use punctual_random::Random;
use punctual_testing::tests_all;

const MILLISECOND: u64 = 1_000_000;
/// Up to here the ring holds what comes during a stall wherever that begins; from here on it does not.
const HOLDS_NS: u64 = 58 * MILLISECOND;
const WRAPS_NS: u64 = 72 * MILLISECOND;
/// The file takes 2.6 s; the stall comes after 0.8.
const BYTES: usize = 3_000;
const AT_NS: u64 = 64 * BLOCK_NS;

/// Those of the table in docs/modem.md, and those just around the slack of 10.66 ms and where the ring wraps, us.
fn lengths_us() -> &'static [u64] {
    if tests_all() {
        return &[
            5_000, 8_000, 10_000, 10_600, 10_700, 12_000, 15_000, 20_000, 23_100, 23_200, 30_000, 40_000, 52_000,
            59_000, 72_000, 80_000, 100_000, 150_000, 200_000,
        ];
    }
    &[5_000, 10_600, 10_700, 23_200, 52_000, 72_000, 200_000]
}

/// Places in a block, in eighths, at which a stall begins: while the work for it goes on, after that, and just before the next.
fn eighths() -> &'static [u64] {
    if tests_all() { &[0, 1, 2, 3, 4, 5, 6, 7] } else { &[0, 3, 7] }
}

fn call(direction: Direction, seed: u64, stalls: Option<Stalls>) -> Attempt {
    let mut random = Random(seed);
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.bits() as u8).collect();
    let plan = Plan {
        direction,
        far_end: FarEnd::Pool,
        setup: Setup::default(),
        slot: None,
        stalls,
        link: Options::default(),
        limit: 120 * 7_200,
    };
    Telephone::default().call(plan, seed, &bytes, &mut |_, _| true).expect("nobody stops it")
}

/// Whether a stall of this length that begins so long after a block was complete makes an output late: the work in progress is
/// done later by the stall, or the next block's begins at its end.
fn makes_late(length_ns: u64, phase_ns: u64) -> bool {
    let setup = Setup::default();
    let is_at_work = phase_ns < setup.compute_ns;
    let late_ns = if is_at_work { length_ns } else { length_ns.saturating_sub(BLOCK_NS - phase_ns) };
    late_ns > setup.slack_ns()
}

fn assert_as_its_length_and_place_say(clean: &Attempt, attempt: &Attempt, (length_ns, phase_ns): (u64, u64)) {
    let what = format!("{length_ns} ns, {phase_ns} ns into a block: {attempt:?}");
    assert!(attempt.succeeded() && attempt.stalls == 1, "{what}");
    let events = attempt.underruns + attempt.overruns;
    assert_eq!(events > 0, makes_late(length_ns, phase_ns), "{what}");
    if events == 0 {
        assert_eq!(Attempt { stalls: 0, ..*attempt }, *clean, "{what}");
    }
    if length_ns <= HOLDS_NS {
        assert_eq!((attempt.overruns, attempt.lost_samples, attempt.retrains), (0, 0, 0), "{what}");
    }
    if length_ns >= WRAPS_NS {
        assert!(attempt.overruns > 0 && attempt.retrains > 0, "{what}");
    }
}

#[test]
fn stalls_while_a_file_is_sent_do_what_their_length_and_place_say() {
    let slack_and_block_ns = Setup::default().slack_ns() + BLOCK_NS;
    let mut met = 0;
    for direction in [Direction::Download, Direction::Upload] {
        let clean: Vec<Attempt> = eighths().iter().map(|&eighth| call(direction, 1 + eighth, None)).collect();
        for length_ns in lengths_us().iter().map(|length_us| length_us * 1_000) {
            let mut damaged = 0;
            for (&eighth, clean) in eighths().iter().zip(&clean) {
                let phase_ns = eighth * BLOCK_NS / 8;
                let stalls = Stalls::once(length_ns, Moment::Linked, AT_NS + phase_ns);
                let attempt = call(direction, 1 + eighth, Some(stalls));
                assert_as_its_length_and_place_say(clean, &attempt, (length_ns, phase_ns));
                damaged += attempt.crc_errors + attempt.far_crc_errors;
                met += 1;
            }
            eprintln!("{direction:?}, {length_ns} ns: {damaged} damaged frames in {} calls", clean.len());
            assert!(length_ns <= slack_and_block_ns || damaged > 0, "{direction:?}, {length_ns} ns");
        }
    }
    assert_eq!(met, 2 * lengths_us().len() * eighths().len());
}

/// The places at which a stall begins, ms after each moment of a call: while it dials, while the far end rings, in each burst of
/// the training, and while the link comes up.
const MOMENTS: [(Moment, u64); 11] = [
    (Moment::Lifted, 200),
    (Moment::Lifted, 700),
    (Moment::Lifted, 1_100),
    (Moment::Lifted, 1_900),
    (Moment::Answered, 100),
    (Moment::Answered, 500),
    (Moment::Answered, 1_000),
    (Moment::Answered, 1_400),
    (Moment::Answered, 1_700),
    (Moment::Answered, 2_000),
    (Moment::Linked, 0),
];

/// Before data goes as well: nothing up to the slack, an event beyond it, and a call that comes about, but where the exchange did
/// not hear the number.
#[test]
fn stalls_in_every_part_of_a_call_are_survived_or_the_number_was_not_heard() {
    let slack_ns = Setup::default().slack_ns();
    let lengths_ms: &[u64] = if tests_all() { &[5, 10, 12, 20, 30, 52, 80, 150, 200] } else { &[10, 80] };
    let (mut arrived, mut unobtainable) = (0, 0);
    for (moment, at_ms) in MOMENTS {
        let clean = call(Direction::Download, at_ms + 1, None);
        for length_ns in lengths_ms.iter().map(|length| length * MILLISECOND) {
            let stalls = Stalls::once(length_ns, moment, at_ms * MILLISECOND);
            let attempt = call(Direction::Download, at_ms + 1, Some(stalls));
            let what = format!("{moment:?} and {at_ms} ms, {length_ns} ns: {attempt:?}");
            let events = attempt.underruns + attempt.overruns;
            if length_ns <= slack_ns {
                assert_eq!(Attempt { stalls: clean.stalls, ..attempt }, clean, "{what}");
            } else if length_ns > slack_ns + BLOCK_NS {
                assert!(events > 0, "{what}");
            }
            if attempt.ending == Ending::Unobtainable {
                assert!(moment == Moment::Lifted && events > 0, "{what}");
                unobtainable += 1;
            } else {
                assert!(attempt.succeeded(), "{what}");
                arrived += 1;
            }
        }
    }
    eprintln!("{arrived} calls came about, and {unobtainable} numbers were not heard");
    assert!(arrived > 3 * unobtainable, "{arrived} and {unobtainable}");
}
