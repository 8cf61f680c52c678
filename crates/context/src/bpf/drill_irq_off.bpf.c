/* SPDX-License-Identifier: GPL-2.0-only */
/* Fire drill: keeps interrupts off in a thread's system call, as a driver that holds a lock for too long does. */
#include "burn.h"

extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;

struct irq_off_context {
	__u64 length;
	__u64 start;
	__u64 end;
	__u32 cpu;
	__u32 pad;
};

SEC("syscall")
int drill_irq_off(struct irq_off_context *context)
{
	unsigned long flags;
	__u64 length = context->length, start, end;
	__u32 cpu;

	bpf_local_irq_save(&flags);
	start = bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	end = burn(start, length);
	bpf_local_irq_restore(&flags);
	context->start = start;
	context->end = end;
	context->cpu = cpu;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
