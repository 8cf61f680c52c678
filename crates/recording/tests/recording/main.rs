//! Recordings written and read again, and what is found in them. One binary: each file would be linked by itself.

mod changed_policy;
mod context;
mod cycles;
mod directory;
mod doubtful_loops;
mod grids;
mod longest_cycle;
mod names;
mod own_directory;
mod spinning_loops;
mod without_sleep;
mod woken_by_others;
