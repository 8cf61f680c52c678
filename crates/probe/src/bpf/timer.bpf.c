/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows a thread that sleeps in clock_nanosleep: timer interrupt -> wake -> switch. */
#include "slots.h"

static __always_inline bool is_for_current(struct hrtimer *timer)
{
	return (__u64)READ_AS(timer, struct hrtimer_sleeper, task) == bpf_get_current_task();
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(timer_armed, struct hrtimer *timer)
{
	struct task_struct *task = 0;
	__u32 number;
	struct slot *slot;

	/* Most timers that a machine arms are the scheduler's own: these are passed over before anything else. */
	if (configuration.hrtimer_wakeup && (__u64)timer->function != configuration.hrtimer_wakeup)
		return 0;
	if (HAS_CURRENT)
		task = bpf_get_current_task_btf();
	slot = find_slot(current_number(task), &number);
	/*
	 * Other timers are armed in the thread's context too. If the function's address is hidden, what follows the
	 * timer that wakes this thread identifies it: the thread.
	 */
	if (!slot || (!configuration.hrtimer_wakeup && !is_for_current(timer)))
		return 0;
	begin_wakeup(slot, number, timer, task);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_expired, struct hrtimer *timer)
{
	__u32 number;
	__u64 now;
	struct slot *slot;
	struct task_struct *task;

	if (configuration.hrtimer_wakeup && (__u64)timer->function != configuration.hrtimer_wakeup)
		return 0;
	now = bpf_ktime_get_ns();
	task = READ_AS(timer, struct hrtimer_sleeper, task);
	slot = find_slot(READ_AS(task, struct task_struct, pid), &number);
	if (!slot || slot->timer != (__u64)timer)
		return 0;
	add_steal(slot, number, now);
	slot->irq = now;
	return 0;
}

SEC("?tp_btf/hrtimer_start_expired")
int BPF_PROG(timer_had_expired, struct hrtimer *timer)
{
	stamp_expired(timer);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(thread_waking, struct task_struct *task)
{
	stamp_waking(task, false);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
