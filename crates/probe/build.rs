//! Compiles the BPF programs that follow a wakeup.

fn main() {
    punctual_bpf_build::compile(std::path::Path::new("src/bpf"), &["timer", "softirq"]);
}
