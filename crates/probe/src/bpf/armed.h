/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which thread armed a timer. Noted in a table of words as the thread arms it: arming a timer is common and costs one
 * store, asking who did is rare. A timer that finds its place taken takes it over: nothing is known of the other one
 * then.
 */
#ifndef PUNCTUAL_ARMED_H
#define PUNCTUAL_ARMED_H

#include "event_ring.h"

#define ARMED_BITS 16
/* Threads have numbers below 4,194,304. */
#define ARMER_BITS 22
#define ARMER_MASK ((1ULL << ARMER_BITS) - 1)

/* A timer's address, mixed: the upper bits are the place in the table, those below tell apart the timers that share
 * it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ARMED_BITS);
	__type(key, __u32);
	__type(value, __u64);
} armed SEC(".maps");

static __always_inline __u64 mixed(__u64 timer)
{
	return (timer >> 3) * 0x9e3779b97f4a7c15ULL;
}

static __always_inline __u64 *place_of_timer(__u64 mixed)
{
	__u32 place = mixed >> (64 - ARMED_BITS);

	return bpf_map_lookup_elem(&armed, &place);
}

static __always_inline __u64 mark_of_timer(__u64 mixed)
{
	return mixed << ARMED_BITS & ~ARMER_MASK;
}

/* The thread that armed a timer whose address is in memory; 0: not known. */
static __always_inline __u32 armer_of(const __u64 *timer)
{
	__u64 key = mixed(*(volatile const __u64 *)timer);
	__u64 *place = place_of_timer(key);
	__u64 word = place ? *(volatile __u64 *)place : 0;

	return (word & ~ARMER_MASK) == mark_of_timer(key) ? word & ARMER_MASK : 0;
}

static __always_inline int note_armed(__u64 timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ring *ring = own_ring();
	__u64 key = mixed(timer);
	__u64 *place = place_of_timer(key);

	if (!ring || !place || !recorder_configuration.nesting.offset)
		return 0;
	if (!(nesting(task) & (HARDIRQ_MASK | NMI_MASK | IN_SOFTIRQ))) {
		*(volatile __u64 *)place = mark_of_timer(key) | task->pid;
		return 0;
	}
	/* If it arms itself anew, whoever armed it first; otherwise the interrupt, and not the thread that it
	 * interrupted. */
	if (timer != ring->open.expired[0] && timer != ring->open.expired[1] &&
	    (*place & ~ARMER_MASK) == mark_of_timer(key))
		*(volatile __u64 *)place = 0;
	return 0;
}

/* With plain words as arguments: kernels let nobody compute with an address that has a type. */
SEC("?raw_tp/hrtimer_start")
int BPF_PROG(hrtimer_armed, __u64 timer)
{
	return note_armed(timer);
}

SEC("?raw_tp/timer_start")
int BPF_PROG(callback_armed, __u64 timer)
{
	return note_armed(timer);
}

#endif
