/* SPDX-License-Identifier: GPL-2.0-only */
/* A modem's datapump in a softirq callback that the interrupt queues. */
#include "modem_interrupt.h"

CALLBACKS(1)

/* Another interrupt may have queued it again before it ran. */
static int modem_callback(void *map, __u32 *number, struct callback *callback)
{
	begin_callback(callback, &modem.callbacks);
	if (is_handed_in())
		work_on_block();
	return 0;
}

/* Called once before the interrupt begins. */
SEC("syscall")
int prepare(void *context)
{
	return prepare_at(0, modem_callback);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(modem_interrupt, struct hrtimer *timer)
{
	__u32 number = 0;

	if (has_block(timer))
		queue_callback(bpf_map_lookup_elem(&callbacks, &number), &modem.callbacks);
	return 0;
}
