/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's steal counter of the CPU that runs the program. */
#ifndef PUNCTUAL_STEAL_H
#define PUNCTUAL_STEAL_H

#include "kernel.h"

/* ns since boot; `offset` bytes from the run queue, see `steal.rs` of the kernel crate. */
static __always_inline __u64 read_steal_at(__s64 offset)
{
	struct task_struct *task;

	if (!bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return 0;
	task = bpf_get_current_task_btf();
	return READ_AS((void *)task->se.cfs_rq->rq + offset, struct kvm_steal_time, steal);
}

#endif
