//! Compiles the BPF programs that follow a wakeup and, for benchmarks, an empty one and the parts of programs.

fn main() {
    punctual_bpf::compile(
        std::path::Path::new("src/bpf"),
        &[
            "timer",
            "softirq",
            "idle",
            "foreign",
            "foreign_without_atomics",
            "recorder",
            "log",
            "terminal",
            "toolkit",
            "empty",
            "helpers",
        ],
    );
}
