/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread is in the kernel for, from the beginning of its call to the end. Its place in the table stays when the call
 * ends: to make one, and to take it back, costs more than all else that is done about a call.
 */
#ifndef PUNCTUAL_TERMINAL_CALLS_H
#define PUNCTUAL_TERMINAL_CALLS_H

#include "codes.h"
#include "terminal_records.h"

/* What a thread is in the kernel for; 0: for nothing that is kept. */
static __always_inline struct own_call *call_under_way(__u32 tid)
{
	struct own_call *call = bpf_map_lookup_elem(&own_calls, &tid);

	return call && call->kind != CALL_NONE ? call : 0;
}

static __always_inline void begin_call(__u32 tid, const struct own_call *call)
{
	struct own_call *place = bpf_map_lookup_elem(&own_calls, &tid);

	if (place)
		*place = *call;
	else
		bpf_map_update_elem(&own_calls, &tid, call, BPF_ANY);
}

static __always_inline void end_call(struct own_call *call)
{
	call->kind = CALL_NONE;
}

/* Threads that come and go would otherwise push out of the table those that wait for long. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_is_gone, struct task_struct *task)
{
	__u32 tid = task->pid;

	bpf_map_delete_elem(&own_calls, &tid);
	return 0;
}

#endif
