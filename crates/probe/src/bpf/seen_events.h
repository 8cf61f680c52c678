/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program of the recorder knows of an event, for the one that it goes on with: that one need not read the clock again,
 * nor ask what the thread waits for. */
#ifndef PUNCTUAL_SEEN_EVENTS_H
#define PUNCTUAL_SEEN_EVENTS_H

#include "kernel.h"

/* On a CPU beyond these, whoever is jumped to reads the clock. */
#define SEEN_CPUS 512
/* It has to be found out. */
#define NOT_TOLD (~0ULL)

/* A cache line for each CPU. */
struct seen_event {
	__u64 at;		/* ns of CLOCK_MONOTONIC; 0: not known, nor is the rest */
	__u64 told;		/* of a waking what `how_woken` tells without all waits, of a switch whether the thread that leaves
				 * sleeps for a lock of its program */
	__u64 pads[6];
};

/* Sizes, since the compiler does not describe the types of a map that is in another one. */
struct seen_events {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_CPUS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct seen_event));
};

#endif
