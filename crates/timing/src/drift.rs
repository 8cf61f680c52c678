//! Whether a stream runs away from its grid.

use crate::stream::Stream;

/// How a stream's lateness grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Nanoseconds of lateness per millisecond of ideal time: millionths.
    pub ppm: f64,
    /// Whether this is more than jitter.
    pub is_certain: bool,
}

/// The stream is cut into this many parts, whose medians are compared.
const PARTS: usize = 30;
/// Fewer callbacks than this show no trend.
const MIN_CALLBACKS: usize = 20;
/// Mann and Kendall's statistic above which a trend counts, in standard deviations.
const CERTAIN: f64 = 5.0;
/// Slower than this is not called drift, millionths.
const MIN_PPM: f64 = 20.0;

/// The trend of a stream's lateness: the median slope between the medians of its parts (Theil and Sen), which a few
/// late callbacks do not move. `None` if there are fewer than 20 callbacks.
///
/// It is certain if the parts rise or fall in order (Mann and Kendall) and it comes to more than a twentieth of
/// a period and more than twice the spread within a part.
pub fn trend(stream: &Stream<'_>) -> Option<Trend> {
    let points: Vec<(u64, i64)> = stream.against_grid().collect();
    if points.len() < MIN_CALLBACKS {
        return None;
    }
    let parts = PARTS.min(points.len());
    let mut spreads = Vec::with_capacity(parts);
    let medians: Vec<(f64, f64)> = (0..parts)
        .map(|part| {
            let slice = &points[part * points.len() / parts..(part + 1) * points.len() / parts];
            let mut values: Vec<i64> = slice.iter().map(|(_, lateness)| *lateness).collect();
            values.sort_unstable();
            spreads.push(values[values.len() * 3 / 4] - values[values.len() / 4]);
            (slice[slice.len() / 2].0 as f64, values[values.len() / 2] as f64)
        })
        .collect();
    let (mut slopes, mut order) = (Vec::new(), 0i32);
    for (index, left) in medians.iter().enumerate() {
        for right in &medians[index + 1..] {
            if right.0 > left.0 {
                slopes.push((right.1 - left.1) / (right.0 - left.0));
                order += if right.1 > left.1 { 1 } else { -i32::from(right.1 < left.1) };
            }
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    spreads.sort_unstable();
    let slope = *slopes.get(slopes.len() / 2)?;
    let spread = spreads[spreads.len() / 2] as f64;
    let count = medians.len() as f64;
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let whole = (slope * (medians.last()?.0 - medians.first()?.0)).abs();
    // What a drift adds within one part is no jitter.
    let within = spread - whole / count / 2.0;
    let is_certain = f64::from(order).abs() / deviation > CERTAIN
        && slope.abs() * 1e6 >= MIN_PPM
        && whole > stream.period_ns as f64 / 20.0
        && whole > 2.0 * within;
    Some(Trend { ppm: slope * 1e6, is_certain })
}
