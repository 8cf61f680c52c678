/* SPDX-License-Identifier: GPL-2.0-only */
/* A modem's datapump in hard interrupt context. */
#include "modem_interrupt.h"

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(modem_interrupt, struct hrtimer *timer)
{
	if (has_block(timer))
		work_on_block();
	return 0;
}
