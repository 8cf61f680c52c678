/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rialto/NT's reservations as a scheduler (sched_ext) of one CPU. Whose the time is, user space has computed and says at
 * each change (`rialto_edge`); `rialto/scheduler.rs` declares the same records.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define MAX_RESERVATIONS 4
#define MAX_RUNS 65536
#define MAX_NAME 16		/* bytes of a thread's name, with the zero at its end */
#define COMPETITORS 64		/* the queue of whoever has no reservation */
#define LOCAL 0x8000000000000002ULL	/* SCX_DSQ_LOCAL */
#define ENQUEUE_PREEMPT (1ULL << 32)	/* SCX_ENQ_PREEMPT */
#define KICK_PREEMPT 2ULL	/* SCX_KICK_PREEMPT */
#define QUEUED 1		/* SCX_TASK_QUEUED */
#define ENQUEUE_LAST_TOO 2ULL	/* SCX_OPS_ENQ_LAST: nobody goes on only because nobody else is there */
#define SLICE_NS 4000000ULL	/* of whoever competes */
#define ENDLESS (~0ULL)		/* the next edge ends it */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_ext_entity {
	__u32 flags;
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
extern void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
extern bool scx_bpf_task_set_slice(struct task_struct *p, __u64 slice) __ksym;

struct run {
	__u64 begin;
	__u64 end;
	__u64 slept;		/* 1: it ended because the thread slept */
};

struct rialto {
	__u32 owner;		/* the number of the reservation whose time it is, from 1 on; 0: nobody's */
	__u32 is_ended;		/* the kernel took the scheduler away */
	__u64 runs;		/* of the first reservation, those beyond MAX_RUNS too */
	__u64 slept;		/* how often a thread of it slept */
	__u64 repaired;		/* somebody ran whose time it was not, and was stopped at once */
	__u64 since;		/* so many others ran since a competing reservation did */
	__u64 began;		/* the run under way */
	__u32 processes[MAX_RESERVATIONS];
	__u32 hard[MAX_RESERVATIONS];
	char names[MAX_RESERVATIONS][MAX_NAME];	/* of the threads that share it; none: all of the process */
	char reason[128];	/* why the kernel took it away */
};

struct rialto rialto;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RUNS);
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

/* The number of a thread's reservation: its process has it, so that its threads share it, or those of a name. */
static __always_inline __u32 reservation_of(const struct task_struct *p)
{
	__u32 process = p->tgid;

	for (int i = 0; i < MAX_RESERVATIONS; i++)
		if (rialto.processes[i] == process && is_named(p, rialto.names[i]))
			return i + 1;
	return 0;
}

static __always_inline bool is_hard(__u32 number)
{
	return number && rialto.hard[(number - 1) & (MAX_RESERVATIONS - 1)];
}

SEC("struct_ops/rialto_select_cpu")
__s32 BPF_PROG(rialto_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	return previous;
}

SEC("struct_ops/rialto_enqueue")
void BPF_PROG(rialto_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 number = reservation_of(p);

	if (number && number == rialto.owner)
		scx_bpf_dsq_insert(p, LOCAL, ENDLESS, flags | ENQUEUE_PREEMPT);
	else
		scx_bpf_dsq_insert(p, number ? number : COMPETITORS, SLICE_NS, flags);
}

/* A competing reservation outside of its slots has its turn after as many others as wait. */
static __always_inline bool take_competing(bool is_turn)
{
	if (is_turn && (__s64)rialto.since < scx_bpf_dsq_nr_queued(COMPETITORS))
		return false;
	for (int i = 1; i <= MAX_RESERVATIONS; i++) {
		if (!is_hard(i) && scx_bpf_dsq_move_to_local(i)) {
			rialto.since = 0;
			return true;
		}
	}
	return false;
}

SEC("struct_ops/rialto_dispatch")
void BPF_PROG(rialto_dispatch, __s32 cpu, struct task_struct *previous)
{
	__u32 owner = rialto.owner, number = 0;
	bool is_runnable = previous && (previous->scx.flags & QUEUED);

	if (is_runnable)
		number = reservation_of(previous);
	if (owner) {
		if (number == owner) {
			scx_bpf_task_set_slice(previous, ENDLESS);
			return;
		}
		if (scx_bpf_dsq_move_to_local(owner))
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
	if (is_runnable && !is_hard(number))
		scx_bpf_task_set_slice(previous, SLICE_NS);
}

/*
 * The clock of the edges is a thread, and whoever it interrupted goes on after it with what was left of the slice: a kick at
 * the edge may have met the thread of the clock. What is wrong is seen here, and ended at once.
 */
SEC("struct_ops/rialto_running")
void BPF_PROG(rialto_running, struct task_struct *p)
{
	__u32 number = reservation_of(p), owner = rialto.owner;
	bool is_wrong;

	if (number == 1)
		rialto.began = bpf_ktime_get_ns();
	if (number && number == owner) {
		scx_bpf_task_set_slice(p, ENDLESS);
		return;
	}
	is_wrong = is_hard(number) || (owner && scx_bpf_dsq_nr_queued(owner) > 0);
	if (is_wrong) {
		rialto.repaired++;
		scx_bpf_kick_cpu(0, KICK_PREEMPT);
	} else if (number) {
		scx_bpf_task_set_slice(p, SLICE_NS);
	}
}

SEC("struct_ops/rialto_stopping")
void BPF_PROG(rialto_stopping, struct task_struct *p, bool runnable)
{
	struct run *run;
	__u32 place;

	if (reservation_of(p) != 1 || !rialto.began)
		return;
	if (!runnable)
		rialto.slept++;
	place = rialto.runs;
	rialto.runs++;
	run = bpf_map_lookup_elem(&runs, &place);
	if (run) {
		run->begin = rialto.began;
		run->end = bpf_ktime_get_ns();
		run->slept = !runnable;
	}
	rialto.began = 0;
}

SEC("struct_ops.s/rialto_init")
__s32 BPF_PROG(rialto_init)
{
	int error = scx_bpf_create_dsq(COMPETITORS, -1);

	for (int i = 1; i <= MAX_RESERVATIONS && !error; i++)
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

/* The time is another's from now on. */
SEC("syscall")
int rialto_edge(struct edge *edge)
{
	rialto.owner = edge->owner;
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
