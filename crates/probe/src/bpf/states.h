/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's state: 0 while it runs or waits for a CPU.
 */
#ifndef PUNCTUAL_STATES_H
#define PUNCTUAL_STATES_H

#include "kernel.h"

#define STATE_INTERRUPTIBLE 0x1
#define STATE_UNINTERRUPTIBLE 0x2
#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
/* It may be woken to be killed. */
#define STATE_WAKEKILL 0x100
#define STATE_NO_LOAD 0x400
/* It sleeps for a kernel lock that others spin for: with PREEMPT_RT. */
#define STATE_FOR_SPINLOCK 0x1000
#define STATE_FROZEN 0x8000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Since 5.14 the state has had another name. */
struct task_struct___stating {
	unsigned int __state;
};

struct task_struct___stating_before {
	long state;
};

#pragma clang attribute pop

static __always_inline unsigned int state_of(struct task_struct *task)
{
	struct task_struct___stating_before *before = (void *)task;
	struct task_struct___stating *now = (void *)task;

	return bpf_core_field_exists(now->__state) ? now->__state : (unsigned int)before->state;
}

#endif
