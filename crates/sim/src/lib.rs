//! A simulated machine of the kind the Windows latency papers measured, deterministic to the picosecond.
//!
//! * [`machine`]: interrupts over deferred procedures over threads, under several schedulers; [`Engine`] runs one.
//! * [`experiment`]: experiments as TOML: a machine, what is measured, what the paper says.
//! * [`ledger`]: every table and figure of the papers beside the simulation ([`ledger::papers`]).
//! * [`modem`], [`ring`], [`link`]: a sampling device, the ring that its samples come through, and a file over it.
//! * [`whatif`], [`interference`]: a device on a machine like the measured one.
//! * [`recorded`]: wakeups for a recording, slices for a timeline.
//! * [`sweep`], [`swept`]: grids of questions, in shards, and their results. [`theory`]: what is known beforehand.
//!
//! Nothing here does I/O. Time is whole picoseconds, random numbers are whole numbers from a seed: a run is the
//! same everywhere.
//!
//! Two threads on one CPU, and what theory says of them:
//!
//! ```
//! use punctual_sim::Engine;
//! use punctual_sim::cost::Cost;
//! use punctual_sim::machine::{Activity, MachineSpec, Policy, ThreadSpec};
//! use punctual_sim::observe::Everything;
//! use punctual_sim::theory::{Task, response_times};
//! use punctual_sim::time::MILLISECOND;
//!
//! let tasks = [(2, 1), (10, 4)]
//!     .map(|(period, compute)| Task { period: period * MILLISECOND, compute: compute * MILLISECOND, deadline: period * MILLISECOND });
//! let threads = tasks.iter().zip([20, 10]).map(|(task, priority)| {
//!     let activity = Activity::Periodic { period: task.period, offset: 0 };
//!     ThreadSpec::new("task", Policy::Priority(priority), activity, Cost::constant(task.compute))
//! });
//! let mut seen = Everything::default();
//! Engine::new(MachineSpec { threads: threads.collect(), ..MachineSpec::default() })?.run(100 * MILLISECOND, &mut seen);
//!
//! let longest = seen.activations.iter().map(|activation| activation.response()).max();
//! assert_eq!(longest, Some(8 * MILLISECOND));
//! assert_eq!(response_times(&tasks)[1], longest);
//! # Ok::<(), punctual_sim::Error>(())
//! ```

#![forbid(unsafe_code)]

mod calendar;
pub mod cost;
mod error;
pub mod experiment;
pub mod interference;
pub mod ledger;
pub mod link;
pub mod machine;
pub mod modem;
pub mod observe;
mod parallel;
pub mod random;
pub mod recorded;
pub mod ring;
pub mod shipped;
pub mod sweep;
pub mod swept;
pub mod theory;
pub mod time;
pub mod watch;
pub mod whatif;

pub use error::{Error, Result};
pub use machine::Engine;
