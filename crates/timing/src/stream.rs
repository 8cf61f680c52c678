//! When callbacks were asked for, and when they came.

/// One callback. Times in ns of one steady clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Callback {
    /// When it was due: a point of the grid, or for a relative wait, a period after the wait began.
    pub asked_ns: u64,
    /// When the program ran.
    pub at_ns: u64,
    /// How many periods it stands for: more than 1 if a timer says that it expired several times.
    pub periods: u32,
}

/// The callbacks of one way of asking for them, in order.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'a> {
    /// What was asked for, ns.
    pub period_ns: u64,
    /// When the first callback was due, ns: the first point of the ideal grid.
    pub origin_ns: u64,
    /// Whether callbacks are asked for at points of a grid; false where each wait begins when the one before ended.
    pub anchored: bool,
    /// The callbacks.
    pub callbacks: &'a [Callback],
}

impl Stream<'_> {
    /// Times between callbacks, ns.
    pub fn intervals(&self) -> impl Iterator<Item = u64> + '_ {
        self.callbacks.windows(2).map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns))
    }

    /// For each callback the ideal time since the origin and its lateness against that, ns. Early is negative.
    /// One that stands for several periods is compared with the first of them.
    pub fn against_grid(&self) -> impl Iterator<Item = (u64, i64)> + '_ {
        let mut points = 0u64;
        self.callbacks.iter().map(move |callback| {
            let ideal = points * self.period_ns;
            points += u64::from(callback.periods.max(1));
            (ideal, signed(callback.at_ns) - signed(self.origin_ns + ideal))
        })
    }

    /// For each callback how many periods went by without one since the callback before.
    ///
    /// If a timer says that it expired several times, those; if waits are relative, the whole periods by which
    /// the stream has fallen further behind the grid. If all callbacks came, however late, nothing was missed.
    pub fn missed(&self) -> Vec<u64> {
        let period = signed(self.period_ns.max(1));
        let mut behind = 0;
        let each = self.callbacks.iter().zip(self.against_grid());
        each.map(|(callback, (_, lateness))| {
            let told = u64::from(callback.periods.max(1) - 1);
            if self.anchored {
                return told;
            }
            let now = lateness.div_euclid(period).max(behind);
            let more = now - std::mem::replace(&mut behind, now);
            told + more.unsigned_abs()
        })
        .collect()
    }
}

/// Times of a machine's clock fit: 292 years.
fn signed(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}
