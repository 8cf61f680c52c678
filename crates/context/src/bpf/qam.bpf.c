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

#define QAM_STATE (&modem.pump)
#include "qam_kernel.h"

static long one_sample(__u32 index, void *context)
{
	__u32 place = index & (QAM_BLOCK - 1);

	modem.pump.received = modem.received[place];
	qam_step();
	modem.sent[place] = (__s16)modem.pump.sent;
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
