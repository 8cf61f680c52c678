//! Measures how late wakeups run.
