//! What a timer does after its program was stalled.

/// What a timer does after its program was stalled for several periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// Every callback that was held up comes at once, one after the other (as the timers of Jones and Regehr,
    /// MSR-TR-98-29, section 4.1).
    Burst,
    /// One callback stands for all of them, and the grid continues as before.
    Skip,
    /// The next callback comes a whole period after the stall: the grid is moved for good.
    Shift,
    /// None of these.
    Unclear,
}

impl CatchUp {
    /// Its name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            CatchUp::Burst => "burst",
            CatchUp::Skip => "skip",
            CatchUp::Shift => "shift",
            CatchUp::Unclear => "unclear",
        }
    }
}

/// Names what a timer did after one stall.
///
/// `stall_ns` is how long the stall was, `end_ns` when it ended, `after` when the callbacks after it came. The stall
/// should last some whole periods and a half, so that the next point of the grid is half a period away.
pub fn catch_up(period_ns: u64, stall_ns: u64, end_ns: u64, after: &[u64]) -> CatchUp {
    let due = stall_ns / period_ns.max(1);
    let Some(&first) = after.first() else { return CatchUp::Unclear };
    if due < 2 || first < end_ns {
        return CatchUp::Unclear;
    }
    if first - end_ns >= period_ns / 4 * 3 {
        return CatchUp::Shift;
    }
    // How many came faster than the grid.
    let quick = after.windows(2).take_while(|pair| pair[1].saturating_sub(pair[0]) < period_ns / 4).count() as u64;
    match quick + 1 {
        burst if burst > 1 && burst * 3 >= due * 2 => CatchUp::Burst,
        // The first may by chance come just before the grid's next point.
        1 | 2 => CatchUp::Skip,
        _ => CatchUp::Unclear,
    }
}

/// What more than half of those stalls that showed anything showed.
pub fn majority(seen: &[CatchUp]) -> CatchUp {
    let clear = seen.iter().filter(|kind| **kind != CatchUp::Unclear).count();
    [CatchUp::Burst, CatchUp::Skip, CatchUp::Shift]
        .into_iter()
        .find(|kind| seen.iter().filter(|other| *other == kind).count() * 2 > clear)
        .unwrap_or(CatchUp::Unclear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_kind_is_told_from_the_others(period in 50_000..10_000_000u64, whole in 3..50u64, jitter in 0..10u64) {
            let late = period * jitter / 100;
            let (stall, begin) = (whole * period + period / 2, 1_000_000_000);
            let end = begin + stall;
            let grid = |n: u64| begin + (whole + n) * period + late;
            let burst: Vec<u64> = (0..whole).map(|n| end + n * period / 100).chain((1..9).map(grid)).collect();
            prop_assert_eq!(catch_up(period, stall, end, &burst), CatchUp::Burst);
            let skip: Vec<u64> = std::iter::once(end + late / 4).chain((1..9).map(grid)).collect();
            prop_assert_eq!(catch_up(period, stall, end, &skip), CatchUp::Skip);
            let shift: Vec<u64> = (1..9).map(|n| end + n * period + late).collect();
            prop_assert_eq!(catch_up(period, stall, end, &shift), CatchUp::Shift);
        }
    }

    #[test]
    fn too_little_is_unclear() {
        assert_eq!(catch_up(1_000, 5_500, 10_000, &[]), CatchUp::Unclear);
        assert_eq!(catch_up(1_000, 900, 10_000, &[10_001]), CatchUp::Unclear);
        assert_eq!(majority(&[CatchUp::Burst, CatchUp::Skip]), CatchUp::Unclear);
        assert_eq!(majority(&[CatchUp::Burst, CatchUp::Skip, CatchUp::Burst]), CatchUp::Burst);
        assert_eq!(majority(&[CatchUp::Unclear, CatchUp::Unclear]), CatchUp::Unclear);
        assert_eq!(majority(&[CatchUp::Skip, CatchUp::Unclear]), CatchUp::Skip);
    }
}
