/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A soft device whose interrupt queues a softirq callback: a bpf_timer that is due at once. The callback works, or
 * wakes a thread as a semaphore would. There is one callback; interrupts that come before it runs are counted, and
 * each one's block is worked off.
 */
#include "device.h"

CALLBACKS(1)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

/* No kernel accepts these. */
#define NO_SUCH_FLAGS (~0ULL)

static int device_callback(void *map, __u32 *number, struct callback *callback)
{
	__u64 now;

	begin_callback(callback, &device.callbacks);
	__sync_lock_test_and_set(&device.queue, 0);
	if (configuration.wakes) {
		now = bpf_ktime_get_ns();
		bpf_ringbuf_output(&wakes, &now, sizeof(now), BPF_RB_FORCE_WAKEUP);
		return 0;
	}
	device.entered = 0;
	device.in_callback = bpf_get_smp_processor_id() + 1;
	work_off();
	device.in_callback = 0;
	return 0;
}

/* Called once before the interrupt begins. */
SEC("syscall")
int prepare(void *context)
{
	return prepare_at(0, device_callback);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(device_interrupt, struct hrtimer *timer)
{
	struct callback *callback;
	__u32 number = 0;
	__u64 now, flags;

	if (!arrives(timer, &now))
		return 0;
	callback = bpf_map_lookup_elem(&callbacks, &number);
	__sync_fetch_and_add(&device.queue, 1);
	if (!callback)
		return 0;
	flags = callback->flags;
	if (configuration.refuse_every && !(device.interrupts % configuration.refuse_every))
		flags = NO_SUCH_FLAGS;
	if (!queue_callback_as(callback, &device.callbacks, flags))
		device.unobserved_wait++;
	device.interrupt_ns += bpf_ktime_get_ns() - now;
	return 0;
}

/* What timer interrupts take out of the callback does not count as its execution. */
SEC("?tp_btf/local_timer_entry")
int BPF_PROG(timer_interrupts_callback, int vector)
{
	if (device.in_callback == bpf_get_smp_processor_id() + 1)
		device.entered = bpf_ktime_get_ns();
	return 0;
}

SEC("?tp_btf/local_timer_exit")
int BPF_PROG(timer_leaves_callback, int vector)
{
	if (device.in_callback == bpf_get_smp_processor_id() + 1 && device.entered) {
		device.interrupted += bpf_ktime_get_ns() - device.entered;
		device.entered = 0;
	}
	return 0;
}
