/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs that follow threads see the same switches, wakings and interrupts as the recorder, and those that stamp
 * wakeups (`slots.h`) the same switches and wakings. Where both are loaded, the recorder's go on with theirs: that is a
 * jump, where a second program at the tracepoint would be entered by itself, and the kernel calls a program directly only
 * if it is the only one there. Not where interrupts are on, as in softirqs: a program that interrupts itself is skipped,
 * and then both would be.
 */
#ifndef PUNCTUAL_FOLLOWERS_H
#define PUNCTUAL_FOLLOWERS_H

#include "seen_events.h"

#ifdef WITHOUT_FOLLOWERS
#define PROGRAM_AFTER(program) struct nothing_after_##program
#define GO_ON(context, program)
#define say_seen(time, told) ((void)(time), (void)(told))
#else
/* What comes after a program, if user space puts anything there. Kernels ask that it is for the same tracepoint, so each
 * has a map of its own. */
#define PROGRAM_AFTER(program)                                                                                  \
	struct {                                                                                                \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                                          \
		__uint(max_entries, 1);                                                                         \
		__type(key, __u32);                                                                             \
		__type(value, __u32);                                                                           \
	} after_##program SEC(".maps")

struct seen_events seen_events SEC(".maps");

/* Says when this CPU's event was, 0: not known, and what it tells. Only where what is jumped to asks: it must not get an
 * earlier event's. */
static __always_inline void say_seen(__u64 time, __u64 told)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct seen_event *seen = bpf_map_lookup_elem(&seen_events, &cpu);

	if (!seen)
		return;
	*(volatile __u64 *)&seen->at = time;
	*(volatile __u64 *)&seen->told = told;
}

/* The last words of that program. The compiler does not know that another reads memory after the jump: hence the barrier. */
#define GO_ON(context, program)                                     \
	do {                                                        \
		barrier();                                          \
		bpf_tail_call_static(context, &after_##program, 0); \
	} while (0)
#endif

#endif
