/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event log's programs: those of the flight recorder, with longer rings and without its sums, and a few that only a
 * log needs. The loader takes the programs of the chosen classes. User space empties the rings all the time; what it
 * does not reach in time is overwritten, and the records' marks show that.
 */
#define RECORDS 65536
#define SAMPLES 1
#define WITHOUT_SUMS
#define WITHOUT_HOLDERS
#define WITHOUT_GROUPS
#define WITHOUT_REQUESTS
#define WITHOUT_ASKERS
#define WITHOUT_FOLLOWERS
#include "recorder.bpf.c"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct atomic___counted {
	int counter;
};

struct signal_struct {
	struct atomic___counted live;
};

struct task_struct___forked {
	int pid;
	int tgid;
	int exit_code;
	struct signal_struct *signal;
	char comm[NAME_SIZE];
};

#pragma clang attribute pop

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(process_forks, struct task_struct *parent, struct task_struct *child)
{
	struct task_struct___forked *made = (void *)child;
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position;

	if (!ring)
		return 0;
	record = begin_record(ring, parent, PROCESS_FORK, &position);
	record->value = (__u32)made->pid;
	record->extra = (__u32)made->tgid;
	copy_name(record->name, made->comm);
	end_record(record, position);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(process_execs, struct task_struct *task, int old)
{
	return note_named(PROCESS_EXEC, (__u32)old, 0);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(process_exits, struct task_struct *task)
{
	struct task_struct___forked *ended = (void *)task;
	bool last;

	/* The second argument exists since 6.15; here the count of threads that live on has already fallen. */
	if (recorder_configuration.exit_tells_last)
		last = ctx[1];
	else
		last = !ended->signal->live.counter;
	return note_named(PROCESS_EXIT, (__u32)ended->exit_code, last);
}

SEC("?tp_btf/task_rename")
int BPF_PROG(thread_renamed, struct task_struct *task, const char *name)
{
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position;

	if (!ring)
		return 0;
	record = begin_record(ring, bpf_get_current_task_btf(), RENAME, &position);
	record->value = (__u32)((struct task_struct___forked *)task)->pid;
	record->extra = 0;
	bpf_probe_read_kernel_str(record->name, NAME_SIZE, name);
	end_record(record, position);
	return 0;
}

/* These two run at every system call of every program. */
SEC("?tp_btf/sys_enter")
int BPF_PROG(futex_begins, struct pt_regs *registers, long call)
{
	if (!calls_futex(registers))
		return 0;
	return note_named(FUTEX_BEGIN, first_argument(registers),
			  (__u32)second_argument(registers) | third_argument(registers) << 32);
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(futex_ends, struct pt_regs *registers, long result)
{
	if (!calls_futex(registers))
		return 0;
	return note(FUTEX_END, result, 0);
}
