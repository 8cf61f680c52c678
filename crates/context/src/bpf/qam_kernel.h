/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modem's datapump for a BPF program: loops are the kernel's, parts are verified one by one. The program has the pump,
 * the samples that it receives and those that it sends in `modem`, and says how many there is room for (QAM_BLOCK, a
 * power of two).
 */
#ifndef PUNCTUAL_QAM_KERNEL_H
#define PUNCTUAL_QAM_KERNEL_H

#include "kernel.h"
#include "qam.h"

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

#endif
