//! What commands answer without measuring anything: to recordings, files and words. One binary: each file would be linked by
//! itself.

mod bombs;
mod bombs_structure;
mod bombs_tables;
mod compare;
mod compare_causes;
mod compare_inputs;
mod compare_loads;
mod forecast;
mod foreign_places;
mod help;
mod injection;
mod loops;
mod modem;
mod modem_line;
mod never_slept;
#[path = "../support/preempted.rs"]
mod preempted;
mod report_devices;
mod report_inputs;
mod scripts;
mod sim;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod terminal;
mod traces;
mod verdict_words;
mod why;
mod width;
