/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings of events, one for each CPU, which always overwrite: the flight recorder's and a log's. User space maps them
 * read-only and copies what it needs; `shared/event_ring.rs` declares the same records, and a test checks that the two
 * agree.
 */
#ifndef PUNCTUAL_EVENT_RING_H
#define PUNCTUAL_EVENT_RING_H

#include "codes.h"
#include "kernel.h"
#include "nesting.h"
#include "priorities.h"

#ifndef RECORDS
#define RECORDS 32768
#define SAMPLES 1024
#endif
#define FRAMES 48
#define NAME_SIZE 16
#define TASK_MASK 0xffffff
#define CONTEXT_MASK 0xffffff

/* One cache line. */
struct record {
	__u64 sequence;		/* its position in the ring + 1, written last */
	__u64 time;		/* ns of CLOCK_MONOTONIC */
	__u64 steal;		/* the host's steal counter of this CPU, ns; 0: not known */
	__u32 task;		/* the current thread, and in the high byte its priority + 2 */
	__u32 context;		/* the nesting count of `nesting.h`, and in the high byte the kind */
	__u64 value;
	__u64 extra;
	char name[NAME_SIZE];
};

/* What was being executed. */
struct stack {
	__u64 sequence;
	__u64 time;
	__u32 tid;
	__u32 process;
	__u32 context;
	__u32 late;		/* taken by a late timer interrupt, not by the sampling clock */
	__s32 kernel_bytes;
	__s32 user_bytes;
	char name[NAME_SIZE];
	__u64 pad;
	__u64 kernel[FRAMES];
	__u64 user[FRAMES];
};

/* What is open on a CPU, for the sums: when it began. */
struct open_handlers {
	__u64 vector;
	__u64 handler;
	__u64 softirq;
	__u64 tasklet;
	__u64 callback;
	__u64 timer[2];		/* in a softirq, in an interrupt */
	__u64 timer_function[2];
	__u64 callback_function;
	__u64 tasklet_function;
	__u64 raised;		/* softirqs that were raised and have not begun: one bit each */
	__u64 queued;		/* how long softirqs have run since none were left, ns */
	__u64 expired[2];	/* the timers that came last, in a softirq and in an interrupt */
	__u64 sender;		/* who sent the packet that the softirq delivers; 0: no packet was seen */
};

/* What has sums: one of `enum record_kind`, its number and function; for handlers the function is their own. */
struct handler_key {
	__u32 kind;
	__u32 number;
	__u64 function;
};

struct handler_sum {
	__u64 count;
	__u64 total;
	__u64 longest;
	__u64 longest_at;
};

/* The kind that holds the sums of softirq work that was queued at once. */
#define QUEUED 100

#ifndef WITHOUT_SUMS
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct handler_key);
	__type(value, struct handler_sum);
} handler_sums SEC(".maps");

/* So many numbers of interrupts by class, and so many of softirqs. */
#define SUM_NUMBERS 32

/* The sums of what has a number and no function: these end most often, and their places need no search. First
 * interrupts by class, then softirqs, then `QUEUED`. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * SUM_NUMBERS + 1);
	__type(key, __u32);
	__type(value, struct handler_sum);
} numbered_sums SEC(".maps");
#endif

struct ring {
	struct record records[RECORDS] __attribute__((aligned(64)));
	struct stack stacks[SAMPLES];
	__u64 head;		/* records ever begun */
	__u64 stack_head;	/* stacks ever begun */
	__u64 last_late;	/* when the last stack at a late interrupt was taken */
	struct open_handlers open;
};

/* Functions of the kernel by which timers and calls between CPUs are recognised. */
enum known_function {
	BPF_TIMER_FUNCTION,
	SAMPLING_CLOCK_FUNCTION,
	QUOTA_PERIOD_FUNCTION,
	QUOTA_SLACK_FUNCTION,
	WAKING_FROM_AFAR_FUNCTION,
	SINGLE_CALL_FUNCTION,
};

struct recorder_configuration {
	/* From the run queue to per-CPU variables of the same CPU, bytes; 0: not known. */
	__s64 steal_offset;
	__s64 registers_offset;
	struct nesting_place nesting;
	/* If a timer is later than this, ns, the stack that it interrupted is taken. */
	__u64 late_ns;
	/* Whether these tracepoints have an argument that older kernels do not give. */
	__u64 switch_tells_state;
	__u64 exit_tells_last;
	/* Whether threads' groups are those of a CPU controller with a hierarchy of its own. */
	__u64 groups_of_controller;
	/* One more than the highest CPU number that can occur. */
	__u64 cpus;
	/* Whether the tracepoints of disk requests begin with the queue, as before 5.11. */
	__u64 requests_tell_queue;
	/* Whether each waking tells what the two threads had called the kernel for, not only wakings out of a sleep
	 * for a lock. */
	__u64 waits_wanted;
	/* Where these functions are, by `enum known_function`; 0: not known. */
	__u64 functions[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring);
} rings SEC(".maps");

const volatile struct recorder_configuration recorder_configuration = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___recorded {
	int pid;
	char comm[NAME_SIZE];
	unsigned int in_iowait : 1;
};

struct rq___numbered {
	int cpu;
};

struct timerqueue_node {
	ktime_t expires;
};

struct hrtimer___due {
	struct timerqueue_node node;
};

struct irqaction {
	const char *name;
	void *handler;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

struct bpf_async_cb {
	void *callback_fn;
};

struct bpf_hrtimer {
	struct bpf_async_cb cb;
	struct hrtimer timer;
};

/* As it was before 6.10. */
struct bpf_hrtimer___flat {
	struct hrtimer timer;
	void *callback_fn;
};

struct bpf_prog {
	void *bpf_func;
};

struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int __data_len;
};

/* As it was before 5.17. */
struct request___with_disk {
	struct gendisk *rq_disk;
};

struct hw_perf_event {
	struct hrtimer hrtimer;
};

struct perf_event {
	struct hw_perf_event hw;
	struct bpf_prog *prog;
};

#pragma clang attribute pop

/* Whether this is that function, provided its address is known. */
static __always_inline bool is_function(__u64 function, enum known_function known)
{
	return function && function == recorder_configuration.functions[known];
}

/* A word of the memory of this run queue's CPU; 0 if its place is not known. */
static __always_inline __u64 read_word(struct rq *queue, __s64 offset)
{
	return offset ? read_word_from(queue, offset) : 0;
}

/* What the CPU is in that runs the program, by the thread that is its current one. */
static __always_inline __u32 nesting(struct task_struct *task)
{
	return read_nesting_of(&recorder_configuration.nesting, task, run_queue(task)) & CONTEXT_MASK;
}

static __always_inline struct ring *own_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/*
 * Takes the next place. An interrupt may come while a record is being written: the mark comes last. `task` is the
 * current thread: every call of a helper counts here, so nobody asks for it twice, nor looks for its run queue twice.
 */
static __always_inline struct record *begin_record(struct ring *ring, struct task_struct *task, __u32 kind,
						   __u64 *position)
{
	struct rq *queue = run_queue(task);
	struct record *record;

	*position = __sync_fetch_and_add(&ring->head, 1);
	record = &ring->records[*position & (RECORDS - 1)];
	record->sequence = 0;
	barrier();
	record->time = bpf_ktime_get_ns();
	record->steal = read_word(queue, recorder_configuration.steal_offset);
	record->task = (task->pid & TASK_MASK) | (__u32)(priority_of(task) + 2) << 24;
	record->context = (read_nesting_of(&recorder_configuration.nesting, task, queue) & CONTEXT_MASK) | kind << 24;
	return record;
}

static __always_inline void end_record(struct record *record, __u64 position)
{
	barrier();
	*(volatile __u64 *)&record->sequence = position + 1;
}

/* Notes an event without a name. Returns when that was, ns: nobody has to read the clock again for it. */
static __always_inline __u64 note_in(struct ring *ring, __u32 kind, __u64 value, __u64 extra)
{
	struct record *record;
	__u64 position, now;

	record = begin_record(ring, bpf_get_current_task_btf(), kind, &position);
	record->value = value;
	record->extra = extra;
	now = record->time;
	end_record(record, position);
	return now;
}

/* The same with the name of the current thread, which is given. */
static __always_inline __u64 note_named_in(struct ring *ring, struct task_struct *task, __u32 kind, __u64 value,
					   __u64 extra)
{
	struct record *record;
	__u64 position, now;

	record = begin_record(ring, task, kind, &position);
	record->value = value;
	record->extra = extra;
	copy_name(record->name, ((struct task_struct___recorded *)task)->comm);
	now = record->time;
	end_record(record, position);
	return now;
}

static __always_inline int note(__u32 kind, __u64 value, __u64 extra)
{
	struct ring *ring = own_ring();

	if (ring)
		note_in(ring, kind, value, extra);
	return 0;
}

static __always_inline int note_named(__u32 kind, __u64 value, __u64 extra)
{
	struct ring *ring = own_ring();

	if (ring)
		note_named_in(ring, bpf_get_current_task_btf(), kind, value, extra);
	return 0;
}

#ifndef WITHOUT_SUMS
static __always_inline struct handler_sum *sum_of_handler(__u32 kind, __u32 number, __u64 function)
{
	struct handler_key key = { .kind = kind, .number = number, .function = function };
	struct handler_sum *sum = bpf_map_lookup_elem(&handler_sums, &key);
	struct handler_sum first = {};

	if (sum)
		return sum;
	bpf_map_update_elem(&handler_sums, &key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&handler_sums, &key);
}

static __always_inline struct handler_sum *sum_of(__u32 kind, __u32 number, __u64 function)
{
	__u32 place = number;

	if (kind == SOFTIRQ_END)
		place += SUM_NUMBERS;
	else if (kind == QUEUED)
		place += 2 * SUM_NUMBERS;
	else if (kind != VECTOR_END)
		return sum_of_handler(kind, number, function);
	if (number >= SUM_NUMBERS)
		return sum_of_handler(kind, number, function);
	return bpf_map_lookup_elem(&numbered_sums, &place);
}
#endif

/* Adds a run to the sums of what ran. */
static __always_inline void sum_up(__u32 kind, __u32 number, __u64 function, __u64 ran, __u64 now)
{
#ifndef WITHOUT_SUMS
	struct handler_sum *sum = sum_of(kind, number, function);

	if (!sum)
		return;
	sum->count++;
	sum->total += ran;
	if (ran > sum->longest) {
		sum->longest = ran;
		sum->longest_at = now;
	}
#endif
}

/* Adds the run that began at `*began` and ends now, if it was seen to begin. */
static __always_inline void end_run(__u32 kind, __u64 value, __u64 *began, __u64 function, __u64 now)
{
	if (*began)
		sum_up(kind, value, function, now - *began, now);
	*began = 0;
}

/* Notes an end, and adds the run. Returns when that was, ns. */
static __always_inline __u64 note_end(struct ring *ring, __u32 kind, __u64 value, __u64 *began, __u64 function)
{
	__u64 now = note_in(ring, kind, value, 0);

	end_run(kind, value, began, function, now);
	return now;
}

static __always_inline struct stack *begin_stack(struct ring *ring, __u64 *position)
{
	struct task_struct___recorded *task = (void *)bpf_get_current_task_btf();
	__u64 ids = bpf_get_current_pid_tgid();
	struct stack *stack;

	*position = __sync_fetch_and_add(&ring->stack_head, 1);
	stack = &ring->stacks[*position & (SAMPLES - 1)];
	stack->sequence = 0;
	barrier();
	stack->time = bpf_ktime_get_ns();
	stack->tid = (__u32)ids;
	stack->process = ids >> 32;
	stack->context = nesting((void *)task);
	stack->late = 0;
	stack->user_bytes = 0;
	copy_name(stack->name, task->comm);
	return stack;
}

#endif
