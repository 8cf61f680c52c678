//! Processes that nobody chose: each is drawn from a grammar, by its number. One to three parts lie over a ground of
//! independent stalls. Each part is a renewal process, a regime that comes and goes, a rate that wanders, a cycle, a
//! queue or a trend, with laws and figures drawn as well. Sizes within a part do not depend on when a stall comes, so
//! that how often a level is exceeded in the long run follows from each part's mean rate.

use super::unseen::{above, left_of_pareto, one_at_a_time, raised};
use super::{BASE, EVENTS, floor};
use punctual_random::Random;

/// The names of those that are drawn, except for [`QUEUES`]: the number is the seed.
pub(crate) const NAMES: [&str; 30] = [
    "drawn-1", "drawn-2", "drawn-3", "drawn-4", "drawn-5", "drawn-6", "drawn-7", "drawn-8", "drawn-9", "drawn-10",
    "drawn-11", "drawn-12", "drawn-13", "drawn-14", "drawn-15", "drawn-16", "drawn-17", "drawn-18", "drawn-19",
    "drawn-20", "drawn-21", "drawn-22", "drawn-23", "drawn-24", "drawn-37", "drawn-39", "drawn-41", "drawn-48",
    "drawn-52", "drawn-53",
];

/// This many of them were drawn before limits allowed for a drift that no test shows.
pub(crate) const EARLIER: usize = 12;

/// This many were drawn before limits allowed for how such a drift grows from level to level. Of those behind them, the
/// seeds are the first three from 37 on that have a trend, and the first three others that have a queue.
pub(crate) const BEFORE: usize = 24;

/// Drawn when clusters of rare stalls were taken to stay large where few were seen: the first six seeds from 54 on that
/// have a queue.
pub(crate) const QUEUES: [&str; 6] = ["drawn-54", "drawn-57", "drawn-58", "drawn-59", "drawn-66", "drawn-67"];

/// One of them.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Drawn(u64);

/// How long something lasts, or how long until it comes again: a law of this mean.
#[derive(Debug, Clone, Copy)]
enum Law {
    Constant,
    Exponential,
    /// Of this shape.
    Weibull(f64),
    /// With this deviation of the logarithm.
    LogNormal(f64),
    /// Of this shape.
    Pareto(f64),
}

/// A part: how its stalls come.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// This many on average (geometric) at each renewal, this far apart.
    Renewal { gap: Law, mean: f64, size: f64, apart: f64 },
    /// This many a second while it lasts, and none in between.
    Regime { calm: Law, calm_s: f64, busy: Law, busy_s: f64, rate: f64 },
    /// This many a second; the logarithm of the rate is an AR(1).
    Wander { memory: f64, deviation: f64, rate: f64 },
    /// This many a second, more and less by this share in turn.
    Cycle { period: f64, depth: f64, rate: f64 },
    /// Jobs, of which this many are done a second; 10 wakeups a second wait for all that are in the queue, a scale each
    /// on average.
    Queue { full: f64, done: f64 },
    /// From this share of its last rate up to that rate, which it then keeps.
    Trend { from: f64, rate: f64 },
}

/// A form and its sizes: a level above the ground's, and the scale beyond it.
#[derive(Debug, Clone, Copy)]
struct Part {
    form: Form,
    level: f64,
    scale: f64,
}

impl Law {
    fn drawn(random: &mut Random) -> Law {
        match random.below(5) {
            0 => Law::Constant,
            1 => Law::Exponential,
            2 => Law::Weibull(0.4 + 1.1 * random.uniform()),
            3 => Law::LogNormal(0.3 + 1.2 * random.uniform()),
            _ => Law::Pareto(1.3 + 1.7 * random.uniform()),
        }
    }

    fn one(self, mean: f64, random: &mut Random) -> f64 {
        let unit = match self {
            Law::Constant => 1.0,
            Law::Exponential => random.exponential(),
            Law::Weibull(shape) => {
                random.exponential().powf(1.0 / shape) / punctual_forecast::ln_gamma(1.0 + 1.0 / shape).exp()
            }
            Law::LogNormal(deviation) => (deviation * random.normal() - deviation * deviation / 2.0).exp(),
            Law::Pareto(shape) => random.uniform().powf(-1.0 / shape) * (shape - 1.0) / shape,
        };
        mean * unit
    }

    /// How much longer a stretch goes on from any moment.
    fn left(self, mean: f64, random: &mut Random) -> f64 {
        if let Law::Pareto(shape) = self {
            return left_of_pareto(mean * (shape - 1.0) / shape, shape, random);
        }
        let mut at = -100.0 * mean * (1.0 + random.uniform());
        while at < 0.0 {
            at += self.one(mean, random);
        }
        at
    }
}

/// A number whose logarithm is anywhere between these.
fn anywhere(low: f64, high: f64, random: &mut Random) -> f64 {
    low * (high / low).powf(random.uniform())
}

impl Part {
    fn drawn(random: &mut Random) -> Part {
        let mut any = |low, high| anywhere(low, high, random);
        let (level, scale) = (any(1.0, 6.0) - 1.0, any(0.7, 2.5));
        let form = match random.below(6) {
            0 => Form::Renewal {
                gap: Law::drawn(random),
                mean: anywhere(0.5, 200.0, random),
                size: anywhere(1.0, 20.0, random),
                apart: anywhere(0.003, 1.0, random),
            },
            1 => Form::Regime {
                calm: Law::drawn(random),
                calm_s: anywhere(5.0, 300.0, random),
                busy: Law::drawn(random),
                busy_s: anywhere(0.5, 60.0, random),
                rate: anywhere(1.0, 40.0, random),
            },
            2 => Form::Wander {
                memory: anywhere(3.0, 200.0, random),
                deviation: anywhere(0.2, 0.8, random),
                rate: anywhere(1.0, 20.0, random),
            },
            3 => Form::Cycle {
                period: anywhere(10.0, 600.0, random),
                depth: anywhere(0.2, 1.0, random),
                rate: anywhere(1.0, 20.0, random),
            },
            4 => Form::Queue { full: 0.3 + 0.5 * random.uniform(), done: anywhere(1.0, 10.0, random) },
            _ => Form::Trend { from: 0.3 + 0.6 * random.uniform(), rate: anywhere(1.0, 20.0, random) },
        };
        Part { form, level, scale }
    }

    /// How many stalls a second are later than `x` scales, in the long run.
    fn rate(&self, x: f64) -> f64 {
        let own = |rate: f64| rate * above(x, BASE + self.level, self.scale);
        match self.form {
            Form::Renewal { mean, size, .. } => own(size / mean),
            Form::Regime { calm_s, busy_s, rate, .. } => own(rate * busy_s / (calm_s + busy_s)),
            Form::Wander { rate, .. } | Form::Cycle { rate, .. } | Form::Trend { rate, .. } => own(rate),
            // The number that wait follows a geometric law, and that many exponential waits are one exponential wait
            // again.
            Form::Queue { full, .. } => 0.5 * EVENTS * full * above(x, BASE + self.level, self.scale / (1.0 - full)),
        }
    }

    /// For how long an event still shows, s, or until it comes again; 0 where it does not, or for good.
    fn memory(&self) -> f64 {
        match self.form {
            Form::Renewal { mean, size, .. } => {
                if size > 1.5 {
                    mean
                } else {
                    0.0
                }
            }
            Form::Regime { calm_s, busy_s, .. } => calm_s + busy_s,
            Form::Wander { memory, .. } => memory,
            Form::Cycle { period, .. } => period,
            Form::Queue { full, done } => 1.0 / (done * (1.0 - full.sqrt()).powi(2)),
            Form::Trend { .. } => 0.0,
        }
    }

    /// Adds what comes until `until`, on a machine that is recorded for this many seconds.
    #[allow(clippy::too_many_lines, reason = "one arm for each form")]
    fn run(&self, events: &mut Vec<(f64, f64)>, seconds: f64, until: f64, random: &mut Random) {
        let sizes = (BASE + self.level, self.scale);
        match self.form {
            Form::Renewal { gap, mean, size, apart } => {
                let mut at = gap.left(mean, random);
                while at < until {
                    let mut due = at;
                    loop {
                        let late = sizes.0 + sizes.1 * random.exponential();
                        if (0.0..until).contains(&due) && late > floor() {
                            events.push((due, late));
                        }
                        if random.uniform() < 1.0 / size {
                            break;
                        }
                        due += apart * random.exponential();
                    }
                    at += gap.one(mean, random);
                }
            }
            Form::Regime { calm, calm_s, busy, busy_s, rate } => {
                let mut is_calm = random.uniform() < calm_s / (calm_s + busy_s);
                let mut end = if is_calm { calm.left(calm_s, random) } else { busy.left(busy_s, random) };
                let mut at = 0.0;
                while at < until {
                    if !is_calm {
                        raised(events, (at, end.min(until)), rate, sizes, random);
                    }
                    (at, is_calm) = (end, !is_calm);
                    end = at + if is_calm { calm.one(calm_s, random) } else { busy.one(busy_s, random) };
                }
            }
            Form::Wander { memory, deviation, rate } => {
                let keep = (-1.0 / memory).exp();
                let mut state = random.normal();
                by_the_second(
                    until,
                    &mut |from, random| {
                        let now = rate * (deviation * state - deviation * deviation / 2.0).exp();
                        raised(events, (from, from + 1.0), now, sizes, random);
                        state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
                    },
                    random,
                );
            }
            Form::Cycle { period, depth, rate } => {
                let phase = random.uniform();
                by_the_second(
                    until,
                    &mut |from, random| {
                        let angle = std::f64::consts::TAU * (from / period + phase);
                        raised(events, (from, from + 1.0), rate * (1.0 + depth * angle.sin()), sizes, random);
                    },
                    random,
                );
            }
            Form::Queue { full, done } => queue(events, until, (full, done), sizes, random),
            Form::Trend { from, rate } => {
                let first = events.len();
                raised(events, (0.0, until), rate, sizes, random);
                let mut added = events.split_off(first);
                added.retain(|event| random.uniform() < from + (1.0 - from) * (event.0 / seconds).min(1.0));
                events.append(&mut added);
            }
        }
    }
}

fn by_the_second(until: f64, each: &mut dyn FnMut(f64, &mut Random), random: &mut Random) {
    for second in 0..until as u64 {
        each(second as f64, random);
    }
}

fn queue(
    events: &mut Vec<(f64, f64)>,
    until: f64,
    (full, done): (f64, f64),
    (level, scale): (f64, f64),
    random: &mut Random,
) {
    let mut waiting = 0u32;
    while random.uniform() < full {
        waiting += 1;
    }
    let mut at = 0.0;
    while at < until {
        let change = done * if waiting > 0 { 1.0 + full } else { full };
        let next = (at + random.exponential() / change).min(until);
        if waiting > 0 {
            loop {
                at += 2.0 * random.exponential() / EVENTS;
                if at >= next {
                    break;
                }
                let late = level + (0..waiting).map(|_| scale * random.exponential()).sum::<f64>();
                if late > floor() {
                    events.push((at, late));
                }
            }
        }
        if waiting == 0 || random.uniform() < full / (1.0 + full) {
            waiting += 1;
        } else {
            waiting -= 1;
        }
        at = next;
    }
}

impl Drawn {
    pub(crate) fn of(name: &str) -> Drawn {
        Drawn(name.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a number"))
    }

    /// The scale of its ground, and its parts.
    fn parts(self) -> (f64, Vec<Part>) {
        let mut random = Random(self.0);
        let scale = 0.7 + 0.3 * random.uniform();
        let parts = 1 + random.below(3);
        (scale, (0..parts).map(|_| Part::drawn(&mut random)).collect())
    }

    /// Wakeups later than `x` scales a second, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let (scale, parts) = self.parts();
        EVENTS * above(x, BASE, scale) + parts.iter().map(|part| part.rate(x)).sum::<f64>()
    }

    /// The longest memory of its parts, s.
    pub(crate) fn memory(self) -> f64 {
        self.parts().1.iter().map(Part::memory).fold(0.0, f64::max)
    }

    /// What it is made of.
    pub(crate) fn in_words(self) -> String {
        format!("{:.3?}", self.parts())
    }

    /// Late wakeups until `until`: (when s, by how many scales).
    pub(crate) fn run(self, seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
        let (scale, parts) = self.parts();
        let mut events = Vec::new();
        raised(&mut events, (0.0, until), EVENTS, (BASE, scale), random);
        parts.iter().for_each(|part| part.run(&mut events, seconds, until, random));
        one_at_a_time(&mut events);
        events
    }
}
