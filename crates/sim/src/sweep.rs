//! Sweeps: the same question at every point of a grid, in any order, on any machine, with the same result.

use crate::error::{Error, Result};
use crate::parallel;
use std::collections::HashSet;

/// No sweep has more points.
pub const MAX_POINTS: u64 = 1_000_000;

/// One direction of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// What is varied.
    pub name: String,
    /// Its values, in order; of an axis of words their places, from 0.
    pub values: Vec<i64>,
    /// Values that are no whole numbers, as they are written; empty for whole numbers.
    pub words: Vec<String>,
}

/// The digits after the decimal point that a range's numbers may have.
const MAX_DECIMALS: usize = 9;

impl Axis {
    /// An axis of whole numbers.
    pub fn whole(name: &str, values: impl IntoIterator<Item = i64>) -> Axis {
        Axis { name: name.to_owned(), values: values.into_iter().collect(), words: Vec::new() }
    }

    /// A value as written.
    pub fn written(&self, index: usize) -> String {
        match self.words.get(index) {
            Some(word) => word.clone(),
            None => self.values[index].to_string(),
        }
    }

    /// Reads what [`Axis::parse`] reads, and ranges and lists of anything else: `quantum=20ms..100ms:20ms`,
    /// `deviation=0.5..2:0.5`, `context=irq,dpc,thread`, `policy={ priority = 8 },{ priority = 24 }`.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse_any(text: &str) -> Result<Axis> {
        let is_whole = |part: &str| part.trim().parse::<i64>().is_ok();
        let whole_range =
            text.split_once('=').and_then(|(_, values)| values.split_once("..")).is_some_and(|(from, to)| {
                is_whole(from) && to.split_once(':').map_or(is_whole(to), |(to, step)| is_whole(to) && is_whole(step))
            });
        match Axis::parse(text) {
            Err(error) if whole_range => return Err(error),
            Ok(axis) => return Ok(axis),
            Err(_) => {}
        }
        let wrong = |what: &str| Error::Sweep(format!("--sweep {text}: {what}"));
        let (name, values) = text.split_once('=').ok_or_else(|| wrong("write it as name=4..20 or name=4,8,16"))?;
        let words = match values.split_once("..") {
            Some((from, to)) => range(from, to).map_err(|what| wrong(&what))?,
            None => list(values),
        };
        if words.is_empty() || words.iter().any(String::is_empty) {
            return Err(wrong("a value is missing"));
        }
        Ok(Axis { name: name.trim().to_owned(), values: (0..words.len() as i64).collect(), words })
    }

    /// Reads `period=4..20`, `period=4..20:2` or `period=4,8,16`. Ranges include their end.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> Result<Axis> {
        let wrong = |what: &str| Error::Sweep(format!("--sweep {text}: {what}"));
        let (name, values) = text.split_once('=').ok_or_else(|| wrong("write it as name=4..20 or name=4,8,16"))?;
        let number =
            |part: &str| part.trim().parse::<i64>().map_err(|_| wrong(&format!("{part:?} is not a whole number")));
        let values = if let Some((from, to)) = values.split_once("..") {
            let (to, step) = to.split_once(':').unwrap_or((to, "1"));
            let (from, to, step) = (number(from)?, number(to)?, number(step)?);
            if step < 1 || to < from {
                return Err(wrong("the range is empty"));
            }
            if to.abs_diff(from) / step.unsigned_abs() >= MAX_POINTS {
                return Err(wrong(&format!("more than {MAX_POINTS} points")));
            }
            (from..=to).step_by(usize::try_from(step).map_err(|_| wrong("the step is too long"))?).collect()
        } else {
            values.split(',').map(number).collect::<Result<Vec<i64>>>()?
        };
        Ok(Axis::whole(name.trim(), values))
    }
}

/// The elements of a list: commas within brackets, braces and quotes belong to an element.
fn list(text: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut words) = (0i32, false, vec![String::new()]);
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 && !quoted {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.iter().map(|word| word.trim().to_owned()).collect()
}

/// A range of numbers with a decimal point or a unit, from its beginning to its end by its step: exact, as decimals.
fn range(from: &str, to: &str) -> std::result::Result<Vec<String>, String> {
    let (to, step) = to.split_once(':').ok_or("a range of such values says its step: 20ms..100ms:20ms")?;
    let parts = |text: &str| -> std::result::Result<(String, String), String> {
        let text = text.trim();
        let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
        Ok((text[..unit_at].trim().to_owned(), text[unit_at..].to_owned()))
    };
    let numbers = [parts(from)?, parts(to)?, parts(step)?];
    let unit = numbers[1].1.clone();
    if numbers.iter().any(|(_, other)| *other != unit) {
        return Err("begin, end and step have one unit".to_owned());
    }
    let decimals = |number: &str| number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let most = numbers.iter().map(|(number, _)| decimals(number)).max().unwrap_or(0);
    if most > MAX_DECIMALS {
        return Err(format!("at most {MAX_DECIMALS} digits behind the point"));
    }
    let scaled = |number: &str| -> std::result::Result<i128, String> {
        let digits = format!("{}{}", number.replacen('.', "", 1), "0".repeat(most - decimals(number)));
        // Their differences and sums are no longer than the result.
        digits.parse::<i64>().map(i128::from).map_err(|_| format!("{number:?} is not a number, or is too large"))
    };
    let [from, to, step] = [scaled(&numbers[0].0)?, scaled(&numbers[1].0)?, scaled(&numbers[2].0)?];
    if step < 1 || to < from {
        return Err("the range is empty".to_owned());
    }
    if (to - from) / step >= i128::from(MAX_POINTS) {
        return Err(format!("more than {MAX_POINTS} points"));
    }
    let scale = 10i128.pow(most as u32);
    let written = |value: i128| {
        let sign = if value < 0 { "-" } else { "" };
        let (whole, fraction) = (value.abs() / scale, value.abs() % scale);
        let fraction = format!("{fraction:0most$}").trim_end_matches('0').to_owned();
        let point = if most == 0 || fraction.is_empty() { String::new() } else { format!(".{fraction}") };
        format!("{sign}{whole}{point}{unit}")
    };
    Ok((0..=(to - from) / step).map(|index| written(from + index * step)).collect())
}

/// The part of the points to compute: every `of`-th, from `index` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    /// How many shards there are.
    pub of: u64,
}

impl Shard {
    /// All points.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Reads `1/4`: the first of four.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> Result<Shard> {
        let wrong = || Error::Sweep(format!("--shard {text}: write it as 1/4, the first of four"));
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of): (u64, u64) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if index == 0 || index > of {
            return Err(wrong());
        }
        Ok(Shard { index: index - 1, of })
    }
}

/// A grid of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    axes: Vec<Axis>,
}

impl Sweep {
    /// A grid over these axes; without any it has one point.
    ///
    /// # Errors
    /// More than [`MAX_POINTS`] points, or the same axis twice.
    pub fn new(axes: Vec<Axis>) -> Result<Sweep> {
        let points = axes.iter().try_fold(1u64, |points, axis| points.checked_mul(axis.values.len() as u64));
        if points.is_none_or(|points| points > MAX_POINTS) {
            let points = axes.iter().map(|axis| axis.values.len().to_string()).collect::<Vec<_>>().join(" * ");
            return Err(Error::Sweep(format!("{points} points are too many: at most {MAX_POINTS}")));
        }
        for (index, axis) in axes.iter().enumerate() {
            if axes[..index].iter().any(|earlier| earlier.name == axis.name) {
                return Err(Error::Sweep(format!("{:?} is swept twice", axis.name)));
            }
        }
        Ok(Sweep { axes })
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).product()
    }

    /// The values at a point: the last axis varies fastest.
    pub fn values(&self, point: u64) -> Vec<i64> {
        self.axes.iter().zip(self.places(point)).map(|(axis, place)| axis.values[place]).collect()
    }

    /// The values at a point, as written.
    pub fn written(&self, point: u64) -> Vec<String> {
        self.axes.iter().zip(self.places(point)).map(|(axis, place)| axis.written(place)).collect()
    }

    /// On each axis, the place of a point's value.
    fn places(&self, point: u64) -> Vec<usize> {
        let mut rest = point;
        let mut places: Vec<usize> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let length = axis.values.len() as u64;
            places.push((rest % length) as usize);
            rest /= length;
        }
        places.reverse();
        places
    }

    /// The points of a shard, without those already `done`, in order.
    pub fn of_shard(&self, shard: Shard, done: &[u64]) -> Vec<u64> {
        let done: HashSet<u64> = done.iter().copied().collect();
        let own = (shard.index..self.points()).step_by(usize::try_from(shard.of).unwrap_or(usize::MAX));
        own.filter(|point| !done.contains(point)).collect()
    }

    /// Like [`Sweep::run`], for work that takes the point's number and gives nothing if it was ended.
    pub fn run_at<T: Send>(
        &self,
        points: &[u64],
        threads: usize,
        work: impl Fn(u64) -> Option<T> + Sync,
    ) -> Vec<(u64, T)> {
        let found = parallel::map(points.len(), threads, |index| Some((points[index], work(points[index])?)));
        found.into_iter().flatten().collect()
    }

    /// Computes these points on up to `threads` threads: pairs of point and result, in the order of `points`. `work`
    /// takes the point's values and must depend on nothing else; then the result does not depend on shards or threads
    /// either.
    pub fn run<T: Send>(&self, points: &[u64], threads: usize, work: impl Fn(&[i64]) -> T + Sync) -> Vec<(u64, T)> {
        parallel::map(points.len(), threads, |index| (points[index], work(&self.values(points[index]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shards_and_threads_change_nothing(lengths in prop::collection::vec(1..6usize, 1..4), of in 1..5u64, threads in 1..4usize) {
            let axes =
                lengths.iter().enumerate().map(|(index, &length)| Axis::whole(&index.to_string(), 0..length as i64)).collect();
            let sweep = Sweep::new(axes).unwrap();
            let all: Vec<u64> = (0..sweep.points()).collect();
            let whole = sweep.run(&all, 1, |values| values.to_vec());
            let mut parts = Vec::new();
            for index in 0..of {
                parts.extend(sweep.run(&sweep.of_shard(Shard { index, of }, &[]), threads, |values| values.to_vec()));
            }
            parts.sort();
            prop_assert_eq!(whole, parts);
        }
    }

    /// Looked for one after another, these would take hours.
    #[test]
    fn what_is_left_of_the_largest_sweep_is_found_at_once() {
        let sweep = Sweep::new(vec![Axis::whole("a", 0..1_000), Axis::whole("b", 0..1_000)]).unwrap();
        assert_eq!(sweep.points(), MAX_POINTS);
        let done: Vec<u64> = (0..MAX_POINTS).filter(|point| point % 500_000 != 7).collect();
        assert_eq!(sweep.of_shard(Shard::WHOLE, &done), [7, 500_007]);
        assert_eq!(sweep.of_shard(Shard::parse("2/2").unwrap(), &done), [7, 500_007]);
        assert!(sweep.of_shard(Shard::parse("1/2").unwrap(), &done).is_empty());
    }

    #[test]
    fn what_is_done_of_a_long_sweep_is_left_out_at_once() {
        let sweep = Sweep::new(vec![Axis::whole("a", 0..400_000)]).unwrap();
        let done: Vec<u64> = (0..sweep.points()).filter(|point| *point != 7).rev().collect();
        let began = std::time::Instant::now();
        assert_eq!(sweep.of_shard(Shard::WHOLE, &done), [7]);
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(sweep.of_shard(Shard { index: 0, of: 2 }, &done).is_empty());
    }

    #[test]
    fn axes_of_any_values_are_read() {
        let words = |text: &str| Axis::parse_any(text).unwrap().words;
        assert_eq!(words("q=20ms..60ms:20ms"), ["20ms", "40ms", "60ms"]);
        assert_eq!(words("d=0.5..1.25:0.25"), ["0.5", "0.75", "1", "1.25"]);
        assert_eq!(words("c=irq, dpc"), ["irq", "dpc"]);
        assert_eq!(words("p={ a = [1, 2] },{ b = 3 }"), ["{ a = [1, 2] }", "{ b = 3 }"]);
        assert_eq!(words("b=false,true"), ["false", "true"]);
        assert!(words("p=4..6").is_empty());
        let most = format!("q={}ms..{}ms:1ms", i128::MIN, i128::MAX);
        for text in ["q=20ms..60ms", "q=20ms..60us:1ms", "q=1.5..1:1", "q=", "q=a,,b", "q=1.5..2:0", "q=x..y:z", &most]
        {
            assert!(!Axis::parse_any(text).unwrap_err().to_string().contains('\n'), "{text}");
        }
    }

    #[test]
    fn axes_are_read_and_nonsense_is_refused() {
        assert_eq!(Axis::parse("period=4..20:8").unwrap().values, [4, 12, 20]);
        assert_eq!(Axis::parse("p=1,5").unwrap().values, [1, 5]);
        for text in ["period", "p=", "p=a..b", "p=5..1", "p=1..9:0", "p=0..1000000000"] {
            assert!(!Axis::parse(text).unwrap_err().to_string().contains('\n'), "{text}");
        }
        let big = |name: &str| Axis::parse(&format!("{name}=1..1000")).unwrap();
        let error = Sweep::new(vec![big("a"), big("b"), big("c")]).unwrap_err().to_string();
        assert!(error.contains("1000 * 1000 * 1000 points are too many"), "{error}");
        assert_eq!(Shard::parse("2/4").unwrap(), Shard { index: 1, of: 4 });
        for text in ["0/4", "5/4", "x", "1"] {
            assert!(Shard::parse(text).is_err());
        }
    }
}
