/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The datapump: filters each sample of a ring by multiplying and accumulating. Freestanding: the same text is
 * compiled for the processor and for BPF, and gives the same output to the bit.
 *
 * For BPF: 32-bit storage and accumulators, a delay line that is written twice so that a window of it is
 * contiguous, every index masked, no division.
 */
#ifndef PUNCTUAL_PUMP_H
#define PUNCTUAL_PUMP_H

#include <linux/types.h>

#define PUMP_RING 512
#define PUMP_TAPS 128
#define PUMP_BANKS 8

struct pump {
	__u64 samples;		/* filtered so far */
	__u64 digest;		/* of every output so far */
	__u32 position;		/* in the delay line */
	__u32 pass;		/* over the sample that is being filtered */
	__u32 passes;		/* over each sample, at least 1: how much work a sample takes */
	__u32 sum;
	__u32 ring[PUMP_RING];
	__s32 delay[2 * PUMP_TAPS];
	__s32 taps[PUMP_BANKS * PUMP_TAPS];
};

/* The next sample, 16 bits. A converter would write the ring; here a generator in each cell does. */
static inline __attribute__((always_inline)) __s32 pump_read_ring(struct pump *pump)
{
	__u32 cell = pump->samples & (PUMP_RING - 1);
	__u32 value = pump->ring[cell];

	pump->ring[cell] = value * 1664525u + 1013904223u;
	return (__s32)value >> 16;
}

/* One unit of work: PUMP_TAPS multiply-accumulates. `passes` units filter a sample. */
static inline __attribute__((always_inline)) void pump_unit(struct pump *pump)
{
	__u32 sum = pump->sum;
	const __s32 *window, *taps;

	if (!pump->pass) {
		__u32 position = (pump->position - 1) & (PUMP_TAPS - 1);
		__s32 sample = pump_read_ring(pump);

		pump->position = position;
		pump->delay[position] = sample;
		pump->delay[position + PUMP_TAPS] = sample;
	}
	window = &pump->delay[pump->position & (PUMP_TAPS - 1)];
	taps = &pump->taps[(pump->pass & (PUMP_BANKS - 1)) * PUMP_TAPS];
#pragma GCC unroll 8
	for (__u32 tap = 0; tap < PUMP_TAPS; tap++)
		sum += (__u32)window[tap] * (__u32)taps[tap];
	if (++pump->pass >= pump->passes) {
		pump->pass = 0;
		pump->samples++;
		pump->digest = (pump->digest ^ sum) * 0x100000001b3ull;
	}
	/* Rotated, so that no pass can be left out or swapped with another. */
	pump->sum = sum << 1 | sum >> 31;
}

#endif
