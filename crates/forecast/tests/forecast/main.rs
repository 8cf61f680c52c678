//! Forecasts of processes, recordings and sets of tasks. One binary: each file would be linked by itself.

mod loops;
mod paper_table;
mod processes;
mod recording;
mod sets;
