/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A DSL modem that decodes a signal. What its other end sends was made beforehand; the echo of what it sends itself is
 * made here, from that.
 */
#ifndef PUNCTUAL_DMT_DECODE_H
#define PUNCTUAL_DMT_DECODE_H

#include "dmt_decoder.h"

/* Samples that are loaded at a time: a part of 272 and of 544. */
#define DMT_LOAD 16

/* Samples of the line, plus the echo of what was sent one symbol earlier. */
DMT_INLINE void dmt_load_samples(struct dmt_decoding *w, __u32 group)
{
	struct dmt *d = &w->decoder->pump;
	__s32 before = w->decoder->last_sent;

	if (group >= UNIT_SAMPLES / DMT_LOAD)
		return;
	for (__u32 within = 0; within < DMT_LOAD; within++) {
		__u32 place = group * DMT_LOAD + within;
		__s32 sent = d->sent[place], echo = w->decoder->hybrid ? (3 * sent + before) >> 4 : 0;

		d->received[place] = (__s16)dmt_clip(w->unit->samples[place] + echo);
		before = sent;
	}
	w->decoder->last_sent = before;
}

DMT_INLINE void dmt_compare_bits(struct dmt_decoding *w, __u32 index)
{
	decoding_compare(&w->decoder->decoding, w->unit, w->decoder->pump.receive_ring, DMT_BITS_WORDS, index);
}

/* Works on the next symbol of the signal. */
DMT_INLINE void dmt_decode_unit(struct dmt_decoding *w)
{
	struct dmt_decoder *decoder = w->decoder;
	struct dmt *d = &decoder->pump;
	__u32 connected = d->stage == DMT_CONNECTED, given_up = d->retrains + d->failures;
	__u64 from = d->bits_received, right = d->superframes - d->bad_superframes;

	DECODE_EACH(w, d->length / DMT_LOAD, dmt_load_samples);
	DMT_CALL(dmt_symbol);
	decoding_begin_unit(&decoder->decoding, w->unit, from, (__u32)(d->bits_received - from));
	DECODE_EACH(w, UNIT_WORDS, dmt_compare_bits);
	d->bits_taken = d->bits_received;
	decoding_end_unit(&decoder->decoding, connected, (__u32)(d->superframes - d->bad_superframes - right),
			  d->retrains + d->failures != given_up);
}

#endif
