/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modem's datapump for a BPF program, which says where its state is (QAM_STATE): loops are the kernel's, parts are
 * verified one by one.
 */
#ifndef PUNCTUAL_QAM_KERNEL_H
#define PUNCTUAL_QAM_KERNEL_H

#include "kernel.h"
#include "qam.h"

#define QAM_EACH(q, count, work) bpf_loop((count) & (2 * QAM_MAX_BANKS - 1), EACH_##work, NULL, 0)
#define QAM_PART(name) __attribute__((noinline)) int name(void)
#define QAM_BEGIN struct qam *q = QAM_STATE;
#define QAM_END return 0;
#define QAM_CALL(name) name()

/* What a loop calls. */
#define CALLED(work)                                          \
	static long EACH_##work(__u32 index, void *context)   \
	{                                                     \
		work(QAM_STATE, index);                       \
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

#endif
