/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a thread that sleeps for a lock of its program comes to be woken: whether the current thread releases that lock.
 */
#ifndef PUNCTUAL_WAKES_H
#define PUNCTUAL_WAKES_H

#include "calls.h"
#include "waits.h"

/* Among a thread's flags: it is ending. What it last called the kernel for has nothing to do with what it does now. */
#define ENDING 0x4
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_UNLOCK_PI 7
#define FUTEX_WAKE_BITSET 10
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_PRIVATE 0x80
#define FUTEX_OWNER 0x3fffffff
/* What musl writes in place of an owner into a mutex of its plain kind. */
#define MUSL_PLAIN 16
/* Within a page, a word has the same place in every process. */
#define PLACE_IN_PAGE 0xfff

/* What the waker was doing; `lock_waking.rs` reads the same. */
enum waking_act {
	ACT_ELSE = 1,
	ACT_WAKES = 2,
	ACT_UNLOCKS = 3,
	ACT_REQUEUES = 4,
	ACT_SIGNALS = 5,
	ACT_ENDS = 6,
	ACT_THAWS = 7,
};

#define ACT_BIT 16
#define WORD_BIT 19
#define STATE_BIT 21
#define PLACE_BIT 24
#define OWNER_BIT 42
/* Replaces the place if the thread did not wait for a word: what the two had called the kernel for. Replaces the
 * owner: who sent what a softirq delivers. */
#define SLEEPER_BIT 24
#define WAKER_BIT 28
/* One more than the number of the descriptor that it reads from; 0: none, or one of many. Or: it polls a single one. */
#define DESCRIPTOR_BIT 32
#define MAX_DESCRIPTOR 1021
#define ONE_POLLED 1023

enum word {
	WORD_SAME = 1,
	WORD_OTHER = 2,
	WORD_NONE = 3,
};

enum word_state {
	WORD_FREE = 1,
	WORD_HELD = 2,
	WORD_NO_LOCK = 3,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rt_mutex_waiter {
	struct rt_mutex_base *lock;
};

struct pid___level {
	unsigned int level;
};

struct sigset {
	unsigned long sig[1];
};

struct sigpending {
	struct sigset signal;
};

struct signal_struct___pending {
	struct sigpending shared_pending;
};

struct task_struct___signals {
	struct signal_struct___pending *signal;
	struct sigpending pending;
	struct sigset blocked;
};

struct task_struct___waking {
	unsigned int flags;
	int pid;
	int tgid;
	struct rt_mutex_waiter *pi_blocked_on;
	struct pid___level *thread_pid;
};

#pragma clang attribute pop

/* The thread that holds the lock for which a thread sleeps, if the kernel or the word tells; otherwise 0. */
static __always_inline __u32 owner_of_lock(struct task_struct *sleeper, __u32 operation, __u32 value)
{
	struct task_struct___waking *task = (void *)sleeper;
	__u32 owner = value & FUTEX_OWNER;

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2) {
		__u64 holder;

		if (!bpf_core_field_exists(((struct rt_mutex_base *)0)->owner) ||
		    !bpf_core_field_exists(task->pi_blocked_on))
			return 0;
		/* The lowest bits are marks. */
		holder = (__u64)BPF_CORE_READ(task, pi_blocked_on, lock, owner) & ~7ULL;
		return holder ? BPF_CORE_READ((struct task_struct___waking *)holder, pid) : 0;
	}
	/* Inside a PID namespace the word holds the number that the thread has there. */
	if (!(value & MUTEX_WAITERS) || owner == MUSL_PLAIN || BPF_CORE_READ(task, thread_pid, level))
		return 0;
	return owner;
}

/* Whether more than one of those who wait for a word are woken. */
static __always_inline bool wakes_several(struct pt_regs *wakes)
{
	__u32 command = second_argument(wakes) & FUTEX_COMMAND;

	return (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) && (__s32)third_argument(wakes) > 1;
}

/* What a word holds now, for a thread that went to sleep when it held this value. */
static __always_inline __u64 word_state(__u64 address, __u32 slept_on)
{
	__u32 word;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		return 0;
	if (!(word & ~MUTEX_WAITERS))
		return WORD_FREE;
	if (slept_on & MUTEX_WAITERS || word <= MUTEX_CONTENDED)
		return WORD_HELD;
	return WORD_NO_LOCK;
}

/*
 * Bits of a word's address, to tell one from another. A word that processes share has the same place in the page for
 * each of them; one that they do not share may have the same address in several.
 */
static __always_inline __u64 place_of_word(__u64 address, __u32 operation, __u32 process)
{
	__u64 page = operation & FUTEX_PRIVATE ? (address >> 12 ^ process) & 0xff : 0;

	return (address & PLACE_IN_PAGE) >> 2 | page << 10;
}

static __always_inline bool is_ending(struct task_struct *task)
{
	return ((struct task_struct___waking *)task)->flags & ENDING;
}

/*
 * Whether a thread is woken out of the freezer that stopped it in its sleep. What it waited for has come meanwhile:
 * otherwise it sleeps on without being woken.
 */
static __always_inline bool is_thawed(struct task_struct *woken)
{
	return state_of(woken) & STATE_FROZEN;
}

/*
 * Whether a thread is woken because it has a signal to take, or was stopped by one. A thread that waits for a signal
 * through a descriptor (`signalfd`) blocks the signal, and is woken like one that waits for anything else to read.
 */
static __always_inline bool takes_signal(struct task_struct *woken)
{
	struct task_struct___signals *task = (void *)woken;
	struct signal_struct___pending *of_all = UNTRUSTED(woken, struct task_struct___signals)->signal;
	unsigned long pending = task->pending.signal.sig[0] | of_all->shared_pending.signal.sig[0];

	return pending & ~task->blocked.sig[0] || state_of(woken) & (STATE_STOPPED | STATE_TRACED);
}

/*
 * Whether the current thread, `waker`, wakes another one by a signal, whatever that one waits for: some locks of the
 * kernel are given up for one, and a thread that is killed waits for nothing any more.
 */
static __always_inline bool wakes_by_signal(struct task_struct *woken, struct task_struct *waker)
{
	unsigned int state = state_of(woken);

	if (!HAS_HELPER(task_pt_regs) || state & STATE_FOR_SPINLOCK)
		return false;
	if (!(state & (STATE_INTERRUPTIBLE | STATE_WAKEKILL)))
		return false;
	/* Few threads have a signal to take, and only for those is the helper called. */
	return takes_signal(woken) && sends_signal((void *)bpf_task_pt_regs(waker));
}

/* For a thread that does not wait for a word in memory: what it waits for, and what the current thread is doing. */
static __always_inline __u64 how_answered(struct task_struct *woken, struct pt_regs *sleeps,
					  struct task_struct *waker)
{
	struct pt_regs *wakes = (void *)bpf_task_pt_regs(waker);
	__u32 call = call_of(sleeps);
	__u64 told = (__u64)WORD_NONE << WORD_BIT | (__u64)call << SLEEPER_BIT;

	if (call == CALL_READ && first_argument(sleeps) <= MAX_DESCRIPTOR)
		told |= (first_argument(sleeps) + 1) << DESCRIPTOR_BIT;
	else if (polls_for_one(sleeps))
		told |= (__u64)ONE_POLLED << DESCRIPTOR_BIT;
	if (is_ending(waker))
		return told | (__u64)ACT_ENDS << ACT_BIT;
	if (is_thawed(woken))
		return told | (__u64)ACT_THAWS << ACT_BIT;
	told |= (__u64)call_of(wakes) << WAKER_BIT;
	return told | (__u64)(sends_signal(wakes) && takes_signal(woken) ? ACT_SIGNALS : ACT_ELSE) << ACT_BIT;
}

/*
 * How a thread is woken by the current one, `waker`, out of a sleep for a lock of its program; 0 for others, and if
 * that is not known. For others too if all `waits` are wanted.
 */
static __always_inline __u64 how_woken(struct task_struct *woken, struct task_struct *waker, bool waits)
{
	struct pt_regs *sleeps, *wakes;
	__u64 slept_at, told, at;
	__u32 operation, value;
	bool same;

	/* Whatever it called for, it now waits for a lock of the kernel's, and whoever wakes it releases that. */
	if (state_of(woken) & STATE_FOR_SPINLOCK)
		return 0;
	if (waits) {
		if (!HAS_HELPER(task_pt_regs))
			return 0;
		if (!calls_futex((void *)bpf_task_pt_regs(woken)))
			return how_answered(woken, (void *)bpf_task_pt_regs(woken), waker);
	} else if (!sleeps_for_lock(woken)) {
		return 0;
	}
	sleeps = (void *)bpf_task_pt_regs(woken);
	wakes = (void *)bpf_task_pt_regs(waker);
	slept_at = first_argument(sleeps);
	operation = second_argument(sleeps) & FUTEX_COMMAND;
	value = third_argument(sleeps);
	told = place_of_word(slept_at, second_argument(sleeps), ((struct task_struct___waking *)woken)->tgid) << PLACE_BIT |
	       (__u64)(owner_of_lock(woken, operation, value) & 0x3fffff) << OWNER_BIT;
	if (is_ending(waker))
		return told | ACT_ENDS << ACT_BIT;
	if (is_thawed(woken))
		return told | (__u64)ACT_THAWS << ACT_BIT;
	if (sends_signal(wakes) && takes_signal(woken))
		return told | ACT_SIGNALS << ACT_BIT;
	if (!calls_futex(wakes))
		return told | ACT_ELSE << ACT_BIT;
	at = first_argument(wakes);
	switch (second_argument(wakes) & FUTEX_COMMAND) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		told |= ACT_WAKES << ACT_BIT;
		break;
	case FUTEX_WAKE_OP:
		told |= ACT_WAKES << ACT_BIT;
		if ((at ^ slept_at) & PLACE_IN_PAGE)
			at = fifth_argument(wakes);
		break;
	case FUTEX_UNLOCK_PI:
		told |= ACT_UNLOCKS << ACT_BIT;
		break;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		told |= ACT_REQUEUES << ACT_BIT;
		break;
	default:
		return told | ACT_ELSE << ACT_BIT;
	}
	if (((struct task_struct___waking *)woken)->tgid == ((struct task_struct___waking *)waker)->tgid)
		same = at == slept_at;
	else
		same = !((at ^ slept_at) & PLACE_IN_PAGE);
	if (!same)
		return told | (__u64)WORD_OTHER << WORD_BIT;
	told |= (__u64)WORD_SAME << WORD_BIT;
	if ((told >> ACT_BIT & 7) != ACT_WAKES)
		return told;
	/* Only one of those who wait for a lock is woken, since only one can have it. */
	if (wakes_several(wakes))
		return told | (__u64)WORD_NO_LOCK << STATE_BIT;
	return told | word_state(at, value) << STATE_BIT;
}

#endif
