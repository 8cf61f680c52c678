/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From chips to bits: symbols of a header and of a frame, descrambled and checked. */
#ifndef PUNCTUAL_DSSS_SYMBOL_H
#define PUNCTUAL_DSSS_SYMBOL_H

#include "dsss.h"

/* Turned back by this many quarters. */
DSSS_INLINE __s64 dsss_turned_re(__s64 re, __s64 im, __u32 quarters)
{
	__s64 part = quarters & 1 ? im : re;

	return quarters & 2 ? -part : part;
}

DSSS_INLINE __s64 dsss_turned_im(__s64 re, __s64 im, __u32 quarters)
{
	__s64 part = quarters & 1 ? -re : im;

	return quarters & 2 ? -part : part;
}

/* Puts two chips together, the first turned back by a quarter of a turn times the lower bits of the index. */
DSSS_INLINE void dsss_pair(struct dsss *d, __u32 index)
{
	__u32 quarters = index & 3, chip = 2 * (index >> 2 & 3);
	/* The fourth and the seventh chip of a code are turned by a half. */
	__s32 first = chip == 6 ? -1 : 1, second = chip == 2 ? -1 : 1;
	__s64 re = first * d->chip_re[chip], im = first * d->chip_im[chip];

	d->pair_re[index & 15] = (__s32)(dsss_turned_re(re, im, quarters) + second * d->chip_re[chip + 1]);
	d->pair_im[index & 15] = (__s32)(dsss_turned_im(re, im, quarters) + second * d->chip_im[chip + 1]);
}

/* Compares with the four codes whose first two quarters of a turn are the index. */
DSSS_INLINE void dsss_try_codes(struct dsss *d, __u32 index)
{
	__u32 a = index & 3, b = index >> 2 & 3;
	__s64 first_re = dsss_turned_re(d->pair_re[a], d->pair_im[a], b) + d->pair_re[4 + a];
	__s64 first_im = dsss_turned_im(d->pair_re[a], d->pair_im[a], b) + d->pair_im[4 + a];
	__s64 second_re = dsss_turned_re(d->pair_re[8 + a], d->pair_im[8 + a], b) + d->pair_re[12 + a];
	__s64 second_im = dsss_turned_im(d->pair_re[8 + a], d->pair_im[8 + a], b) + d->pair_im[12 + a];
	__u32 step = 1;

	/* At 5.5 Mbit/s: a quarter or three, none, and none or a half. */
	if (d->rate == DSSS_5_5) {
		if (b || !(a & 1))
			return;
		step = 2;
	}
	for (__u32 c = 0; c < 4; c++) {
		__s64 re = dsss_turned_re(first_re, first_im, c) + second_re;
		__s64 im = dsss_turned_im(first_re, first_im, c) + second_im;
		__s64 power = re * re + im * im;

		if (power > d->power && !(c & (step - 1))) {
			d->power = power;
			d->code = a | b << 2 | c << 4;
			d->now_re = re;
			d->now_im = im;
		}
	}
}

/* By how many quarters this symbol is turned against the previous one. */
DSSS_INLINE __u32 dsss_quarters(struct dsss *d)
{
	__s64 re = d->now_re * d->last_re + d->now_im * d->last_im;
	__s64 im = d->now_im * d->last_re - d->now_re * d->last_im;
	__s64 width = re < 0 ? -re : re, height = im < 0 ? -im : im;

	d->last_re = d->now_re;
	d->last_im = d->now_im;
	if (d->receive == DSSS_READ_HEADER || d->rate == DSSS_1)
		return re < 0 ? 2 : 0;
	if (width >= height)
		return re < 0 ? 2 : 0;
	return im < 0 ? 3 : 1;
}

/* This many bits, the first lowest, as they were before the scrambler: 1 + x^-4 + x^-7. */
DSSS_INLINE __u32 dsss_descramble(struct dsss *d, __u32 bits, __u32 count)
{
	__u32 stream = bits << 7 | d->scrambled;

	d->scrambled = stream >> count & 0x7f;
	return (stream >> 7 ^ stream >> 3 ^ stream) & ((1u << count) - 1);
}

DSSS_INLINE void dsss_begin_frame(struct dsss *d)
{
	__u32 rate = (__u32)d->header & 0xff, length = (__u32)(d->header >> 16) & 0xffff, octets;

	if (rate == DSSS_1)
		octets = length >> 3;
	else if (rate == DSSS_2)
		octets = length >> 2;
	else if (rate == DSSS_5_5)
		octets = length * 11 >> 4;
	else
		octets = (length * 11 >> 3) - ((__u32)(d->header >> 15) & 1);
	d->receive = DSSS_HUNT;
	if (d->check != DSSS_HEADER_RIGHT || !octets || octets > DSSS_OCTETS ||
	    (rate != DSSS_1 && rate != DSSS_2 && rate != DSSS_5_5 && rate != DSSS_11)) {
		d->bad_headers++;
		return;
	}
	d->receive = DSSS_READ_FRAME;
	d->rate = rate;
	d->left = 8 * octets;
	d->symbol = 0;
	d->check = 0xffffffff;
}

/* Bits of a frame: one, two, four or eight, which never straddle two words of the ring, because frames are whole
 * octets. */
DSSS_INLINE void dsss_take_bits(struct dsss *d, __u32 bits, __u32 count)
{
	__u32 place = (__u32)d->bits_received & (DSSS_BITS - 1), plain = dsss_descramble(d, bits, count);
	__u32 *word = &d->ring[place >> 5 & (DSSS_BITS_WORDS - 1)], shift = place & 31, mask = (1u << count) - 1;

	*word = (*word & ~(mask << shift)) | plain << shift;
	for (__u32 bit = 0; bit < 8; bit++)
		if (bit < count)
			d->check = dsss_check_frame(d->check, plain >> bit);
	d->bits_received += count;
	d->left -= count;
	if (d->left)
		return;
	d->right += d->check == DSSS_FRAME_RIGHT;
	d->bad_frames += d->check != DSSS_FRAME_RIGHT;
	d->receive = DSSS_HUNT;
}

/* Two bits of quarters of a turn. */
DSSS_INLINE __u32 dsss_gray(__u32 quarters)
{
	return quarters >> 1 | ((quarters >> 1 ^ quarters) & 1) << 1;
}

/* The eleven chips of a Barker symbol have come. */
DSSS_PART(dsss_barker_symbol)
{
	__u32 quarters, bit;

	DSSS_BEGIN
	/* The first chip is the oldest here. */
	d->now_re = dsss_barker(&d->chip_re[DSSS_BARKER - 1], -1);
	d->now_im = dsss_barker(&d->chip_im[DSSS_BARKER - 1], -1);
	quarters = dsss_quarters(d);
	if (d->receive == DSSS_READ_FRAME) {
		if (d->rate == DSSS_1)
			dsss_take_bits(d, quarters >> 1, 1);
		else
			dsss_take_bits(d, dsss_gray(quarters), 2);
	} else {
		bit = dsss_descramble(d, quarters >> 1, 1);
		d->header |= (__u64)bit << (d->index & 63);
		d->check = dsss_check_header(d->check, bit);
		if (++d->index >= DSSS_HEADER)
			dsss_begin_frame(d);
	}
	DSSS_END
}

/* The eight chips of a complementary code have come. */
DSSS_PART(dsss_cck_symbol)
{
	__u32 quarters, bits;

	DSSS_BEGIN
	DSSS_EACH(d, 16, dsss_pair);
	d->power = -1;
	DSSS_EACH(d, 16, dsss_try_codes);
	/* Every other symbol is turned by another half, on top of what its bits say. */
	quarters = (dsss_quarters(d) + 2 * (d->symbol & 1)) & 3;
	d->symbol++;
	bits = dsss_gray(quarters);
	if (d->rate == DSSS_5_5) {
		bits |= (d->code >> 1 & 1) << 2 | (d->code >> 5 & 1) << 3;
		dsss_take_bits(d, bits, 4);
	} else {
		/* The higher bit of each comes first. */
		bits |= (d->code >> 1 & 0x15) << 2 | (d->code & 0x15) << 3;
		dsss_take_bits(d, bits, 8);
	}
	DSSS_END
}

#endif
