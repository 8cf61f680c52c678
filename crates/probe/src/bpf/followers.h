/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs that follow threads see the same switches and wakings as the recorder. Where both are loaded, the
 * recorder's go on with theirs: that is a jump, where a second program at the tracepoint would be entered by itself, and
 * the kernel calls a program directly only if it is the only one there.
 */
#ifndef PUNCTUAL_FOLLOWERS_H
#define PUNCTUAL_FOLLOWERS_H

#include "seen_times.h"

#ifdef WITHOUT_FOLLOWERS
#define GO_ON(context, map, time) ((void)(time))
#else
/* A program that user space puts there; nothing happens without one. Kernels ask that it is for the same tracepoint as
 * the one that jumps, so each has a map of its own. */
#define PROGRAM_AFTER(name)                                                                                     \
	struct {                                                                                                \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                                          \
		__uint(max_entries, 1);                                                                         \
		__type(key, __u32);                                                                             \
		__type(value, __u32);                                                                           \
	} name SEC(".maps")

PROGRAM_AFTER(after_switch);
PROGRAM_AFTER(after_waking);

struct seen_times seen_times SEC(".maps");

/* Says when this CPU's event was; 0: not known. */
static __always_inline void say_when(__u64 time)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct seen_time *seen = bpf_map_lookup_elem(&seen_times, &cpu);

	if (seen)
		*(volatile __u64 *)&seen->at = time;
}

#define GO_ON(context, map, time)                                                                              \
	do {                                                                                                   \
		say_when(time);                                                                                \
		bpf_tail_call_static(context, &map, 0);                                                        \
	} while (0)
#endif

#endif
