/* SPDX-License-Identifier: GPL-2.0-only */
/* Fire drill: keeps the CPU in hard interrupt context. */
#include "drill.h"

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(drill_irq, struct hrtimer *timer)
{
	__u32 cpu;
	struct shot *shot = take_shot(timer, &cpu);

	if (shot)
		make_injection(shot);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
