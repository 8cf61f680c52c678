/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a record gets into the ring of its CPU.
 */
#ifndef PUNCTUAL_TERMINAL_MOMENTS_H
#define PUNCTUAL_TERMINAL_MOMENTS_H

#include "codes.h"
#include "terminal_ends.h"
#include "terminal_records.h"

static __always_inline struct moment_ring *own_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&moment_rings, &cpu);
}

/* Takes the next place. An interrupt may come while a record is being written: the mark comes last. */
static __always_inline struct moment_record *begin_moment(struct moment_ring *ring, struct task_struct *task, __u16 kind,
							  __u64 *position)
{
	struct task_struct___at *who = (void *)task;
	struct moment_record *record;

	*position = __sync_fetch_and_add(&ring->head, 1);
	record = &ring->records[*position & (RECORDS - 1)];
	record->sequence = 0;
	barrier();
	record->at = bpf_ktime_get_ns();
	record->begin = 0;
	record->value = 0;
	record->tid = who->pid;
	record->process = who->tgid;
	record->kind = kind;
	record->flags = 0;
	record->queued = 0;
	copy_name(record->name, who->comm);
	return record;
}

static __always_inline void end_moment(struct moment_record *record, __u64 position)
{
	barrier();
	*(volatile __u64 *)&record->sequence = position + 1;
}

#endif
