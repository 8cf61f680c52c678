/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the CPU for a time, by the clock. It ends by itself whatever happens to user space: at the time asked for, at
 * the longest that is allowed, and at the latest when the loop has run out of steps.
 */
#ifndef PUNCTUAL_BURN_H
#define PUNCTUAL_BURN_H

#include "kernel.h"

#define MAX_BURN_NS 50000000ULL
/* The most that the kernel allows. A step, which reads the clock, takes more than 10 ns. */
#define BURN_STEPS (1 << 23)

struct burning {
	__u64 until;
	__u64 now;
};

static long burn_step(__u32 step, struct burning *burning)
{
	burning->now = bpf_ktime_get_ns();
	return burning->now >= burning->until;
}

/* Returns when it ended. */
static __always_inline __u64 burn(__u64 start, __u64 length)
{
	struct burning burning = {};

	if (length > MAX_BURN_NS)
		length = MAX_BURN_NS;
	burning.until = start + length;
	burning.now = start;
	bpf_loop(BURN_STEPS, burn_step, &burning, 0);
	return burning.now;
}

#endif
