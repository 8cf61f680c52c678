/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupt: the timer of a perf event of the software CPU clock. The kernel arms it on the event's CPU and calls
 * its handler in hard interrupt context, on PREEMPT_RT too; a program on `hrtimer_expire_entry` runs just before that.
 * The program learns which timer belongs to the event when the thread that opened the event enables it on that CPU:
 * `interrupt.rs` declares the same record and does so.
 */
#ifndef PUNCTUAL_INTERRUPT_H
#define PUNCTUAL_INTERRUPT_H

#include "kernel.h"

#define MAX_CPUS 512
#define HRTIMER_MODE_REL 1
/* The delay that identifies a thread's event while the program learns it; nobody has an event as slow as this. */
#define LEARNING_BASE_NS 7200000000000ULL
#define LEARNING_STEP_NS 50000000ULL
#define LEARNING_SLACK_NS 40000000ULL

/* One for each CPU. */
struct interrupt_source {
	__u64 timer;		/* the event's timer; 0: not known */
	__u64 handler;		/* what timers of such events call; 0: not known, and nothing is learned */
	__u32 learner;		/* the thread that is about to enable the event; 0: nobody */
	__u32 pad;
};

/* Call from `hrtimer_start`: the timer that the learner starts here is the event's. */
static __always_inline void learn_interrupt(struct interrupt_source *sources, struct hrtimer *timer, int mode)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct interrupt_source *source;
	__u64 due, delay;

	if (cpu >= MAX_CPUS)
		return;
	source = &sources[cpu];
	/*
	 * Enabling an event also restarts the timers of the CPU's other events, in the same system call: the delay that
	 * this thread chose identifies its own. Those that expire meanwhile start with an absolute time.
	 */
	if (!source->learner || !(mode & HRTIMER_MODE_REL) ||
	    source->learner != (__u32)bpf_get_current_pid_tgid() || (__u64)timer->function != source->handler)
		return;
	delay = LEARNING_BASE_NS + source->learner * LEARNING_STEP_NS;
	due = timer->_softexpires - bpf_ktime_get_ns();
	if (due > delay || due + LEARNING_SLACK_NS < delay)
		return;
	source->timer = (__u64)timer;
	source->learner = 0;
}

/* Call from `hrtimer_expire_entry`: whether this is the interrupt of this CPU. */
static __always_inline bool is_interrupt(struct interrupt_source *sources, struct hrtimer *timer, __u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	return *cpu < MAX_CPUS && sources[*cpu].timer == (__u64)timer;
}

#endif
