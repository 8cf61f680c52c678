/* SPDX-License-Identifier: GPL-2.0-only */
/* Fire drill: keeps the CPU in softirq context, in a callback that the interrupt queues. */
#include "drill.h"

#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN (1ULL << 1)

struct callback {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, struct callback);
} callbacks SEC(".maps");

static int drill_softirq_callback(void *map, __u32 *cpu, struct callback *callback)
{
	make_injection(&drill.shots[*cpu & (MAX_CPUS - 1)]);
	return 0;
}

struct prepare_context {
	__u32 cpu;
};

/* Called once for each CPU before the first injection. */
SEC("syscall")
int drill_prepare(struct prepare_context *context)
{
	__u32 cpu = context->cpu;
	struct callback *callback = bpf_map_lookup_elem(&callbacks, &cpu);
	long error;

	if (!callback)
		return -2;
	error = bpf_timer_init(&callback->timer, &callbacks, CLOCK_MONOTONIC);
	if (error)
		return error;
	return bpf_timer_set_callback(&callback->timer, drill_softirq_callback);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(drill_softirq, struct hrtimer *timer)
{
	__u32 cpu;
	struct callback *callback;

	if (!take_shot(timer, &cpu))
		return 0;
	callback = bpf_map_lookup_elem(&callbacks, &cpu);
	if (callback)
		bpf_timer_start(&callback->timer, 0, BPF_F_TIMER_CPU_PIN);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
