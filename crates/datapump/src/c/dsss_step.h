/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The 802.11b receiver, sample by sample: looks for a preamble at each place of a symbol, then takes chips at one of them. */
#ifndef PUNCTUAL_DSSS_STEP_H
#define PUNCTUAL_DSSS_STEP_H

#include "dsss_symbol.h"

/* The preamble ends at this place: from here on symbols are expected. */
DSSS_INLINE void dsss_choose(struct dsss *d, __u32 place)
{
	__u32 raw = d->raw[place], scrambled = 0;

	d->best = d->opening[place];
	d->carrier_re = d->sum_re[place] >> 6;
	d->carrier_im = d->sum_im[place] >> 6;
	d->last_re = d->before_re[place];
	d->last_im = d->before_im[place];
	for (__u32 bit = 0; bit < 7; bit++)
		scrambled |= (raw >> bit & 1) << (6 - bit);
	d->scrambled = scrambled;
	d->wait = d->index + DSSS_A_CHIP;
}

/*
 * How much a chip turns if the carrier turns a symbol: the symbol's angle, found by turning it back by ever smaller
 * angles. The first chip after the preamble comes six chips after the middle of the last symbol, which is the
 * reference.
 */
DSSS_INLINE void dsss_begin_header(struct dsss *d)
{
	__s64 re = d->carrier_re, im = d->carrier_im, angle = 0;

	for (__u32 round = 0; round < DSSS_ROTATIONS; round++) {
		__s64 sign = im >> 63 | 1, old = re;

		re += sign * (im >> round);
		im -= sign * (old >> round);
		angle += sign * d->angles[round];
	}
	/* If a symbol may end at other places, this preamble is not whole there yet, and must not be completed after
	 * the packet. */
	for (__u32 place = 0; place < DSSS_PLACES; place++)
		d->seen[place] = 0;
	/* A symbol's turn divided by eleven. */
	d->step = (__u32)(angle * 390451572 >> 32);
	d->phase = 6 * d->step;
	d->receive = DSSS_READ_HEADER;
	d->packets++;
	d->header = 0;
	d->index = 0;
	d->chip = 0;
	d->check = 0xffff;
}

DSSS_INLINE __u32 dsss_ends_preamble(__u64 seen)
{
	return bits_set((seen ^ DSSS_START) & ((1 << DSSS_START_BITS) - 1)) <= DSSS_START_TOLERANCE &&
	       bits_set(~seen >> DSSS_START_BITS) <= DSSS_ONES_TOLERANCE;
}

/* Whether symbols that end at no other place have more than twice this power. What a strong signal leaves beside its
 * place is weaker. */
DSSS_INLINE __u32 dsss_is_strong(const struct dsss *d, __s64 opening)
{
	__s64 left = 0;

	/* Without a branch for each place, since the verifier would walk every combination of them. */
	for (__u32 place = 0; place < DSSS_PLACES; place++)
		left |= 2 * opening - d->opening[place];
	return left >= 0;
}

/* A symbol may end with this sample: if so, which one it is, and whether the preamble ends with it. */
DSSS_PART(dsss_hunt)
{
	__u32 place, position, bit, plain, found;
	__s64 re, im, turn_re, turn_im, power;

	DSSS_BEGIN
	place = d->place < DSSS_PLACES ? d->place : 0;
	position = d->position & (DSSS_LINE - 1);
	re = dsss_barker(&d->line_re[position], DSSS_A_CHIP);
	im = dsss_barker(&d->line_im[position], DSSS_A_CHIP);
	turn_re = (re * d->before_re[place] + im * d->before_im[place]) >> 8;
	turn_im = (im * d->before_re[place] - re * d->before_im[place]) >> 8;
	d->before_re[place] = (__s32)re;
	d->before_im[place] = (__s32)im;
	power = (re * re + im * im) >> 8;
	d->opening[place] += power - (d->opening[place] >> 6);
	/* A half turn is the bit; the carrier may be off by up to a quarter. */
	d->sum_re[place] += (turn_re < 0 ? -turn_re : turn_re) - (d->sum_re[place] >> 6);
	d->sum_im[place] += (turn_re < 0 ? -turn_im : turn_im) - (d->sum_im[place] >> 6);
	bit = turn_re * (d->sum_re[place] >> 6) + turn_im * (d->sum_im[place] >> 6) < 0;
	plain = (bit ^ d->raw[place] >> 3 ^ d->raw[place] >> 6) & 1;
	d->raw[place] = d->raw[place] << 1 | bit;
	d->seen[place] = d->seen[place] << 1 | plain;
	found = power && dsss_ends_preamble(d->seen[place]) && dsss_is_strong(d, d->opening[place]);
	if (d->receive == DSSS_HUNT && found) {
		d->receive = DSSS_PEAK;
		d->index = 0;
		dsss_choose(d, place);
	} else if (d->receive == DSSS_PEAK) {
		d->index++;
		/* A symbol also leaves something beside its place; the one with the most power is the right one. */
		if (found && d->opening[place] > d->best)
			dsss_choose(d, place);
		if (d->index >= DSSS_PLACES - 1)
			dsss_begin_header(d);
	}
	DSSS_END
}

/* A chip of a symbol, without the carrier's offset. It came as many samples ago as choosing the place takes. */
DSSS_INLINE void dsss_take_chip(struct dsss *d)
{
	__u32 place = (d->position & (DSSS_LINE - 1)) + DSSS_PLACES;
	__s64 cosine = d->cosine[d->phase >> 24], sine = d->cosine[(d->phase - 0x40000000u) >> 24];
	__s64 re = d->line_re[place], im = d->line_im[place];
	__u32 chips = d->receive == DSSS_READ_FRAME && d->rate >= DSSS_5_5 ? DSSS_CCK : DSSS_BARKER;

	d->chip_re[d->chip & 15] = (__s32)((re * cosine + im * sine) >> 14);
	d->chip_im[d->chip & 15] = (__s32)((im * cosine - re * sine) >> 14);
	d->phase += d->step;
	if (++d->chip < chips)
		return;
	d->chip = 0;
	if (chips == DSSS_CCK)
		DSSS_CALL(dsss_cck_symbol);
	else
		DSSS_CALL(dsss_barker_symbol);
}

/* Takes a sample. */
DSSS_INLINE void dsss_sample(struct dsss *d, __s32 re, __s32 im)
{
	__u32 position = (d->position - 1) & (DSSS_LINE - 1);
	__s32 filtered_re = (d->taps[0] * re + d->taps[1] * d->input_re) >> 12;
	__s32 filtered_im = (d->taps[0] * im + d->taps[1] * d->input_im) >> 12;

	d->input_re = re;
	d->input_im = im;
	d->position = position;
	d->line_re[position] = d->line_re[position + DSSS_LINE] = filtered_re;
	d->line_im[position] = d->line_im[position + DSSS_LINE] = filtered_im;
	d->samples++;
	if (d->receive <= DSSS_PEAK) {
		DSSS_CALL(dsss_hunt);
	} else if (d->wait) {
		d->wait--;
	} else {
		d->wait = DSSS_A_CHIP - 1;
		dsss_take_chip(d);
	}
	d->place = d->place + 1 < DSSS_PLACES ? d->place + 1 : 0;
}

#endif
