//! Compiles the datapump for this processor.

fn main() {
    let directory = std::path::Path::new("src/c");
    println!("cargo:rerun-if-changed={}", directory.display());
    // Optimized in every profile: a debug build's pump would be an order of magnitude slower than that of BPF.
    cc::Build::new()
        .file(directory.join("native.c"))
        .file(directory.join("qam_native.c"))
        .file(directory.join("dmt_native.c"))
        .file(directory.join("gfsk_native.c"))
        .file(directory.join("dsss_native.c"))
        .file(directory.join("decode_native.c"))
        .opt_level(2)
        .flag_if_supported("-ffreestanding")
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        .compile("punctual_datapump");
}
