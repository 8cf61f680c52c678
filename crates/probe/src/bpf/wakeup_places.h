/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a benchmark: programs at the four places that a wakeup of punctual's own threads passes, as timer.bpf.c has them,
 * which do something else there.
 */
#ifndef PUNCTUAL_WAKEUP_PLACES_H
#define PUNCTUAL_WAKEUP_PLACES_H

#include "kernel.h"

#define AT_THE_PLACES_OF_A_WAKEUP(what)                                                                         \
	SEC("tp_btf/hrtimer_start")                                                                             \
	int BPF_PROG(at_arming, struct hrtimer *timer)                                                          \
	{                                                                                                       \
		what;                                                                                           \
		return 0;                                                                                       \
	}                                                                                                       \
	SEC("tp_btf/hrtimer_expire_entry")                                                                      \
	int BPF_PROG(at_expiry, struct hrtimer *timer)                                                          \
	{                                                                                                       \
		what;                                                                                           \
		return 0;                                                                                       \
	}                                                                                                       \
	SEC("tp_btf/sched_waking")                                                                              \
	int BPF_PROG(at_waking, struct task_struct *woken)                                                      \
	{                                                                                                       \
		what;                                                                                           \
		return 0;                                                                                       \
	}                                                                                                       \
	SEC("tp_btf/sched_switch")                                                                              \
	int BPF_PROG(at_switch, bool preempted, struct task_struct *previous, struct task_struct *next)         \
	{                                                                                                       \
		what;                                                                                           \
		return 0;                                                                                       \
	}

#endif
