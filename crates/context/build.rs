//! Compiles the BPF programs that are the interrupts and softirq callbacks.

use std::path::Path;

fn main() {
    let directory = Path::new("src/bpf");
    punctual_bpf::compile(directory, &["drill_irq", "drill_softirq", "drill_irq_off", "rialto"]);
    // The work of a device is the same source for the processor and for BPF.
    let pump = Path::new("../datapump/src/c");
    let programs = ["device_irq", "device_softirq", "device_irq_dmt", "device_softirq_dmt", "qam", "dmt", "gfsk"];
    punctual_bpf::compile_with(directory, &[pump], &programs);
}
