/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rialto/NT's reservations as a scheduler (sched_ext) of one CPU. User space has computed whose the time is and says so
 * at each change (`rialto_edge`); `rialto/record.rs` declares the same records.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define MAX_RESERVATIONS 4
#define MAX_CONSTRAINTS 4	/* their numbers, and queues, follow those of the reservations */
#define MAX_QUEUES (MAX_RESERVATIONS + MAX_CONSTRAINTS)
#define MAX_RUNS 16384		/* for each reservation */
#define MAX_NAME 16		/* bytes of a thread's name, with the zero at its end */
#define COMPETITORS 64		/* the queue of whoever has no reservation */
#define LOCAL 0x8000000000000002ULL	/* SCX_DSQ_LOCAL */
#define ENQUEUE_PREEMPT (1ULL << 32)	/* SCX_ENQ_PREEMPT */
#define KICK_PREEMPT 2ULL	/* SCX_KICK_PREEMPT */
#define QUEUED 1		/* SCX_TASK_QUEUED */
#define ENQUEUE_LAST_TOO 2ULL	/* SCX_OPS_ENQ_LAST: nobody goes on just because nobody else is there */
#define SLICE_NS 4000000ULL	/* of one that competes */
#define ENDLESS (~0ULL)		/* the next edge ends it */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_ext_entity {
	__u32 flags;
	__u64 slice;
};

struct task_struct {
	int pid;
	int tgid;
	char comm[MAX_NAME];
	struct sched_ext_entity scx;
};

struct scx_exit_info {
	__s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

/* The members that are set here; the library finds them by name. */
struct sched_ext_ops {
	__s32 (*select_cpu)(struct task_struct *p, __s32 previous, __u64 flags);
	void (*enqueue)(struct task_struct *p, __u64 flags);
	void (*dispatch)(__s32 cpu, struct task_struct *previous);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	__u64 flags;
	char name[128];
};

extern void scx_bpf_dsq_insert(struct task_struct *p, __u64 queue, __u64 slice, __u64 flags) __ksym;
extern bool scx_bpf_dsq_move_to_local(__u64 queue) __ksym;
extern __s32 scx_bpf_dsq_nr_queued(__u64 queue) __ksym;
extern __s32 scx_bpf_create_dsq(__u64 queue, __s32 node) __ksym;
struct bpf_iter_scx_dsq {
	__u64 opaque[6];
} __attribute__((aligned(8)));

extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, __u64 queue, __u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, __u64 queue, __u64 flags) __ksym;
extern void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
extern bool scx_bpf_task_set_slice(struct task_struct *p, __u64 slice) __ksym;

struct run {
	__u64 begin;
	__u64 end;
	__u64 slept;		/* 1: it ended because the thread slept */
};

struct rialto {
	__u32 owner;		/* the number of the reservation or constraint whose time it is, from 1 on; 0: nobody's */
	__u32 is_ended;		/* the kernel took the scheduler away */
	__u64 repaired;		/* how often somebody ran whose time it was not, and was stopped at once */
	__u64 since;		/* how many others have run since a competing reservation or constraint did */
	__u64 turn;		/* the queue that last had such a turn */
	__u64 looked;		/* whether it looked since the last edge if the time's owner waits elsewhere */
	__u64 runs[MAX_RESERVATIONS];	/* including those beyond MAX_RUNS */
	__u64 slept[MAX_RESERVATIONS];	/* how often a thread of it slept */
	__u64 began[MAX_RESERVATIONS];	/* the run in progress */
	__u32 processes[MAX_RESERVATIONS];
	__u32 hard[MAX_RESERVATIONS];
	__u32 threads[MAX_CONSTRAINTS];	/* those that have a time constraint */
	__u32 of[MAX_CONSTRAINTS];	/* the reservation of each of them, as last queued; 0: none */
	char names[MAX_RESERVATIONS][MAX_NAME];	/* of the threads that share it; none: all of the process's */
	char reason[128];	/* why the kernel took it away */
};

struct rialto rialto;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RESERVATIONS * MAX_RUNS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct run);
} runs SEC(".maps");

static __always_inline bool is_named(const struct task_struct *p, const char *name)
{
	for (int i = 0; i < MAX_NAME && name[i]; i++)
		if (p->comm[i] != name[i])
			return false;
	return true;
}

/* The number of a thread's reservation: its process has it, and so do all its threads, or those with a certain name. */
static __always_inline __u32 reservation_of(const struct task_struct *p)
{
	__u32 process = p->tgid;

	for (int i = 0; i < MAX_RESERVATIONS; i++)
		if (rialto.processes[i] == process && is_named(p, rialto.names[i]))
			return i + 1;
	return 0;
}

/* The number of a thread's time constraint. */
static __always_inline __u32 constraint_of(const struct task_struct *p)
{
	__u32 thread = p->pid;

	for (int i = 0; i < MAX_CONSTRAINTS; i++)
		if (rialto.threads[i] == thread)
			return MAX_RESERVATIONS + i + 1;
	return 0;
}

static __always_inline bool is_hard(__u32 reservation)
{
	return reservation && rialto.hard[(reservation - 1) & (MAX_RESERVATIONS - 1)];
}

/* The reservation of whoever waits in a queue; 0: none. */
static __always_inline __u32 reservation_in(__u32 queue)
{
	return queue <= MAX_RESERVATIONS ? queue : rialto.of[(queue - 1) & (MAX_CONSTRAINTS - 1)];
}

/* A thread with a time constraint gets its own slots and those of its reservation. */
static __always_inline bool is_time_of(__u32 reservation, __u32 constraint, __u32 owner)
{
	return owner && (owner == reservation || owner == constraint);
}

SEC("struct_ops/rialto_select_cpu")
__s32 BPF_PROG(rialto_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	return previous;
}

SEC("struct_ops/rialto_enqueue")
void BPF_PROG(rialto_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 reservation = reservation_of(p), constraint = constraint_of(p), queue = constraint ?: reservation;

	if (constraint)
		rialto.of[(constraint - 1) & (MAX_CONSTRAINTS - 1)] = reservation;
	if (is_time_of(reservation, constraint, rialto.owner))
		scx_bpf_dsq_insert(p, LOCAL, ENDLESS, flags | ENQUEUE_PREEMPT);
	else
		scx_bpf_dsq_insert(p, queue ? queue : COMPETITORS, SLICE_NS, flags);
}

/* Takes a thread out of a queue. */
static __always_inline bool pull(__u64 queue, __u32 thread)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool is_found = false;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	while (!is_found && (p = bpf_iter_scx_dsq_next(&it)))
		if ((__u32)p->pid == thread)
			is_found = scx_bpf_dsq_move(&it, p, LOCAL, 0);
	bpf_iter_scx_dsq_destroy(&it);
	return is_found;
}

/*
 * A thread that asks for time may be put into a queue between its question and the answer, as one of its reservation:
 * with PREEMPT_RT whoever answers lends it a priority for a lock and takes that back.
 */
static __always_inline bool pull_constrained(__u32 owner)
{
	__u32 thread = rialto.threads[(owner - 1) & (MAX_CONSTRAINTS - 1)];

	if (!thread)
		return false;
	for (__u32 queue = 1; queue <= MAX_RESERVATIONS; queue++)
		if (scx_bpf_dsq_nr_queued(queue) > 0 && pull(queue, thread))
			return true;
	return pull(COMPETITORS, thread);
}

/* The waiting owner of the time. */
static __always_inline bool take_owner(__u32 owner)
{
	if (scx_bpf_dsq_move_to_local(owner))
		return true;
	if (owner > MAX_RESERVATIONS)
		return pull_constrained(owner);
	for (__u32 queue = MAX_RESERVATIONS + 1; queue <= MAX_QUEUES; queue++)
		if (reservation_in(queue) == owner && scx_bpf_dsq_move_to_local(queue))
			return true;
	return false;
}

/*
 * A thread that was interrupted by one above all of these is in the CPU's own queue, which may hold the owner of the
 * time. Nobody can tell: whoever runs before the owner goes back to where it waits, until that queue is empty.
 */
static __always_inline bool is_waiting(__u32 owner)
{
	if (scx_bpf_dsq_nr_queued(LOCAL) > 0 || scx_bpf_dsq_nr_queued(owner) > 0)
		return true;
	if (owner > MAX_RESERVATIONS)
		return !rialto.looked++;
	for (__u32 queue = MAX_RESERVATIONS + 1; queue <= MAX_QUEUES; queue++)
		if (reservation_in(queue) == owner && scx_bpf_dsq_nr_queued(queue) > 0)
			return true;
	return false;
}

/* Whoever competes outside its slots gets a turn after as many others as are waiting. */
static __always_inline bool take_competing(bool is_turn)
{
	__u32 last = rialto.turn;

	if (is_turn && (__s64)rialto.since < scx_bpf_dsq_nr_queued(COMPETITORS))
		return false;
	for (__u32 i = 0; i < MAX_QUEUES; i++) {
		__u32 queue = 1 + (last + i) % MAX_QUEUES;

		if (!is_hard(reservation_in(queue)) && scx_bpf_dsq_move_to_local(queue)) {
			rialto.since = 0;
			rialto.turn = queue;
			return true;
		}
	}
	return false;
}

SEC("struct_ops/rialto_dispatch")
void BPF_PROG(rialto_dispatch, __s32 cpu, struct task_struct *previous)
{
	__u32 owner = rialto.owner, reservation = 0;
	bool is_runnable = previous && (previous->scx.flags & QUEUED);

	if (is_runnable)
		reservation = reservation_of(previous);
	if (owner) {
		if (is_runnable && is_time_of(reservation, constraint_of(previous), owner)) {
			scx_bpf_task_set_slice(previous, ENDLESS);
			return;
		}
		if (take_owner(owner))
			return;
	}
	if (take_competing(true))
		return;
	if (scx_bpf_dsq_move_to_local(COMPETITORS)) {
		rialto.since++;
		return;
	}
	if (take_competing(false))
		return;
	if (is_runnable && !is_hard(reservation))
		scx_bpf_task_set_slice(previous, SLICE_NS);
}

/*
 * The clock of the edges is a thread, and whoever it interrupted goes on after it with what was left of the slice: a
 * kick at the edge may have hit the clock's thread. If something is wrong, it is noticed here and ended at once.
 */
SEC("struct_ops/rialto_running")
void BPF_PROG(rialto_running, struct task_struct *p)
{
	__u32 reservation = reservation_of(p), constraint = constraint_of(p), owner = rialto.owner;

	if (reservation)
		rialto.began[(reservation - 1) & (MAX_RESERVATIONS - 1)] = bpf_ktime_get_ns();
	if (is_time_of(reservation, constraint, owner)) {
		scx_bpf_task_set_slice(p, ENDLESS);
		return;
	}
	if (is_hard(reservation) || (owner && is_waiting(owner))) {
		rialto.repaired++;
		scx_bpf_kick_cpu(0, KICK_PREEMPT);
	} else if (p->scx.slice > SLICE_NS) {
		/* Until now it had time of its own. */
		scx_bpf_task_set_slice(p, SLICE_NS);
	}
}

SEC("struct_ops/rialto_stopping")
void BPF_PROG(rialto_stopping, struct task_struct *p, bool runnable)
{
	__u32 reservation = reservation_of(p), index = (reservation - 1) & (MAX_RESERVATIONS - 1), place;
	struct run *run;

	if (!reservation || !rialto.began[index])
		return;
	if (!runnable)
		rialto.slept[index]++;
	place = rialto.runs[index]++;
	if (place < MAX_RUNS) {
		place += index * MAX_RUNS;
		run = bpf_map_lookup_elem(&runs, &place);
		if (run) {
			run->begin = rialto.began[index];
			run->end = bpf_ktime_get_ns();
			run->slept = !runnable;
		}
	}
	rialto.began[index] = 0;
}

SEC("struct_ops.s/rialto_init")
__s32 BPF_PROG(rialto_init)
{
	int error = scx_bpf_create_dsq(COMPETITORS, -1);

	for (int i = 1; i <= MAX_QUEUES && !error; i++)
		error = scx_bpf_create_dsq(i, -1);
	return error;
}

SEC("struct_ops/rialto_exit")
void BPF_PROG(rialto_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(rialto.reason, sizeof(rialto.reason), info->msg);
	if (!rialto.reason[0])
		bpf_probe_read_kernel_str(rialto.reason, sizeof(rialto.reason), info->reason);
	rialto.is_ended = 1;
}

struct edge {
	__u32 owner;
	__u32 pad;
};

/* From now on the time is another's. */
SEC("syscall")
int rialto_edge(struct edge *edge)
{
	rialto.owner = edge->owner;
	rialto.looked = 0;
	scx_bpf_kick_cpu(0, KICK_PREEMPT);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops rialto_ops = {
	.select_cpu = (void *)rialto_select_cpu,
	.enqueue = (void *)rialto_enqueue,
	.dispatch = (void *)rialto_dispatch,
	.running = (void *)rialto_running,
	.stopping = (void *)rialto_stopping,
	.init = (void *)rialto_init,
	.exit = (void *)rialto_exit,
	.flags = ENQUEUE_LAST_TOO,
	.name = "punctual_rialto",
};

char LICENSE[] SEC("license") = "GPL";
