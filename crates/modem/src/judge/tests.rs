use super::*;
use crate::telephone::Rate;
use punctual_random::Random;

fn bits(seed: u64, count: usize) -> Vec<bool> {
    let mut random = Random(seed);
    (0..count).map(|_| random.bits() & 1 == 1).collect()
}

#[test]
fn wrong_bits_are_counted_whatever_comes_before_them() {
    let sent = bits(1, 20_000);
    for (before, skipped) in [(0, 0), (37, 0), (0, 500), (900, 100)] {
        let mut received = bits(2, before);
        received.extend(&sent[skipped..]);
        for wrong in [5_000, 5_001, 9_999] {
            received[wrong] = !received[wrong];
        }
        let Compared { bits, wrong, slips } = compared(&sent, &received);
        assert!(bits >= 17_000, "{before} before, {skipped} skipped: {bits} bits");
        assert_eq!((wrong, slips), (if before > 0 { wrong } else { 3 }, 0), "{before} before, {skipped} skipped");
        assert!((3..=3 + 64).contains(&wrong), "{wrong}");
    }
}

#[test]
fn lost_and_added_bits_are_slips_and_not_half_of_what_follows() {
    let sent = bits(3, 40_000);
    let mut received = sent.clone();
    received.drain(10_000..10_007);
    received.splice(20_000..20_000, [true; 3]);
    let Compared { bits, wrong, slips } = compared(&sent, &received);
    assert_eq!(slips, 2);
    assert!(bits > 39_000 && wrong < 2 * 256, "{wrong} of {bits}");
}

#[test]
fn what_was_never_sent_is_not_compared() {
    let Compared { bits: count, .. } = compared(&bits(4, 10_000), &bits(5, 10_000));
    assert_eq!(count, 0);
    assert_eq!(compared(&[], &bits(6, 300)), Compared::default());
}

fn short() -> Judgement {
    Judgement { calls: 2, compared_ms: 2_000, losses_us: vec![12_500, 100_000], ..Judgement::default() }
}

/// Our pump as `docs/datapump.md` describes it: at 9,600 bit/s no bit is wrong far above 17 dB, and 100 ms are a retrain.
#[test]
fn our_own_pump_is_judged_as_its_page_says() {
    let mut time = 0;
    let mut clock = || {
        time += 90_000;
        time
    };
    let mut parts = Vec::new();
    let judged = judge(&Ours(Rate::Four), &short(), &mut clock, &mut |part| {
        parts.push(part);
        true
    });
    let judged = judged.expect("ours can always be made");
    assert!(parts.is_sorted() && parts.len() > 10, "{parts:?}");
    assert!((judged.level - 4_096.0).abs() < 100.0, "{}", judged.level);
    let from = judged.flawless_from().expect("35 dB are enough");
    assert!((17.0..=24.0).contains(&from), "{from} dB, {:?}", judged.noise);
    let worst = judged.noise.last().unwrap();
    assert!(worst.connected == 0 || worst.error_rate() > Some(MAX_ERROR_RATE), "{worst:?}");
    let [block, long] = &judged.losses[..] else { panic!("{:?}", judged.losses) };
    assert_eq!((block.samples, block.calls, block.recovered, block.retrained), (90, 2, 2, 0), "{block:?}");
    assert!(block.wrong > 0 && block.disturbed_ms < Some(100), "{block:?}");
    assert_eq!((long.samples, long.recovered, long.retrained, long.lost_carrier), (720, 2, 2, 2), "{long:?}");
    assert!(long.disturbed_ms > Some(1_500), "{long:?}");
    // The clock of this test goes on by 1,000 ns for each sample of a block.
    assert_eq!(judged.cost.unwrap().least_ns, [1_000.0, 1_000.0]);
}

#[test]
fn the_same_seed_gives_the_same_judgement_and_a_no_ends_it() {
    let how = Judgement { compared_ms: 500, losses_us: vec![25_000], calls: 1, ..Judgement::default() };
    let once = || judge(&Ours(Rate::Two), &how, &mut || 0, &mut |_| true).unwrap();
    assert_eq!(once(), once());
    assert_eq!(judge(&Ours(Rate::Two), &how, &mut || 0, &mut |part| part < 0.1), None);
}
