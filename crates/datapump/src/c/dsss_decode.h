/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The 802.11b receiver working on a signal that was made beforehand: decode.h. */
#ifndef PUNCTUAL_DSSS_DECODE_H
#define PUNCTUAL_DSSS_DECODE_H

#include "dsss_decoder.h"

DSSS_INLINE void dsss_decode_sample(struct dsss_decoding *w, __u32 index)
{
	const __s16 *sample;

	if (index >= DSSS_SAMPLES)
		return;
	sample = &w->unit->samples[2 * index];
	dsss_sample(&w->decoder->receiver, sample[0], sample[1]);
}

DSSS_INLINE void dsss_compare_bits(struct dsss_decoding *w, __u32 index)
{
	decoding_compare(&w->decoder->decoding, w->unit, w->decoder->receiver.ring, DSSS_BITS_WORDS, index);
}

/* Works on the next unit of the signal. A radio has no connection to lose. */
DSSS_INLINE void dsss_decode_unit(struct dsss_decoding *w)
{
	struct dsss_decoder *decoder = w->decoder;
	__u64 from = decoder->receiver.bits_received, right = decoder->receiver.right;

	DECODE_EACH(w, DSSS_SAMPLES, dsss_decode_sample);
	decoding_begin_unit(&decoder->decoding, w->unit, from, (__u32)(decoder->receiver.bits_received - from));
	DECODE_EACH(w, (decoder->decoding.compare + 31) >> 5, dsss_compare_bits);
	decoding_end_unit(&decoder->decoding, 1, (__u32)(decoder->receiver.right - right), 0);
}

#endif
