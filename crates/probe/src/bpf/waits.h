/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread that leaves its CPU waits for: something that belongs to its work, or being woken anew.
 */
#ifndef PUNCTUAL_WAITS_H
#define PUNCTUAL_WAITS_H

#include "registers.h"
#include "seen_events.h"
#include "states.h"

#define FUTEX_COMMAND 0x7f
#define FUTEX_REAL_TIME 0x100
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
/* A mutex that one thread holds and another waits for: of the C library and of Rust's. */
#define MUTEX_CONTENDED 2
/* The same in musl: the owner's thread id and this. */
#define MUTEX_WAITERS 0x80000000U
#define MUTEX_OWNER 0x3fffffffU
/* No thread has a greater number. */
#define MAX_THREAD 0x400000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* It was asked to stop in the freezer of its control group. */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

struct task_struct___freezing {
	unsigned long jobctl;
	unsigned int frozen : 1;
};

#pragma clang attribute pop

/*
 * The state in which a thread leaves its CPU: kernels from 5.18 on pass it as the fourth argument of `sched_switch`,
 * because whoever wakes the thread meanwhile has changed the thread's own word.
 */
static __always_inline unsigned int left_state(struct task_struct *task, bool is_told, const void *arguments)
{
	if (is_told)
		return (unsigned int)((const __u64 *)arguments)[3];
	return state_of(task);
}

/*
 * Whether a word says that somebody owns a lock and others wait for it. Without an owner, or with a number that no thread has, it is a
 * place to wait for something: a future of C++, a parked thread of Rust.
 */
static __always_inline bool has_owner(__u32 value)
{
	__u32 owner = value & MUTEX_OWNER;

	return value & MUTEX_WAITERS && owner && owner <= MAX_THREAD;
}

/*
 * Whether a thread sleeps for a lock of its program. The kernel knows no locks of programs, only words to wait on; the
 * value that a thread waits on tells a lock from a condition.
 */
static __always_inline bool sleeps_for_lock(struct task_struct *task)
{
	struct pt_regs *registers;
	__u32 operation, value;

	if (!HAS_HELPER(task_pt_regs))
		return false;
	registers = (void *)bpf_task_pt_regs(task);
	if (!calls_futex(registers))
		return false;
	operation = second_argument(registers);
	value = third_argument(registers);
	switch (operation & FUTEX_COMMAND) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		return value == MUTEX_CONTENDED || has_owner(value);
	case FUTEX_WAIT_BITSET:
		/* A robust mutex with a time limit. */
		if (value & MUTEX_WAITERS)
			return has_owner(value);
		/* Condition variables of the C library say which clock they use. */
		return value == MUTEX_CONTENDED && !(operation & FUTEX_REAL_TIME);
	default:
		return false;
	}
}

/* Whether a thread has called for a lock of its program that lends priority. */
static __always_inline bool wants_lending_lock(struct task_struct *task)
{
	struct pt_regs *registers;
	__u32 command;

	if (!HAS_HELPER(task_pt_regs))
		return false;
	registers = (void *)bpf_task_pt_regs(task);
	if (!calls_futex(registers))
		return false;
	command = second_argument(registers) & FUTEX_COMMAND;
	return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

/*
 * The state in which a thread leaves its CPU: one in a frozen control group sleeps like others, but has a mark. So has
 * one that a signal or a tracer stopped.
 */
static __always_inline unsigned int with_freezer(struct task_struct *task, unsigned int state)
{
	struct task_struct___freezing *freezing = (void *)task;

	if (state & (STATE_STOPPED | STATE_TRACED | STATE_FOR_SPINLOCK))
		return state;
	/* A parent in vfork has the mark too, since it might as well be frozen; nobody has asked it to stop. */
	if (bpf_core_field_exists(freezing->frozen) && BPF_CORE_READ_BITFIELD(freezing, frozen) &&
	    bpf_core_field_exists(freezing->jobctl) && freezing->jobctl & JOBCTL_TRAP_FREEZE)
		return state | STATE_FROZEN;
	return state;
}

/* Whether a thread was stopped: by a signal, by a tracer, by the freezer of its control group. */
static __always_inline bool is_stopped(struct task_struct *task, unsigned int state)
{
	return with_freezer(task, state) & (STATE_STOPPED | STATE_TRACED | STATE_FROZEN);
}

/*
 * Whether a sleep belongs to the work that the thread was woken for: for a lock, a page, input or output. `for_lock` says
 * whether it is for a lock of its program, if that has been found out.
 */
static __always_inline bool sleeps_within_work(struct task_struct *task, unsigned int state, __u64 for_lock)
{
	if (state & STATE_FOR_SPINLOCK || is_stopped(task, state))
		return true;
	if (state & STATE_UNINTERRUPTIBLE)
		return !(state & STATE_NO_LOAD);
	if (!(state & STATE_INTERRUPTIBLE))
		return false;
	return for_lock == NOT_TOLD ? sleeps_for_lock(task) : for_lock;
}

#endif
