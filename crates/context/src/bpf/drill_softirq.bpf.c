/* SPDX-License-Identifier: GPL-2.0-only */
/* Fire drill: keeps the CPU in softirq context, in a callback that the interrupt queues. */
#include "drill.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, struct callback);
} callbacks SEC(".maps");

static int drill_softirq_callback(void *map, __u32 *cpu, struct callback *callback)
{
	begin_callback(callback, &drill.callbacks);
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

	return prepare_callback(callback, &callbacks, drill_softirq_callback);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(drill_softirq, struct hrtimer *timer)
{
	__u32 cpu;

	if (!take_shot(timer, &cpu))
		return 0;
	queue_callback(bpf_map_lookup_elem(&callbacks, &cpu), &drill.callbacks);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
