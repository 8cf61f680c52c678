/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `terminal.bpf.c` writes and keeps: the records of its rings, what each thread is in the kernel for, which terminal and
 * which server are meant. `programs.rs` and `seen.rs` in `probe/src/terminal` declare the same.
 */
#ifndef PUNCTUAL_TERMINAL_RECORDS_H
#define PUNCTUAL_TERMINAL_RECORDS_H

#include "kernel.h"
#include "nesting.h"

#define RECORDS 16384
#define NAME_SIZE 16
#define MAX_OTHERS 4

/* Among the flags of a record. */
#define RAN_AND_SLEPT 1		/* it left its CPU to sleep, not to go on later */
#define SLEEPS_FOR_IO 2		/* ... for input or output that it waits for */
#define SLEEPS_FOR_INPUT 4	/* ... in a call that the terminal's input ends */
#define SLEEPS_FOR_SEVERAL 8	/* ... and it is not known whether it waits for the terminal among other things */
#define WAKER_IS_THERE 16	/* the waker is at the terminal */
#define WOKEN_IS_THERE 32	/* the woken thread is */
#define BY_INTERRUPT 64		/* no thread woke it, but what interrupted one */
#define WOKEN_IS_KERNELS 256	/* the woken thread belongs to the kernel */
#define TAKES_LINES 128		/* the terminal hands on whole lines */
#define OF_SERVER 512		/* the thread belongs to the display server */
#define TO_TERMINAL 1024	/* with a display: it writes to a terminal, which the kernel's own threads hand on */
#define WAKER_IS_KERNELS 2048	/* the waker belongs to the kernel */
#define TO_OTHERS 4096		/* the display server tells others than the typist */
#define INPUT_IS_THERE 8192	/* the kernel's worker has handed input on, and is not just beginning to */

/* One cache line. Times are ns of CLOCK_MONOTONIC. */
struct moment_record {
	__u64 sequence;		/* its position in the ring + 1, written last */
	__u64 at;
	__u64 begin;		/* of what took time */
	__u64 value;		/* bytes, and how far in the input; the thread that was woken; a call's time limit */
	__u32 tid;
	__u32 process;
	__u16 kind;
	__u16 flags;
	__u32 queued;		/* bytes that can be got */
	char name[NAME_SIZE];
};

struct moment_ring {
	struct moment_record records[RECORDS] __attribute__((aligned(64)));
	__u64 head;		/* records ever begun */
	__u64 since;		/* when the current thread was switched in, if it is at the terminal */
	__u64 pad[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct moment_ring);
} moment_rings SEC(".maps");

/* What a thread is in the kernel for. */
struct own_call {
	__u64 begin;
	__u64 limit;		/* when it ends by itself, ns; NO_LIMIT: never */
	__u32 kind;
	__u32 flags;
	__u64 socket;		/* the kernel's structure of the socket to the display, if it is for one */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct own_call);
} own_calls SEC(".maps");

/* Processes that are watched, if these and not their terminal define who is. Those that they start are added. */
#define MAX_WATCHED 1024
/* A power of two. */
#define WATCH_PLACES 4096

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WATCHED);
	__type(key, __u32);
	__type(value, __u32);
} watched_processes SEC(".maps");

struct terminal_state {
	/* The kernel's structure of the terminal; 0: not known yet. 1 if processes are watched. */
	__u64 terminal;
	/* Terminals that programs at it opened for others, as terminal emulators do. */
	__u64 others[MAX_OTHERS];
	__u64 count;
	/* The socket through which input last came. */
	__u64 socket;
	/* When the kernel's worker was last told that there is input. */
	__u64 told;
	/* If processes are watched, the socket over which the display's server reports what it has drawn. */
	__u64 listens;
	/* By the low bits of a process's number, whether it may be watched: set before it is, and never taken back. Nearly
	 * all threads of a machine are passed over by this alone. */
	__u8 may_be_watched[WATCH_PLACES];
};

struct terminal_configuration {
	struct nesting_place nesting;
	/* The process that types, by the kernel's number, and its descriptor of the terminal; if processes are
	 * watched, of the connection to the display's server. */
	__u64 own_process;
	__u64 own_descriptor;
	__u64 switch_tells_state;
	/* The process of the display server; 0: there is no display. */
	__u64 server;
	/* Whether processes are watched, and not whoever is at a terminal. */
	__u64 by_process;
};

struct terminal_state terminal_state;
const volatile struct terminal_configuration terminal_configuration = {};

#endif
