/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of the recorder about control groups: that a thread waits for new quota, and that a group was given some.
 */
#ifndef PUNCTUAL_QUOTA_H
#define PUNCTUAL_QUOTA_H

#include "event_ring.h"
#include "groups.h"

#ifdef WITHOUT_GROUPS
#define GROUP_OF(task) 0
#define note_if_out_of_quota(task)
#else
/* In the upper half of a value: the group of the thread in the lower half. */
#define GROUP_OF(task) ((__u64)group_of(task, recorder_configuration.groups_of_controller) << 32)

/* Notes that a thread waits for new quota on a CPU, and which group's. */
static __always_inline void note_if_out_of_quota(struct task_struct *task)
{
	struct rq *queue;
	__u32 cpu;

	if (!is_out_of_quota(task))
		return;
	queue = UNTRUSTED(task, struct task_struct)->se.cfs_rq->rq;
	cpu = BPF_CORE_READ((struct rq___numbered *)queue, cpu);
	note(OUT_OF_QUOTA, (__u32)task->pid, (__u64)cpu << 32 | used_up_for(task));
}

/* Notes that a group was given new quota, and the CPUs, by bit, on which it still has none. */
static __always_inline void note_refill(struct hrtimer *timer, bool is_slack)
{
	__u64 offset = is_slack ? bpf_core_field_offset(struct task_group, cfs_bandwidth.slack_timer) :
				  bpf_core_field_offset(struct task_group, cfs_bandwidth.period_timer);
	struct task_group *group = (void *)(__u64)timer - offset;
	__u64 without = 0;

	for (__u32 cpu = 0; cpu < 64; cpu++) {
		if (cpu >= recorder_configuration.cpus)
			break;
		if (has_used_up(queue_of(group, cpu)))
			without |= 1ULL << cpu;
	}
	note(QUOTA_REFILL, number_at(group), without);
}
#endif

#endif
