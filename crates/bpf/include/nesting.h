/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the CPU that runs the program is in, by the kernel's own count of nested interrupts: bits 8 to 15 softirqs, 16 to
 * 19 interrupts, above that those that nothing keeps off.
 */
#ifndef PUNCTUAL_NESTING_H
#define PUNCTUAL_NESTING_H

#include "per_cpu.h"

#define IN_SOFTIRQ 0x100
#define SOFTIRQ_MASK 0xff00
#define HARDIRQ_MASK 0x000f0000
#define NMI_MASK 0x00f00000

/* Where the count is and how it is laid out; `per_cpu.rs` of the kernel crate declares the same record. */
struct nesting_place {
	__s64 offset;		/* from the run queue, bytes; 0: not known; or: */
#define COUNT_IN_THREAD (-1)		/* it is the thread's, as on arm64 */
	__u64 shift;		/* by which the interrupts' bits lie higher than above */
	__u64 mask;		/* of those bits when they are in their place */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___counting {
	int softirq_disable_cnt;
};

struct preempt___arm64 {
	__u32 count;
};

struct thread_info___arm64 {
	struct preempt___arm64 preempt;
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

#pragma clang attribute pop

/*
 * What the CPU is in on which this thread runs, and whose run queue this is. 0 where the count is not known: whoever
 * needs to tell that from "nothing" looks at `offset`.
 */
static __always_inline __u32 read_nesting_of(const volatile struct nesting_place *place, struct task_struct *task,
					     struct rq *queue)
{
	__u32 count, nesting;

	if (!place->offset)
		return 0;
	if (place->offset == COUNT_IN_THREAD) {
		if (!bpf_core_field_exists(((struct task_struct___arm64 *)0)->thread_info.preempt.count))
			return 0;
		count = ((struct task_struct___arm64 *)task)->thread_info.preempt.count;
	} else {
		count = (__u32)read_word_from(queue, place->offset);
	}
	nesting = (count & 0xffff) | ((count >> place->shift) & (__u32)place->mask);
	/* PREEMPT_RT counts softirqs in the thread that serves them. */
	if (bpf_core_field_exists(((struct task_struct___counting *)0)->softirq_disable_cnt))
		nesting |= ((struct task_struct___counting *)task)->softirq_disable_cnt & SOFTIRQ_MASK;
	return nesting;
}

/* The same of the CPU that runs the program. */
static __always_inline __u32 read_nesting(const volatile struct nesting_place *place)
{
	struct task_struct *task;

	if (!place->offset)
		return 0;
	task = bpf_get_current_task_btf();
	return read_nesting_of(place, task, run_queue(task));
}

#endif
