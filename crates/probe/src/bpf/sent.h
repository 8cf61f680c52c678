/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who interrupts another CPU, and what for: functions to call there, noted by whoever asks and by the CPU that calls
 * them, and the interrupts that are sent for them or to make the scheduler choose anew.
 *
 * These tracepoints give functions as pointers to them, which kernels refuse to programs that have arguments with
 * types: the programs are of the kind whose arguments are plain words.
 */
#ifndef PUNCTUAL_SENT_H
#define PUNCTUAL_SENT_H

#include "event_ring.h"

/* Wakings from other CPUs come this way too: they have an event of their own. */
static __always_inline bool is_waking(__u64 function)
{
	return is_function(function, WAKING_FROM_AFAR_FUNCTION);
}

SEC("?raw_tp/csd_queue_cpu")
int BPF_PROG(function_asked, __u64 cpu, __u64 site, __u64 function, __u64 call)
{
	if (is_waking(function))
		return 0;
	return note_named(FUNCTION_ASKED, call, cpu);
}

SEC("?raw_tp/csd_function_entry")
int BPF_PROG(function_begins, __u64 function, __u64 call)
{
	if (is_waking(function))
		return 0;
	return note(FUNCTION_BEGIN, call, function);
}

SEC("?raw_tp/csd_function_exit")
int BPF_PROG(function_ends, __u64 function, __u64 call)
{
	if (is_waking(function))
		return 0;
	return note(FUNCTION_END, call, function);
}

SEC("?raw_tp/ipi_send_cpu")
int BPF_PROG(interrupt_sent, __u64 cpu, __u64 site, __u64 callback)
{
	if (!callback)
		return note_named(INTERRUPT_SENT, cpu, RESCHEDULE);
	if (is_function(callback, SINGLE_CALL_FUNCTION))
		return note_named(INTERRUPT_SENT, cpu, CALL_FUNCTION_SINGLE);
	return 0;
}

/* For this many times 64 CPUs, the log tells which of them are interrupted. */
#define MAX_MASK_WORDS 16

/* One call for several CPUs: a record for each 64 that contain any of them. */
SEC("?raw_tp/ipi_send_cpumask")
int BPF_PROG(interrupts_sent, const __u64 *mask, __u64 site, __u64 callback)
{
	for (__u32 word = 0; word < MAX_MASK_WORDS; word++) {
		__u64 bits = 0;

		if (word * 64 >= recorder_configuration.cpus)
			break;
		/* Longs: they have 64 bits on every architecture that this runs on. */
		bpf_probe_read_kernel(&bits, sizeof(bits), mask + word);
		if (bits)
			note_named(INTERRUPTS_SENT, bits, (__u64)(word * 64) << 32 | CALL_FUNCTION);
	}
	return 0;
}

#endif
