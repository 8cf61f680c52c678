//! Compiles the BPF programs that follow a wakeup, and an empty one for the benchmark to compare with.

fn main() {
    punctual_bpf::compile(
        std::path::Path::new("src/bpf"),
        &["timer", "softirq", "idle", "foreign", "foreign_without_atomics", "recorder", "log", "terminal", "empty"],
    );
}
