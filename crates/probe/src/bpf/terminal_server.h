/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With a display: what its server gets and tells, and what the threads at the terminal put out for it.
 */
#ifndef PUNCTUAL_TERMINAL_SERVER_H
#define PUNCTUAL_TERMINAL_SERVER_H

#include "calls.h"
#include "terminal_calls.h"
#include "terminal_moments.h"

/* What a thread puts out for a display is reported as the call begins: whoever shows it may be done before it ends. */
static __always_inline void note_output(struct task_struct *task, struct own_call *call, __u16 flags)
{
	struct moment_ring *ring = own_ring();
	struct moment_record *record;
	__u64 position;

	if (!ring)
		return;
	record = begin_moment(ring, task, MOMENT_WROTE, &position);
	record->begin = call->begin;
	record->flags = flags;
	end_moment(record, position);
}

/* Whether a descriptor of the current process is either end of one of their terminals. */
static __always_inline bool is_terminal_of_theirs(__u64 descriptor)
{
	__u64 terminal;

	if (terminal_configuration.by_process)
		return is_pseudo_terminal(descriptor);
	terminal = terminal_at(descriptor);
	return is_theirs(terminal) || (terminal && is_theirs(POINTER_IN(terminal, struct tty_struct, link)));
}

/* The socket that a process reads from or writes to by this call; 0: it does neither, or there is no socket. */
static __always_inline struct sock___at *socket_of_call(struct pt_regs *registers, struct own_call *call)
{
	struct sock___at *sock;

	if (call->kind != CALL_READ && call->kind != CALL_WRITE)
		return 0;
	sock = any_socket_at(first_argument(registers));
	if (sock)
		call->socket = (__u64)sock;
	return sock;
}

/* The display's server: when it gets what is typed, and when it reports what it has drawn. */
static __always_inline int server_calls(struct pt_regs *registers, struct task_struct *task, struct own_call *call)
{
	__u32 tid = ((struct task_struct___at *)task)->pid;
	struct sock___at *sock = socket_of_call(registers, call);
	bool is_own;

	if (!sock)
		return 0;
	is_own = peer_of(sock) == (__u32)terminal_configuration.own_process;
	if (call->kind == CALL_WRITE)
		note_output(task, call, is_own ? OF_SERVER : OF_SERVER | TO_OTHERS);
	else if (is_own)
		begin_call(tid, call);
	return 0;
}

/* The same if others use the display too: when it gets something from somebody who is not watched, which may be the
 * input; when it tells the watched programs, and when it reports what it has drawn. */
static __always_inline int shared_server_calls(struct pt_regs *registers, struct task_struct *task, struct own_call *call)
{
	__u32 tid = ((struct task_struct___at *)task)->pid, peer;
	struct sock___at *sock = socket_of_call(registers, call);

	if (!sock)
		return 0;
	peer = peer_of(sock);
	if (call->kind == CALL_READ) {
		if (peer != (__u32)terminal_configuration.own_process && !is_watched(peer))
			begin_call(tid, call);
	} else if (is_watched(peer)) {
		note_output(task, call, OF_SERVER | TO_OTHERS);
	} else if (other_end(sock) == terminal_state.listens) {
		note_output(task, call, OF_SERVER);
	}
	return 0;
}

#endif
