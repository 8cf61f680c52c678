/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The Fourier transform, in place, over numbers that were put in with the bits of their places reversed. It does not
 * scale: 16-bit numbers still fit when they have grown 512 times at most. With real and imaginary parts exchanged it is
 * the inverse.
 */
#ifndef PUNCTUAL_DMT_TRANSFORM_H
#define PUNCTUAL_DMT_TRANSFORM_H

#include "dmt.h"

/* Butterflies in a call. */
#define DMT_GROUP 8

DMT_INLINE void dmt_butterfly(struct dmt *d, __u32 index)
{
	__u32 stage = d->stage_of_transform & 15, half = 1u << stage, within = index & (half - 1);
	__u32 upper = (((index & ~(half - 1)) << 1) | within) & (DMT_SIZE - 1);
	__u32 lower = (upper + half) & (DMT_SIZE - 1);
	__u32 angle = within << ((8 - stage) & 15);
	__s64 cosine = d->cosine[angle & (DMT_SIZE - 1)], sine = d->cosine[(angle + 384) & (DMT_SIZE - 1)];
	__s64 re = d->re[lower], im = d->im[lower];
	__s32 turned_re = (__s32)((re * cosine + im * sine + 8192) >> 14);
	__s32 turned_im = (__s32)((im * cosine - re * sine + 8192) >> 14);

	d->re[lower] = (__s32)((__u32)d->re[upper] - (__u32)turned_re);
	d->im[lower] = (__s32)((__u32)d->im[upper] - (__u32)turned_im);
	d->re[upper] = (__s32)((__u32)d->re[upper] + (__u32)turned_re);
	d->im[upper] = (__s32)((__u32)d->im[upper] + (__u32)turned_im);
}

DMT_INLINE void dmt_butterflies(struct dmt *d, __u32 group)
{
	for (__u32 index = 0; index < DMT_GROUP; index++)
		dmt_butterfly(d, group * DMT_GROUP + index);
}

#endif
