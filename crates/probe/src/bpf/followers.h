/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs that follow threads see the same switches and wakings as the recorder. Where both are loaded, the
 * recorder's go on with theirs: that is a jump, where a second program at the tracepoint would be entered by itself, and
 * the kernel calls a program directly only if it is the only one there.
 */
#ifndef PUNCTUAL_FOLLOWERS_H
#define PUNCTUAL_FOLLOWERS_H

#include "kernel.h"

#ifdef WITHOUT_FOLLOWERS
#define GO_ON(context, map)
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

#define GO_ON(context, map) bpf_tail_call_static(context, &map, 0)
#endif

#endif
