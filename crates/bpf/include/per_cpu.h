/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of this CPU's memory, such as the host's steal counter. */
#ifndef PUNCTUAL_PER_CPU_H
#define PUNCTUAL_PER_CPU_H

#include "kernel.h"

/* `offset` bytes from the run queue, see `per_cpu.rs` of the kernel crate. */
static __always_inline __u64 read_word_at(__s64 offset)
{
	struct task_struct *task;
	struct rq *queue;

	if (!bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return 0;
	task = bpf_get_current_task_btf();
	queue = UNTRUSTED(task, struct task_struct)->se.cfs_rq->rq;
	return READ_AS((void *)queue + offset, struct timespec64, tv_sec);
}

#endif
