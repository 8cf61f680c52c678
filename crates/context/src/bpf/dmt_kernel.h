/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The DSL modem's datapump for a BPF program, which says where its state is (DMT_STATE): loops are the kernel's, parts
 * are verified one by one.
 */
#ifndef PUNCTUAL_DMT_KERNEL_H
#define PUNCTUAL_DMT_KERNEL_H

#include "kernel.h"
#include "dmt.h"

#define DMT_EACH(d, count, work) bpf_loop((count) & (2 * DMT_SAMPLES - 1), EACH_##work, NULL, 0)
#define DMT_PART(name) __attribute__((noinline)) int name(void)
#define DMT_BEGIN struct dmt *d = DMT_STATE;
#define DMT_END return 0;
#define DMT_CALL(name) name()

/* What a loop calls. */
#define CALLED(work)                                          \
	static long EACH_##work(__u32 index, void *context)   \
	{                                                     \
		work(DMT_STATE, index);                        \
		return 0;                                     \
	}

DMT_INLINE void dmt_collect_bit(struct dmt *d, __u32 index);
DMT_INLINE void dmt_hand_out_bit(struct dmt *d, __u32 index);
DMT_INLINE void dmt_slice_bit(struct dmt *d, __u32 index);
DMT_INLINE void dmt_add_place(struct dmt *d, __u32 index);

CALLED(dmt_collect_bit)
CALLED(dmt_hand_out_bit)
CALLED(dmt_slice_bit)
CALLED(dmt_add_place)

#include "dmt_session.h"
#include "dmt_transform.h"

DMT_INLINE void dmt_stage_of_transform(struct dmt *d, __u32 stage);
DMT_INLINE void dmt_hear_sample(struct dmt *d, __u32 index);

CALLED(dmt_butterflies)
CALLED(dmt_stage_of_transform)
CALLED(dmt_send_tone)
CALLED(dmt_send_sample)
CALLED(dmt_echo_filter)
CALLED(dmt_echo_learn)
CALLED(dmt_hear_sample)
CALLED(dmt_forget_place)
CALLED(dmt_compare_place)
CALLED(dmt_forget_tone)
CALLED(dmt_forget_error)
CALLED(dmt_compare_tone)
CALLED(dmt_equalize_tone)
CALLED(dmt_measure_tone)
CALLED(dmt_adapt_tone)
CALLED(dmt_learn_tone)
CALLED(dmt_choose_bits)
CALLED(dmt_load_sample)
CALLED(dmt_receive_tone)

#include "dmt_step.h"

#endif
