/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The echo canceller: learns what comes back of its own samples and subtracts it. The other end uses other tones, but
 * its symbols do not begin when these do, and then tones leak. It works by banks of taps, so that BPF can go over them
 * with its own loop.
 */
#ifndef PUNCTUAL_DMT_ECHO_H
#define PUNCTUAL_DMT_ECHO_H

#include "dmt.h"

/* While the other end is silent, at the end of that, and while both ends send. */
#define DMT_LEARN_FAST 7
#define DMT_LEARN_FINE 9
#define DMT_LEARN_SLOW 20
/* The taps after the first bank learn this much less: there are many, and each adds its noise. */
#define DMT_LEARN_BEHIND 8

DMT_INLINE void dmt_echo_push(struct dmt *d, __s32 sample)
{
	__u32 position = (d->echo_position - 1) & (DMT_ECHO - 1);

	d->echo_position = position;
	d->echo_line[position] = sample;
	d->echo_line[position + DMT_ECHO] = sample;
	d->echo_sum = 0;
}

DMT_INLINE const __s32 *dmt_echo_window(const struct dmt *d, __u32 bank)
{
	__u32 start = (d->echo_position + d->echo_delay) & (DMT_ECHO - 1);

	return &d->echo_line[start + (bank & (DMT_MAX_BANKS - 1)) * DMT_BANK];
}

/* What one bank expects of the echo. */
DMT_INLINE void dmt_echo_filter(struct dmt *d, __u32 bank)
{
	const __s32 *line = dmt_echo_window(d, bank);
	const __s32 *taps = &d->echo_taps[(bank & (DMT_MAX_BANKS - 1)) * DMT_BANK];
	__s64 sum = 0;

	for (__u32 tap = 0; tap < DMT_BANK; tap++)
		sum += (__s64)line[tap] * taps[tap];
	d->echo_sum += sum;
}

/* What one bank learns from what is left. */
DMT_INLINE void dmt_echo_learn(struct dmt *d, __u32 bank)
{
	const __s32 *line = dmt_echo_window(d, bank);
	__s32 *taps = &d->echo_taps[(bank & (DMT_MAX_BANKS - 1)) * DMT_BANK];
	__u32 shift = (d->echo_shift + (bank ? DMT_LEARN_BEHIND : 0)) & 31;
	__s32 half = 1 << ((shift - 1) & 31), error = d->residual;

	for (__u32 tap = 0; tap < DMT_BANK; tap++)
		taps[tap] = (__s32)((__u32)taps[tap] + (__u32)(((__s64)error * line[tap] + half) >> shift));
}

/* How fast it learns now: only while it hears nothing but its own echo can it learn fast. */
DMT_INLINE void dmt_echo_pace(struct dmt *d)
{
	d->echo_shift = d->stage != DMT_OFFER		? DMT_LEARN_SLOW
			: d->send >= DMT_SEND_MESSAGE	? DMT_LEARN_FINE
							: DMT_LEARN_FAST;
}

#endif
