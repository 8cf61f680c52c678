/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a benchmark: one program at each switch and one at each waking that record the time in the CPU's ring, and
 * nothing else. No recorder of both costs less.
 */
#include "least_record.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(least_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	write_record();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(least_waking, struct task_struct *woken)
{
	write_record();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
