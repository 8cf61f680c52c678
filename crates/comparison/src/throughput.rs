//! How much the loads of two sides got done.

use crate::side::Side;

/// How much of its work a load got done.
#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// The command of the load.
    pub name: String,
    /// What was counted.
    pub unit: String,
    /// How many a second on A, times 1,000; `None` if that is not known.
    pub a_thousandths: Option<u64>,
    /// On B.
    pub b_thousandths: Option<u64>,
    /// B to A.
    pub ratio: Option<f64>,
    /// Whether it was held to a pace, so that it could not get more done than that.
    pub is_paced: bool,
}

pub(crate) fn throughput(a: &Side, b: &Side) -> Vec<Throughput> {
    let scores = |side: &Side| {
        let mut sums: Vec<(String, String, u64, u64, bool)> = Vec::new();
        for score in side.runs.iter().flat_map(|run| &run.document.provenance.load.scores) {
            match sums.iter_mut().find(|sum| (&sum.0, &sum.1) == (&score.name, &score.unit)) {
                Some(sum) => {
                    sum.2 = sum.2.saturating_add(score.count_thousandths);
                    sum.3 = sum.3.saturating_add(score.elapsed_ns);
                    sum.4 |= score.pace_ns.is_some();
                }
                None => sums.push((
                    score.name.clone(),
                    score.unit.clone(),
                    score.count_thousandths,
                    score.elapsed_ns,
                    score.pace_ns.is_some(),
                )),
            }
        }
        sums
    };
    let (left, right) = (scores(a), scores(b));
    let mut names: Vec<(&String, &String)> = Vec::new();
    for (name, unit, ..) in left.iter().chain(&right) {
        if !names.contains(&(name, unit)) {
            names.push((name, unit));
        }
    }
    let rate = |count: u64, elapsed: u64| count as f64 / (elapsed.max(1) as f64 / 1e9);
    let rows = names.into_iter().map(|key| {
        let find = |side: &[(String, String, u64, u64, bool)]| {
            side.iter().find(|sum| (&sum.0, &sum.1) == key).map(|sum| (rate(sum.2, sum.3), sum.4))
        };
        let (a, b) = (find(&left), find(&right));
        Throughput {
            name: key.0.clone(),
            unit: key.1.clone(),
            a_thousandths: a.map(|(rate, _)| rate.round() as u64),
            b_thousandths: b.map(|(rate, _)| rate.round() as u64),
            ratio: a.zip(b).filter(|((a, _), _)| *a > 0.0).map(|((a, _), (b, _))| b / a),
            is_paced: [a, b].into_iter().flatten().any(|(_, paced)| paced),
        }
    });
    rows.collect()
}
