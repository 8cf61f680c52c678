/* SPDX-License-Identifier: GPL-2.0-only */
/* A softirq callback: a bpf_timer that an interrupt queues to be due at once. */
#ifndef PUNCTUAL_CALLBACK_H
#define PUNCTUAL_CALLBACK_H

#include "kernel.h"

#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN (1ULL << 1)

struct callback {
	struct bpf_timer timer;
};

/* Called from a program that user space runs before the first interrupt: timers cannot be made in an interrupt. */
static __always_inline long prepare_callback(struct callback *callback, void *map, void *function)
{
	long error;

	if (!callback)
		return -2;
	error = bpf_timer_init(&callback->timer, map, CLOCK_MONOTONIC);
	if (error)
		return error;
	return bpf_timer_set_callback(&callback->timer, function);
}

/* The callback runs when this interrupt ends, on its CPU. */
static __always_inline void queue_callback(struct callback *callback)
{
	if (callback)
		bpf_timer_start(&callback->timer, 0, BPF_F_TIMER_CPU_PIN);
}

#endif
