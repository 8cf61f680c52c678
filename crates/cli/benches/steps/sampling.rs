//! The interrupts of the sampling clock, at which nothing is done.

use perf_event_open_sys::bindings;
use punctual_kernel::{cpus, performance_event};
use std::os::fd::OwnedFd;

/// A clock on each CPU, until it is dropped. Without a program and without a buffer, a sample goes nowhere: no sampling of a CPU by
/// this clock costs less.
pub(crate) struct Clock {
    _events: Vec<OwnedFd>,
}

impl Clock {
    /// So many interrupts a second on each CPU.
    pub(crate) fn start(rate: u64) -> Clock {
        let on = |cpu| {
            let mut attributes = bindings::perf_event_attr {
                type_: bindings::PERF_TYPE_SOFTWARE,
                config: bindings::PERF_COUNT_SW_CPU_CLOCK.into(),
                ..Default::default()
            };
            attributes.__bindgen_anon_1.sample_freq = rate;
            attributes.set_freq(1);
            attributes.set_exclude_idle(1);
            performance_event::open(attributes, cpu, "the sampling clock of").expect("a clock")
        };
        Clock { _events: cpus::online().into_iter().map(on).collect() }
    }
}
