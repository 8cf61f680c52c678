/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work of a device is a user's own function, which is linked with these programs when they are loaded:
 * `own/link.rs`. The kernel verifies it on its own, for a block with any contents. `device/own_memory.rs` declares the
 * same record.
 */
#ifndef PUNCTUAL_DEVICE_OWN_H
#define PUNCTUAL_DEVICE_OWN_H

#define PUNCTUAL_DECLARES_ONLY
#include "punctual_work.h"

/* A block is one unit: the clock is read before each. */
#define UNITS_A_LOOK 1
#define DEVICE_UNIT() own_unit()
#define DEVICE_BLOCK(block_number) (own.block.number = (block_number))

#include "kernel.h"

struct own_work {
	struct punctual_block block;
	__u64 budget;		/* of a block, ns */
	__u64 done;		/* blocks for which it was called */
	__u64 over;		/* how many of these took longer than the budget */
	__u64 failed;		/* how many of these it said were not done */
	__u64 longest;		/* the longest that one took, ns */
};

struct own_work own SEC(".data.own") = {};

extern int punctual_work(struct punctual_block *block);

static __always_inline void own_unit(void);

#include "device.h"

static __always_inline void own_unit(void)
{
	__u64 steal = stolen_so_far(), interrupted = device.interrupted;
	__u64 took = bpf_ktime_get_ns(), away;

	if (punctual_work(&own.block))
		own.failed++;
	took = bpf_ktime_get_ns() - took;
	/* What the host or a timer's interrupt took does not count as its own. */
	away = stolen_so_far() - steal + device.interrupted - interrupted;
	took = took > away ? took - away : 0;
	own.done++;
	if (took > own.budget)
		own.over++;
	if (took > own.longest)
		own.longest = took;
}

#endif
