/* SPDX-License-Identifier: GPL-2.0-only */
/* The Bluetooth receiver in the kernel: a block of samples at a call. `radio.rs` declares the same memory. */
#include "kernel.h"
#include "gfsk.h"

#define BLOCK 256

struct radio {
	struct gfsk state;
	__s16 samples[2 * BLOCK];
};

struct radio radio;

static long one_sample(__u32 index, void *context)
{
	__u32 place = 2 * (index & (BLOCK - 1));

	gfsk_sample(&radio.state, radio.samples[place], radio.samples[place + 1]);
	return 0;
}

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
