// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measuring driver of "A Comparison of Windows Driver Model Latency Performance on Windows NT and Windows 98" (1999), for
 * Linux: a timer's interrupt queues deferred work, and that wakes a real-time thread. Each notes when it came.
 *
 * An hrtimer in hard interrupt context stands for the device, a BH work item or a tasklet for the deferred procedure call,
 * a SCHED_FIFO thread of the kernel for the driver's.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <uapi/linux/sched/types.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "punctual_module.h"

#define HAS_BH_WORK (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0))

static uint period_us = 1000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "from one interrupt to the next, us: 100 to 1000000");
static uint cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the CPU of timer and thread");
static char *deferred = HAS_BH_WORK ? "bh" : "tasklet";
module_param(deferred, charp, 0444);
MODULE_PARM_DESC(deferred, "what the interrupt queues: bh (from Linux 6.9), tasklet, or none");
static uint priority = 80;
module_param(priority, uint, 0444);
MODULE_PARM_DESC(priority, "of the thread, SCHED_FIFO: 1 to 99; 0 for an ordinary thread");

static struct hrtimer timer;
static struct tasklet_struct tasklet;
static struct task_struct *thread;
#if HAS_BH_WORK
static struct work_struct bh_work;
#endif
static enum { NONE, TASKLET, BH } means;

/* The activation in progress; the interrupt leaves it alone until the thread has had it. */
static struct {
	u64 expected, interrupt, deferred;
	u32 missed;
	bool under_way;
	bool due;
} activation;
static u32 gone_by;

static ktime_t period(void)
{
	return ns_to_ktime((u64)period_us * NSEC_PER_USEC);
}

static void wake(void)
{
	/* What the thread reads is in place before it may look. */
	smp_store_release(&activation.due, true);
	wake_up_process(thread);
}

static void in_tasklet(struct tasklet_struct *unused)
{
	activation.deferred = ktime_get_ns();
	wake();
}

#if HAS_BH_WORK
static void in_bh_work(struct work_struct *unused)
{
	activation.deferred = ktime_get_ns();
	wake();
}
#endif

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	u64 now = ktime_get_ns(), expected = ktime_to_ns(hrtimer_get_expires(timer));
	u64 passed = hrtimer_forward_now(timer, period());

	if (smp_load_acquire(&activation.under_way)) {
		gone_by += passed;
		return HRTIMER_RESTART;
	}
	activation.under_way = true;
	activation.expected = expected;
	activation.interrupt = now;
	activation.deferred = 0;
	activation.missed = gone_by;
	/* Activations for which this interrupt came too late. */
	gone_by = passed ? passed - 1 : 0;
	switch (means) {
	case TASKLET:
		tasklet_schedule(&tasklet);
		break;
#if HAS_BH_WORK
	case BH:
		queue_work(system_bh_wq, &bh_work);
		break;
#endif
	default:
		wake();
	}
	return HRTIMER_RESTART;
}

static int in_thread(void *unused)
{
	/* From here, so that the timer is on the thread's CPU. */
	hrtimer_start(&timer, period(), HRTIMER_MODE_REL_PINNED_HARD);
	for (;;) {
		u64 now;

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!smp_load_acquire(&activation.due)) {
			schedule();
			continue;
		}
		now = ktime_get_ns();
		__set_current_state(TASK_RUNNING);
		punctual_stamps_push(activation.expected, activation.interrupt, activation.deferred, now,
				     ktime_to_ns(period()), activation.missed);
		activation.due = false;
		smp_store_release(&activation.under_way, false);
	}
	__set_current_state(TASK_RUNNING);
	/* Here, while there is still a thread to wake. */
	hrtimer_cancel(&timer);
#if HAS_BH_WORK
	cancel_work_sync(&bh_work);
#endif
	tasklet_kill(&tasklet);
	return 0;
}

static int chosen(void)
{
	if (!strcmp(deferred, "none"))
		means = NONE;
	else if (!strcmp(deferred, "tasklet"))
		means = TASKLET;
	else if (HAS_BH_WORK && !strcmp(deferred, "bh"))
		means = BH;
	else
		return -EINVAL;
	if (period_us < 100 || period_us > 1000000 || priority > 99 || cpu >= nr_cpu_ids ||
	    !cpu_online(cpu))
		return -EINVAL;
	return 0;
}

static int __init punctual_driver_init(void)
{
	struct sched_attr real_time = {
		.size = sizeof(real_time),
		.sched_policy = SCHED_FIFO,
		.sched_priority = priority,
	};
	int code = chosen();

	if (code) {
		pr_err("punctual_driver: a parameter is out of its range\n");
		return code;
	}
#if HAS_BH_WORK
	INIT_WORK(&bh_work, in_bh_work);
#endif
	tasklet_setup(&tasklet, in_tasklet);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = on_timer;
#endif
	thread = kthread_create(in_thread, NULL, "punctual-driver");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	code = punctual_stamps_open();
	if (code) {
		kthread_stop(thread);
		return code;
	}
	kthread_bind(thread, cpu);
	if (priority)
		sched_setattr_nocheck(thread, &real_time);
	wake_up_process(thread);
	return 0;
}

static void __exit punctual_driver_exit(void)
{
	kthread_stop(thread);
	punctual_stamps_close();
}

module_init(punctual_driver_init);
module_exit(punctual_driver_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Timer interrupt, deferred work and thread of a driver, with stamps for punctual");
