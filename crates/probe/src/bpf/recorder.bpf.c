/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flight recorder: notes what happens on every CPU in rings that overwrite. It sends nothing anywhere; whoever
 * wants to know why a wakeup was late copies the time around it out of the rings.
 */
#include "event_ring.h"
#include "followers.h"
#include "quota.h"
#include "registers.h"
#include "waits.h"
#include "wakes.h"
#ifndef WITHOUT_GROUPS
#include "stops.h"
#endif
#ifndef WITHOUT_HOLDERS
#include "packets.h"
#endif
#ifndef WITHOUT_REQUESTS
#include "disks.h"
#endif
#ifndef WITHOUT_ASKERS
#include "armed.h"
#include "ended.h"
#include "sent.h"
#endif

#define INTERRUPTED_USER (1ULL << 63)
#define LEFT_FOR_IO (1U << 31)
#define LEFT_FOR_LOCK (1U << 30)
/* Among the flags of a lock: it belongs to the program, and lends priority. */
#define LOCK_OF_PROGRAM (1U << 16)
#ifdef WITHOUT_HOLDERS
#define HOW_WOKEN(ring, task, waker, lock) 0
#else
#define HOW_WOKEN(ring, task, waker, lock) with_sender(ring, how_ended(task, waker, lock))

/* How a sleep ends; if nothing else is told of it, whether a signal ends it. `lock` gets what is told of a sleep for a lock. */
static __always_inline __u64 how_ended(struct task_struct *task, struct task_struct *waker, __u64 *lock)
{
	bool waits = recorder_configuration.waits_wanted;
	__u64 told = how_woken(task, waker, waits);

	if (!waits)
		*lock = told;
	if (!told && wakes_by_signal(task, waker))
		told = (__u64)ACT_SIGNALS << ACT_BIT;
	return told;
}
#endif
#ifdef WITHOUT_ASKERS
#define ARMER_OF(timer) 0
#define ITEM_OF(work) 0
#else
#define ARMER_OF(timer) armer_of(timer)
/* Which work item it is, to find out who queued it. */
#define ITEM_OF(work) ((__u64)(work))
#endif
/* Timers of one interrupt expire within this time; the stack that it interrupted is taken once. */
#define ONE_INTERRUPT_NS 20000

/* Returns when it was, ns. `for_lock` gets whether the thread that leaves sleeps for a lock of its program. */
static __always_inline __u64 record_switch(bool preempted, struct task_struct *previous, struct task_struct *next,
					   const void *arguments, __u64 *for_lock)
{
	struct task_struct___recorded *to = (void *)next, *from = (void *)previous;
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position, now;
	__u32 left = 0, state;

	if (!ring)
		return 0;
	state = left_state(previous, recorder_configuration.switch_tells_state, arguments);
	if (!preempted && state) {
		left = with_freezer(previous, state) & ~(LEFT_FOR_IO | LEFT_FOR_LOCK);
		if (state & STATE_INTERRUPTIBLE && sleeps_for_lock(previous))
			left |= LEFT_FOR_LOCK;
		if (bpf_core_field_exists(from->in_iowait) && BPF_CORE_READ_BITFIELD(from, in_iowait))
			left |= LEFT_FOR_IO;
	}
	if (!left)
		note_if_out_of_quota(previous);
	/* The current thread is still the one that leaves. */
	record = begin_record(ring, previous, SWITCH, &position);
	record->value = (__u32)to->pid | GROUP_OF(next);
	record->extra = (__u64)left << 32 | (__u16)priority_of(next);
	*for_lock = left & LEFT_FOR_LOCK;
	copy_name(record->name, to->comm);
	now = record->time;
	end_record(record, position);
	return now;
}

PROGRAM_AFTER(note_switch);
PROGRAM_AFTER(note_waking);
PROGRAM_AFTER(handler_begins);
PROGRAM_AFTER(handler_ends);

SEC("tp_btf/sched_switch")
int BPF_PROG(note_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	__u64 for_lock = NOT_TOLD, now = record_switch(preempted, previous, next, ctx, &for_lock);

	say_seen(now, for_lock);
	GO_ON(ctx, note_switch);
	return 0;
}

/* Returns when it was, ns. `lock` gets what is told of a sleep for a lock of its program. */
static __always_inline __u64 record_waking(struct task_struct *task, __u64 *lock)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct ring *ring = own_ring();

	if (!ring)
		return 0;
	note_if_out_of_quota(task);
	return note_named_in(ring, waker, WAKING, (__u32)task->pid | GROUP_OF(task),
			     (__u16)priority_of(task) | HOW_WOKEN(ring, task, waker, lock));
}

SEC("tp_btf/sched_waking")
int BPF_PROG(note_waking, struct task_struct *task)
{
	__u64 lock = NOT_TOLD, now = record_waking(task, &lock);

	say_seen(now, lock);
	GO_ON(ctx, note_waking);
	return 0;
}

#ifndef WITHOUT_HOLDERS
/* A thread that wants a lock which lends priority waits without sleeping while the holder runs: only the loan shows it,
 * which the current thread gives the holder as it begins to wait. */
SEC("?tp_btf/sched_pi_setprio")
int BPF_PROG(priority_is_lent, struct task_struct *holder, struct task_struct *waiter)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!waiter || waiter->pid != task->pid || !wants_lending_lock(task))
		return 0;
	return note(LOCK_BEGIN, (__u32)holder->pid, LOCK_OF_PROGRAM);
}
#endif

SEC("?tp_btf/sched_migrate_task")
int BPF_PROG(note_migration, struct task_struct *task, int destination)
{
	__u32 source = ((struct rq___numbered *)UNTRUSTED(task, struct task_struct)->se.cfs_rq->rq)->cpu;

#ifndef WITHOUT_GROUPS
	struct task_struct___grouped *grouped = UNTRUSTED(task, struct task_struct___grouped);

	if (bpf_core_field_exists(struct cfs_rq___quota, throttle_count) && grouped->prio >= NORMAL_PRIORITY) {
		struct cfs_rq___quota *queue = queue_of(grouped->sched_task_group, destination);

		if (queue && BPF_CORE_READ(queue, throttle_count) > 0)
			note(OUT_OF_QUOTA, (__u32)task->pid,
			     (__u64)destination << 32 | used_up_above(grouped->sched_task_group, destination));
	}
#endif
	return note(MIGRATE, (__u32)task->pid, (__u64)(__u32)destination << 32 | source);
}

/* The instruction that the interrupt interrupted, in this thread. */
static __always_inline __u64 interrupted(struct task_struct *task)
{
	void *registers = (void *)read_word(run_queue(task), recorder_configuration.registers_offset);
	bool is_user = false;
	__u64 instruction;

	if (!registers)
		return 0;
	instruction = instruction_of(registers, &is_user) & ~INTERRUPTED_USER;
	return is_user ? instruction | INTERRUPTED_USER : instruction;
}

#define VECTOR(tracepoint, number)                                                                             \
	PROGRAM_AFTER(tracepoint##_begins);                                                                    \
	PROGRAM_AFTER(tracepoint##_ends);                                                                      \
	SEC("?tp_btf/" #tracepoint "_entry")                                                                   \
	int BPF_PROG(tracepoint##_begins, int vector)                                                          \
	{                                                                                                      \
		struct task_struct *task = bpf_get_current_task_btf();                                         \
		struct ring *ring = own_ring();                                                                \
		if (ring)                                                                                      \
			ring->open.vector =                                                                    \
				note_named_in(ring, task, VECTOR_BEGIN, number, interrupted(task));            \
		GO_ON(ctx, tracepoint##_begins);                                                               \
		return 0;                                                                                      \
	}                                                                                                      \
	SEC("?tp_btf/" #tracepoint "_exit")                                                                    \
	int BPF_PROG(tracepoint##_ends, int vector)                                                            \
	{                                                                                                      \
		struct ring *ring = own_ring();                                                                \
		if (ring)                                                                                      \
			note_end(ring, VECTOR_END, number, &ring->open.vector, 0);                             \
		GO_ON(ctx, tracepoint##_ends);                                                                 \
		return 0;                                                                                      \
	}

VECTOR(local_timer, LOCAL_TIMER)
VECTOR(reschedule, RESCHEDULE)
VECTOR(call_function, CALL_FUNCTION)
VECTOR(call_function_single, CALL_FUNCTION_SINGLE)
VECTOR(irq_work, IRQ_WORK)
VECTOR(thermal_apic, THERMAL)

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(handler_begins, int irq, struct irqaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position;

	if (ring) {
		record = begin_record(ring, task, HANDLER_BEGIN, &position);
		record->value = irq;
		record->extra = interrupted(task);
		bpf_probe_read_kernel_str(record->name, NAME_SIZE, UNTRUSTED(action, struct irqaction)->name);
		ring->open.handler = record->time;
		end_record(record, position);
	}
	GO_ON(ctx, handler_begins);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(handler_ends, int irq, struct irqaction *action, int handled)
{
	struct ring *ring = own_ring();

	if (ring)
		note_end(ring, HANDLER_END, irq, &ring->open.handler, (__u64)action->handler);
	GO_ON(ctx, handler_ends);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int vector)
{
	struct ring *ring = own_ring();

	if (ring) {
		ring->open.raised &= ~(1ULL << (vector & 63));
		ring->open.sender = 0;
		ring->open.softirq = note_named_in(ring, bpf_get_current_task_btf(), SOFTIRQ_BEGIN, vector, 0);
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int vector)
{
	struct ring *ring = own_ring();
	__u64 began, now;

	if (!ring)
		return 0;
	began = ring->open.softirq;
	now = note_end(ring, SOFTIRQ_END, vector, &ring->open.softirq, 0);
	if (began)
		ring->open.queued += now - began;
	/* None is left: what ran since the last time that there was none was queued together at most. */
	if (!ring->open.raised) {
		sum_up(QUEUED, 0, 0, ring->open.queued, now);
		ring->open.queued = 0;
	}
	return 0;
}

SEC("?tp_btf/softirq_raise")
int BPF_PROG(softirq_raised, unsigned int vector)
{
	struct ring *ring = own_ring();

	if (ring)
		ring->open.raised |= 1ULL << (vector & 63);
	return 0;
}

/* The function that the timer is for: for a BPF program's timer its callback, for a sampling clock its program. */
static __always_inline __u64 function_of(struct hrtimer *timer)
{
	__u64 function = (__u64)timer->function, inner = 0;
	void *outer, *program;

	if (is_function(function, BPF_TIMER_FUNCTION) && bpf_core_field_exists(((struct bpf_hrtimer *)0)->timer)) {
		outer = (void *)(__u64)timer - bpf_core_field_offset(struct bpf_hrtimer, timer);
		if (bpf_core_field_exists(((struct bpf_hrtimer *)0)->cb.callback_fn))
			inner = (__u64)READ_AS(outer, struct bpf_hrtimer, cb.callback_fn);
		else if (bpf_core_field_exists(((struct bpf_hrtimer___flat *)0)->callback_fn))
			inner = (__u64)READ_AS(outer, struct bpf_hrtimer___flat, callback_fn);
	} else if (is_function(function, SAMPLING_CLOCK_FUNCTION)) {
		outer = (void *)(__u64)timer - bpf_core_field_offset(struct perf_event, hw.hrtimer);
		program = READ_AS(outer, struct perf_event, prog);
		if (program)
			inner = (__u64)READ_AS(program, struct bpf_prog, bpf_func);
	}
	return inner ? inner : function;
}

/* A late interrupt is still close to whatever delayed it: the stack below it says what that was. */
static __always_inline void take_late_stack(void *context, struct ring *ring, __u64 now)
{
	struct stack *stack;
	__u64 position;

	if (now - ring->last_late < ONE_INTERRUPT_NS)
		return;
	ring->last_late = now;
	stack = begin_stack(ring, &position);
	stack->late = 1;
	stack->kernel_bytes = bpf_get_stack(context, stack->kernel, sizeof(stack->kernel), 0);
	barrier();
	*(volatile __u64 *)&stack->sequence = position + 1;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_begins, struct hrtimer *timer)
{
	__u64 due = ((struct hrtimer___due *)timer)->node.expires;
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position, now;
	__u32 inside;

	if (!ring)
		return 0;
	record = begin_record(ring, bpf_get_current_task_btf(), TIMER_BEGIN, &position);
	now = record->time;
	inside = !!(record->context & HARDIRQ_MASK);
	ring->open.expired[inside] = (__u64)timer;
	record->value = function_of(timer);
	record->extra = due;
	((__u64 *)record->name)[0] = ARMER_OF(&ring->open.expired[inside]);
	end_record(record, position);
	ring->open.timer[inside] = now;
	ring->open.timer_function[inside] = record->value;
	/* Much later than anything that happens: this is another clock's time. */
	if (inside && now > due + recorder_configuration.late_ns && now - due < 10000000000ULL)
		take_late_stack(ctx, ring, now);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_ends, struct hrtimer *timer)
{
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position, now;
	__u32 inside;

#ifndef WITHOUT_GROUPS
	__u64 function = (__u64)timer->function;

	if (bpf_core_field_exists(struct task_group, cfs_bandwidth) &&
	    (is_function(function, QUOTA_PERIOD_FUNCTION) || is_function(function, QUOTA_SLACK_FUNCTION)))
		note_refill(timer, is_function(function, QUOTA_SLACK_FUNCTION));
#endif
	if (!ring)
		return 0;
	record = begin_record(ring, bpf_get_current_task_btf(), TIMER_END, &position);
	now = record->time;
	inside = !!(record->context & HARDIRQ_MASK);
	record->value = inside;
	record->extra = 0;
	end_record(record, position);
	end_run(TIMER_END, inside, &ring->open.timer[inside], ring->open.timer_function[inside], now);
	return 0;
}

SEC("?tp_btf/timer_expire_entry")
int BPF_PROG(callback_begins, struct timer_list *timer)
{
	struct ring *ring = own_ring();
	struct record *record;
	__u64 position;

	if (!ring)
		return 0;
	record = begin_record(ring, bpf_get_current_task_btf(), CALLBACK_BEGIN, &position);
	record->value = (__u64)timer->function;
	record->extra = 0;
	ring->open.expired[0] = (__u64)timer;
	((__u64 *)record->name)[0] = ARMER_OF(&ring->open.expired[0]);
	ring->open.callback = record->time;
	ring->open.callback_function = record->value;
	end_record(record, position);
	return 0;
}

SEC("?tp_btf/timer_expire_exit")
int BPF_PROG(callback_ends, struct timer_list *timer)
{
	struct ring *ring = own_ring();

	if (ring)
		note_end(ring, CALLBACK_END, 0, &ring->open.callback, ring->open.callback_function);
	return 0;
}

SEC("?tp_btf/workqueue_execute_start")
int BPF_PROG(work_begins, struct work_struct *work)
{
	return note_named(WORK_BEGIN, (__u64)work->func, ITEM_OF(work));
}

#ifndef WITHOUT_ASKERS
/* A work item is handed to the kernel's workers; one that is already waiting there is not handed over again. */
SEC("?tp_btf/workqueue_queue_work")
int BPF_PROG(work_queued, int cpu, void *queue, struct work_struct *work)
{
	return note_named(WORK_QUEUED, (__u64)work, 0);
}
#endif

SEC("?tp_btf/workqueue_execute_end")
int BPF_PROG(work_ends, struct work_struct *work)
{
	return note(WORK_END, 0, 0);
}

SEC("?tp_btf/tasklet_entry")
int BPF_PROG(tasklet_begins, void *tasklet, void *function)
{
	struct ring *ring = own_ring();

	if (ring) {
		ring->open.tasklet_function = (__u64)function;
		ring->open.tasklet = note_in(ring, TASKLET_BEGIN, (__u64)function, 0);
	}
	return 0;
}

SEC("?tp_btf/tasklet_exit")
int BPF_PROG(tasklet_ends, void *tasklet, void *function)
{
	struct ring *ring = own_ring();

	if (ring)
		note_end(ring, TASKLET_END, 0, &ring->open.tasklet, ring->open.tasklet_function);
	return 0;
}

SEC("?tp_btf/page_fault_user")
int BPF_PROG(user_fault, unsigned long address)
{
	return note(FAULT_USER, address, 0);
}

SEC("?tp_btf/page_fault_kernel")
int BPF_PROG(kernel_fault, unsigned long address)
{
	return note(FAULT_KERNEL, address, 0);
}

SEC("?tp_btf/contention_begin")
int BPF_PROG(lock_begins, void *lock, unsigned int flags)
{
	return note(LOCK_BEGIN, (__u64)lock, flags);
}

SEC("?tp_btf/contention_end")
int BPF_PROG(lock_ends, void *lock, int result)
{
	return note(LOCK_END, (__u64)lock, (__u32)result);
}

/* The kernel's count of page faults, incremented as each is done. */
SEC("perf_event")
int fault_ends(struct bpf_perf_event_data *context)
{
	return note(FAULT_END, 0, 0);
}

/* The sampling clock. */
SEC("perf_event")
int take_sample(struct bpf_perf_event_data *context)
{
	struct ring *ring = own_ring();
	struct stack *stack;
	__u64 position;

	if (!ring)
		return 0;
	stack = begin_stack(ring, &position);
	stack->kernel_bytes = bpf_get_stack(context, stack->kernel, sizeof(stack->kernel), 0);
	stack->user_bytes = bpf_get_stack(context, stack->user, sizeof(stack->user), BPF_F_USER_STACK);
	barrier();
	*(volatile __u64 *)&stack->sequence = position + 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
