/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Work of your own for `punctual device run DEVICE --work FILE.c`: what a driver would do at each interrupt of its device.
 *
 *	#include "punctual_work.h"
 *
 *	int work(struct punctual_block *block)
 *	{
 *		for (unsigned int i = 0; i < block->samples && i < 64; i++)
 *			block->state[0] += punctual_sample(block, i);
 *		block->output[0] = block->state[0];
 *		return 0;
 *	}
 *
 * It is called once for each block that the device brings. 0: done. Anything else is counted as failed, and the next block
 * comes all the same.
 *
 * The same file is compiled to a BPF program, which runs in the interrupt or the softirq, and for the processor. Therefore:
 * one file; this is the only header; no assembly; no calls but of functions in the file that are static; no writable variables outside of
 * functions: what persists is kept in `state`; constant tables are static const; at most about 300 bytes of local variables, for BPF has 512 for all;
 * integers only, and no signed division. Every loop has a constant bound (`i < block->samples && i < 64` has one) and every
 * index is held within its array, where the kernel can see it: punctual_below(value, 16).
 */
#ifndef PUNCTUAL_WORK_H
#define PUNCTUAL_WORK_H

#ifdef __bpf__
/* Where a table stands is where its type information says it does: not so where small tables are put apart. */
#pragma clang section rodata = ".rodata"
#endif

#define PUNCTUAL_OUTPUTS 8
#define PUNCTUAL_STATES 512

struct punctual_block {
	unsigned long long number;	/* of this block, from 0 on; numbers of blocks that were lost do not come */
	unsigned long long samples;	/* in it */
	long long output[PUNCTUAL_OUTPUTS];	/* what goes to the device; as the block before left it */
	long long state[PUNCTUAL_STATES];	/* yours: 0 in the beginning, then as the block before left it */
};

#define PUNCTUAL_INLINE static inline __attribute__((always_inline, unused))

/*
 * A sample of the block, 16 bits with their sign: noise, as the simulated device has nothing better to deliver. It depends on
 * the number of the block and on nothing else, so that the same blocks give the same result on every machine.
 */
PUNCTUAL_INLINE int punctual_sample(const struct punctual_block *block, unsigned int index)
{
	unsigned int value = ((unsigned int)block->number * (unsigned int)block->samples + index) * 0x9e3779b1u;

	value = (value ^ value >> 16) * 0x85ebca6bu;
	value = (value ^ value >> 13) * 0xc2b2ae35u;
	return (int)(value ^ value >> 16) >> 16;
}

/*
 * A value held below a size that is a power of two, where every kernel sees it: compilers move a plain `& 15` to where older
 * kernels lose sight of it.
 */
PUNCTUAL_INLINE unsigned long long punctual_below(unsigned long long value, unsigned long long size)
{
#ifdef __bpf__
	__asm__ volatile("" : "+r"(value));
#endif
	return value & (size - 1);
}

#ifndef PUNCTUAL_DECLARES_ONLY
/* Yours. It is static by this line. */
static int work(struct punctual_block *block);

/* What is called. */
__attribute__((noinline)) int punctual_work(struct punctual_block *block)
{
	return block ? work(block) : -1;
}
#endif

#endif
