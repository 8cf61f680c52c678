/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Priorities of threads, as the kernel counts them and in one case more finely.
 */
#ifndef PUNCTUAL_PRIORITIES_H
#define PUNCTUAL_PRIORITIES_H

#include "kernel.h"

/* Priorities from here on are those of normal threads. */
#define NORMAL_PRIORITY 100
/* Replaces the priority of a SCHED_IDLE thread: it has the least weight, whatever its nice value. */
#define IDLE_PRIORITY 140
#define POLICY_IDLE 5

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___scheduled {
	int prio;
	unsigned int policy;
};

#pragma clang attribute pop

/* A thread that is lent a real-time priority keeps its policy. */
static __always_inline int priority_of(struct task_struct *task)
{
	struct task_struct___scheduled *scheduled = (void *)task;

	return scheduled->policy == POLICY_IDLE && scheduled->prio >= NORMAL_PRIORITY ? IDLE_PRIORITY : scheduled->prio;
}

#endif
