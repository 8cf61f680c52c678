/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which threads are followed, what is known of each, and the records handed to user space.
 * User space maps all of it; `followed/records.rs` declares the same records, and a test holds the two together.
 */
#ifndef PUNCTUAL_FOLLOWED_H
#define PUNCTUAL_FOLLOWED_H

#include "codes.h"
#include "nesting.h"
#include "ordered.h"
#include "seen_events.h"

#define MAX_FOLLOWED 4096
#define FOLLOWED_INDEX_SIZE 16384
#define FOLLOWED_PROBES 16
#define ALLOCATION_TRIES 64
#define RECORDS 16384
#define MAX_CPUS 512
#define RENAMES 4096
#define NAME_SIZE 16

/* How a thread came to be followed, and which of its children are. */
enum follow_flag {
	FOLLOW_THREADS = 1,	/* new threads of its process too */
	FOLLOW_CHILDREN = 2,	/* everything it starts too */
	FOLLOW_NAME = 4,	/* for its name: so are children that begin with the same one */
	FOLLOW_NO_MORE = 8,	/* user space does not want it any more */
};

enum waker_kind {
	WAKER_NONE = 0,
	WAKER_TIMER = 1,	/* id: one of `enum timer_use` */
	WAKER_VECTOR = 2,	/* id: one of `enum vector` */
	WAKER_DEVICE = 3,	/* id: the interrupt's number; name: its handler's */
	WAKER_SOFTIRQ = 4,	/* id: the softirq's number, and SENT_HERE */
	WAKER_THREAD = 5,	/* id: thread id; name: the thread's */
};

/* For a waker that is a softirq: the thread in which it ran was sending something. */
#define SENT_HERE (1U << 31)

enum timer_use {
	TIMER_SLEEP = 1,
	TIMER_FD = 2,
	TIMER_POSIX = 3,
	TIMER_INTERVAL = 4,
};

/* What woke a thread. Times are ns of CLOCK_MONOTONIC; 0: not known. */
struct wake {
	__u64 waking;		/* it was made runnable; written last */
	__u64 began;		/* what is known of the wakeup begins here */
	__u64 irq;		/* its timer's handler */
	__u32 kind;
	__u32 id;
	char name[NAME_SIZE];
};

enum thread_state {
	STATE_RUNS = 0,		/* or is ready to */
	STATE_BLOCKED = 1,
};

/* What keeps a thread that was switched in from reaching its program. */
enum held {
	HELD_NOT = 0,
	HELD_SOON = 1,		/* its group is out of quota, or it is to stop: it may be taken off on its way out of the kernel */
	HELD_OFF = 2,		/* it was taken off there, and has yet to reach its program */
};

struct followed {
	__u64 owner;		/* thread id; 0: this slot is free */
	__u32 flags;
	__u32 state;
	__u64 on_cpu_since;	/* 0: it is not on a CPU */
	__u64 executed;		/* CPU time since it was woken, ns */
	__u32 unobserved;	/* wakeups since the last record that cannot be told */
	__u32 lost;		/* records since the last one for which there was no room */
	__u64 switch_in;	/* of the wakeup it works on; 0: none */
	__u32 cpu;		/* where that was */
	__u32 held;		/* one of `enum held` */
	struct wake pending;	/* what woke it last */
	struct wake current;	/* what woke it for the work it is doing */
	__u64 doubtful_word;	/* a word that may be no lock, though its value is that of one */
	__u64 doubts;		/* how often in a row it had a value that no lock has */
	__u64 series;		/* how often in a row it slept for that word and for nothing else, but within its work, ... */
	__u64 series_since;	/* ... and since when */
	__u64 pads[1];
};

enum record_flag {
	RECORD_ENDED = 1,	/* the thread is gone */
	RECORD_NO_WAKEUP = 2,	/* only counts and the end are told */
	RECORD_BY_NAME = 4,	/* it is followed for its name */
	RECORD_WITHIN_WORK = 8,	/* it sleeps for a lock, a page, input or output, and goes on afterwards */
};

/* Two cache lines: one finished wakeup. */
struct record {
	struct wake wake;
	__u64 switch_in;
	__u64 switch_out;	/* 0: not seen */
	__u64 executed;
	__u64 at;		/* when this was written */
	__u32 tid;
	__u32 process;
	__u32 cpu;
	__u32 flags;
	__u16 policy;
	__u16 priority;
	__u16 unobserved;
	__u16 lost;
	char name[NAME_SIZE];
	__u32 place;		/* where in its program it waits now, see `place_of`; 0: not known */
	__u32 call;		/* what it has called the kernel for, one of `enum call`; 0: not known */
};

/* One for each CPU. Only its own scheduler writes, with interrupts off, and never over what nobody has read. */
struct records {
	struct record records[RECORDS];
	__u64 head;		/* records ever written */
	__u64 lost;		/* for which there was no room */
	__u64 pads[6];
	__u64 read;		/* records that user space has read */
	__u64 more_pads[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* user space sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct records);
} rings SEC(".maps");

/* A thread that is not followed takes a new name. */
struct rename {
	__u64 sequence;		/* its position + 1, written last */
	__u32 tid;
	__u32 process;
	char name[NAME_SIZE];
};

/* What a CPU is doing besides its thread. */
struct context {
	__u64 irq_began;
	__u64 action;		/* the device's handler */
	__u64 softirq_began;
	__u64 timer_due;
	__u64 timer_began;
	__u32 irq_kind;		/* of the interrupt; 0: none */
	__u32 irq_id;
	__u32 softirq;		/* its number + 1; 0: none */
	__u32 softirq_thread;	/* in which it runs */
	__u32 timer_use;	/* of the timer whose handler runs; 0: none */
	__u32 timer_for;	/* the thread that it wakes; 0: whichever that is */
};

struct threads {
	struct followed followed[MAX_FOLLOWED] __attribute__((aligned(64)));
	/* Thread id << 32 | slot + 1; 0: empty, where a search ends; GONE: the search goes on. */
	__u64 index[FOLLOWED_INDEX_SIZE];
	struct context contexts[MAX_CPUS];
	struct rename renames[RENAMES];
	__u64 renamed;		/* renames ever noted */
	__u64 next;		/* where the search for the next free slot begins */
	__u64 alive;		/* threads followed now */
	__u64 without_room;	/* threads that should have been followed */
	__u64 pads[4];
};

/*
 * Kernels before 5.12 have no atomic operations that return a value. There, two programs that change the same word at
 * the same instant on two CPUs may undo each other's change: a thread that begins then may not be followed.
 */
#ifdef WITHOUT_ATOMICS
static __always_inline __u64 swap_if(__u64 *word, __u64 before, __u64 after)
{
	__u64 found = *(volatile __u64 *)word;

	if (found == before)
		*(volatile __u64 *)word = after;
	return found;
}

static __always_inline __u64 count_up(__u64 *word)
{
	__u64 before = *(volatile __u64 *)word;

	__sync_fetch_and_add(word, 1);
	return before;
}

#define ADD_IN_ORDER(word, amount) __sync_fetch_and_add(word, amount)
#else
#define swap_if(word, before, after) __sync_val_compare_and_swap(word, before, after)
#define count_up(word) __sync_fetch_and_add(word, 1)
#define ADD_IN_ORDER(word, amount) ordered_add(word, amount)
#endif

/* No thread has the id in its upper half. */
#define GONE (~0ULL)

/* What threads' timers call: functions whose addresses are in the configuration. */
enum timer_function {
	CALLS_SLEEPER,
	CALLS_TIMERFD,
	CALLS_POSIX_TIMER,
	CALLS_INTERVAL_TIMER,
};

struct follow_configuration {
	struct nesting_place nesting;
	__u64 names_wanted;	/* whether renames are told */
	__u64 switch_tells_state;	/* see `left_state` */
	__u64 places_wanted;	/* whether records tell where a thread waits */
	__u64 timers[4];	/* by `enum timer_function`; 0: not known */
	/* Whoever takes this name is followed with everything it starts; empty: nobody. */
	char mark[NAME_SIZE];
};

/* The recorder's, if its programs go on with these. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct seen_events);
} recorders_events SEC(".maps");

struct threads threads;
const volatile struct follow_configuration follow_configuration = {};

/* When the event was that a program runs for, ns; now, if the recorder does not say. `told` gets what it says of that. */
static __always_inline __u64 time_of_event(__u64 *told)
{
	__u32 first = 0, cpu = bpf_get_smp_processor_id();
	void *events = bpf_map_lookup_elem(&recorders_events, &first);
	struct seen_event *seen = events ? bpf_map_lookup_elem(events, &cpu) : 0;
	__u64 at = seen ? *(volatile __u64 *)&seen->at : 0;

	*told = at ? *(volatile __u64 *)&seen->told : NOT_TOLD;
	return at ? at : bpf_ktime_get_ns();
}

static __always_inline struct followed *find_followed(__u32 tid)
{
	for (__u32 probe = 0; probe < FOLLOWED_PROBES; probe++) {
		__u64 cell = threads.index[(tid + probe) & (FOLLOWED_INDEX_SIZE - 1)];

		if (!cell)
			return 0;
		if (cell >> 32 == tid)
			return &threads.followed[((__u32)cell - 1) & (MAX_FOLLOWED - 1)];
	}
	return 0;
}

/* Empties the cell that leads to a thread, in such a way that later cells are still found, and then its slot. */
static __always_inline void forget_thread(struct followed *thread, __u32 tid)
{
	for (__u32 probe = 0; probe < FOLLOWED_PROBES; probe++) {
		__u32 position = (tid + probe) & (FOLLOWED_INDEX_SIZE - 1);
		__u64 cell = threads.index[position];

		if (!cell)
			break;
		if (cell >> 32 == tid) {
			__u64 next = threads.index[(position + 1) & (FOLLOWED_INDEX_SIZE - 1)];

			swap_if(&threads.index[position], cell, next ? GONE : 0);
			break;
		}
	}
	__sync_fetch_and_add(&threads.alive, -1);
	thread->owner = 0;
}

/* A thread that runs, or is about to for the first time. User space does the same for the threads that it finds. */
static __noinline int follow_thread(__u32 tid, __u32 flags)
{
	struct followed *thread = 0;
	__u32 number = 0;
	__u64 start;

	if (find_followed(tid))
		return 0;
	start = count_up(&threads.next);
	for (__u32 try = 0; try < ALLOCATION_TRIES; try++) {
		number = (start + try) & (MAX_FOLLOWED - 1);
		if (!threads.followed[number].owner &&
		    !swap_if(&threads.followed[number].owner, 0, (__u64)tid)) {
			thread = &threads.followed[number];
			break;
		}
	}
	if (!thread) {
		__sync_fetch_and_add(&threads.without_room, 1);
		return 0;
	}
	thread->flags = flags;
	thread->state = STATE_RUNS;
	thread->on_cpu_since = 0;
	thread->executed = 0;
	thread->unobserved = 0;
	thread->lost = 0;
	thread->switch_in = 0;
	thread->doubts = 0;
	thread->series = 0;
	thread->held = HELD_NOT;
	thread->pending.waking = 0;
	for (__u32 probe = 0; probe < FOLLOWED_PROBES; probe++) {
		__u32 position = (tid + probe) & (FOLLOWED_INDEX_SIZE - 1);
		__u64 cell = threads.index[position];

		if ((!cell || cell == GONE) &&
		    swap_if(&threads.index[position], cell, (__u64)tid << 32 | (number + 1)) == cell) {
			__sync_fetch_and_add(&threads.alive, 1);
			return 0;
		}
	}
	thread->owner = 0;
	__sync_fetch_and_add(&threads.without_room, 1);
	return 0;
}

#endif
