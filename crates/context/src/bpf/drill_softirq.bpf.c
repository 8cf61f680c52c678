/* SPDX-License-Identifier: GPL-2.0-only */
/* Fire drill: keeps the CPU in softirq context, in a callback that the interrupt queues. */
#include "drill.h"

CALLBACKS(MAX_CPUS)

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
	return prepare_at(context->cpu, drill_softirq_callback);
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
