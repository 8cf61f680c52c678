/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What devices that decode have in common. The work's own header says what a unit is (DECODE_UNIT), holds the signal and
 * the decoder, whose first member is `decoding`, and includes this one.
 */
#ifndef PUNCTUAL_DEVICE_DECODE_H
#define PUNCTUAL_DEVICE_DECODE_H

#include "decode.h"

/* A unit is long: the clock is read before each. */
#define UNITS_A_LOOK 1
#define DEVICE_UNIT() DECODE_UNIT()
#define DEVICE_BLOCK(number) begin_decoding(number)

static __always_inline __u64 known_before(void)
{
	const struct signal_unit *unit = unit_now();

	return unit ? unit->before : 0;
}

/* Blocks before this one that nobody worked on are gone, and the rest of one that was given up with them. */
static __always_inline void begin_decoding(__u64 block)
{
	struct decoding *d = &decoder.decoding;
	__u64 units = decoding_gone(d, block), before, rounds;

	if (!units)
		return;
	before = known_before();
	rounds = decoding_pass_over(d, units);
	d->missing += rounds * d->known_bits + known_before() - before;
}

#endif
