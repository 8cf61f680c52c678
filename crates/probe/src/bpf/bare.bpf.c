/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a benchmark: programs that do nothing, as many at a switch and at a waking as followed threads with the flight
 * recorder have. What they add to a switch cannot be saved by writing those differently.
 */
#include "kernel.h"

#define BARE_SWITCH(name)                                                                                       \
	SEC("tp_btf/sched_switch")                                                                              \
	int BPF_PROG(name, bool preempted, struct task_struct *previous, struct task_struct *next)              \
	{                                                                                                       \
		return 0;                                                                                       \
	}

#define BARE_WAKING(name)                                                                                       \
	SEC("tp_btf/sched_waking")                                                                              \
	int BPF_PROG(name, struct task_struct *woken)                                                           \
	{                                                                                                       \
		return 0;                                                                                       \
	}

BARE_SWITCH(follows_switches)
BARE_SWITCH(records_switches)
BARE_WAKING(follows_wakings)
BARE_WAKING(records_wakings)

char LICENSE[] SEC("license") = "GPL";
