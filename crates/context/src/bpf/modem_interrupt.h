/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A modem's datapump in an interrupt, or in the softirq callback that it queues. User space hands in a block of received
 * samples before its interrupt comes, and takes what was made of it afterwards; in between the pump is the program's.
 * `modem/interrupt.rs` declares the same memory.
 *
 * It is no device of device.h: inside a device's loops the pump would be called nine functions deep, and the kernel
 * takes eight.
 */
#ifndef PUNCTUAL_MODEM_INTERRUPT_H
#define PUNCTUAL_MODEM_INTERRUPT_H

#include "burn.h"
#include "callback.h"
#include "interrupt.h"
#include "ordered.h"
#include "qam.h"

#define QAM_BLOCK 128
/* User space says at least this often that it is alive. */
#define HEARTBEAT_NS 800000000ULL

struct modem {
	struct interrupt_source sources[MAX_CPUS];
	__u64 heartbeat;	/* when user space was last alive */
	__u64 interrupts;	/* that came */
	__u64 deaf;		/* that did nothing because user space was gone */
	__u64 empty;		/* that found no block */
	__u64 looked;		/* times that a program looked for a block */
	__u64 last_due;		/* when the newest was due, ns of CLOCK_MONOTONIC */
	__u64 given;		/* blocks that were handed in */
	__u64 made;		/* of these, those that were worked on */
	__u64 began;		/* work on the newest of them */
	__u64 computed;		/* its samples were done */
	__u64 ended;		/* and so was what fills up its time */
	__u64 least;		/* so long a block takes at least, ns */
	struct callback_counts callbacks;
	__u32 samples;		/* in the block; one without any only takes its time */
	__u32 pad;
	__s16 received[QAM_BLOCK];
	__s16 sent[QAM_BLOCK];
	struct qam pump;
};

struct modem modem;

#include "qam_kernel.h"

static __always_inline void work_on_block(void)
{
	modem.began = bpf_ktime_get_ns();
	bpf_loop(modem.samples & (2 * QAM_BLOCK - 1), one_sample, NULL, 0);
	modem.computed = bpf_ktime_get_ns();
	modem.ended = burn(modem.began, modem.least);
	/* Whoever sees the count also sees what was made. */
	ordered_add(&modem.made, 1);
}

/* Whether a block was handed in; if so, all of it can be seen: user space counts it last. */
static __always_inline bool is_handed_in(void)
{
	__u64 given = *(volatile __u64 *)&modem.given;

	ordered_add(&modem.looked, 1);
	return given != modem.made;
}

/* Whether this is the modem's interrupt, user space still counts on it, and there is a block. */
static __always_inline bool has_block(struct hrtimer *timer)
{
	__u32 cpu;

	if (!is_interrupt(modem.sources, timer, &cpu))
		return false;
	if (bpf_ktime_get_ns() > modem.heartbeat + HEARTBEAT_NS) {
		modem.deaf++;
		return false;
	}
	modem.interrupts++;
	modem.last_due = timer->_softexpires;
	if (!is_handed_in()) {
		modem.empty++;
		return false;
	}
	return true;
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(modem_learns, struct hrtimer *timer, int mode)
{
	learn_interrupt(modem.sources, timer, mode);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

#endif
