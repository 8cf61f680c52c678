/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When input came to the terminal. A kernel worker hands on what is put into it, and then wakes whoever waits for it.
 * So these events tell when it came, even while the program is working. Plain words as arguments: kernels let nobody
 * compute with an address that has a type.
 */
#ifndef PUNCTUAL_TERMINAL_INPUT_H
#define PUNCTUAL_TERMINAL_INPUT_H

#include "terminal_moments.h"

SEC("?raw_tp/workqueue_queue_work")
int BPF_PROG(input_is_told, __u64 cpu, __u64 queue, __u64 work)
{
	if (hands_on_input(work))
		terminal_state.told = bpf_ktime_get_ns();
	return 0;
}

/* With `is_over`, how far there is input by then. */
static __always_inline int note_input(__u64 work, bool is_over)
{
	struct tty_struct *terminal = (void *)terminal_state.terminal;
	struct moment_record *record;
	struct moment_ring *ring;
	struct n_tty_data *data;
	__u64 position;

	if (!hands_on_input(work))
		return 0;
	ring = own_ring();
	data = BPF_CORE_READ(terminal, disc_data);
	if (!ring || !data)
		return 0;
	record = begin_moment(ring, bpf_get_current_task_btf(), MOMENT_CAME, &position);
	record->begin = terminal_state.told;
	if (is_over) {
		record->flags = INPUT_IS_THERE;
		record->value = (__u64)(__u32)head_of_input(terminal, data, &record->flags) << 32;
	}
	end_moment(record, position);
	return 0;
}

SEC("?raw_tp/workqueue_execute_start")
int BPF_PROG(input_begins_to_come, __u64 work)
{
	return note_input(work, false);
}

SEC("?raw_tp/workqueue_execute_end")
int BPF_PROG(input_has_come, __u64 work)
{
	return note_input(work, true);
}

#endif
