/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows the wakeups of other programs' threads: what woke each, when it was switched in, when it blocked again. The
 * programs only look at a thread, and never touch it. Each finished wakeup becomes a record in the ring of its CPU.
 */
#include "doubts.h"
#include "followed.h"
#include "groups.h"
#include "wakes.h"

#define TASK_DEAD 0x80
/*
 * A waking this soon before its thread is seen to block belongs to that block: its waker was faster. The scheduler may look
 * for another thread to run meanwhile, or the host take the CPU. If it came before the thread began to block, and so did not
 * wake it, another one will, and takes its place.
 */
#define FASTER_NS 1000000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hrtimer_clock_base {
	ktime_t offset;
};

struct hrtimer___based {
	ktime_t _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
};

struct task_struct___followed {
	int pid;
	int tgid;
	unsigned int policy;
	unsigned int rt_priority;
	char comm[NAME_SIZE];
};

struct irqaction {
	const char *name;
};

struct task_struct___stopping {
	unsigned int ptrace;
	unsigned long jobctl;
	struct signal_struct___pending *signal;
	struct sigpending pending;
};

#pragma clang attribute pop

/* Signals that stop: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU. */
#define STOP_SIGNALS (0xfUL << 18)
/* Of `jobctl`: to stop, to trap for a tracer, for the freezer. */
#define JOBS_PENDING (1UL << 17 | 1UL << 19 | 1UL << 20 | 1UL << 23)

/* Whether a thread that is switched in may be taken off again before it reaches its program. */
static __always_inline bool may_be_held(struct task_struct *task)
{
	struct task_struct___stopping *stopping = (void *)task;
	struct signal_struct___pending *of_all = UNTRUSTED(task, struct task_struct___stopping)->signal;
	unsigned long signals = stopping->pending.signal.sig[0] | of_all->shared_pending.signal.sig[0];

	return stopping->jobctl & JOBS_PENDING || signals & (stopping->ptrace ? ~0UL : STOP_SIGNALS) ||
	       is_out_of_quota(task);
}

static __always_inline struct context *own_context(void)
{
	return &threads.contexts[bpf_get_smp_processor_id() & (MAX_CPUS - 1)];
}

/* Interrupts: when each began, and when it ended. */

#define VECTOR(tracepoint, number)                                                                             \
	SEC("?tp_btf/" #tracepoint "_entry")                                                                   \
	int BPF_PROG(tracepoint##_begins, int vector)                                                          \
	{                                                                                                      \
		struct context *context = own_context();                                                       \
                                                                                                               \
		context->irq_began = bpf_ktime_get_ns();                                                       \
		context->irq_id = number;                                                                      \
		context->irq_kind = WAKER_VECTOR;                                                              \
		return 0;                                                                                      \
	}                                                                                                      \
	SEC("?tp_btf/" #tracepoint "_exit")                                                                    \
	int BPF_PROG(tracepoint##_ends, int vector)                                                            \
	{                                                                                                      \
		own_context()->irq_kind = 0;                                                                   \
		return 0;                                                                                      \
	}

VECTOR(local_timer, LOCAL_TIMER)
VECTOR(reschedule, RESCHEDULE)
VECTOR(call_function, CALL_FUNCTION)
VECTOR(call_function_single, CALL_FUNCTION_SINGLE)
VECTOR(irq_work, IRQ_WORK)

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(device_begins, int irq, struct irqaction *action)
{
	struct context *context = own_context();

	context->irq_began = bpf_ktime_get_ns();
	context->action = (__u64)action;
	context->irq_id = irq;
	context->irq_kind = WAKER_DEVICE;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(device_ends, int irq)
{
	own_context()->irq_kind = 0;
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int number)
{
	struct context *context = own_context();

	context->softirq_began = bpf_ktime_get_ns();
	context->softirq_thread = (__u32)bpf_get_current_pid_tgid();
	context->softirq = number + 1;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int number)
{
	own_context()->softirq = 0;
	return 0;
}

/* Timers that belong to a thread: when they were due, by their own clock. */

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_begins, struct hrtimer *timer)
{
	struct hrtimer___based *based = (void *)timer;
	struct context *context;
	__u32 use, thread = 0;
	__u64 function = (__u64)timer->function;

	if (!function)
		return 0;
	if (function == follow_configuration.timers[CALLS_SLEEPER]) {
		struct task_struct *task = READ_AS(timer, struct hrtimer_sleeper, task);

		thread = READ_AS(task, struct task_struct, pid);
		if (!find_followed(thread))
			return 0;
		use = TIMER_SLEEP;
	} else if (function == follow_configuration.timers[CALLS_TIMERFD]) {
		use = TIMER_FD;
	} else if (function == follow_configuration.timers[CALLS_POSIX_TIMER]) {
		use = TIMER_POSIX;
	} else if (function == follow_configuration.timers[CALLS_INTERVAL_TIMER]) {
		use = TIMER_INTERVAL;
	} else {
		return 0;
	}
	context = own_context();
	context->timer_began = bpf_ktime_get_ns();
	context->timer_due = based->_softexpires - based->base->offset;
	context->timer_for = thread;
	context->timer_use = use;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_ends, struct hrtimer *timer)
{
	own_context()->timer_use = 0;
	return 0;
}

/* Whether this is an interrupt that has no tracepoint of its own. */
static __always_inline bool in_unknown_interrupt(struct task_struct *task)
{
	const volatile struct nesting_place *place = &follow_configuration.nesting;

	return (HAS_CURRENT ? read_nesting_of(place, task, run_queue(task)) : read_nesting(place)) & HARDIRQ_MASK;
}

/* Whether the current thread puts something into a socket: what a softirq delivers meanwhile may be that. */
static __always_inline bool is_sending(struct task_struct *task)
{
	if (!follow_configuration.places_wanted || !HAS_HELPER(task_pt_regs))
		return false;
	return call_of((void *)bpf_task_pt_regs(task)) == CALL_WRITE;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(thread_woken, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct followed *thread = find_followed(tid);
	struct task_struct *waker = 0;
	struct context *context;
	struct wake *wake;
	__u64 now, told;

	if (!thread)
		return 0;
	now = time_of_event(&told);
	if (HAS_CURRENT)
		waker = bpf_get_current_task_btf();
	if (HAS_HELPER(task_pt_regs))
		doubt_lock(thread, task, told == NOT_TOLD ? how_woken(task, waker, false) : told, now);
	context = own_context();
	wake = &thread->pending;
	wake->irq = 0;
	wake->name[0] = 0;
	if (context->timer_use && (!context->timer_for || context->timer_for == tid)) {
		wake->kind = WAKER_TIMER;
		wake->id = context->timer_use;
		wake->began = context->timer_due;
		wake->irq = context->timer_began;
	} else if (context->irq_kind) {
		wake->kind = context->irq_kind;
		wake->id = context->irq_id;
		wake->began = context->irq_began;
		if (context->irq_kind == WAKER_DEVICE) {
			const char *name = READ_AS((void *)context->action, struct irqaction, name);

			bpf_probe_read_kernel_str(wake->name, NAME_SIZE, name);
		}
	} else if (context->softirq && context->softirq_thread == current_number(waker)) {
		wake->kind = WAKER_SOFTIRQ;
		wake->id = context->softirq - 1;
		if (is_sending(waker))
			wake->id |= SENT_HERE;
		wake->began = context->softirq_began;
	} else {
		wake->began = now;
		if (in_unknown_interrupt(waker)) {
			wake->kind = WAKER_VECTOR;
			wake->id = OTHER_VECTOR;
		} else {
			wake->kind = WAKER_THREAD;
			wake->id = current_number(waker);
			if (HAS_CURRENT)
				copy_name(wake->name, ((struct task_struct___followed *)waker)->comm);
			else
				bpf_get_current_comm(wake->name, NAME_SIZE);
		}
	}
	wake->waking = now;
	return 0;
}

/* Takes from a count as much as a record can tell; the next one tells the rest. */
static __always_inline __u16 part_of(__u32 *count)
{
	__u32 part = *count < 0xffff ? *count : 0xffff;

	*count -= part;
	return part;
}

/*
 * Counts a record, so that whoever sees the count also sees the record. Only this CPU's scheduler counts here, and x86
 * keeps its writes in order: a plain one does not wait, as a barrier does, until the record's lines have come back from
 * memory, which they left since the ring last came by.
 */
static __always_inline void count_record(struct records *ring, __u64 head)
{
	barrier();
	if (IS_X86)
		*(volatile __u64 *)&ring->head = head + 1;
	else
		ADD_IN_ORDER(&ring->head, 1);
}

/* Hands a wakeup, or only the thread's counts, to user space. */
static __always_inline void tell(struct followed *thread, struct task_struct___followed *task, __u64 now,
				 __u64 switch_out, __u32 flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct records *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct record *record;
	__u64 head;

	if (!ring)
		return;
	head = ring->head;
	if (head - *(volatile __u64 *)&ring->read >= RECORDS) {
		ring->lost++;
		thread->lost++;
		return;
	}
	record = &ring->records[head & (RECORDS - 1)];
	if (thread->switch_in)
		record->wake = thread->current;
	else
		flags |= RECORD_NO_WAKEUP;
	record->switch_in = thread->switch_in;
	record->switch_out = switch_out;
	record->executed = thread->executed;
	record->at = now;
	record->tid = task->pid;
	record->process = task->tgid;
	record->cpu = thread->cpu;
	record->flags = flags | (thread->flags & FOLLOW_NAME ? RECORD_BY_NAME : 0);
	record->policy = task->policy;
	record->priority = task->rt_priority;
	record->unobserved = part_of(&thread->unobserved);
	record->lost = part_of(&thread->lost);
	record->place = 0;
	record->call = 0;
	if (follow_configuration.places_wanted && HAS_HELPER(task_pt_regs)) {
		struct pt_regs *registers = (void *)bpf_task_pt_regs((void *)task);

		record->call = call_of(registers);
		record->place = place_of(registers, record->call);
	}
	copy_name(record->name, task->comm);
	count_record(ring, head);
}

static __always_inline void switched_out(struct followed *thread, struct task_struct *task, __u64 now,
					 unsigned int state, __u64 for_lock)
{
	bool dead = state & TASK_DEAD, within, is_job;
	__u64 waking;

	if (thread->on_cpu_since)
		thread->executed += now - thread->on_cpu_since;
	thread->on_cpu_since = 0;
	if (thread->switch_in && thread->held == HELD_SOON && (state ? is_stopped(task, state) : is_parked(task))) {
		/* It never reached its program: its wakeup goes on. */
		thread->held = HELD_OFF;
		thread->switch_in = 0;
		thread->state = STATE_BLOCKED;
		return;
	}
	if (!state)
		return;
	/* It ran and nobody saw how that came about. */
	if (thread->state == STATE_BLOCKED)
		thread->unobserved++;
	is_job = waits_for_job(thread, task, state, now);
	within = sleeps_within_work(task, state, for_lock) && !is_job;
	if (!within && !is_job)
		thread->series = 0;
	if (thread->switch_in || dead)
		tell(thread, (void *)task, now, now, dead ? RECORD_ENDED : within ? RECORD_WITHIN_WORK : 0);
	thread->switch_in = 0;
	thread->executed = 0;
	thread->state = STATE_BLOCKED;
	waking = thread->pending.waking;
	/* Another CPU may have woken it again after this switch began. */
	if (waking && waking + FASTER_NS < now)
		swap_if(&thread->pending.waking, waking, 0);
	if (dead || thread->flags & FOLLOW_NO_MORE)
		forget_thread(thread, task->pid);
}

static __always_inline void switched_in(struct followed *thread, struct task_struct *task, __u64 now)
{
	__u64 before = thread->on_cpu_since;
	__u64 waking = thread->pending.waking;

	thread->on_cpu_since = now;
	if (before) {
		/* Nobody saw it leave its CPU: what it did until then cannot be told. */
		if (thread->switch_in)
			tell(thread, (void *)task, now, 0, 0);
		thread->switch_in = 0;
		thread->executed = 0;
		if (waking < before)
			return;
	} else if (thread->state != STATE_BLOCKED) {
		/* It was preempted. */
		return;
	}
	thread->state = STATE_RUNS;
	if (thread->held != HELD_OFF) {
		if (!waking) {
			thread->unobserved++;
			return;
		}
		thread->current = thread->pending;
	}
	thread->held = may_be_held(task) ? HELD_SOON : HELD_NOT;
	thread->pending.waking = 0;
	thread->switch_in = now;
	thread->cpu = bpf_get_smp_processor_id();
}

SEC("tp_btf/sched_switch")
int BPF_PROG(threads_switched, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	struct followed *leaving = find_followed(previous->pid);
	struct followed *coming = find_followed(next->pid);
	__u64 now, for_lock;

	if (!leaving && !coming)
		return 0;
	now = time_of_event(&for_lock);
	if (leaving)
		switched_out(leaving, previous, now,
			     preempted ? 0 : left_state(previous, follow_configuration.switch_tells_state, ctx), for_lock);
	if (coming)
		switched_in(coming, next, now);
	return 0;
}

/* Who begins, and who takes another name. */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_begins, struct task_struct *parent, struct task_struct *child)
{
	struct followed *thread = find_followed(parent->pid);
	bool same = ((struct task_struct___followed *)parent)->tgid == ((struct task_struct___followed *)child)->tgid;

	if (thread && (thread->flags & (FOLLOW_CHILDREN | FOLLOW_NAME) || (same && thread->flags & FOLLOW_THREADS)))
		follow_thread(child->pid, thread->flags & ~FOLLOW_NO_MORE);
	return 0;
}

/* A thread that becomes another program takes the id of its process's first thread, which is gone by then. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(thread_executes, struct task_struct *task, int id_before)
{
	struct followed *thread;
	__u32 flags;

	if (id_before == task->pid)
		return 0;
	thread = find_followed(id_before);
	if (!thread)
		return 0;
	flags = thread->flags;
	forget_thread(thread, id_before);
	follow_thread(task->pid, flags);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(thread_renamed, struct task_struct *task, const char *name)
{
	char taken[NAME_SIZE] = {};
	struct rename *rename;
	__u64 position;

	if (!follow_configuration.names_wanted && !follow_configuration.mark[0])
		return 0;
	bpf_probe_read_kernel_str(taken, NAME_SIZE, name);
	if (follow_configuration.mark[0]) {
		bool marked = true;

		for (int character = 0; character < NAME_SIZE; character++)
			marked = marked && taken[character] == follow_configuration.mark[character];
		if (marked) {
			follow_thread(task->pid, FOLLOW_THREADS | FOLLOW_CHILDREN);
			return 0;
		}
	}
	if (!follow_configuration.names_wanted || find_followed(task->pid))
		return 0;
	position = count_up(&threads.renamed);
	rename = &threads.renames[position & (RENAMES - 1)];
	rename->sequence = 0;
	rename->tid = task->pid;
	rename->process = ((struct task_struct___followed *)task)->tgid;
	__builtin_memcpy(rename->name, taken, NAME_SIZE);
	barrier();
	*(volatile __u64 *)&rename->sequence = position + 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
