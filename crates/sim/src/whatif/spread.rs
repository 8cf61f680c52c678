//! The range of another run's count, from the counts of repetitions of one or several recordings.

/// The 97.5 % quantile of Student's distribution with 1 degree of freedom, 2, 3, and so on; beyond, the last.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The fewest and the most, 95 times of 100. The repetitions at `index`, `index + rounds` and so on belong to one
/// recording, equally many to each; a run is `length` times as long as a recording.
pub(super) fn interval(counted: &[u64], rounds: usize, length: f64) -> (u64, u64) {
    if counted.is_empty() {
        return (0, 0);
    }
    if rounds > 1 && counted.len() >= 2 * rounds { of_several(counted, rounds, length) } else { of_one(counted) }
}

/// What the middle 95 of 100 repetitions counted.
fn of_one(counted: &[u64]) -> (u64, u64) {
    let mut sorted = counted.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// What the repetitions say of each recording, in the counts' logarithms (of one more than the count, so that 0 stays
/// 0).
///
/// The repetitions of one recording differ by the chance of a run of that length and by which seconds happened to be
/// recorded, which is `length` times as much.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// The mean of each recording's repetitions.
    pub(super) means: Vec<f64>,
    /// The variance of a run, by chance alone.
    pub(super) of_run: f64,
    /// The variance of such a mean: from which seconds were recorded, and from how few repetitions it has.
    pub(super) of_mean: f64,
}

/// At least two repetitions of each of the recordings, as [`interval`] takes them.
pub(super) fn told(counted: &[u64], rounds: usize, length: f64) -> Told {
    let repetitions = counted.len() / rounds;
    let of_recording = |first: usize| counted.iter().skip(first).step_by(rounds).map(|&count| (count as f64).ln_1p());
    let means: Vec<f64> = (0..rounds).map(|first| of_recording(first).sum::<f64>() / repetitions as f64).collect();
    let squares = |(first, mean): (usize, &f64)| of_recording(first).map(|log| (log - mean).powi(2)).sum::<f64>();
    let within = means.iter().enumerate().map(squares).sum::<f64>() / (rounds * (repetitions - 1)) as f64;
    let of_run = within / (1.0 + length);
    Told { of_run, of_mean: within - of_run + within / repetitions as f64, means }
}

/// A prediction interval for one more run.
///
/// The recordings' means differ by how the machine changed from one to the next, and by chance. A run differs by the
/// change and by its own chance: what only the recordings have is taken out, and the run's own is put in. The quantile
/// is Student's with as many degrees of freedom as there are recordings less one, because each recording is one draw of
/// the machine's state.
fn of_several(counted: &[u64], rounds: usize, length: f64) -> (u64, u64) {
    let Told { means, of_run, of_mean } = told(counted, rounds, length);
    let middle = means.iter().sum::<f64>() / rounds as f64;
    let between = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / (rounds - 1) as f64;
    let variance = (between - of_mean).max(0.0) + of_run + between.max(of_mean) / rounds as f64;
    let reach = STUDENT[(rounds - 1).min(STUDENT.len()) - 1] * variance.sqrt();
    (low_of(middle - reach), high_of(middle + reach))
}

/// The count that has this logarithm, rounded down.
pub(super) fn low_of(logarithm: f64) -> u64 {
    logarithm.exp_m1().floor().max(0.0) as u64
}

/// The same, rounded up.
pub(super) fn high_of(logarithm: f64) -> u64 {
    logarithm.exp_m1().ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::interval;
    use crate::random::Xoshiro256;
    use crate::whatif::chance::Chance;

    #[test]
    fn one_recording_gives_what_its_repetitions_counted() {
        let counted: Vec<u64> = (0..=100).collect();
        assert_eq!(interval(&counted, 1, 1.0), (3, 98));
        assert_eq!(interval(&[], 1, 1.0), (0, 0));
        assert_eq!(interval(&[0; 24], 4, 1.0), (0, 0));
    }

    /// Machines of known change: one more run lies within as often as is said, and the interval is not much wider than
    /// that of whoever knows rate and change. Of one recording it holds less, the more the machine changes.
    #[test]
    fn one_more_run_lies_within_as_often_as_is_said_in_an_interval_little_wider_than_it_must_be() {
        let mut chance = Chance::new(11);
        let (mut met, mut alone_held) = (0, 0);
        for spread in [0.0, 0.2, 0.5, 1.2] {
            for (rounds, length) in [(4, 1.0), (8, 1.0), (16, 1.0), (16, 0.5)] {
                let (mut held, mut ratios) = (0, Vec::new());
                for _ in 0..400 {
                    let counted = chance.counted(200.0, spread, rounds, length);
                    let more = (200.0 * (spread * chance.normal()).exp()).max(1.0);
                    let more = chance.count(more);
                    let within = |(low, high): (u64, u64)| (low..=high).contains(&more);
                    let (low, high) = interval(&counted, rounds, length);
                    held += u32::from(within((low, high)));
                    ratios.push(high as f64 / low.max(1) as f64);
                    let one: Vec<u64> = counted.iter().copied().step_by(rounds).collect();
                    alone_held += u32::from(spread > 1.0 && within(interval(&one, 1, length)));
                }
                ratios.sort_by(f64::total_cmp);
                // The standard deviation of the logarithm of a count whose variance is three times its mean.
                let known = (2.0 * 1.96 * (spread * spread + 3.0 / 200.0_f64).sqrt()).exp();
                let wider = ratios[200].ln() / known.ln();
                assert!(held >= 368, "{spread}, {rounds} recordings: {held} of 400 within");
                assert!(wider < if rounds < 8 { 2.2 } else { 1.5 }, "{spread}, {rounds}: {wider} times as wide");
                met += 400;
            }
        }
        assert_eq!(met, 6_400);
        assert!(alone_held < 800, "{alone_held} of 1600 of one recording");
    }

    /// Also of one that is not of the kind that the logarithm takes it for: by a factor of up to 100, most of the time low.
    #[test]
    fn a_machine_that_changes_otherwise_lies_within_too() {
        let mut random = Xoshiro256::new(11, 0);
        let mut run = || (1.0 + 99.0 * (random.below(1_000_000) as f64 / 1e6).powi(3)) as u64;
        for rounds in [4_usize, 8, 16] {
            let mut held = 0;
            for _ in 0..400 {
                let recordings: Vec<u64> = (0..rounds).map(|_| run()).collect();
                let counted: Vec<u64> = (0..rounds * 8).map(|index| recordings[index % rounds]).collect();
                let (low, high) = interval(&counted, rounds, 1.0);
                held += u64::from((low..=high).contains(&run()));
            }
            assert!(held >= 368, "{rounds} recordings: {held} of 400");
        }
    }
}
