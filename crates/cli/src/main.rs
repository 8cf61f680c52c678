//! punctual
fn main() {}
