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

#define QAM_EACH(q, count, work) bpf_loop((count) & (2 * QAM_MAX_BANKS - 1), EACH_##work, NULL, 0)
#define QAM_PART(name) __attribute__((noinline)) int name(void)
#define QAM_BEGIN struct qam *q = &modem.pump;
#define QAM_END return 0;
#define QAM_CALL(name) name()

/* What a loop calls. */
#define CALLED(work)                                          \
	static long EACH_##work(__u32 index, void *context)   \
	{                                                     \
		work(&modem.pump, index);                     \
		return 0;                                     \
	}

QAM_INLINE void qam_collect_bit(struct qam *q, __u32 index);
QAM_INLINE void qam_hand_out_bit(struct qam *q, __u32 index);
QAM_INLINE void qam_echo_filter(struct qam *q, __u32 bank);
QAM_INLINE void qam_echo_learn(struct qam *q, __u32 bank);

CALLED(qam_collect_bit)
CALLED(qam_hand_out_bit)
CALLED(qam_echo_filter)
CALLED(qam_echo_learn)

#include "qam_step.h"

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
