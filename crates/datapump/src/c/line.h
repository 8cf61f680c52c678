/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The line at a sampling device: blocks of samples arrive at a steady rate, whether or not anybody takes them. The same
 * text serves the interrupt and softirq contexts (BPF) and the threads. Times are ns.
 */
#ifndef PUNCTUAL_LINE_H
#define PUNCTUAL_LINE_H

#include <linux/types.h>

struct line {
	__u64 period;		/* between the ends of two blocks */
	__u64 last;		/* when the newest block was complete; 0: none yet */
	__u64 arrived;		/* blocks that were complete so far */
	__u64 taken;		/* blocks that were processed, dropped or lost so far */
	__u64 coalesced;	/* blocks whose interrupt came together with a later one's */
	__u64 dropped;		/* blocks that were dropped for a newer one */
	__u64 lost;		/* blocks that were overwritten in the ring */
	__u64 overruns;		/* how often the ring wrapped around */
	__u32 samples;		/* in a block */
	__u32 ring;		/* samples that the ring holds */
	__u32 drop_stale;	/* whether only the newest block is worth processing */
	__u32 pad;
};

/* The interrupt that was due at `expected`: every block that is complete by then has arrived. */
static inline __attribute__((always_inline)) void line_arrive(struct line *line, __u64 expected)
{
	__u64 blocks = 1;

	if (line->last && line->period) {
		if (expected + line->period / 2 > line->last)
			blocks = (expected + line->period / 2 - line->last) / line->period;
		else
			blocks = 0;
		if (!blocks)
			return;
	}
	line->last = expected;
	line->arrived += blocks;
	line->coalesced += blocks - 1;
}

/* Samples that have come and were not processed, including those on their way into the next block. */
static inline __attribute__((always_inline)) __u64 line_pending(const struct line *line, __u64 now)
{
	__u64 pending = (line->arrived - line->taken) * line->samples;

	if (line->period && now > line->last && line->last)
		pending += (now - line->last) * line->samples / line->period;
	return pending;
}

/*
 * Before a block is processed: gives up what cannot or need not be processed any more. Afterwards the oldest block
 * is the next one, if `arrived` exceeds `taken`.
 */
static inline __attribute__((always_inline)) void line_begin(struct line *line, __u64 now)
{
	__u64 waiting = line->arrived - line->taken;
	__u64 pending = line_pending(line, now);

	if (line->ring && line->samples && pending >= line->ring) {
		__u64 lost;

		/* Blocks whose interrupts are still to come have wrapped with it, and must not wrap again when these
		 * come. */
		if (line->period && line->last && now > line->last) {
			__u64 complete = (now - line->last) / line->period;

			line->last += complete * line->period;
			line->arrived += complete;
			line->coalesced += complete;
			waiting += complete;
		}
		/* The ring has wrapped: what was in it is lost. */
		lost = (pending - pending % line->ring) / line->samples;

		if (lost > waiting)
			lost = waiting;
		line->overruns++;
		line->lost += lost;
		line->taken += lost;
		waiting -= lost;
	}
	if (line->drop_stale && waiting > 1) {
		line->dropped += waiting - 1;
		line->taken += waiting - 1;
	}
}

/* When the oldest block that was not taken was complete. */
static inline __attribute__((always_inline)) __u64 line_oldest(const struct line *line)
{
	return line->last - (line->arrived - line->taken - 1) * line->period;
}

#endif
