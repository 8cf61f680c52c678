/* SPDX-License-Identifier: GPL-2.0-only */
/* Does nothing: what a program costs before its first instruction, for the benchmark to subtract. */
#include "kernel.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(empty, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
