//! The page of `punctual report --html` in a headless browser: what it shows is what the recordings hold.

mod browser;
mod faults;
mod flames;
mod measured;
mod numbers;
mod recordings;
mod reserves;
mod studies;
#[path = "../support/mod.rs"]
mod support;
mod words;
