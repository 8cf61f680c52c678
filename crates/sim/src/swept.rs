//! The result of a what-if at a point of a grid.

use crate::whatif::Answer;

/// The result at one point. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Which point of the grid.
    pub number: u64,
    /// The result; `None` if no such machine can exist.
    pub outcome: Option<Outcome>,
}

/// The result if the machine is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Activations that were settled.
    pub activations: u64,
    /// Of those, not done in time.
    pub misses: u64,
    /// The most that were pending at one time.
    pub pending_max: u64,
    /// From due to start: the median.
    pub latency_p50_ns: u64,
    /// From due to start: the longest.
    pub latency_max_ns: u64,
    /// From due to done: the longest.
    pub response_max_ns: u64,
    /// The device's share of the CPU, millionths.
    pub device_ppm: u64,
}

impl Outcome {
    /// The numbers of an answer.
    pub fn of(answer: &Answer) -> Outcome {
        Outcome {
            activations: answer.activations,
            misses: answer.misses,
            pending_max: answer.pending_max,
            latency_p50_ns: answer.latency.quantile(0.5).unwrap_or(0),
            latency_max_ns: answer.latency.max().unwrap_or(0),
            response_max_ns: answer.response.max().unwrap_or(0),
            device_ppm: (answer.shares[0] * 1e6).round() as u64,
        }
    }

    /// As a row of numbers, in the order of the fields.
    pub fn numbers(&self) -> [u64; 7] {
        [
            self.activations,
            self.misses,
            self.pending_max,
            self.latency_p50_ns,
            self.latency_max_ns,
            self.response_max_ns,
            self.device_ppm,
        ]
    }

    /// From a row of numbers, in the order of the fields.
    pub fn from_numbers(numbers: [u64; 7]) -> Outcome {
        let [activations, misses, pending_max, latency_p50_ns, latency_max_ns, response_max_ns, device_ppm] = numbers;
        Outcome { activations, misses, pending_max, latency_p50_ns, latency_max_ns, response_max_ns, device_ppm }
    }
}
