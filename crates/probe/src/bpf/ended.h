/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of threads that have ended: whoever armed a timer may be gone when it expires. The low bits of a thread's
 * number are its place; the one that ends later takes it.
 */
#ifndef PUNCTUAL_ENDED_H
#define PUNCTUAL_ENDED_H

#include "event_ring.h"

#define ENDED_THREADS 32768

struct ended {
	__u32 tid;		/* written last; 0: none */
	__u32 earlier;		/* another thread had the number before, and ended too */
	char name[NAME_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ENDED_THREADS);
	__type(key, __u32);
	__type(value, struct ended);
} ended SEC(".maps");

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(thread_ends, struct task_struct *task)
{
	struct task_struct___recorded *thread = (void *)task;
	__u32 tid = thread->pid;
	__u32 key = tid % ENDED_THREADS;
	struct ended *place = bpf_map_lookup_elem(&ended, &key);

	if (!place)
		return 0;
	place->earlier = place->tid == tid;
	*(volatile __u32 *)&place->tid = 0;
	copy_name(place->name, thread->comm);
	*(volatile __u32 *)&place->tid = tid;
	return 0;
}

#endif
