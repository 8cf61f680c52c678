//! Compiles the BPF programs that are the interrupts and softirq callbacks.

use std::path::Path;

fn main() {
    let directory = Path::new("src/bpf");
    punctual_bpf::compile(directory, &["drill_irq", "drill_softirq", "drill_irq_off", "rialto"]);
    // The processor and BPF share one source for a device's work.
    let pump = Path::new("../datapump/src/c");
    let devices = ["device_irq", "device_softirq", "device_irq_dmt", "device_softirq_dmt"];
    let modems = ["qam", "modem_irq", "modem_softirq"];
    let radios = ["device_irq_gfsk", "device_softirq_gfsk", "device_irq_dsss", "device_softirq_dsss"];
    let programs = [&devices[..], &modems[..], &radios[..], &["dmt", "gfsk", "dsss"][..]].concat();
    punctual_bpf::compile_with(directory, &[pump], &programs);
    // What users include is what these programs declare.
    let shipped = Path::new("../../include");
    punctual_bpf::compile_with(directory, &[pump, shipped], &["device_irq_own", "device_softirq_own"]);
}
