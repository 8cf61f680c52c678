/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Stamps of a driver: a kernel module says when each of its interrupts was to come, when it came, when the deferred work began
 * and when the thread did, and `punctual record --stamps /dev/punctual` makes a recording of it.
 *
 *	punctual_stamps_open();					in the module's init, before its thread runs
 *	punctual_stamps_push(expected, interrupt, deferred,
 *			     thread, period, missed);		in the thread, after each activation
 *	punctual_stamps_close();				in its exit, after its thread has ended
 *
 * All times are ktime_get_ns(), the clock of hrtimers on CLOCK_MONOTONIC. 0 is what was not passed: `deferred` where the
 * interrupt itself wakes the thread, `interrupt` where nobody saw it. `period` is that of the device in ns, 0 where it has
 * none; `missed` the activations that went by without this thread directly before this one.
 *
 * One source file of a module includes this. What is pushed waits in memory for 8,192 activations; what has no room is
 * counted as lost. punctual_stamps_push is for a thread (it asks who runs); it takes a lock with interrupts off for as long as
 * it takes to write 64 bytes.
 */
#ifndef PUNCTUAL_MODULE_H
#define PUNCTUAL_MODULE_H

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

/* What reading gives: whole ones of these, as many as there are and have room. Nothing where there is none. */
struct punctual_stamps {
	u64 expected;
	u64 interrupt;
	u64 deferred;
	u64 thread;
	u64 period;
	u32 missed;
	/* So many had no room, since the module was loaded. */
	u32 lost;
	u32 cpu;
	u32 tid;
	/* As sched_setscheduler(2) has them. */
	u32 policy;
	u32 priority;
};

#define PUNCTUAL_STAMPS 8192u

static struct punctual_stamps *punctual_ring;
/* Since the beginning: what was written, what was read. */
static u64 punctual_written, punctual_taken;
static u32 punctual_lost;
static DEFINE_RAW_SPINLOCK(punctual_lock);
static DEFINE_MUTEX(punctual_reader);

static inline void punctual_stamps_push(u64 expected, u64 interrupt, u64 deferred, u64 thread, u64 period, u32 missed)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&punctual_lock, flags);
	if (punctual_written - READ_ONCE(punctual_taken) < PUNCTUAL_STAMPS) {
		struct punctual_stamps *one = &punctual_ring[punctual_written % PUNCTUAL_STAMPS];

		one->expected = expected;
		one->interrupt = interrupt;
		one->deferred = deferred;
		one->thread = thread;
		one->period = period;
		one->missed = missed;
		one->lost = punctual_lost;
		one->cpu = raw_smp_processor_id();
		one->tid = current->pid;
		one->policy = current->policy;
		one->priority = current->rt_priority;
		/* The reader looks at this first. */
		smp_store_release(&punctual_written, punctual_written + 1);
	} else {
		punctual_lost++;
	}
	raw_spin_unlock_irqrestore(&punctual_lock, flags);
}

static ssize_t punctual_stamps_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	size_t wanted = bytes / sizeof(struct punctual_stamps), given = 0;

	if (mutex_lock_interruptible(&punctual_reader))
		return -EINTR;
	while (given < wanted && punctual_taken < smp_load_acquire(&punctual_written)) {
		struct punctual_stamps *one = &punctual_ring[punctual_taken % PUNCTUAL_STAMPS];

		if (copy_to_user(to + given * sizeof(*one), one, sizeof(*one))) {
			mutex_unlock(&punctual_reader);
			return -EFAULT;
		}
		/* Its place may be written again. */
		smp_store_release(&punctual_taken, punctual_taken + 1);
		given++;
	}
	mutex_unlock(&punctual_reader);
	return given * sizeof(struct punctual_stamps);
}

static const struct file_operations punctual_stamps_operations = {
	.owner = THIS_MODULE,
	.read = punctual_stamps_read,
};

static struct miscdevice punctual_stamps_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "punctual",
	.fops = &punctual_stamps_operations,
	.mode = 0400,
};

/* 0, or why there is no device. */
static inline int punctual_stamps_open(void)
{
	int code;

	punctual_ring = vzalloc(array_size(PUNCTUAL_STAMPS, sizeof(*punctual_ring)));
	if (!punctual_ring)
		return -ENOMEM;
	code = misc_register(&punctual_stamps_device);
	if (code)
		vfree(punctual_ring);
	return code;
}

static inline void punctual_stamps_close(void)
{
	misc_deregister(&punctual_stamps_device);
	vfree(punctual_ring);
}

/* By this `punctual lab run --module` knows that there is something to read, and where. */
MODULE_INFO(punctual_stamps, "/dev/punctual");

#endif
