/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the drills in interrupt and softirq context share with user space; `kernel_burn.rs` declares the same records.
 */
#ifndef PUNCTUAL_DRILL_H
#define PUNCTUAL_DRILL_H

#include "burn.h"
#include "callback.h"
#include "interrupt.h"

/* One cache line for each CPU. Times are ns of CLOCK_MONOTONIC. */
struct shot {
	__u64 armed;		/* the number of the injection that the next interrupt makes; 0: none */
	__u64 length;
	__u64 taken;		/* of the injection in progress */
	__u64 start;
	__u64 end;
	__u64 done;		/* of the last one, written last */
	__u32 cpu;
	__u32 pad;
	__u64 spare;
};

struct drill {
	struct shot shots[MAX_CPUS] __attribute__((aligned(64)));
	struct interrupt_source sources[MAX_CPUS];
	struct callback_counts callbacks;
};

struct drill drill;

SEC("tp_btf/hrtimer_start")
int BPF_PROG(drill_source, struct hrtimer *timer, int mode)
{
	learn_interrupt(drill.sources, timer, mode);
	return 0;
}

/* The injection that this interrupt should make, if any: each is made once. */
static __always_inline struct shot *take_shot(struct hrtimer *timer, __u32 *cpu)
{
	struct shot *shot;
	__u64 armed;

	if (!is_interrupt(drill.sources, timer, cpu))
		return 0;
	shot = &drill.shots[*cpu & (MAX_CPUS - 1)];
	/* In one step: user space may be taking it back. */
	armed = __sync_lock_test_and_set(&shot->armed, 0);
	if (!armed)
		return 0;
	shot->taken = armed;
	return shot;
}

static __always_inline void make_injection(struct shot *shot)
{
	__u64 start = bpf_ktime_get_ns();

	shot->cpu = bpf_get_smp_processor_id();
	shot->start = start;
	shot->end = burn(start, shot->length);
	barrier();
	*(volatile __u64 *)&shot->done = shot->taken;
}

#endif
