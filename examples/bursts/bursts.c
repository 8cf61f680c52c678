// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a careless driver does: its thread, an ordinary one, keeps the CPU for a while again and again, with a lock held or with
 * something turned off. Kernels differ in what that holds up:
 *
 *	punctual lab run --kernel newest --kernel newest-rt --module examples/bursts,how=spinlock -- record -D 3s
 *
 * It gives no stamps: `record` measures punctual's own threads beside it.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *how = "spinlock";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "irq (interrupts off), spinlock (spin_lock_irqsave), tasklet or preempt (preemption off)");
static uint for_us = 500;
module_param(for_us, uint, 0444);
MODULE_PARM_DESC(for_us, "how long each time, us: 1 to 20000");
static uint every_us = 4200;
module_param(every_us, uint, 0444);
MODULE_PARM_DESC(every_us, "from one to the next, us: more than for_us, at most 1000000");

/* A step of the clock that is longer than this was somebody else's time. */
#define MAX_STEP_NS 1000ULL

static DEFINE_SPINLOCK(lock);
static struct tasklet_struct tasklet;
static struct task_struct *thread;

/* Works for so long, and not until then: whoever is preempted meanwhile has as much left to do. */
static void work(void)
{
	u64 left = (u64)for_us * NSEC_PER_USEC, before = ktime_get_ns();

	while (left) {
		u64 now = ktime_get_ns();

		left -= min_t(u64, left, min_t(u64, now - before, MAX_STEP_NS));
		before = now;
	}
}

static void in_tasklet(struct tasklet_struct *unused)
{
	work();
}

static void with_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	work();
	local_irq_restore(flags);
}

static void with_spinlock(void)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	work();
	spin_unlock_irqrestore(&lock, flags);
}

static void with_tasklet(void)
{
	/* So that it runs when softirqs are turned on again, and not whenever ksoftirqd has its turn. */
	local_bh_disable();
	tasklet_schedule(&tasklet);
	local_bh_enable();
}

static void without_preemption(void)
{
	preempt_disable();
	work();
	preempt_enable();
}

static void (*burst)(void);

static int in_thread(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(every_us - for_us, every_us - for_us + 1);
		burst();
	}
	return 0;
}

static int __init bursts_init(void)
{
	if (!strcmp(how, "irq"))
		burst = with_interrupts_off;
	else if (!strcmp(how, "spinlock"))
		burst = with_spinlock;
	else if (!strcmp(how, "tasklet"))
		burst = with_tasklet;
	else if (!strcmp(how, "preempt"))
		burst = without_preemption;
	if (!burst || !for_us || for_us > 20000 || every_us <= for_us || every_us > 1000000) {
		pr_err("bursts: a parameter is out of its range\n");
		return -EINVAL;
	}
	tasklet_setup(&tasklet, in_tasklet);
	thread = kthread_run(in_thread, NULL, "bursts");
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit bursts_exit(void)
{
	kthread_stop(thread);
	tasklet_kill(&tasklet);
}

module_init(bursts_init);
module_exit(bursts_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Keeps the CPU with a lock held or something turned off, for measuring what that holds up");
