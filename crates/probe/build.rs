//! Compiles the BPF programs that follow a wakeup and, for benchmarks, an empty one, the parts of programs, and the
//! least that programs can be.

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
            "bare",
            "least",
            "bare_wakeup",
            "least_wakeup",
        ],
    );
}
