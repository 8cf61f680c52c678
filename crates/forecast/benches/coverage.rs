//! Prints the coverage table.
fn main() {}
