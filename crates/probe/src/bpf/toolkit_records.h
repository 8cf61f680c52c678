/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `toolkit.bpf.c` writes: the records of its rings. `probe/src/toolkit/programs.rs` declares the same.
 */
#ifndef PUNCTUAL_TOOLKIT_RECORDS_H
#define PUNCTUAL_TOOLKIT_RECORDS_H

#include "kernel.h"

#define EVENTS 2048
#define WORD_SIZE 40

/* A type that could not be read: its page was not there. */
#define UNREADABLE (-2147483647 - 1)

/* Which function was called. */
#define GTK2 1
#define GTK3 2
#define GTK4 3
#define QT5 4
#define QT6 5
#define XT 6
#define WAYLAND 7

/* Two cache lines. The time is ns of CLOCK_MONOTONIC. */
struct event_record {
	__u64 sequence;			/* its position in the ring + 1, written last */
	__u64 at;
	__u32 tid;
	__u32 process;
	__u32 function;
	__s32 number;			/* the toolkit's number of the event */
	__u32 pad[4];
	char interface[WORD_SIZE];	/* with Wayland, what the event belongs to, and its name */
	char event[WORD_SIZE];
};

struct event_ring {
	struct event_record records[EVENTS] __attribute__((aligned(64)));
	__u64 head;			/* records ever begun */
	__u64 pad[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_ring);
} event_rings SEC(".maps");

#endif
