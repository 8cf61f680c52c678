//! CPU reservations as precomputed slots, and time constraints claimed from what they leave.
//!
//! The schedule is made once, when reservations are admitted, and repeats with the longest period. Every reservation
//! keeps the same places within each of its periods, so any window of one period contains its whole runtime: the
//! guarantee is continuous (soft-modem-2000 section 5.4).

use super::NONE;
use crate::time::{MAX_TIME, NEVER, Picoseconds};

/// A reservation to be placed, in units: [`SlotPlan::new`] gets how long one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub thread: u32,
    /// What the thread has in each period.
    pub runtime: u32,
    /// How long each period is.
    pub period: u32,
}

/// Why reservations were not admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A runtime of 0, or above its period.
    #[error("a reservation of {runtime} of every {period} is impossible")]
    Impossible {
        /// As asked for.
        runtime: u32,
        /// As asked for.
        period: u32,
    },
    /// Periods that do not divide each other have no fixed places.
    #[error("the reservation periods {0} and {1} do not divide each other, so no slots can repeat")]
    NotHarmonic(u32, u32),
    /// More than there is.
    #[error("a reservation of {runtime} of every {period} does not fit: {free} units of it are free")]
    NoRoom {
        /// As asked for.
        runtime: u32,
        /// As asked for.
        period: u32,
        /// Units free in each period.
        free: u32,
    },
    /// A schedule of this many units would be too long.
    #[error("a reservation period of {0} units is longer than {MAX_UNITS}")]
    TooLong(u32),
    /// Its units are.
    #[error("a reservation period of {0} units of such a length is longer than 30 days")]
    Uncounted(u32),
}

/// The longest schedule, units.
pub const MAX_UNITS: u32 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: Picoseconds,
    end: Picoseconds,
    owner: u32,
}

/// The schedule of one CPU.
#[derive(Debug, Clone, Default)]
pub struct SlotPlan {
    length: Picoseconds,
    /// They cover the whole length, in order; free time has the owner [`NONE`].
    segments: Vec<Segment>,
    /// Granted constraints: absolute times, in order, not overlapping.
    claims: Vec<Segment>,
}

impl SlotPlan {
    /// Places reservations: shorter periods first, each into the smallest stretch of free units that it fits into, else
    /// spread over the first free units.
    ///
    /// # Errors
    /// See [`Refused`]. Admission is exact: whatever fits by its share is placed.
    pub fn new(unit: Picoseconds, requests: &[Request]) -> Result<SlotPlan, Refused> {
        let mut requests = requests.to_vec();
        requests.sort_by_key(|request| request.period);
        let mut plan: Vec<u32> = vec![NONE];
        for request in &requests {
            let Request { thread, runtime, period } = *request;
            if runtime == 0 || runtime > period {
                return Err(Refused::Impossible { runtime, period });
            }
            if period > MAX_UNITS {
                return Err(Refused::TooLong(period));
            }
            if unit.checked_mul(u64::from(period)).is_none_or(|length| length > MAX_TIME) {
                return Err(Refused::Uncounted(period));
            }
            let old = u32::try_from(plan.len()).expect("bounded by MAX_UNITS");
            if period % old != 0 {
                return Err(Refused::NotHarmonic(old, period));
            }
            let mut longer = Vec::with_capacity(period as usize);
            for _ in 0..period / old {
                longer.extend_from_slice(&plan);
            }
            place(&mut longer, thread, runtime).map_err(|free| Refused::NoRoom { runtime, period, free })?;
            plan = longer;
        }
        let mut segments: Vec<Segment> = Vec::new();
        for (index, &owner) in plan.iter().enumerate() {
            let (start, end) = (index as u64 * unit, (index as u64 + 1) * unit);
            match segments.last_mut() {
                Some(last) if last.owner == owner => last.end = end,
                _ => segments.push(Segment { start, end, owner }),
            }
        }
        Ok(SlotPlan { length: plan.len() as u64 * unit, segments, claims: Vec::new() })
    }

    /// Whether nobody ever owns anything.
    pub fn is_empty(&self) -> bool {
        self.segments.iter().all(|segment| segment.owner == NONE) && self.claims.is_empty()
    }

    /// Who owns the CPU at `now`, and until when. Claims that are over are forgotten.
    pub fn owner_at(&mut self, now: Picoseconds) -> (u32, Picoseconds) {
        let over = self.claims.iter().take_while(|claim| claim.end <= now).count();
        self.claims.drain(..over);
        let (owner, until) = self.reserved_at(now);
        match self.claims.first() {
            Some(claim) if claim.start <= now => (claim.owner, claim.end),
            Some(claim) => (owner, until.min(claim.start)),
            None => (owner, until),
        }
    }

    fn reserved_at(&self, now: Picoseconds) -> (u32, Picoseconds) {
        if self.segments.len() < 2 {
            return (self.segments.first().map_or(NONE, |segment| segment.owner), NEVER);
        }
        let within = now % self.length;
        let at = self.segments.partition_point(|segment| segment.end <= within);
        (self.segments[at].owner, now - within + self.segments[at].end)
    }

    /// Asks for `estimate` of CPU time between `start` and `deadline`: granted or refused at once. What is granted
    /// comes from free time and from the thread's own slots, the earliest first, and later requests cannot take it
    /// away.
    pub fn request(&mut self, thread: u32, start: Picoseconds, deadline: Picoseconds, estimate: Picoseconds) -> bool {
        let mut found: Vec<Segment> = Vec::new();
        let mut missing = estimate;
        let mut at = start;
        while at < deadline && missing > 0 {
            let (owner, until) = self.reserved_at(at);
            let blocking = self.claims.iter().find(|claim| claim.end > at);
            let (usable, until) = match blocking {
                Some(claim) if claim.start <= at => (false, claim.end),
                Some(claim) => (owner == NONE || owner == thread, until.min(claim.start)),
                None => (owner == NONE || owner == thread, until),
            };
            let until = until.min(deadline);
            if usable {
                let end = until.min(at.saturating_add(missing));
                found.push(Segment { start: at, end, owner: thread });
                missing -= end - at;
            }
            at = until;
        }
        if missing > 0 {
            return false;
        }
        self.claims.extend(found);
        self.claims.sort_by_key(|claim| claim.start);
        true
    }
}

/// Marks `runtime` free units as the thread's. `Err` says how many are free.
fn place(plan: &mut [u32], thread: u32, runtime: u32) -> Result<(), u32> {
    let free = plan.iter().filter(|&&owner| owner == NONE).count() as u32;
    if free < runtime {
        return Err(free);
    }
    let mut best: Option<(usize, usize)> = None;
    let mut at = 0;
    while at < plan.len() {
        let run = plan[at..].iter().take_while(|&&owner| owner == NONE).count();
        if run >= runtime as usize && best.is_none_or(|(_, length)| run < length) {
            best = Some((at, run));
        }
        at += run.max(1);
    }
    let from = best.map_or(0, |(start, _)| start);
    let mut missing = runtime;
    for owner in &mut plan[from..] {
        if missing > 0 && *owner == NONE {
            *owner = thread;
            missing -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owned(plan: &mut SlotPlan, thread: u32, from: u64, to: u64) -> u64 {
        let (mut at, mut sum) = (from, 0);
        while at < to {
            let (owner, until) = plan.owner_at(at);
            let until = until.min(to);
            if owner == thread {
                sum += until - at;
            }
            at = until;
        }
        sum
    }

    #[test]
    fn slots_that_cannot_be_counted_are_refused() {
        let request = Request { thread: 0, runtime: 1, period: 1 << 14 };
        // Their length is 0 in 64 bits.
        assert_eq!(SlotPlan::new(1 << 50, &[request]).err(), Some(Refused::Uncounted(1 << 14)));
        let plan = SlotPlan::new(MAX_TIME >> 14, &[request]).unwrap();
        assert!(plan.length <= MAX_TIME);
    }

    proptest! {
        #[test]
        fn whatever_fits_is_placed_and_every_window_holds_it(raw in prop::collection::vec((1..9u32, 0..5u32), 1..6), window_at in 0..500u64) {
            let requests: Vec<Request> = raw.iter().enumerate()
                .map(|(thread, &(runtime, power))| Request { thread: thread as u32, runtime: runtime.min(1 << power), period: 1 << power })
                .collect();
            let share: f64 = requests.iter().map(|r| f64::from(r.runtime) / f64::from(r.period)).sum();
            match SlotPlan::new(10, &requests) {
                Ok(mut plan) => {
                    prop_assert!(share <= 1.0 + 1e-9);
                    for r in &requests {
                        let got = owned(&mut plan, r.thread, window_at, window_at + u64::from(r.period) * 10);
                        prop_assert_eq!(got, u64::from(r.runtime) * 10);
                    }
                }
                Err(Refused::NoRoom { .. }) => prop_assert!(share > 1.0),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn a_granted_constraint_owns_its_estimate_whatever_comes_after(
            asked in prop::collection::vec((0..400u64, 1..300u64, 1..120u64), 1..20)
        ) {
            let mut plan = SlotPlan::new(10, &[Request { thread: 99, runtime: 2, period: 5 }]).unwrap();
            let mut granted = Vec::new();
            for (thread, &(start, length, estimate)) in asked.iter().enumerate() {
                if plan.request(thread as u32, start, start + length, estimate) {
                    granted.push((thread as u32, start, start + length, estimate));
                }
            }
            let whole = plan.clone();
            for (thread, start, deadline, estimate) in granted {
                prop_assert_eq!(owned(&mut whole.clone(), thread, start, deadline), estimate);
            }
            prop_assert_eq!(owned(&mut whole.clone(), 99, 0, 1000), 400);
        }
    }

    #[test]
    fn the_gap_of_one_reservation_is_period_less_runtime() {
        let mut plan = SlotPlan::new(10, &[Request { thread: 0, runtime: 3, period: 16 }]).unwrap();
        assert_eq!([0, 30, 160].map(|now| plan.owner_at(now)), [(0, 30), (NONE, 160), (0, 190)]);
    }
}
