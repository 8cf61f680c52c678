/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sender: bits to points of the tones, tones to samples, the bursts of the start-up. */
#ifndef PUNCTUAL_DMT_SEND_H
#define PUNCTUAL_DMT_SEND_H

#include "dmt.h"

/* The next bit of data: first the previous superframe's check. If there is none to send it is a one. */
DMT_INLINE __u32 dmt_next_bit(struct dmt *d)
{
	__u32 bit = 1;

	if (d->send_check_left) {
		d->send_check_left--;
		bit = d->send_old_check >> (d->send_check_left & 15) & 1;
		return dmt_scramble(&d->send_scrambler, bit);
	}
	if (d->bits_sent < d->bits_given) {
		__u32 place = (__u32)d->bits_sent & (DMT_BITS - 1);

		bit = d->send_ring[place >> 5] >> (place & 31) & 1;
		d->bits_sent++;
	}
	d->send_check = dmt_check(d->send_check, bit);
	return dmt_scramble(&d->send_scrambler, bit);
}

/* A coordinate whose level is Gray coded in `half` bits. */
DMT_INLINE __s32 dmt_level(__u32 gray, __u32 half, __s32 unit)
{
	__u32 level = gray;

	level ^= level >> 1;
	level ^= level >> 2;
	level ^= level >> 4;
	return ((__s32)(2 * level + 1) - (__s32)(1u << (half & 7))) * unit;
}

/* Collects a bit of a tone. */
DMT_INLINE void dmt_collect_bit(struct dmt *d, __u32 index)
{
	(void)index;
	d->send_value = d->send_value << 1 | dmt_next_bit(d);
}

/* The point of a tone of data: half of its bits choose each coordinate. */
DMT_INLINE void dmt_modulate(struct dmt *d, __u32 tone, __s32 *re, __s32 *im)
{
	__u32 half = d->send_bits[tone & (DMT_TONES - 1)] >> 1 & 7, value;
	__s32 unit = d->unit[half];

	if (!half)
		return;
	d->send_value = 0;
	DMT_EACH(d, 2 * half, dmt_collect_bit);
	value = d->send_value;
	*re = dmt_level(value >> half, half, unit);
	*im = dmt_level(value & ((1u << half) - 1), half, unit);
}

/* One tone of the symbol that is being sent: puts it where the transform takes it, with its mirror image. */
DMT_INLINE void dmt_send_tone(struct dmt *d, __u32 index)
{
	__u32 tone = index & (DMT_TONES - 1), mirror = tone ? d->size - tone : d->size >> 1;
	__u32 place = d->reversed[tone] & (DMT_SIZE - 1);
	__s32 re = 0, im = 0;

	mirror = d->reversed[mirror & (DMT_SIZE - 1)] & (DMT_SIZE - 1);
	if (d->send != DMT_SEND_NOTHING && tone - d->send_first < d->send_tones) {
		if (d->send == DMT_SEND_DATA && d->send_frame < DMT_FRAME)
			dmt_modulate(d, tone, &re, &im);
		else
			dmt_corner(dmt_quadrant(d->send_key, tone) + d->send_turn, &re, &im);
	}
	d->re[place] = im;
	d->im[place] = re;
	d->re[mirror] = -im;
	d->im[mirror] = re;
}

/* One sample of the symbol, the prefix first. */
DMT_INLINE void dmt_send_sample(struct dmt *d, __u32 index)
{
	__s32 sum = d->im[(index - d->prefix) & (d->size - 1) & (DMT_SIZE - 1)];
	__u32 shift = d->send_shift & 7;

	d->sent[index & (DMT_SAMPLES - 1)] = (__s16)dmt_clip((sum + (1 << shift >> 1)) >> shift);
}

/* The bit of the message in a symbol: a header, the bits of each tone that this end receives, a check. */
DMT_INLINE __u32 dmt_message_bit(struct dmt *d)
{
	__u32 index = d->send_index, bit;

	if (index < DMT_HEADER) {
		bit = d->send_header >> (15 - index);
	} else if (index < DMT_HEADER + 4 * d->receive_tones) {
		__u32 tone = d->receive_first + ((index - DMT_HEADER) >> 2);

		bit = d->receive_bits[tone & (DMT_TONES - 1)] >> (3 - (index & 3));
	} else {
		return d->send_check >> ((DMT_HEADER + 4 * d->receive_tones + 15 - index) & 15) & 1;
	}
	d->send_check = dmt_check(d->send_check, bit & 1);
	return bit & 1;
}

/* What the next symbol is. */
DMT_INLINE void dmt_send_begin(struct dmt *d)
{
	d->send_key = d->send << 12 | d->send_index;
	d->send_turn = 0;
	if (d->send == DMT_SEND_FIXED || d->send == DMT_SEND_DATA)
		d->send_key = 0;
	if (d->send == DMT_SEND_TURNED) {
		d->send_key = 0;
		d->send_turn = 2;
	} else if (d->send == DMT_SEND_MESSAGE) {
		d->send_turn = 2 * dmt_message_bit(d);
	} else if (d->send == DMT_SEND_DATA && !d->send_frame) {
		d->send_old_check = d->send_check;
		d->send_check = 0xffff;
		d->send_check_left = DMT_CHECK;
	}
}

DMT_INLINE __u32 dmt_part_length(const struct dmt *d, __u32 part)
{
	return part == DMT_SEND_TIMING	    ? DMT_TIMING
	       : part == DMT_SEND_FIXED	    ? DMT_FIXED
	       : part == DMT_SEND_TURNED    ? DMT_TURNED
	       : part == DMT_SEND_TRAINING  ? DMT_TRAINING
	       : part == DMT_SEND_MESSAGE   ? DMT_HEADER + 4 * d->receive_tones + DMT_CHECK
					    : 0;
}

/* A symbol was sent. The first two bursts end in silence, the other two lead into data. */
DMT_INLINE void dmt_send_end(struct dmt *d)
{
	d->send_index++;
	if (d->send == DMT_SEND_DATA)
		d->send_frame = d->send_frame >= DMT_FRAME ? 0 : d->send_frame + 1;
	if (!d->send_left || --d->send_left)
		return;
	d->send++;
	d->send_index = 0;
	d->send_check = 0xffff;
	if (d->send == DMT_SEND_DATA && (d->send_header & 15) <= 2)
		d->send = DMT_SEND_NOTHING;
	d->send_left = dmt_part_length(d, d->send);
	d->send_frame = 0;
	d->send_check_left = 0;
	d->send_scrambler = DMT_SCRAMBLER;
}

#endif
