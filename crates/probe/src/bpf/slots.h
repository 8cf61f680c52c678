/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the programs put the stamps of each measured thread's current wakeup. User space maps this memory; `slots.rs`
 * declares the same records, and a test checks that the two agree.
 */
#ifndef PUNCTUAL_SLOTS_H
#define PUNCTUAL_SLOTS_H

#include "callback.h"
#include "kernel.h"
#include "per_cpu.h"

#define MAX_TASKS 1024
#define INDEX_SIZE 4096
#define INDEX_PROBES 8

/* One cache line for each thread. Times are ns of CLOCK_MONOTONIC; 0: not passed yet. */
struct slot {
	__u32 tid;
	__u32 cpu;		/* where it was switched in */
	__u64 expected;		/* when the timer that was armed last is due */
	__u64 irq;
	__u64 softirq;
	__u64 waking;
	__u64 switch_in;	/* without irq and waking: when it was allowed to go on, see stamp_expired */
	__u64 steal;		/* the host's time in the stages so far, at most */
	__u64 timer;		/* the timer that was armed last */
};

/* What only the programs need for each thread: a cache line too, since threads of other CPUs may be woken at the same time. */
struct private {
	__u64 steal_read;	/* the steal counter when it was last read */
	__u64 stamp_read;	/* and the stamp at that time */
	__u64 armed_late;	/* timers that were due already when the thread armed them */
	__u64 task;		/* the thread's task_struct */
	__u32 steal_cpu;
	__u32 pads[7];
};

struct shared {
	struct slot slots[MAX_TASKS] __attribute__((aligned(64)));
	/* From thread id to slot number + 1: open addressing, filled by user space. */
	__u16 index[INDEX_SIZE];
	struct private privates[MAX_TASKS];
	struct callback_counts callbacks;
};

struct configuration {
	/* From the run queue to the host's steal counter of the same CPU, bytes; 0: not known. */
	__s64 steal_offset;
	/* Where the functions are that the threads' timers call; 0 if the kernel hides that from this user. */
	__u64 hrtimer_wakeup;
	__u64 timerfd_tmrproc;
};

struct shared shared;
const volatile struct configuration configuration = {};

static __always_inline struct slot *find_slot(__u32 tid, __u32 *number)
{
	for (__u32 probe = 0; probe < INDEX_PROBES; probe++) {
		__u32 entry = shared.index[(tid + probe) & (INDEX_SIZE - 1)];
		if (!entry)
			return 0;
		*number = (entry - 1) & (MAX_TASKS - 1);
		if (shared.slots[*number].tid == tid)
			return &shared.slots[*number];
	}
	return 0;
}

/* What the host has taken so far from the CPU that runs the program, by the thread that is its current one. */
static __always_inline __u64 read_steal(struct task_struct *task)
{
	return read_word_from(run_queue(task), configuration.steal_offset);
}

/* The value of the steal counter when a stage begins. */
static __always_inline void begin_steal(__u32 number, __u64 now, struct task_struct *task)
{
	struct private *own = &shared.privates[number & (MAX_TASKS - 1)];

	if (!configuration.steal_offset)
		return;
	own->steal_read = read_steal(task);
	own->stamp_read = now;
	own->steal_cpu = bpf_get_smp_processor_id();
}

/*
 * Adds what was stolen since the counter was last read, but no more than the time that has passed since: time stolen
 * before the timer was due does not belong to the wakeup. `task` is the current thread.
 */
static __always_inline void add_steal_of(struct slot *slot, __u32 number, __u64 now, struct task_struct *task)
{
	struct private *own = &shared.privates[number & (MAX_TASKS - 1)];
	__u64 steal, stolen, passed;

	if (!configuration.steal_offset)
		return;
	steal = read_steal(task);
	if (own->steal_cpu == bpf_get_smp_processor_id()) {
		stolen = steal - own->steal_read;
		passed = now > own->stamp_read ? now - own->stamp_read : 0;
		slot->steal += stolen < passed ? stolen : passed;
	}
	own->steal_read = steal;
	own->stamp_read = now;
	own->steal_cpu = bpf_get_smp_processor_id();
}

/* The same where the current thread is not known yet. */
static __always_inline void add_steal(struct slot *slot, __u32 number, __u64 now)
{
	if (configuration.steal_offset)
		add_steal_of(slot, number, now, bpf_get_current_task_btf());
}

/* A measured thread, which is the current one, arms the timer that will wake it: a new wakeup begins. */
static __always_inline void begin_wakeup(struct slot *slot, __u32 number, struct hrtimer *timer,
					 struct task_struct *task)
{
	__u64 expected = timer->_softexpires;

	slot->irq = 0;
	slot->softirq = 0;
	slot->waking = 0;
	slot->switch_in = 0;
	slot->steal = 0;
	slot->timer = (__u64)timer;
	slot->expected = expected;
	shared.privates[number & (MAX_TASKS - 1)].task = HAS_CURRENT ? (__u64)task : bpf_get_current_task();
	if (bpf_ktime_get_ns() > expected)
		shared.privates[number & (MAX_TASKS - 1)].armed_late++;
	begin_steal(number, expected, task);
}

/*
 * Call from `hrtimer_start_expired`, which follows `hrtimer_start`. Kernels from 7.1 on do not queue a timer that is
 * already due when a thread arms it: no interrupt comes, nothing wakes the thread, it goes on at once. Older kernels
 * queue it and force an interrupt.
 */
static __always_inline void stamp_expired(struct hrtimer *timer)
{
	__u32 number;
	__u64 now;
	struct slot *slot = find_slot((__u32)bpf_get_current_pid_tgid(), &number);

	if (!slot || slot->timer != (__u64)timer || slot->irq || slot->switch_in)
		return;
	now = bpf_ktime_get_ns();
	slot->cpu = bpf_get_smp_processor_id();
	add_steal(slot, number, now);
	slot->switch_in = now;
}

static __always_inline void stamp_waking(struct task_struct *task, bool after_softirq)
{
	__u32 number;
	struct slot *slot = find_slot(task->pid, &number);

	if (!slot || slot->waking || !(after_softirq ? slot->softirq : slot->irq))
		return;
	slot->cpu = bpf_get_smp_processor_id();
	slot->waking = bpf_ktime_get_ns();
}

/* The scheduler switches to a measured thread that was woken: the same whatever woke it. */
SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switched_in, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	__u32 number;
	__u64 now;
	struct slot *slot = find_slot(next->pid, &number);

	if (!slot || !slot->waking || slot->switch_in)
		return 0;
	now = bpf_ktime_get_ns();
	slot->cpu = bpf_get_smp_processor_id();
	/* The current thread is still the one that leaves. */
	add_steal_of(slot, number, now, previous);
	slot->switch_in = now;
	return 0;
}

#endif
