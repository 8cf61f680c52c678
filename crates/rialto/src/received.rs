//! What somebody got in each window.

/// CPU time in windows of one length, wherever they begin, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// In the window with the least.
    pub least_ns: u64,
    /// In the window with the most.
    pub most_ns: u64,
    /// In all windows together, an average per window.
    pub mean_ns: u64,
}

/// The same for several stretches of time, each by itself; what lies between them does not count.
pub fn received_in(stretches: &[Vec<(u64, u64)>], window_ns: u64) -> Option<Received> {
    let (mut all, mut sum, mut length) = (None::<Received>, 0u128, 0u128);
    for runs in stretches {
        let Some(found) = received(runs, window_ns) else { continue };
        let seen = u128::from(seen_ns(runs));
        (sum, length) = (sum + u128::from(found.mean_ns) * seen, length + seen);
        all = Some(all.map_or(found, |all| Received {
            least_ns: all.least_ns.min(found.least_ns),
            most_ns: all.most_ns.max(found.most_ns),
            mean_ns: (sum / length) as u64,
        }));
    }
    all
}

/// From the beginning of the first run to the end of the last.
pub fn seen_ns(runs: &[(u64, u64)]) -> u64 {
    runs.first().zip(runs.last()).map_or(0, |((begin, _), (_, end))| end.saturating_sub(*begin))
}

/// What was received in every sliding window of this length that lies wholly between the first and the last of `runs`,
/// which are beginnings and ends in order of time, ns. `None` if no window fits.
pub fn received(runs: &[(u64, u64)], window_ns: u64) -> Option<Received> {
    let (begin, end) = (runs.first()?.0, runs.last()?.1);
    let last = end.checked_sub(window_ns).filter(|last| window_ns > 0 && *last > begin)?;
    let mut before = Vec::with_capacity(runs.len());
    let mut sum = 0u64;
    for (from, to) in runs {
        before.push(sum);
        sum += to.saturating_sub(*from);
    }
    // Received until a time.
    let until = |time: u64| match runs.partition_point(|(from, _)| *from <= time) {
        0 => 0,
        count => before[count - 1] + time.min(runs[count - 1].1).saturating_sub(runs[count - 1].0),
    };
    // As a window moves on, its contents change direction only where it begins or ends at a run's beginning or end.
    let corners = runs.iter().flat_map(|(from, to)| [*from, *to]);
    let begins = corners.flat_map(|corner| [Some(corner), corner.checked_sub(window_ns)]).flatten();
    let begins = begins.filter(|start| (begin..=last).contains(start)).chain([begin, last]);
    let held = begins.map(|start| until(start + window_ns) - until(start));
    let (least_ns, most_ns) = held.fold((u64::MAX, 0), |(least, most), held| (least.min(held), most.max(held)));
    let mean_ns = (u128::from(sum) * u128::from(window_ns) / u128::from(end - begin)) as u64;
    Some(Received { least_ns, most_ns, mean_ns })
}
