//! Between which numbers another run's count lies, from counts of repetitions that stand for several recordings.

/// The 97.5 % quantile of Student's distribution with 1 degree of freedom, 2, 3, and so on; beyond, the last.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// At least and at most so many, 95 times of 100. The repetitions at `index`, `index + rounds` and so on stand for one
/// recording.
///
/// Of one recording it is what the middle 95 of 100 repetitions counted. Of several it is a prediction interval for one more
/// run, by Student's distribution of the counts' logarithms (of one more than the count, so that none is none), with as
/// many degrees of freedom as there are recordings less one, for a run is one draw of how the machine is, as a
/// recording is; and never less than what the repetitions themselves counted.
pub(crate) fn interval(counted: &[u64], rounds: usize) -> (u64, u64) {
    let mut sorted = counted.to_vec();
    sorted.sort_unstable();
    let Some(last) = sorted.len().checked_sub(1) else { return (0, 0) };
    let at = |share: f64| sorted[(last as f64 * share).round() as usize];
    let (low, high) = (at(0.025), at(0.975));
    if rounds < 2 {
        return (low, high);
    }
    let logs: Vec<f64> = counted.iter().map(|&count| (count as f64).ln_1p()).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let middle = mean(&logs);
    let variance = logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() / last.max(1) as f64;
    // The repetitions share the recordings, so that their mean is no surer than that of the recordings.
    let free = (rounds - 1).min(STUDENT.len());
    let reach = STUDENT[free - 1] * (variance * (1.0 + 1.0 / rounds as f64)).sqrt();
    let below = (middle - reach).exp_m1().floor().max(0.0) as u64;
    let above = (middle + reach).exp_m1().ceil() as u64;
    (low.min(below), high.max(above))
}

#[cfg(test)]
mod tests {
    use super::interval;
    use crate::random::Random;

    #[test]
    fn one_recording_gives_what_its_repetitions_counted() {
        let counted: Vec<u64> = (0..=100).collect();
        assert_eq!(interval(&counted, 1), (3, 98));
        assert_eq!(interval(&[], 1), (0, 0));
        assert_eq!(interval(&[0; 24], 4), (0, 0));
    }

    /// Machines whose count changes by chance from run to run, by a factor of up to 100: one more run lies within as
    /// often as is said. Of one recording it hardly ever does.
    #[test]
    fn one_more_run_of_a_machine_that_changes_lies_within_as_often_as_is_said() {
        let mut random = Random::new(11, 0);
        let mut run = || (1.0 + 99.0 * (random.below(1_000_000) as f64 / 1e6).powi(3)) as u64;
        for rounds in [4_usize, 8, 16] {
            let (mut held, mut alone) = (0, 0);
            for _ in 0..400 {
                let recordings: Vec<u64> = (0..rounds).map(|_| run()).collect();
                let counted: Vec<u64> = (0..rounds * 8).map(|index| recordings[index % rounds]).collect();
                let more = run();
                let within = |(low, high): (u64, u64)| (low..=high).contains(&more);
                held += u64::from(within(interval(&counted, rounds)));
                alone += u64::from(within(interval(&counted[..1], 1)));
            }
            assert!(held >= 368 && alone < 100, "{rounds} recordings: {held} and {alone} of 400");
        }
    }
}
