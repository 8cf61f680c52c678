/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes what took each followed CPU away from the loop that wants all of it: interrupts, softirqs, other threads. Each
 * becomes an entry in a ring of its CPU; user space maps the rings, and `probe/src/idle/trace.rs` declares the same
 * records.
 */
#include "codes.h"
#include "kernel.h"
#include "per_cpu.h"

#define MAX_CPUS 512
#define MAX_RINGS 32
#define RING_ENTRIES 4096
#define NAME_SIZE 16

enum entry_kind {
	ENTRY_VECTOR = 1,	/* id: one of `enum vector` */
	ENTRY_DEVICE = 2,	/* id: the interrupt's number; name: its first handler's */
	ENTRY_SOFTIRQ = 3,	/* id: the softirq's number */
	ENTRY_THREAD = 4,	/* id: thread id; name: the thread's */
};

/* One cache line. Times are ns of CLOCK_MONOTONIC. */
struct entry {
	__u64 sequence;		/* its position in the ring + 1, written last */
	__u64 start;
	__u64 end;
	__u64 steal;		/* the host's steal counter at the end, ns; 0: not known */
	__u64 stolen;		/* how much it grew between start and end, ns */
	__u32 kind;
	__u32 id;
	char name[NAME_SIZE];
};

/* What has begun on a CPU and has not ended. */
struct open_interval {
	__u64 start;
	__u64 steal;
};

struct ring {
	struct entry entries[RING_ENTRIES] __attribute__((aligned(64)));
	__u64 head;		/* entries ever begun */
	struct open_interval interrupt;
	struct open_interval softirq;
	struct open_interval thread;
	__u64 pad;
};

struct traced {
	struct ring rings[MAX_RINGS] __attribute__((aligned(64)));
	/* The thread id of each ring's loop. */
	__u32 loops[MAX_RINGS];
	/* From CPU to ring number + 1; 0: not followed. Filled by user space. */
	__u16 ring_of[MAX_CPUS];
};

struct idle_configuration {
	/* From the run queue to the host's steal counter of the same CPU, bytes; 0: not known. */
	__s64 steal_offset;
};

struct traced traced;
const volatile struct idle_configuration idle_configuration = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct irqaction {
	const char *name;
};

struct task_struct___named {
	int pid;
	char comm[NAME_SIZE];
};

#pragma clang attribute pop

static __always_inline __u64 steal_now(void)
{
	return idle_configuration.steal_offset ? read_word_at(idle_configuration.steal_offset) : 0;
}

static __always_inline struct ring *own_ring(__u32 *number)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 entry;

	if (cpu >= MAX_CPUS)
		return 0;
	entry = traced.ring_of[cpu];
	if (!entry)
		return 0;
	*number = (entry - 1) & (MAX_RINGS - 1);
	return &traced.rings[*number];
}

/* Now, for what begins and for what ends. */
static __always_inline struct open_interval this_instant(void)
{
	struct open_interval now;

	now.steal = steal_now();
	now.start = bpf_ktime_get_ns();
	return now;
}

/* An interrupt may come while a softirq's entry is being written: the position is taken atomically, the mark comes
 * last. */
static __always_inline struct entry *add(struct ring *ring, struct open_interval *open, struct open_interval now,
					 __u32 kind, __u32 id, __u64 *position)
{
	struct entry *entry;

	if (!open->start)
		return 0;
	*position = __sync_fetch_and_add(&ring->head, 1);
	entry = &ring->entries[*position & (RING_ENTRIES - 1)];
	entry->sequence = 0;
	barrier();
	entry->start = open->start;
	entry->end = now.start;
	entry->steal = now.steal;
	entry->stolen = now.steal - open->steal;
	entry->kind = kind;
	entry->id = id;
	open->start = 0;
	return entry;
}

static __always_inline void publish(struct entry *entry, __u64 position)
{
	barrier();
	*(volatile __u64 *)&entry->sequence = position + 1;
}

static __always_inline int interrupt_begins(void)
{
	__u32 number;
	struct ring *ring = own_ring(&number);

	if (ring)
		ring->interrupt = this_instant();
	return 0;
}

static __always_inline int vector_ends(__u32 vector)
{
	__u32 number;
	__u64 position;
	struct ring *ring = own_ring(&number);
	struct entry *entry = ring ? add(ring, &ring->interrupt, this_instant(), ENTRY_VECTOR, vector, &position) : 0;

	if (entry)
		publish(entry, position);
	return 0;
}

#define VECTOR(tracepoint, number)                                                                             \
	SEC("?tp_btf/" #tracepoint "_entry")                                                                   \
	int BPF_PROG(tracepoint##_begins, int vector)                                                          \
	{                                                                                                      \
		return interrupt_begins();                                                                     \
	}                                                                                                      \
	SEC("?tp_btf/" #tracepoint "_exit")                                                                    \
	int BPF_PROG(tracepoint##_ends, int vector)                                                            \
	{                                                                                                      \
		return vector_ends(number);                                                                    \
	}

VECTOR(local_timer, LOCAL_TIMER)
VECTOR(reschedule, RESCHEDULE)
VECTOR(call_function, CALL_FUNCTION)
VECTOR(call_function_single, CALL_FUNCTION_SINGLE)
VECTOR(irq_work, IRQ_WORK)

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(device_interrupt_begins, int irq, struct irqaction *action)
{
	return interrupt_begins();
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(device_interrupt_ends, int irq, struct irqaction *action, int handled)
{
	__u32 number;
	__u64 position;
	struct ring *ring = own_ring(&number);
	struct entry *entry = ring ? add(ring, &ring->interrupt, this_instant(), ENTRY_DEVICE, irq, &position) : 0;

	if (entry) {
		bpf_probe_read_kernel_str(entry->name, NAME_SIZE, UNTRUSTED(action, struct irqaction)->name);
		publish(entry, position);
	}
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int vector)
{
	__u32 number;
	struct ring *ring = own_ring(&number);

	if (ring)
		ring->softirq = this_instant();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int vector)
{
	__u32 number;
	__u64 position;
	struct ring *ring = own_ring(&number);
	struct entry *entry = ring ? add(ring, &ring->softirq, this_instant(), ENTRY_SOFTIRQ, vector, &position) : 0;

	if (entry)
		publish(entry, position);
	return 0;
}

/* Every thread but the loop's own is noted from when it is switched in until it is switched out. */
SEC("tp_btf/sched_switch")
int BPF_PROG(thread_ran, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	__u32 number;
	__u64 position;
	struct ring *ring = own_ring(&number);
	struct open_interval now;
	struct entry *entry;

	if (!ring)
		return 0;
	now = this_instant();
	entry = add(ring, &ring->thread, now, ENTRY_THREAD, previous->pid, &position);
	if (entry) {
		copy_name(entry->name, ((struct task_struct___named *)previous)->comm);
		publish(entry, position);
	}
	if ((__u32)next->pid != traced.loops[number])
		ring->thread = now;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
