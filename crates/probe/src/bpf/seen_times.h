/* SPDX-License-Identifier: GPL-2.0-only */
/* When the event was that a program of the recorder goes on with: whoever is jumped to need not read the clock again. */
#ifndef PUNCTUAL_SEEN_TIMES_H
#define PUNCTUAL_SEEN_TIMES_H

#include "kernel.h"

/* On a CPU beyond these, whoever is jumped to reads the clock. */
#define SEEN_CPUS 512

/* A cache line for each CPU. */
struct seen_time {
	__u64 at;		/* ns of CLOCK_MONOTONIC; 0: not known */
	__u64 pads[7];
};

/* Sizes, since the compiler does not describe the types of a map that is in another one. */
struct seen_times {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_CPUS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct seen_time));
};

#endif
