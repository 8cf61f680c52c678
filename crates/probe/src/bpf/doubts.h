/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether what a followed thread sleeps for is a lock at all, or how it gets its work: only how it is woken, again and
 * again, tells.
 */
#ifndef PUNCTUAL_DOUBTS_H
#define PUNCTUAL_DOUBTS_H

#include "followed.h"
#include "wakes.h"

/* If a word so often in a row does not look like a lock that was just released, it is none. */
#define MAX_DOUBTS 4
/* A thread that sleeps only for one word, this often in a row and for this long, ns, gets its work that way:
 * otherwise it would never finish it. */
#define MAX_SERIES 16
#define SERIES_NS 200000000
/* Where a mutex of the C library has its owner, bytes from its word. */
#define MUTEX_OWNER_AT 8

/*
 * A word with the value of a held lock may be something else: whoever wakes those who wait for it has written the
 * number of the next job there. A lock that was released holds nothing, or once in a while somebody else's hold. `told` is
 * what `how_woken` tells of the waking.
 */
static __always_inline void doubt_lock(struct followed *thread, struct task_struct *task, __u64 told, __u64 now)
{
	__u64 word;

	if ((told >> ACT_BIT & 7) != ACT_WAKES || (told >> WORD_BIT & 3) != WORD_SAME)
		return;
	word = first_argument((void *)bpf_task_pt_regs(task));
	if (thread->doubtful_word != word) {
		thread->doubtful_word = word;
		thread->doubts = 0;
		thread->series = 0;
	}
	if (!thread->series++)
		thread->series_since = now;
	switch (told >> STATE_BIT & 3) {
	case WORD_NO_LOCK:
		thread->doubts = MAX_DOUBTS;
		break;
	case WORD_HELD:
		thread->doubts++;
		break;
	case WORD_FREE:
		thread->doubts = 0;
		break;
	}
}

/* Whether a thread that seems to sleep for a lock waits for its next job. */
static __always_inline bool waits_for_job(struct followed *thread, struct task_struct *task, unsigned int state,
					  __u64 now)
{
	__u64 word;
	__u32 owner = 0;

	if (!HAS_HELPER(task_pt_regs) || !(state & STATE_INTERRUPTIBLE))
		return false;
	if (thread->doubts < MAX_DOUBTS && thread->series < MAX_SERIES)
		return false;
	word = first_argument((void *)bpf_task_pt_regs(task));
	if (word != thread->doubtful_word)
		return false;
	if (thread->doubts >= MAX_DOUBTS)
		return true;
	/* It only ever sleeps for a lock that several want all the time: the C library's have their owner beside. */
	bpf_probe_read_user(&owner, sizeof(owner), (void *)(word + MUTEX_OWNER_AT));
	return now - thread->series_since > SERIES_NS && !(owner && owner <= MAX_THREAD);
}

#endif
