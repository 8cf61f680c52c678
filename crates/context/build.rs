//! Compiles the BPF programs that are the interrupts and softirq callbacks.

fn main() {
    // The kernel's types are declared once, where the probe's programs use them too.
    println!("cargo:rerun-if-changed=../probe/src/bpf/kernel.h");
    println!("cargo:rerun-if-changed=../probe/src/bpf/steal.h");
    println!("cargo:rerun-if-changed=../probe/src/bpf/callback.h");
    println!("cargo:rerun-if-changed=../datapump/src/c");
    let directory = std::path::Path::new("src/bpf");
    punctual_bpf_build::compile(directory, &["drill_irq", "drill_softirq", "drill_irq_off"]);
    punctual_bpf_build::compile(directory, &["device_irq", "device_softirq"]);
}
