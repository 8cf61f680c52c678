/* SPDX-License-Identifier: GPL-2.0-only */
/* The least that can be recorded of an event: when it was, in its CPU's ring. For benchmarks, as a lower bound. */
#ifndef PUNCTUAL_LEAST_RECORD_H
#define PUNCTUAL_LEAST_RECORD_H

#include "event_ring.h"

static __always_inline void write_record(void)
{
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position;

	if (!ring)
		return;
	position = __sync_fetch_and_add(&ring->head, 1);
	record = &ring->records[position & (RECORDS - 1)];
	record->sequence = 0;
	barrier();
	record->time = bpf_ktime_get_ns();
	record->value = position;
	record->extra = 0;
	barrier();
	*(volatile __u64 *)&record->sequence = position + 1;
}

#endif
