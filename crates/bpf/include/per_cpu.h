/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of this CPU's memory, such as the host's steal counter. */
#ifndef PUNCTUAL_PER_CPU_H
#define PUNCTUAL_PER_CPU_H

#include "kernel.h"

/* The run queue of the CPU on which this thread runs; 0: threads of this kernel do not tell. */
static __always_inline struct rq *run_queue(struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return 0;
	return UNTRUSTED(task, struct task_struct)->se.cfs_rq->rq;
}

/* `offset` bytes from the run queue, see `per_cpu.rs` of the kernel crate. */
static __always_inline __u64 read_word_from(struct rq *queue, __s64 offset)
{
	if (!bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return 0;
	return READ_AS((void *)queue + offset, struct timespec64, tv_sec);
}

static __always_inline __u64 read_word_at(__s64 offset)
{
	if (!bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return 0;
	return read_word_from(run_queue(bpf_get_current_task_btf()), offset);
}

#endif
