/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Start-up, superframes, retraining. Four bursts, of which only the first two are sent alone:
 *
 *   office  silence | burst 1 |  silence | burst 3 | data
 *   remote  listens           | burst 2  | silence | burst 4 | data
 *
 * Each has random symbols, by which the other end finds where symbols begin, a known symbol again and again, the same
 * one turned, known random symbols, on which the other end trains and counts errors, and a message: how many bits the
 * sender's own receiver found each tone to bear. To retrain is to fall silent and begin again.
 */
#ifndef PUNCTUAL_DMT_SESSION_H
#define PUNCTUAL_DMT_SESSION_H

#include "dmt_receive.h"
#include "dmt_send.h"

/* Symbols: the silence before the first burst (0.1 s), and how long an end waits for a burst (1 s). */
#define DMT_SILENCE 400
#define DMT_PATIENCE 4000
/* How many fixed symbols to wait for before they are recognised as such, and after how many it was no burst. */
#define DMT_SETTLE 24
#define DMT_GIVE_UP 124
/* After how many symbols without a carrier (10 ms) it is lost, and after how many superframes with a wrong check
 * (0.2 s) to retrain. */
#define DMT_LOST 40
#define DMT_BAD_ROW 12
/* How many tones must bear bits: with fewer, random data would look like the symbol that ends a superframe. */
#define DMT_MIN_TONES 16

DMT_INLINE void dmt_send_burst(struct dmt *d, __u32 burst)
{
	d->send = DMT_SEND_TIMING;
	d->send_left = DMT_TIMING;
	d->send_index = 0;
	d->send_header = DMT_MAGIC | burst;
}

DMT_INLINE void dmt_hunt(struct dmt *d)
{
	d->receive = DMT_HUNT;
	d->receive_index = 0;
	d->loud = 0;
}

DMT_INLINE void dmt_begin_again(struct dmt *d)
{
	d->send = DMT_SEND_NOTHING;
	d->send_left = 0;
	d->quiet = 0;
	d->bad_row = 0;
	d->timer = DMT_SILENCE;
	if (d->role == DMT_REMOTE) {
		d->stage = DMT_LISTEN;
		dmt_hunt(d);
	} else {
		d->stage = DMT_SILENT;
		d->receive = DMT_IGNORE;
	}
}

/* A start-up that failed. */
DMT_INLINE void dmt_fail(struct dmt *d)
{
	d->failures++;
	dmt_begin_again(d);
}

DMT_INLINE void dmt_retrain(struct dmt *d)
{
	d->retrains++;
	dmt_begin_again(d);
}

/* A symbol that ends a superframe, whether it was due or not; or one that was due and is missing. */
DMT_INLINE void dmt_end_superframe(struct dmt *d)
{
	d->receive_old_check = d->receive_check;
	d->receive_check = 0xffff;
	d->receive_check_left = DMT_CHECK;
	d->receive_frame = 0;
}

/* Before the first superframe there was an empty one. */
DMT_INLINE void dmt_begin_data(struct dmt *d)
{
	d->receive = DMT_RECEIVE_DATA;
	d->receive_check = 0xffff;
	d->error_total = 0;
	d->error_count = 0;
	d->bad_row = 0;
	d->descrambler = DMT_SCRAMBLER;
	dmt_end_superframe(d);
}

/* Each end chooses the bits of tones once, in the other's first burst: the later bursts repeat what was agreed. */
DMT_INLINE int dmt_may_choose(const struct dmt *d)
{
	return d->stage == (d->role == DMT_OFFICE ? DMT_AWAIT : DMT_LISTEN);
}

/* A message is over, and its check was right. */
DMT_INLINE void dmt_message_read(struct dmt *d)
{
	__u32 office = d->role == DMT_OFFICE, burst = d->receive_header & 15;
	__u32 expected = office ? (d->stage == DMT_AWAIT ? 2 : 4) : d->stage == DMT_LISTEN ? 1 : 3;

	if (d->receive_header != (DMT_MAGIC | expected) || (burst > 1 && d->send_used < DMT_MIN_TONES)) {
		dmt_fail(d);
	} else if (burst == 1) {
		d->stage = DMT_OFFER;
		d->receive = DMT_IGNORE;
		dmt_send_burst(d, 2);
	} else if (burst == 2) {
		d->stage = DMT_CONFIRM;
		d->timer = DMT_PATIENCE;
		dmt_hunt(d);
		dmt_send_burst(d, 3);
	} else {
		d->stage = DMT_CONNECTED;
		dmt_begin_data(d);
		if (burst == 3)
			dmt_send_burst(d, 4);
	}
}

/* A bit of a message. */
DMT_INLINE void dmt_take_message(struct dmt *d, __u32 bit)
{
	__u32 index = d->receive_index, end = DMT_HEADER + 4 * d->send_tones;

	d->word = (d->word << 1 | bit) & 0xffff;
	d->receive_index++;
	if (index < end)
		d->receive_check = dmt_check(d->receive_check, bit);
	if (index == DMT_HEADER - 1) {
		d->receive_header = d->word;
		d->send_loaded = 0;
		d->send_used = 0;
	} else if (index >= DMT_HEADER && index < end && (index & 3) == 3) {
		__u32 tone = d->send_first + ((index - DMT_HEADER) >> 2), bits = d->word & 14;

		if (bits > DMT_MAX_BITS)
			bits = 0;
		d->send_bits[tone & (DMT_TONES - 1)] = bits;
		d->send_loaded += bits;
		d->send_used += bits > 0;
	} else if (index == end + DMT_CHECK - 1) {
		if (d->word == d->receive_check)
			dmt_message_read(d);
		else
			dmt_fail(d);
	}
}

/* Whether most of the tones agree with what is known about the symbol: this many eighths of them. */
DMT_INLINE int dmt_agrees(__s64 agreement, __u32 tones, __s64 eighths)
{
	return agreement * 8 > eighths * DMT_POWER * (__s64)tones;
}

/* How the equalizer learns in training: ever more finely, and the last 64 symbols count. */
DMT_INLINE __u32 dmt_training_pace(__u32 index)
{
	return index < 48 ? 2 : index < 96 ? 4 : 6;
}

/* Lets the turned symbols pass. */
DMT_INLINE void dmt_await_training(struct dmt *d)
{
	if (++d->receive_index < DMT_TURNED)
		return;
	d->receive = DMT_TRAIN;
	d->receive_index = 0;
}

/* What to look for before training: a carrier. */
DMT_INLINE void dmt_look_for_carrier(struct dmt *d)
{
	if (d->loud < 2)
		return;
	d->receive = DMT_FIND_SYMBOL;
	d->receive_index = 0;
	d->best = 0;
	d->best_start = 0;
	d->energy_sum = 0;
}

/* What the passing of time and the end of a burst bring. */
DMT_INLINE void dmt_session(struct dmt *d)
{
	if (d->stage == DMT_SILENT) {
		if (!--d->timer) {
			d->stage = DMT_OFFER;
			dmt_send_burst(d, 1);
		}
	} else if (d->stage == DMT_OFFER) {
		if (d->send == DMT_SEND_NOTHING) {
			d->stage = DMT_AWAIT;
			d->timer = DMT_PATIENCE;
			dmt_hunt(d);
		}
	} else if (d->stage == DMT_AWAIT || d->stage == DMT_CONFIRM) {
		if (!--d->timer)
			dmt_fail(d);
	} else if (d->stage == DMT_CONNECTED) {
		if (d->quiet > DMT_LOST || (d->may_retrain && d->bad_row >= DMT_BAD_ROW))
			dmt_retrain(d);
	}
}

#endif
