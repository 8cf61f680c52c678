//! What this project is made of: its crates, their rooms and its pages. One binary: each file would be linked by itself.

mod circles;
mod pages;
mod rooms;
