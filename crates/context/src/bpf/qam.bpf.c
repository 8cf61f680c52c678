/* SPDX-License-Identifier: GPL-2.0-only */
/* The modem's datapump in the kernel: a block of samples at a call. `qam.rs` declares the same memory. */
#include "kernel.h"
#include "qam_echo.h"

#define QAM_BLOCK 512

struct modem {
	struct qam pump;
	__s16 received[QAM_BLOCK];
	__s16 sent[QAM_BLOCK];
};

struct modem modem;

static long filter_bank(__u32 bank, void *context)
{
	qam_echo_filter(&modem.pump, bank);
	return 0;
}

static long learn_bank(__u32 bank, void *context)
{
	qam_echo_learn(&modem.pump, bank);
	return 0;
}

#define EACH_qam_echo_filter filter_bank
#define EACH_qam_echo_learn learn_bank
#define QAM_EACH_BANK(q, work) bpf_loop((q)->banks & (2 * QAM_MAX_BANKS - 1), EACH_##work, NULL, 0)

#include "qam_step.h"

static long one_sample(__u32 index, void *context)
{
	__u32 place = index & (QAM_BLOCK - 1);

	modem.sent[place] = (__s16)qam_step(&modem.pump, modem.received[place]);
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
