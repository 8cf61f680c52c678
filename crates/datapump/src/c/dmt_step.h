/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One symbol. Whoever runs it provides the loops, DMT_EACH(d, count, work) calls work(d, index) for each index, and
 * says what a part is (DMT_PART, DMT_BEGIN, DMT_END, DMT_CALL): here a function, in BPF one that is verified by itself.
 */
#ifndef PUNCTUAL_DMT_STEP_H
#define PUNCTUAL_DMT_STEP_H

#include "dmt_session.h"
#include "dmt_transform.h"

DMT_INLINE void dmt_stage_of_transform(struct dmt *d, __u32 stage)
{
	d->stage_of_transform = stage;
	DMT_EACH(d, d->size / (2 * DMT_GROUP), dmt_butterflies);
}

DMT_PART(dmt_transform)
{
	DMT_BEGIN
	DMT_EACH(d, d->order, dmt_stage_of_transform);
	DMT_END
}

DMT_PART(dmt_send_symbol)
{
	DMT_BEGIN
	dmt_send_begin(d);
	DMT_EACH(d, d->size / 2, dmt_send_tone);
	DMT_CALL(dmt_transform);
	DMT_EACH(d, d->length, dmt_send_sample);
	dmt_send_end(d);
	DMT_END
}

/* Takes as many samples as a symbol has, whatever symbols they belong to. */
DMT_INLINE void dmt_hear_sample(struct dmt *d, __u32 index)
{
	dmt_echo_push(d, d->sent[index & (DMT_SAMPLES - 1)]);
	DMT_EACH(d, d->banks, dmt_echo_filter);
	dmt_receive_sample(d, index);
	DMT_EACH(d, d->banks, dmt_echo_learn);
}

DMT_PART(dmt_hear)
{
	DMT_BEGIN
	d->energy = 0;
	dmt_echo_pace(d);
	DMT_EACH(d, d->length, dmt_hear_sample);
	if (d->energy < (__u64)DMT_MIN_POWER * d->length) {
		d->quiet++;
		d->loud = 0;
	} else {
		d->quiet = 0;
		d->loud++;
	}
	d->begin = d->heard + d->start - (d->start > d->prefix ? d->length : 0);
	d->heard += d->length;
	DMT_END
}

/* Compares the end of symbols with their prefix; if nothing is alike, it was noise. */
DMT_PART(dmt_find_symbol)
{
	DMT_BEGIN
	if (!d->receive_index++) {
		DMT_EACH(d, d->length, dmt_forget_place);
	} else if (d->energy_sum += d->energy, d->receive_index > DMT_COMPARED) {
		DMT_EACH(d, d->length, dmt_compare_place);
		/* Half of what the prefix's share of the energy allows. */
		if ((__u64)d->best * 2 * d->length < d->energy_sum * d->prefix) {
			dmt_hunt(d);
		} else {
			dmt_take_place(d);
			d->receive = DMT_LEARN_FIXED;
			d->receive_index = 0;
			d->timer_of_fixed = 0;
			DMT_EACH(d, d->receive_tones, dmt_forget_tone);
		}
	}
	DMT_END
}

/* The symbol that is sent again and again, until it is turned. */
DMT_PART(dmt_learn_fixed)
{
	DMT_BEGIN
	if (d->timer_of_fixed++ >= DMT_SETTLE) {
		d->expect_key = 0;
		d->expect_turn = 0;
		d->learn = 1;
		d->agreement = 0;
		DMT_EACH(d, d->receive_tones, dmt_compare_tone);
		if (d->receive_index > 16 && dmt_agrees(-d->agreement, d->receive_tones, 2)) {
			d->receive = DMT_AWAIT_TRAINING;
			d->receive_index = 1;
		} else {
			DMT_EACH(d, d->receive_tones, dmt_measure_tone);
			DMT_EACH(d, d->receive_tones, dmt_learn_tone);
			DMT_EACH(d, d->receive_tones, dmt_adapt_tone);
			d->receive_index++;
		}
	}
	if (d->receive == DMT_LEARN_FIXED && (d->timer_of_fixed > DMT_GIVE_UP || d->quiet > 8))
		dmt_hunt(d);
	DMT_END
}

DMT_PART(dmt_train)
{
	DMT_BEGIN
	d->expect_key = DMT_SEND_TRAINING << 12 | d->receive_index;
	d->expect_turn = 0;
	d->learn = dmt_training_pace(d->receive_index);
	if (d->receive_index == DMT_TRAINING - 64)
		DMT_EACH(d, d->receive_tones, dmt_forget_error);
	DMT_EACH(d, d->receive_tones, dmt_learn_tone);
	DMT_EACH(d, d->receive_tones, dmt_adapt_tone);
	if (++d->receive_index >= DMT_TRAINING) {
		if (dmt_may_choose(d)) {
			d->receive_loaded = 0;
			d->receive_used = 0;
			DMT_EACH(d, d->receive_tones, dmt_choose_bits);
		}
		d->receive = DMT_READ_MESSAGE;
		d->receive_index = 0;
		d->receive_check = 0xffff;
	}
	DMT_END
}

DMT_PART(dmt_read_message)
{
	DMT_BEGIN
	d->expect_key = DMT_SEND_MESSAGE << 12 | d->receive_index;
	d->learn = 6;
	d->agreement = 0;
	DMT_EACH(d, d->receive_tones, dmt_compare_tone);
	d->expect_turn = d->agreement < 0 ? 2 : 0;
	DMT_EACH(d, d->receive_tones, dmt_learn_tone);
	DMT_EACH(d, d->receive_tones, dmt_adapt_tone);
	dmt_take_message(d, d->expect_turn >> 1);
	DMT_END
}

/* A symbol of data, or the one that ends a superframe. If symbols were lost, that one comes before it is due. */
DMT_PART(dmt_receive_data)
{
	DMT_BEGIN
	d->expect_key = 0;
	d->expect_turn = 0;
	d->learn = DMT_LEARN_DATA;
	d->agreement = 0;
	DMT_EACH(d, d->receive_tones, dmt_compare_tone);
	if (dmt_agrees(d->agreement, d->receive_used, d->receive_frame < DMT_FRAME ? 7 : 4)) {
		DMT_EACH(d, d->receive_tones, dmt_learn_tone);
		DMT_EACH(d, d->receive_tones, dmt_adapt_tone);
		dmt_end_superframe(d);
	} else if (d->receive_frame >= DMT_FRAME) {
		dmt_end_superframe(d);
	} else {
		DMT_EACH(d, d->receive_tones, dmt_receive_tone);
		DMT_EACH(d, d->receive_tones, dmt_adapt_tone);
		d->receive_frame++;
	}
	DMT_END
}

/* Turns bits into a symbol's samples to send, and as many received samples into bits. */
DMT_PART(dmt_symbol)
{
	DMT_BEGIN
	DMT_CALL(dmt_send_symbol);
	DMT_CALL(dmt_hear);
	if (d->receive >= DMT_LEARN_FIXED) {
		DMT_EACH(d, d->size, dmt_load_sample);
		DMT_CALL(dmt_transform);
		DMT_EACH(d, d->receive_tones, dmt_equalize_tone);
	}
	if (d->receive == DMT_HUNT)
		dmt_look_for_carrier(d);
	else if (d->receive == DMT_FIND_SYMBOL)
		DMT_CALL(dmt_find_symbol);
	else if (d->receive == DMT_LEARN_FIXED)
		DMT_CALL(dmt_learn_fixed);
	else if (d->receive == DMT_AWAIT_TRAINING)
		dmt_await_training(d);
	else if (d->receive == DMT_TRAIN)
		DMT_CALL(dmt_train);
	else if (d->receive == DMT_READ_MESSAGE)
		DMT_CALL(dmt_read_message);
	else if (d->receive == DMT_RECEIVE_DATA)
		DMT_CALL(dmt_receive_data);
	dmt_session(d);
	d->symbols++;
	DMT_END
}

#endif
