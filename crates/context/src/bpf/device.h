/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A soft device on one CPU: its interrupt, its line, and its datapump if that runs in the kernel. User space maps this
 * memory; `device/memory.rs` declares the same records, and a test checks that the two agree.
 */
#ifndef PUNCTUAL_DEVICE_H
#define PUNCTUAL_DEVICE_H

#include "callback.h"
#include "interrupt.h"
#include "nesting.h"
#include "line.h"
#include "pump.h"

#define ACTIVATIONS 4096
/* No activation works longer than this: others wait for it. */
#define MAX_WORK_NS 5000000ULL
/* How much of each window may be spent on work: `max_worked`. */
#define WINDOW_NS 100000000ULL
/* User space says at least this often that it is alive. */
#define HEARTBEAT_NS 800000000ULL
/*
 * The work: a unit of it, and what comes before a block's. It is the filter, unless a program says otherwise before it
 * includes this.
 */
#ifndef DEVICE_UNIT
#define DEVICE_UNIT() pump_unit(&device.pump)
#define DEVICE_BLOCK(number) ((void)(number))
/* How many units pass between readings of the clock. */
#define UNITS_A_LOOK 16
#endif
/* No more blocks than this are worked off in one activation. */
#define BLOCKS_A_BOUT 64

/* The work was given up before it was done. */
#define CUT 1
/* The block's interrupt came but no program was called for it, or the kernel refused the callback. */
#define UNOBSERVED 2

/* Where work ran, by the kernel's own count. */
#define LEVEL_THREAD 1
#define LEVEL_SOFTIRQ 2
#define LEVEL_INTERRUPT 4
#define LEVEL_NMI 8

/* One block that was processed, in one cache line. Times are ns of CLOCK_MONOTONIC. */
struct activation {
	__u64 block;		/* its number */
	__u64 arrival;		/* when it was complete */
	__u64 interrupt;	/* when its interrupt, or a later one, came; 0: not known */
	__u64 start;		/* when processing began */
	__u64 end;		/* when it ended */
	__u64 executed;		/* how long the work had the CPU in between */
	__u32 pending;		/* samples that had come and were not processed when it ended */
	__u32 cpu;
	__u32 queued;		/* interrupts that were waiting when it began, including its own */
	__u32 flags;
};

struct device {
	struct interrupt_source sources[MAX_CPUS];
	__u64 heartbeat;	/* when user space was last alive */
	__u64 interrupts;	/* that came */
	__u64 refused;		/* blocks that were not processed, to leave others their part of the CPU */
	__u64 cut;		/* blocks whose processing was given up */
	__u64 deaf;		/* interrupts that did nothing because user space was gone */
	__u64 last_interrupt;	/* when it came */
	__u64 last_due;		/* when it was due */
	__u64 interrupt_ns;	/* in all the interrupts that only queue */
	__u64 window_begin;
	__u64 window_worked;
	__u64 max_worked;	/* in a window, ns */
	__u64 calibrated;	/* ns that the requested units took */
	__u64 levels;		/* every LEVEL_ at which work was seen to run */
	__u64 written;		/* activations so far */
	__u64 queue;		/* interrupts that wait for the softirq */
	__u64 interrupted;	/* ns of timer interrupts since the beginning, while in the softirq callback */
	__u64 unobserved;	/* interrupts that came but for which no program was called */
	__u64 unobserved_wait;	/* blocks that wait because of that, or because a callback was refused */
	__u64 entered;		/* when the timer interrupt in the callback began; 0: in none */
	__u32 in_callback;	/* the CPU + 1 while it runs */
	__u32 units;		/* of work in a block */
	struct callback_counts callbacks;
	struct line line;
	struct pump pump __attribute__((aligned(64)));
	struct activation activations[ACTIVATIONS] __attribute__((aligned(64)));
};

struct configuration {
	/* From the run queue to the host's steal counter of the same CPU, bytes; 0: not known. */
	__s64 steal_offset;
	struct nesting_place nesting;
	/* What the softirq callback does: work (0) or wake a thread (1). */
	__u64 wakes;
	/* For tests: every so many callbacks, one is requested in a way that every kernel refuses; 0: none. */
	__u64 refuse_every;
};

struct device device;
const volatile struct configuration configuration = {};

/* A bout of work, on the stack of the program. */
struct bout {
	__u64 limit;		/* when to give up */
	__u64 cut;
};

static __always_inline __u64 stolen_so_far(void)
{
	return configuration.steal_offset ? read_word_at(configuration.steal_offset) : 0;
}

/* The interrupt level at which this runs: the fields of the kernel's `preempt_count`. */
static __always_inline __u32 level_now(void)
{
	__u32 nesting = read_nesting(&configuration.nesting);

	if (!configuration.nesting.offset)
		return 0;
	if (nesting & NMI_MASK)
		return LEVEL_NMI;
	if (nesting & HARDIRQ_MASK)
		return LEVEL_INTERRUPT;
	return nesting & SOFTIRQ_MASK ? LEVEL_SOFTIRQ : LEVEL_THREAD;
}

static int work_unit(__u32 index, struct bout *bout)
{
	if (!(index & (UNITS_A_LOOK - 1)) && bpf_ktime_get_ns() > bout->limit) {
		bout->cut = 1;
		return 1;
	}
	DEVICE_UNIT();
	return 0;
}

/* Whether another block would take more of the CPU than this device may have. */
static __always_inline bool is_too_much(__u64 now)
{
	if (now - device.window_begin > WINDOW_NS) {
		device.window_begin = now;
		device.window_worked = 0;
	}
	return device.window_worked > device.max_worked;
}

/* Processes the oldest block, if there is one. */
static int work_block(__u32 index, struct bout *bout)
{
	struct line *line = &device.line;
	struct activation *activation;
	__u64 start, end, away, arrival;
	__u64 steal, interrupted, taken = line->taken;
	__u32 units = device.units;

	start = bpf_ktime_get_ns();
	line_begin(line, start);
	if (line->taken >= line->arrived) {
		/* If all waiting blocks were lost, the next one reports that they waited for want of an interrupt. */
		if (line->taken == taken)
			device.unobserved_wait = 0;
		return 1;
	}
	arrival = line_oldest(line);
	if (is_too_much(start)) {
		device.refused++;
		line->taken++;
		return 0;
	}
	activation = &device.activations[device.written & (ACTIVATIONS - 1)];
	activation->block = line->taken;
	activation->arrival = arrival;
	activation->interrupt = device.last_interrupt;
	activation->queued = line->arrived - line->taken;
	steal = stolen_so_far();
	interrupted = device.interrupted;
	DEVICE_BLOCK(line->taken);
	bpf_loop(units, work_unit, bout, 0);
	end = bpf_ktime_get_ns();
	away = stolen_so_far() - steal + device.interrupted - interrupted;
	line->taken++;
	activation->start = start;
	activation->end = end;
	activation->executed = end - start > away ? end - start - away : 0;
	activation->pending = line_pending(line, end);
	activation->cpu = bpf_get_smp_processor_id();
	activation->flags = (bout->cut ? CUT : 0) | (device.unobserved_wait ? UNOBSERVED : 0);
	if (device.unobserved_wait)
		device.unobserved_wait--;
	device.levels |= level_now();
	device.window_worked += end - start;
	device.written++;
	if (bout->cut) {
		device.cut++;
		return 1;
	}
	return 0;
}

static __always_inline void work_off(void)
{
	struct bout bout = { .limit = bpf_ktime_get_ns() + MAX_WORK_NS };

	bpf_loop(BLOCKS_A_BOUT, work_block, &bout, 0);
}

/*
 * The kernel skips interrupts when one came so late that the next were already due. If it had no such reason they did
 * come, but this program was not called, as happens when the kernel interrupts another program.
 */
static __always_inline void count_unobserved(__u64 due)
{
	__u64 period = device.line.period, jump, late, passed;

	if (!device.last_due || !period || due <= device.last_due)
		return;
	jump = (due - device.last_due + period / 2) / period;
	late = device.last_interrupt > device.last_due ? device.last_interrupt - device.last_due : 0;
	passed = late / period + 1;
	if (jump <= passed)
		return;
	device.unobserved += jump - passed;
	device.unobserved_wait += jump - passed;
}

/* Whether this is the device's interrupt, and user space still counts on it; its block has then arrived. */
static __always_inline bool arrives(struct hrtimer *timer, __u64 *now)
{
	__u32 cpu;

	if (!is_interrupt(device.sources, timer, &cpu))
		return false;
	*now = bpf_ktime_get_ns();
	if (*now > device.heartbeat + HEARTBEAT_NS) {
		device.deaf++;
		return false;
	}
	device.interrupts++;
	count_unobserved(timer->_softexpires);
	device.last_interrupt = *now;
	device.last_due = timer->_softexpires;
	line_arrive(&device.line, timer->_softexpires);
	return true;
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(device_learns, struct hrtimer *timer, int mode)
{
	learn_interrupt(device.sources, timer, mode);
	return 0;
}

/* How long this many units take, for calibration. */
struct calibration {
	__u32 units;
};

SEC("syscall")
int calibrate(struct calibration *context)
{
	struct bout bout = {};
	__u64 start = bpf_ktime_get_ns();

	bout.limit = start + MAX_WORK_NS;
	bpf_loop(context->units, work_unit, &bout, 0);
	device.calibrated = bpf_ktime_get_ns() - start;
	return bout.cut ? -62 : 0;
}

char LICENSE[] SEC("license") = "GPL";

#endif
