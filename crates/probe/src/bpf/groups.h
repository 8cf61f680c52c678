/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups: which one a thread is scheduled in, and whether that group has used up its quota of processor time.
 */
#ifndef PUNCTUAL_GROUPS_H
#define PUNCTUAL_GROUPS_H

#include "kernel.h"
#include "priorities.h"

/* How many levels of nested groups to look at; deeper ones count as not out of quota. */
#define MAX_GROUP_DEPTH 8
/* Set in a group's number: it is not a control group but a session's automatic one. */
#define AUTOMATIC_GROUP (1U << 31)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct autogroup {
	unsigned long id;
};

struct cfs_bandwidth {
	struct hrtimer period_timer;
	struct hrtimer slack_timer;
};

struct list_head {
	struct list_head *next;
};

struct task_group;

struct cfs_rq___quota {
	struct rq *rq;
	struct task_group *tg;
	int throttled;
	int throttle_count;
	struct list_head throttled_csd_list;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct autogroup *autogroup;
	/* Up to 7.2 these two are arrays with an entry for each CPU; after that the first is gone. */
	struct sched_entity **se;
	struct cfs_rq___quota **cfs_rq;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct sched_entity___quota {
	struct cfs_rq___quota *cfs_rq;
	struct sched_entity___quota *parent;
};

struct task_struct___grouped {
	int prio;
	struct sched_entity___quota se;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	/* From 6.18 on a thread of a group that is out of quota is parked on its way out of the kernel. */
	bool throttled;
};

#pragma clang attribute pop

/* The number of a scheduler's group: the inode of its control group; 0: it has no named one. */
static __always_inline __u32 number_of(struct task_group *group)
{
	struct cgroup *cgroup = group->css.cgroup;

	if (cgroup)
		return (__u32)cgroup->kn->id & ~AUTOMATIC_GROUP;
	if (bpf_core_field_exists(group->autogroup) && group->autogroup)
		return (__u32)group->autogroup->id | AUTOMATIC_GROUP;
	return 0;
}

/* The same for a group of which only the address is known. */
static __always_inline __u32 number_at(struct task_group *group)
{
	struct cgroup *cgroup = BPF_CORE_READ(group, css.cgroup);
	struct autogroup *automatic = 0;

	if (cgroup)
		return (__u32)BPF_CORE_READ(cgroup, kn, id) & ~AUTOMATIC_GROUP;
	if (bpf_core_field_exists(group->autogroup))
		automatic = BPF_CORE_READ(group, autogroup);
	return automatic ? (__u32)BPF_CORE_READ(automatic, id) | AUTOMATIC_GROUP : 0;
}

/* The number of the group that a thread belongs to: the CPU controller's, or that of the only hierarchy; 0: not
 * known. */
static __always_inline __u32 group_of(struct task_struct *task, bool of_controller)
{
	struct task_struct___grouped *grouped = UNTRUSTED(task, struct task_struct___grouped);

	if (!of_controller && bpf_core_field_exists(grouped->cgroups))
		return (__u32)grouped->cgroups->dfl_cgrp->kn->id & ~AUTOMATIC_GROUP;
	if (!bpf_core_field_exists(grouped->sched_task_group))
		return 0;
	return number_of(grouped->sched_task_group);
}

/* Whether a group, or one that contains it, has used up its quota on the CPU where this thread is. */
static __always_inline bool is_out_of_quota(struct task_struct *task)
{
	struct task_struct___grouped *grouped = (void *)task;

	if (grouped->prio < NORMAL_PRIORITY)
		return false;
	if (bpf_core_field_exists(grouped->throttled) && grouped->throttled)
		return true;
	if (!bpf_core_field_exists(struct cfs_rq___quota, throttle_count))
		return false;
	return UNTRUSTED(task, struct task_struct___grouped)->se.cfs_rq->throttle_count > 0;
}

/* Whether such a thread will not reach its program any more: it is parked. */
static __always_inline bool is_parked(struct task_struct *task)
{
	struct task_struct___grouped *grouped = (void *)task;

	return bpf_core_field_exists(grouped->throttled) && grouped->throttled;
}

/* A group's queue on a CPU; 0: not known, as from 7.3 on. */
static __always_inline struct cfs_rq___quota *queue_of(struct task_group *group, __u32 cpu)
{
	struct cfs_rq___quota **queues, *queue = 0;

	if (!bpf_core_field_exists(group->se))
		return 0;
	queues = BPF_CORE_READ(group, cfs_rq);
	bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu);
	return queue;
}

/* Whether a group has used up its quota on a CPU. New quota counts as given as soon as the message about it is on
 * its way to that CPU. */
static __always_inline bool has_used_up(struct cfs_rq___quota *queue)
{
	struct list_head *next;

	if (!queue || !BPF_CORE_READ_BITFIELD_PROBED(queue, throttled))
		return false;
	if (!bpf_core_field_exists(queue->throttled_csd_list))
		return true;
	next = BPF_CORE_READ(queue, throttled_csd_list.next);
	return !next || next == &queue->throttled_csd_list;
}

/* The group that is out of quota on a CPU and makes threads of this group wait there: the nearest one. */
static __always_inline __u32 used_up_above(struct task_group *group, __u32 cpu)
{
	for (int depth = 0; depth < MAX_GROUP_DEPTH && group; depth++) {
		if (has_used_up(queue_of(group, cpu)))
			return number_at(group);
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

/* The same for a thread where it is, by the queues that it is in: that of its group, that of the one above, ... */
static __always_inline __u32 used_up_for(struct task_struct *task)
{
	struct task_struct___grouped *grouped = (void *)task;
	struct cfs_rq___quota *queue = BPF_CORE_READ(grouped, se.cfs_rq);
	struct sched_entity___quota *above = 0;

	if (bpf_core_field_exists(grouped->se.parent))
		above = BPF_CORE_READ(grouped, se.parent);
	for (int depth = 0; depth < MAX_GROUP_DEPTH && queue; depth++) {
		if (BPF_CORE_READ_BITFIELD_PROBED(queue, throttled))
			return number_at(BPF_CORE_READ(queue, tg));
		if (!above)
			break;
		queue = BPF_CORE_READ(above, cfs_rq);
		above = BPF_CORE_READ(above, parent);
	}
	return 0;
}

#endif
