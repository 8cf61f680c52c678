/* SPDX-License-Identifier: GPL-2.0-only */
/* The modem's datapump in the kernel: a block of samples per call. `modem.rs` declares the same memory. */
#include "kernel.h"
#include "qam.h"

#define QAM_BLOCK 512

struct modem {
	struct qam pump;
	__s16 received[QAM_BLOCK];
	__s16 sent[QAM_BLOCK];
};

struct modem modem;

#include "qam_kernel.h"

struct block {
	__u32 samples;
};

SEC("syscall")
int run_block(struct block *block)
{
	bpf_loop(block->samples, one_sample, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
