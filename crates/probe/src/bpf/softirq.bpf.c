/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The paper's whole chain, interrupt -> DPC -> thread: the expiry of a thread's timerfd is the interrupt, a bpf_timer
 * that it queues is the softirq callback, and that callback wakes the thread through its ring buffer.
 */
#include "callback.h"
#include "slots.h"
#include "states.h"

CALLBACKS(MAX_TASKS)

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* From a timerfd's timer to its thread's slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u64);
	__type(value, __u32);
} timers SEC(".maps");

/*
 * A callback that is as late as the thread's own time limit finds the thread awake, and does not wake it: something
 * else has made it runnable by then. The callback runs on the thread's CPU, so that the thread cannot change its state
 * meanwhile.
 */
static __always_inline bool is_awake(const void *task)
{
	unsigned int state;

	if (!task)
		return false;
	state = bpf_core_field_exists(((struct task_struct___stating *)0)->__state) ?
			READ_AS(task, struct task_struct___stating, __state) :
			(unsigned int)READ_AS(task, struct task_struct___stating_before, state);
	return !(state & (STATE_INTERRUPTIBLE | STATE_UNINTERRUPTIBLE));
}

static int softirq_callback(void *map, __u32 *number, struct callback *callback)
{
	__u64 now = bpf_ktime_get_ns();
	struct slot *slot = &shared.slots[*number & (MAX_TASKS - 1)];
	void *ring;

	begin_callback(callback, &shared.callbacks);
	slot->softirq = now;
	if (!slot->waking && is_awake((void *)shared.privates[*number & (MAX_TASKS - 1)].task)) {
		slot->cpu = bpf_get_smp_processor_id();
		slot->waking = now;
	}
	ring = bpf_map_lookup_elem(&rings, number);
	if (ring)
		bpf_ringbuf_output(ring, &now, sizeof(now), BPF_RB_FORCE_WAKEUP);
	return 0;
}

struct prepare_context {
	__u32 number;
};

/* Called once for each thread before it starts. */
SEC("syscall")
int prepare(struct prepare_context *context)
{
	return prepare_at(context->number, softirq_callback);
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(timer_armed, struct hrtimer *timer)
{
	struct task_struct *task = 0;
	__u32 number;
	__u64 key = (__u64)timer;
	struct slot *slot;

	if ((__u64)timer->function != configuration.timerfd_tmrproc)
		return 0;
	if (HAS_CURRENT)
		task = bpf_get_current_task_btf();
	slot = find_slot(current_number(task), &number);
	if (!slot)
		return 0;
	if (slot->timer != key)
		bpf_map_update_elem(&timers, &key, &number, BPF_ANY);
	begin_wakeup(slot, number, timer, task);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(interrupt, struct hrtimer *timer)
{
	__u64 key = (__u64)timer, now;
	__u32 *number;
	struct slot *slot;

	if ((__u64)timer->function != configuration.timerfd_tmrproc)
		return 0;
	now = bpf_ktime_get_ns();
	number = bpf_map_lookup_elem(&timers, &key);
	if (!number)
		return 0;
	slot = &shared.slots[*number & (MAX_TASKS - 1)];
	if (slot->timer != key)
		return 0;
	add_steal(slot, *number & (MAX_TASKS - 1), now);
	slot->irq = now;
	queue_callback(bpf_map_lookup_elem(&callbacks, number), &shared.callbacks);
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
	stamp_waking(task, true);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
