//! What is shown of a result, and what says it. One binary: each file would be linked by itself.

mod corpora;
mod palette;
mod verdicts;
