/* SPDX-License-Identifier: GPL-2.0-only */
/* A soft device whose work runs in its interrupt. */
#include "device.h"

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(device_interrupt, struct hrtimer *timer)
{
	__u64 now;

	if (arrives(timer, &now))
		work_off();
	return 0;
}
