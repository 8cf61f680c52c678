/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the threads at one terminal do: when they run, ask for input, get it, put something out, wake others. Their
 * session's terminal identifies them, so nobody has to keep track of who started whom. Each becomes a record in a ring
 * of its CPU; user space maps the rings.
 *
 * With a display, input and output go over sockets whose other end is its server: those of the threads at the terminal
 * and, at the server, those of the typist. A terminal that one of their programs opens in turn is theirs too.
 */
#include "calls.h"
#include "kernel.h"
#include "nesting.h"
#include "per_cpu.h"
#include "terminal_ends.h"
#include "terminal_records.h"
#include "waits.h"

#define MAX_DESCRIPTORS 64
#define MAX_POLLED 16
#define NO_LIMIT (~0ULL)
#define IN_WORK (SOFTIRQ_MASK | HARDIRQ_MASK | NMI_MASK)

struct pollfd_of_program {
	__s32 fd;
	__s16 events;
	__s16 revents;
};

struct times_of_program {
	__s64 seconds;
	__s64 rest;
};

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
	record->tid = BPF_CORE_READ(who, pid);
	record->process = BPF_CORE_READ(who, tgid);
	record->kind = kind;
	record->flags = 0;
	record->queued = 0;
	bpf_probe_read_kernel_str(record->name, NAME_SIZE, who->comm);
	return record;
}

static __always_inline void end_moment(struct moment_record *record, __u64 position)
{
	barrier();
	*(volatile __u64 *)&record->sequence = position + 1;
}

/* Whether a list of descriptors to wait for contains the terminal. */
static __always_inline bool polls_terminal(__u64 list, __u64 count, __u64 *socket)
{
	struct pollfd_of_program one;

	for (__u32 index = 0; index < MAX_POLLED; index++) {
		if (index >= count)
			break;
		if (bpf_probe_read_user(&one, sizeof(one), (void *)(list + index * sizeof(one))))
			return false;
		if (one.fd >= 0 && is_ours(one.fd, socket))
			return true;
	}
	return false;
}

static __always_inline bool selects_terminal(__u64 set, __u64 *socket)
{
	__u64 bits;

	if (!set || bpf_probe_read_user(&bits, sizeof(bits), (void *)set))
		return false;
	for (__u32 descriptor = 0; descriptor < MAX_DESCRIPTORS; descriptor++)
		if (bits >> descriptor & 1 && is_ours(descriptor, socket))
			return true;
	return false;
}

/* When a call ends by itself, by a time limit in memory whose second part counts units of so many ns. */
static __always_inline __u64 limit_at(__u64 address, __u64 unit, __u64 now)
{
	struct times_of_program limit;

	if (!address || bpf_probe_read_user(&limit, sizeof(limit), (void *)address))
		return NO_LIMIT;
	return now + limit.seconds * 1000000000ULL + limit.rest * unit;
}

static __always_inline __u64 limit_in_ms(__s32 ms, __u64 now)
{
	return ms < 0 ? NO_LIMIT : now + (__u64)ms * 1000000;
}

static __always_inline __u64 fourth_argument(struct pt_regs *registers)
{
	struct pt_regs___fourth {
		unsigned long r10;
	} __attribute__((preserve_access_index));

	if (IS_X86)
		return ((struct pt_regs___fourth *)registers)->r10;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[3] : 0;
}

static __always_inline long number_of(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->orig_ax;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->syscallno : -1;
}

/* A wait for several descriptors: whether the terminal is among them, and until when it lasts at most. */
static __always_inline void look_at_poll(struct pt_regs *registers, struct own_call *call)
{
	long number = number_of(registers);
	bool x86 = IS_X86, is_known = true, has_terminal = false;

	if (x86 ? number == 7 : false) {			/* poll */
		has_terminal = polls_terminal(first_argument(registers), second_argument(registers), &call->socket);
		call->limit = limit_in_ms(third_argument(registers), call->begin);
	} else if (number == (x86 ? 271 : 73)) {		/* ppoll */
		has_terminal = polls_terminal(first_argument(registers), second_argument(registers), &call->socket);
		call->limit = limit_at(third_argument(registers), 1, call->begin);
	} else if (x86 && number == 23) {			/* select */
		has_terminal = selects_terminal(second_argument(registers), &call->socket);
		call->limit = limit_at(fifth_argument(registers), 1000, call->begin);
	} else if (number == (x86 ? 270 : 72)) {		/* pselect6 */
		has_terminal = selects_terminal(second_argument(registers), &call->socket);
		call->limit = limit_at(fifth_argument(registers), 1, call->begin);
	} else {
		is_known = false;
		if (number == (x86 ? 281 : 22) || (x86 && number == 232))	/* epoll_pwait, epoll_wait */
			call->limit = limit_in_ms(fourth_argument(registers), call->begin);
		else if (number == 441)				/* epoll_pwait2 */
			call->limit = limit_at(fourth_argument(registers), 1, call->begin);
	}
	if (has_terminal)
		call->flags |= SLEEPS_FOR_INPUT;
	/* With a display, some have one thread that gets the input, and another that waits for that thread. */
	else if (!is_known || terminal_configuration.server)
		call->flags |= SLEEPS_FOR_SEVERAL;
}

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
	return is_theirs(terminal) || (terminal && is_theirs((__u64)BPF_CORE_READ((struct tty_struct *)terminal, link)));
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
		bpf_map_update_elem(&own_calls, &tid, call, BPF_ANY);
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
			bpf_map_update_elem(&own_calls, &tid, call, BPF_ANY);
	} else if (is_watched(peer)) {
		note_output(task, call, OF_SERVER | TO_OTHERS);
	} else if (other_end(sock) == terminal_state.listens) {
		note_output(task, call, OF_SERVER);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *registers, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct own_call call = {};
	struct moment_ring *ring;
	struct moment_record *record;
	__u64 position;
	__u32 tid, flags;
	bool serves;

	if (!terminal_state.terminal) {
		find_terminal(registers, ((struct task_struct___at *)task)->tgid);
		return 0;
	}
	serves = is_server(task);
	if (!serves && !is_there(task))
		return 0;
	call.kind = call_of(registers);
	call.begin = bpf_ktime_get_ns();
	call.limit = NO_LIMIT;
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
	case CALL_POLL:
		look_at_poll(registers, &call);
		break;
	case CALL_SLEEP:
	case CALL_SIGNAL:
		break;
	default:
		return 0;
	}
	tid = ((struct task_struct___at *)task)->pid;
	bpf_map_update_elem(&own_calls, &tid, &call, BPF_ANY);
	flags = call.flags & (SLEEPS_FOR_INPUT | SLEEPS_FOR_SEVERAL);
	ring = flags ? own_ring() : 0;
	if (!ring)
		return 0;
	record = begin_moment(ring, task, MOMENT_ASKS, &position);
	record->value = call.limit;
	record->flags = flags;
	record->queued = queued(&record->flags, call.socket);
	end_moment(record, position);
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
	call = bpf_map_lookup_elem(&own_calls, &tid);
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
	bpf_map_delete_elem(&own_calls, &tid);
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
			call = bpf_map_lookup_elem(&own_calls, &tid);
			if (call && !served) {
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
	if (BPF_CORE_READ((struct task_struct___flagged *)task, flags) & OF_KERNEL)
		record->flags |= WOKEN_IS_KERNELS;
	if (BPF_CORE_READ((struct task_struct___flagged *)waker, flags) & OF_KERNEL)
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

/*
 * A kernel worker hands on what is put into the terminal, and then wakes whoever waits for it. So these events tell
 * when it came, even while the program is working. Plain words as arguments: kernels let nobody compute with an address
 * that has a type.
 */
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

char LICENSE[] SEC("license") = "GPL";
