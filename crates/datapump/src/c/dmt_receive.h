/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The receiver: finding the symbol, the equalizer with one tap for each tone, decisions, bits. */
#ifndef PUNCTUAL_DMT_RECEIVE_H
#define PUNCTUAL_DMT_RECEIVE_H

#include "dmt_echo.h"

/* Below this power of a sample (64 squared) there is no carrier. */
#define DMT_MIN_POWER 4096
/* Over how many symbols the end of symbols is compared with their prefix. */
#define DMT_COMPARED 24
/* How little the equalizer learns from decisions. */
#define DMT_LEARN_DATA 8

/* A received sample, after subtracting the echo. */
DMT_INLINE void dmt_receive_sample(struct dmt *d, __u32 index)
{
	__s32 sample = dmt_clip(d->received[index & (DMT_SAMPLES - 1)] - ((d->echo_sum + (1 << 23)) >> 24));
	__u32 place = (d->heard + index) & (DMT_WINDOW - 1);

	d->residual = sample;
	d->window[place] = sample;
	d->energy += (__u64)((__s64)sample * sample);
	if (d->receive == DMT_FIND_SYMBOL)
		d->correlation[index & (DMT_SAMPLES - 1)] +=
			(__s64)sample * d->window[(place - d->size) & (DMT_WINDOW - 1)];
}

DMT_INLINE void dmt_add_place(struct dmt *d, __u32 index)
{
	(void)index;
	d->place_sum += d->correlation[d->place & (DMT_SAMPLES - 1)];
	d->place = d->place + 1 >= d->length ? 0 : d->place + 1;
}

/* How good a place for the beginning of a prefix's repetition would be. */
DMT_INLINE void dmt_compare_place(struct dmt *d, __u32 index)
{
	d->place = index;
	d->place_sum = 0;
	DMT_EACH(d, d->prefix, dmt_add_place);
	if (d->place_sum > d->best) {
		d->best = d->place_sum;
		d->best_start = index;
	}
}

DMT_INLINE void dmt_forget_place(struct dmt *d, __u32 index)
{
	d->correlation[index & (DMT_SAMPLES - 1)] = 0;
}

/*
 * The repetition of the prefix is a symbol's last samples: its transform begins a transform's length before they end.
 * It begins a quarter of the prefix earlier still, to include what precedes the loudest part of the line's response.
 */
DMT_INLINE void dmt_take_place(struct dmt *d)
{
	__u32 start = d->best_start + d->prefix + d->length - d->size - (d->prefix >> 2);

	d->start = start >= d->length ? start - d->length : start;
}

/* A sample for the transform. */
DMT_INLINE void dmt_load_sample(struct dmt *d, __u32 index)
{
	__u32 place = d->reversed[index & (DMT_SIZE - 1)] & (DMT_SIZE - 1);

	d->re[place] = d->window[(d->begin + index) & (DMT_WINDOW - 1)];
	d->im[place] = 0;
}

DMT_INLINE __u32 dmt_received(const struct dmt *d, __u32 index)
{
	return (d->receive_first + index) & (DMT_TONES - 1);
}

/* The point that a tone gives. */
DMT_INLINE void dmt_equalize_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index);
	__s64 heard_re = d->re[tone], heard_im = d->im[tone], taps_re = d->taps_re[tone], taps_im = d->taps_im[tone];

	d->point_re[tone] = dmt_clip((heard_re * taps_re - heard_im * taps_im + (1 << 23)) >> 24);
	d->point_im[tone] = dmt_clip((heard_re * taps_im + heard_im * taps_re + (1 << 23)) >> 24);
}

/* How strong a tone is, smoothed over the symbols that are the same. */
DMT_INLINE void dmt_measure_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index), doublings = 0;
	__u64 power = (__u64)((__s64)d->re[tone] * d->re[tone] + (__s64)d->im[tone] * d->im[tone]);

	if (d->receive_index)
		power = d->power[tone] - (d->power[tone] >> 2) + (power >> 2);
	d->power[tone] = power;
	for (__u32 step = 32; step; step >>= 1)
		if (power >> step) {
			power >>= step;
			doublings += step;
		}
	d->strength[tone] = doublings;
}

/*
 * A tap learns from the error of its point: the error times what was heard, divided by the power of the tone. Taps are
 * 2^24 for 1, and the power is rounded to a power of two, so no division is needed.
 */
DMT_INLINE void dmt_adapt_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index), down = d->strength[tone] + d->learn, up = 0;
	__s64 heard_re = d->re[tone], heard_im = d->im[tone], error_re = d->point_re[tone], error_im = d->point_im[tone];
	__s64 re = error_re * heard_re + error_im * heard_im, im = error_im * heard_re - error_re * heard_im;

	if (!d->learns)
		return;
	if (down < 24) {
		up = 24 - down;
		down = 24;
	}
	down -= 24;
	/* The sums are below 2^41, and below 2^24 if they are shifted up. */
	re = (__s64)((__u64)re << (up & 31)) >> (down & 63);
	im = (__s64)((__u64)im << (up & 31)) >> (down & 63);
	d->taps_re[tone] = (__s32)((__u32)d->taps_re[tone] + (__u32)re);
	d->taps_im[tone] = (__s32)((__u32)d->taps_im[tone] + (__u32)im);
}

/* How well a tone's point agrees with the known one. */
DMT_INLINE void dmt_compare_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index);
	__s32 known_re, known_im;

	if (d->receive == DMT_RECEIVE_DATA && !d->receive_bits[tone])
		return;
	dmt_corner(dmt_quadrant(d->expect_key, tone), &known_re, &known_im);
	d->agreement += (__s64)d->point_re[tone] * known_re + (__s64)d->point_im[tone] * known_im;
}

/* The error of a tone of a known symbol. */
DMT_INLINE void dmt_learn_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index);
	__s32 re, im;

	dmt_corner(dmt_quadrant(d->expect_key, tone) + d->expect_turn, &re, &im);
	re -= d->point_re[tone];
	im -= d->point_im[tone];
	d->point_re[tone] = re;
	d->point_im[tone] = im;
	d->error_sum[tone] += (__u64)((__s64)re * re + (__s64)im * im);
}

DMT_INLINE void dmt_forget_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index);

	d->taps_re[tone] = 0;
	d->taps_im[tone] = 0;
}

DMT_INLINE void dmt_forget_error(struct dmt *d, __u32 index)
{
	d->error_sum[dmt_received(d, index)] = 0;
}

/* How many bits a tone bears, judging by its errors in the last 64 symbols of training. */
DMT_INLINE void dmt_choose_bits(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index), bits = 0;
	__u64 error = d->error_sum[tone] >> 6;

	for (__u32 half = 1; half <= DMT_MAX_BITS / 2; half++)
		if (2 * half <= d->max_bits && error < d->threshold[half])
			bits = 2 * half;
	if (d->fixed_bits)
		bits = d->fixed_bits;
	d->receive_bits[tone] = bits;
	d->receive_loaded += bits;
	d->receive_used += bits > 0;
}

/* A bit of data: a bit of the previous superframe's check, or one for whoever takes it. */
DMT_INLINE void dmt_take_bit(struct dmt *d, __u32 scrambled)
{
	__u32 bit = dmt_descramble(&d->descrambler, scrambled);

	if (d->receive_check_left) {
		d->word = d->word << 1 | bit;
		if (--d->receive_check_left)
			return;
		d->superframes++;
		d->bad_row++;
		if ((d->word & 0xffff) == d->receive_old_check)
			d->bad_row = 0;
		else
			d->bad_superframes++;
		return;
	}
	d->receive_check = dmt_check(d->receive_check, bit);
	if (d->bits_received - d->bits_taken < DMT_BITS) {
		__u32 place = (__u32)d->bits_received & (DMT_BITS - 1);
		__u32 *word = &d->receive_ring[place >> 5];

		*word = (*word & ~(1u << (place & 31))) | bit << (place & 31);
		d->bits_received++;
	} else {
		d->bits_lost++;
	}
}

DMT_INLINE void dmt_hand_out_bit(struct dmt *d, __u32 index)
{
	(void)index;
	dmt_take_bit(d, d->value >> 31);
	d->value <<= 1;
}

/* A bit of the level next to a coordinate; what is left of the coordinate in the end is its distance from that
 * level. */
DMT_INLINE void dmt_slice_bit(struct dmt *d, __u32 index)
{
	__s32 step = d->step_of_level;

	(void)index;
	d->level <<= 1;
	if (d->coordinate >= 0) {
		d->level |= 1;
		d->coordinate -= step;
	} else {
		d->coordinate += step;
	}
	d->step_of_level = step >> 1;
}

/* A tone of data: its two coordinates, their errors, its bits. */
DMT_INLINE void dmt_receive_tone(struct dmt *d, __u32 index)
{
	__u32 tone = dmt_received(d, index), half = d->receive_bits[tone] >> 1 & 7, value;
	__s32 re, im, first = d->unit[half] << half >> 1;

	d->coordinate = d->point_re[tone];
	d->step_of_level = first;
	d->level = 0;
	DMT_EACH(d, half, dmt_slice_bit);
	re = half ? -d->coordinate : 0;
	value = (d->level ^ d->level >> 1) << half;
	d->coordinate = d->point_im[tone];
	d->step_of_level = first;
	d->level = 0;
	DMT_EACH(d, half, dmt_slice_bit);
	im = half ? -d->coordinate : 0;
	value |= d->level ^ d->level >> 1;
	d->point_re[tone] = re;
	d->point_im[tone] = im;
	d->error_total += (__u64)((__s64)re * re + (__s64)im * im);
	if (half && ++d->error_count >= 1024) {
		d->square_error = (__u32)(d->error_total >> 10);
		d->error_total = 0;
		d->error_count = 0;
	}
	d->value = value << ((32 - 2 * half) & 31);
	DMT_EACH(d, 2 * half, dmt_hand_out_bit);
}

#endif
