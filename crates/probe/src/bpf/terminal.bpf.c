/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the threads at one terminal do: when they run, get input, sleep until there is some, put something out, wake
 * others. Their session's terminal identifies them, so nobody has to keep track of who started whom. Each becomes a
 * record in a ring of its CPU; user space maps the rings.
 *
 * With a display, input and output go over sockets whose other end is its server: those of the threads at the terminal
 * and, at the server, those of the typist. A terminal that one of their programs opens in turn is theirs too.
 */
#include "calls.h"
#include "nesting.h"
#include "terminal_calls.h"
#include "terminal_input.h"
#include "terminal_polls.h"
#include "terminal_server.h"
#include "waits.h"

#define IN_WORK (SOFTIRQ_MASK | HARDIRQ_MASK | NMI_MASK)

/* The process that types shows which terminal is meant by an empty write into it. */
static __always_inline void find_terminal(struct pt_regs *registers, __u32 process)
{
	if (process != terminal_configuration.own_process || third_argument(registers) ||
	    first_argument(registers) != terminal_configuration.own_descriptor || call_of(registers) != CALL_WRITE)
		return;
	if (terminal_configuration.by_process) {
		terminal_state.listens = (__u64)any_socket_at(terminal_configuration.own_descriptor);
		terminal_state.terminal = terminal_state.listens != 0;
		return;
	}
	terminal_state.terminal = terminal_at(terminal_configuration.own_descriptor);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *registers, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct own_call call = {};
	__u64 longest = NO_LIMIT;
	bool serves;
	__u32 tid;

	if (!terminal_state.terminal) {
		find_terminal(registers, ((struct task_struct___at *)task)->tgid);
		return 0;
	}
	serves = is_server(task);
	if (!serves && !is_there(task))
		return 0;
	call.kind = call_of(registers);
	call.limit = NO_LIMIT;
	/* Other calls are neither input nor output, nor do they wait for input. */
	if (call.kind == CALL_POLL) {
		longest = serves ? 0 : longest_wait(registers);
		if (!longest)
			return 0;
	} else if (call.kind != CALL_READ && call.kind != CALL_WRITE) {
		return 0;
	}
	call.begin = bpf_ktime_get_ns();
	if (serves && terminal_configuration.by_process)
		return shared_server_calls(registers, task, &call);
	if (serves)
		return server_calls(registers, task, &call);
	switch (call.kind) {
	case CALL_READ:
		if (!is_ours(first_argument(registers), &call.socket))
			return 0;
		call.flags = SLEEPS_FOR_INPUT;
		break;
	case CALL_WRITE:
		if (is_ours(first_argument(registers), &call.socket)) {
			if (!terminal_configuration.server)
				break;
			note_output(task, &call, 0);
		} else if (terminal_configuration.server && is_terminal_of_theirs(first_argument(registers))) {
			note_output(task, &call, TO_TERMINAL);
		}
		return 0;
	default:	/* CALL_POLL */
		if (longest != NO_LIMIT)
			call.limit = call.begin + longest;
		look_at_poll(registers, &call);
		if (!call.flags)
			return 0;
	}
	tid = ((struct task_struct___at *)task)->pid;
	begin_call(tid, &call);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends, struct pt_regs *registers, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = ((struct task_struct___at *)task)->pid;
	struct moment_record *record;
	struct moment_ring *ring;
	struct own_call *call;
	__u64 position;
	bool serves;

	serves = is_server(task);
	if (!serves && !is_there(task))
		return 0;
	call = call_under_way(tid);
	if (!call)
		return 0;
	ring = result > 0 && (call->kind == CALL_READ || call->kind == CALL_WRITE) ? own_ring() : 0;
	if (ring) {
		record = begin_moment(ring, task, call->kind == CALL_READ ? MOMENT_GOT : MOMENT_WROTE, &position);
		record->begin = call->begin;
		record->value = (__u32)result;
		if (call->kind == CALL_READ)
			record->value |= (__u64)tail_of_input() << 32;
		record->flags = serves ? OF_SERVER : 0;
		record->queued = queued(&record->flags, call->socket);
		end_moment(record, position);
		if (!serves)
			terminal_state.socket = call->socket;
	}
	end_call(call);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switches, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	struct task_struct___at *from = (void *)previous;
	struct moment_record *record;
	struct moment_ring *ring;
	struct own_call *call;
	bool leaves, comes, served;
	__u64 position, socket = 0;
	__u32 tid;

	if (!terminal_state.terminal)
		return 0;
	served = is_server(previous);
	leaves = served || is_there(previous);
	comes = is_server(next) || is_there(next);
	if (!leaves && !comes)
		return 0;
	ring = own_ring();
	if (!ring)
		return 0;
	if (leaves) {
		record = begin_moment(ring, previous, MOMENT_RAN, &position);
		record->begin = ring->since;
		if (!preempted && left_state(previous, terminal_configuration.switch_tells_state, ctx)) {
			record->flags = RAN_AND_SLEPT;
			if (bpf_core_field_exists(from->in_iowait) && BPF_CORE_READ_BITFIELD(from, in_iowait))
				record->flags |= SLEEPS_FOR_IO;
			tid = from->pid;
			call = served ? 0 : call_under_way(tid);
			if (call) {
				record->flags |= call->flags;
				record->value = call->limit;
				socket = call->socket;
			}
			record->queued = queued(&record->flags, socket);
		}
		if (served)
			record->flags |= OF_SERVER;
		end_moment(record, position);
	}
	ring->since = comes ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(thread_is_woken, struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct moment_record *record;
	struct moment_ring *ring;
	bool wakes, woken;
	__u64 position;

	if (!terminal_state.terminal)
		return 0;
	wakes = is_there(waker);
	woken = is_there(task);
	if (!wakes && !woken)
		return 0;
	ring = own_ring();
	if (!ring)
		return 0;
	record = begin_moment(ring, waker, MOMENT_WOKE, &position);
	record->value = (__u32)((struct task_struct___at *)task)->pid;
	record->flags = (wakes ? WAKER_IS_THERE : 0) | (woken ? WOKEN_IS_THERE : 0);
	if (((struct task_struct___flagged *)task)->flags & OF_KERNEL)
		record->flags |= WOKEN_IS_KERNELS;
	if (((struct task_struct___flagged *)waker)->flags & OF_KERNEL)
		record->flags |= WAKER_IS_KERNELS;
	if (read_nesting(&terminal_configuration.nesting) & IN_WORK)
		record->flags |= BY_INTERRUPT;
	end_moment(record, position);
	return 0;
}

/* No other event shows the first waking of a new thread. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_is_made, struct task_struct *parent, struct task_struct *child)
{
	struct moment_record *record;
	struct moment_ring *ring;
	__u64 position;
	__u32 process;

	if (!is_there(parent))
		return 0;
	if (terminal_configuration.by_process) {
		process = ((struct task_struct___at *)child)->tgid;
		terminal_state.may_be_watched[process & (WATCH_PLACES - 1)] = 1;
		bpf_map_update_elem(&watched_processes, &process, &process, BPF_ANY);
	}
	ring = own_ring();
	if (!ring)
		return 0;
	record = begin_moment(ring, parent, MOMENT_WOKE, &position);
	record->value = (__u32)((struct task_struct___at *)child)->pid;
	record->flags = WAKER_IS_THERE | WOKEN_IS_THERE;
	end_moment(record, position);
	return 0;
}

/* What a program at the terminal starts at a terminal that it has opened, as terminal emulators do, is at the
 * terminal too. */
static __always_inline void learn_terminal(struct task_struct *task)
{
	struct task_struct___at *child = (void *)task;
	__u64 terminal = (__u64)BPF_CORE_READ(child, signal, tty);
	__u64 parents = (__u64)BPF_CORE_READ(child, real_parent, signal, tty);
	__u64 count = terminal_state.count;

	if (!terminal_configuration.server || !terminal_state.terminal || !terminal || !is_theirs(parents))
		return;
	if (count < MAX_OTHERS) {
		terminal_state.others[count] = terminal;
		terminal_state.count = count + 1;
	}
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(thread_becomes, struct task_struct *task, int old)
{
	struct moment_record *record;
	struct moment_ring *ring;
	__u64 position;

	if (!is_there(task)) {
		learn_terminal(task);
		if (!is_there(task))
			return 0;
	}
	ring = own_ring();
	if (!ring)
		return 0;
	record = begin_moment(ring, task, MOMENT_BECAME, &position);
	end_moment(record, position);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
