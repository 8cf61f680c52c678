/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Order between what a program does to memory and what user space sees of it, on processors such as arm64 that keep none
 * by themselves. Programs have no acquire and release before Linux 6.14, and barrier() binds the compiler alone.
 */
#ifndef PUNCTUAL_ORDERED_H
#define PUNCTUAL_ORDERED_H

#include "kernel.h"

/*
 * Adds, and keeps whatever the program read or wrote before it before whatever comes after it. An addition that returns
 * a value is a full barrier on every processor (since Linux 5.12); whose value nobody uses, the compiler may replace it
 * by one that orders nothing.
 */
static __always_inline void ordered_add(__u64 *word, __u64 amount)
{
	__u64 before = __sync_fetch_and_add(word, amount);

	barrier_var(before);
}

#endif
