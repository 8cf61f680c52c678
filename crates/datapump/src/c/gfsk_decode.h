/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Bluetooth receiver working on a signal that was made beforehand: decode.h. */
#ifndef PUNCTUAL_GFSK_DECODE_H
#define PUNCTUAL_GFSK_DECODE_H

#include "gfsk_decoder.h"

GFSK_INLINE void gfsk_decode_sample(struct gfsk_decoding *w, __u32 index)
{
	const __s16 *sample;

	if (index >= GFSK_SAMPLES)
		return;
	sample = &w->unit->samples[2 * index];
	gfsk_sample(&w->decoder->receiver, sample[0], sample[1]);
}

GFSK_INLINE void gfsk_compare_bits(struct gfsk_decoding *w, __u32 index)
{
	decoding_compare(&w->decoder->decoding, w->unit, w->decoder->receiver.ring, GFSK_BITS_WORDS, index);
}

/* Works on the next unit of the signal. A radio has no connection to lose. */
GFSK_INLINE void gfsk_decode_unit(struct gfsk_decoding *w)
{
	struct gfsk_decoder *decoder = w->decoder;
	__u64 from = decoder->receiver.bits_received, right = decoder->receiver.right;

	DECODE_EACH(w, GFSK_SAMPLES, gfsk_decode_sample);
	decoding_begin_unit(&decoder->decoding, w->unit, from, (__u32)(decoder->receiver.bits_received - from));
	DECODE_EACH(w, (decoder->decoding.compare + 31) >> 5, gfsk_compare_bits);
	decoding_end_unit(&decoder->decoding, 1, (__u32)(decoder->receiver.right - right), 0);
}

#endif
