/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who stops a thread, or a whole process, by a signal.
 */
#ifndef PUNCTUAL_STOPS_H
#define PUNCTUAL_STOPS_H

#include "event_ring.h"

#define SIGCONT 18
#define SIGTTOU 22

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___signalled {
	int pid;
	int tgid;
};

#pragma clang attribute pop

/* Who sends a signal that stops, possibly to a whole process. */
SEC("?tp_btf/signal_generate")
int BPF_PROG(stop_asked, int signal, void *information, struct task_struct *task, int is_for_all)
{
	struct task_struct___signalled *asked = (void *)task;

	if (signal <= SIGCONT || signal > SIGTTOU)
		return 0;
	return note_named(STOP_ASKED, (__u32)(is_for_all ? asked->tgid : asked->pid),
			  (__u64)(__u32)signal << 32 | !!is_for_all);
}

#endif
