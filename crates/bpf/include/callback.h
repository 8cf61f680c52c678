/* SPDX-License-Identifier: GPL-2.0-only */
/* A softirq callback: a bpf_timer that an interrupt queues to be due at once. */
#ifndef PUNCTUAL_CALLBACK_H
#define PUNCTUAL_CALLBACK_H

#include "kernel.h"

#define CLOCK_MONOTONIC 1
/*
 * The callback runs on the CPU that queued it: from 6.7 on. Older kernels move a timer away from an idle CPU, but one
 * that is due at once only to a CPU whose own next timer is overdue: such callbacks are counted as `elsewhere`.
 */
#define BPF_F_TIMER_CPU_PIN (1ULL << 1)
/* For the trial: this long it does not expire, and it is cancelled at once. */
#define FAR_AWAY_NS 3600000000000ULL
#define INVALID_ARGUMENT (-22)

struct callback {
	struct bpf_timer timer;
	__u64 flags;		/* with which it is queued */
	__u32 cpu;		/* that queued it last */
	__u32 pad;
};

/* What became of callbacks; `callbacks.rs` of the kernel crate declares the same record. */
struct callback_counts {
	__u64 queued;
	__u64 ran;
	__u64 elsewhere;	/* ran on another CPU than the one whose interrupt queued them */
	__u64 refused;		/* the kernel did not queue them */
	__s64 error;		/* the last refusal, negative */
};

/*
 * Called from a program that user space runs before the first interrupt: timers cannot be made in an interrupt. Tries
 * out how this kernel takes the timer, so that a refusal is known before anything is measured.
 */
static __always_inline long prepare_callback(struct callback *callback, void *map, void *function)
{
	long error;

	if (!callback)
		return -2;
	error = bpf_timer_init(&callback->timer, map, CLOCK_MONOTONIC);
	if (error)
		return error;
	error = bpf_timer_set_callback(&callback->timer, function);
	if (error)
		return error;
	callback->flags = BPF_F_TIMER_CPU_PIN;
	error = bpf_timer_start(&callback->timer, FAR_AWAY_NS, BPF_F_TIMER_CPU_PIN);
	if (error == INVALID_ARGUMENT) {
		callback->flags = 0;
		error = bpf_timer_start(&callback->timer, FAR_AWAY_NS, 0);
	}
	if (error)
		return error;
	bpf_timer_cancel(&callback->timer);
	/* Cancelling takes the callback away. */
	return bpf_timer_set_callback(&callback->timer, function);
}

/* The map of a program's callbacks, as timers need it, and the preparation of one of them. */
#define CALLBACKS(count)                                                                            \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                   \
		__uint(max_entries, count);                                                         \
		__type(key, __u32);                                                                 \
		__type(value, struct callback);                                                     \
	} callbacks SEC(".maps");                                                                   \
                                                                                                    \
	static __always_inline long prepare_at(__u32 number, void *function)                        \
	{                                                                                           \
		return prepare_callback(bpf_map_lookup_elem(&callbacks, &number), &callbacks, function); \
	}

/* The callback runs when this interrupt ends; false where the kernel refuses it. */
static __always_inline bool queue_callback_as(struct callback *callback, struct callback_counts *counts, __u64 flags)
{
	long error;

	callback->cpu = bpf_get_smp_processor_id();
	error = bpf_timer_start(&callback->timer, 0, flags);
	if (error) {
		counts->error = error;
		__sync_fetch_and_add(&counts->refused, 1);
		return false;
	}
	__sync_fetch_and_add(&counts->queued, 1);
	return true;
}

static __always_inline void queue_callback(struct callback *callback, struct callback_counts *counts)
{
	if (callback)
		queue_callback_as(callback, counts, callback->flags);
}

/* The callback's first words. */
static __always_inline void begin_callback(struct callback *callback, struct callback_counts *counts)
{
	__sync_fetch_and_add(&counts->ran, 1);
	if (callback->cpu != bpf_get_smp_processor_id())
		__sync_fetch_and_add(&counts->elsewhere, 1);
}

#endif
