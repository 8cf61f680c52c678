/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The session: start-up, retraining, fallback.
 *
 *   answering   silence, burst 1 ............... burst 3, then data ....................
 *   calling     listens ......... burst 2, silence ............... burst 4, then data ..
 *
 * Bursts 1 and 2 are long and are sent while the other end is silent: each end learns its echo from its own burst and
 * trains its equalizer on the other's. Bursts 3 and 4 are short. Each ends with a rate signal: 1 says what the
 * answering end can do, 2 what the calling end asks for, 3 and 4 what is agreed. To retrain is to fall silent and begin
 * again: the other end notices that the carrier is lost.
 */
#ifndef PUNCTUAL_QAM_SESSION_H
#define PUNCTUAL_QAM_SESSION_H

#include "qam_clock.h"
#include "qam_receive.h"
#include "qam_send.h"

/* Samples: the silence before the first burst (300 ms), and how long an end waits for a burst (1.2 s). */
#define QAM_SILENCE 2160
#define QAM_PATIENCE 8640
/* After how many windows in a row with too large an error an end retrains. */
#define QAM_BAD_WINDOWS 3
/* After how many retrains within QAM_SHORTLY symbols of each other (20 s) an end goes to the next lower rate. */
#define QAM_MANY_RETRAINS 3
#define QAM_SHORTLY 48000
/* After how many symbols without a retrain (60 s) it may try the highest rate again. */
#define QAM_LONG_CALM 144000

QAM_INLINE void qam_send_burst(struct qam *q, __u32 burst, __u32 bits)
{
	q->send = QAM_SEND_ALTERNATIONS;
	q->send_left = QAM_ALTERNATIONS;
	q->send_index = 0;
	q->send_long = burst <= 2 ? QAM_LONG : QAM_SHORT;
	q->send_word = qam_rate_word(burst, bits);
}

QAM_INLINE void qam_begin_again(struct qam *q)
{
	q->send = QAM_SEND_NOTHING;
	q->send_left = 0;
	q->quiet = 0;
	q->timer = QAM_SILENCE;
	if (q->role == QAM_CALLING) {
		q->stage = QAM_LISTEN;
		q->receive = QAM_HUNT;
		q->train_long = QAM_LONG;
	} else {
		q->stage = QAM_SILENT;
		q->receive = QAM_IGNORE;
	}
}

/* A start-up that failed. */
QAM_INLINE void qam_fail(struct qam *q)
{
	q->failures++;
	qam_begin_again(q);
}

/* This end can no longer read the other: it falls silent, and goes to a lower rate if that happens often. */
QAM_INLINE void qam_retrain(struct qam *q)
{
	q->own_retrains = q->calm < QAM_SHORTLY ? q->own_retrains + 1 : 1;
	q->calm = 0;
	if (q->own_retrains >= QAM_MANY_RETRAINS) {
		q->own_retrains = 0;
		if (q->cap > q->min_bits)
			q->cap -= 2;
	}
	q->retrains++;
	qam_begin_again(q);
}

/* What this end can receive: judging by the error at the end of training, and by what it allows itself. */
QAM_INLINE __u32 qam_possible(const struct qam *q)
{
	/* 26 dB for 6 bits a symbol, 19 dB for 4. */
	__u32 bits = q->mean_square_error < QAM_POWER / 400 ? 6 : q->mean_square_error < QAM_POWER / 80 ? 4 : 2;

	if (bits > q->cap)
		bits = q->cap;
	return bits < q->min_bits ? q->min_bits : bits;
}

QAM_INLINE __u32 qam_lower(__u32 one, __u32 other)
{
	return one < other ? one : other;
}

/* The rate signal of a burst is over. */
QAM_INLINE void qam_rate_read(struct qam *q)
{
	__u32 bits = (q->rate_word >> 8 & 3) * 2, burst = q->rate_word >> 10 & 3, expected;

	expected = q->role == QAM_CALLING ? (q->stage == QAM_LISTEN ? 1 : 3) : q->stage == QAM_AWAIT ? 2 : 0;
	if (!bits || burst != expected) {
		qam_fail(q);
		return;
	}
	q->error_sum = 0;
	q->window_symbols = 0;
	if (q->stage == QAM_LISTEN) {
		q->stage = QAM_OFFER;
		q->receive = QAM_IGNORE;
		qam_send_burst(q, 2, qam_lower(bits, qam_possible(q)));
	} else if (q->role == QAM_ANSWERING && q->stage == QAM_AWAIT) {
		q->bits = qam_lower(bits, qam_possible(q));
		q->stage = QAM_CONFIRM;
		q->timer = QAM_PATIENCE;
		q->receive = QAM_HUNT;
		q->train_long = QAM_SHORT;
		qam_send_burst(q, 3, q->bits);
	} else {
		q->stage = QAM_CONNECTED;
		q->receive = QAM_RECEIVE_DATA;
		if (q->role == QAM_CALLING) {
			q->bits = bits;
			qam_send_burst(q, 4, bits);
		}
	}
}

QAM_INLINE __u32 qam_mean_square(struct qam *q)
{
	__u64 mean = q->error_sum >> 7;

	q->error_sum = 0;
	q->window_symbols = 0;
	return mean > 0xffffffff ? 0xffffffff : (__u32)mean;
}

/*
 * The beginning of a short sequence: where it was found, to a sample or two, and the symbol clock, which kept running, may be
 * a symbol apart. The symbols themselves tell, as taps and carrier hold.
 */
QAM_PART(qam_align)
{
	QAM_BEGIN
	q->bits_of_decision = 2;
	QAM_CALL(qam_decide);
	for (__u32 beside = 0; beside < 3; beside++)
		q->agreed[beside] += qam_training(q->far_training, q->symbol + beside - 1) == q->decided_quadrant;
	q->phase += (3u << 30) + (__u32)q->frequency;
	q->symbol++;
	if (q->symbol < QAM_FIRST + QAM_ALIGN)
		QAM_END
	if (q->agreed[2] > q->agreed[1] && q->agreed[2] > q->agreed[0])
		q->symbol++;
	else if (q->agreed[0] > q->agreed[1])
		q->symbol--;
	q->is_aligned = 1;
	QAM_END
}

/* The training sequence: known symbols. First the carrier is acquired, then the taps learn, ever more finely. */
QAM_PART(qam_train)
{
	QAM_BEGIN
	__u32 quadrant = qam_training(q->far_training, q->symbol);

	if (!q->is_aligned) {
		QAM_CALL(qam_align);
		QAM_END
	}
	qam_turn(quadrant, QAM_UNIT_2, QAM_UNIT_2, &q->decided_i, &q->decided_q);
	if (q->symbol < QAM_FIRST + QAM_CATCH)
		qam_set_paces(q, 1, 6, 0);
	else if (q->symbol < q->train_long - (q->train_long >> 1))
		qam_set_paces(q, 3, 10, 7);
	else
		qam_set_paces(q, 3, 10, 9);
	QAM_CALL(qam_follow);
	q->symbol++;
	if (q->symbol == q->train_long - QAM_ERROR_WINDOW) {
		q->error_sum = 0;
		q->window_symbols = 0;
	} else if (q->symbol >= q->train_long) {
		q->mean_square_error = qam_mean_square(q);
		q->receive = QAM_READ_RATE;
		q->receive_quadrant = quadrant;
		q->rate_word = 0;
		/* 12 dB: this cannot be read at the lowest rate either. */
		if (q->mean_square_error > QAM_POWER >> 4)
			qam_fail(q);
	}
	QAM_END
}

/* Decides about the newest symbol, learns from its error, and takes its bits. */
QAM_PART(qam_take_symbol)
{
	QAM_BEGIN
	qam_set_paces(q, 3, 10, 11);
	QAM_CALL(qam_decide);
	QAM_CALL(qam_follow);
	QAM_CALL(qam_take_bits);
	QAM_END
}

QAM_PART(qam_read_rate)
{
	QAM_BEGIN
	q->bits_of_decision = 2;
	QAM_CALL(qam_take_symbol);
	q->symbol++;
	/* The word repeats every 8 symbols. */
	if (!((q->symbol - q->train_long) & 7) && q->word == qam_rate_word(q->word >> 10 & 3, (q->word >> 8 & 3) * 2))
		q->rate_word = q->word;
	if (q->symbol >= q->train_long + QAM_RATE)
		qam_rate_read(q);
	QAM_END
}

/* Above this error decisions are no longer worth much: 9, 15 and 21 dB. */
QAM_INLINE __u32 qam_bad_error(__u32 bits)
{
	return bits == 6 ? QAM_POWER / 126 : bits == 4 ? QAM_POWER / 32 : QAM_POWER / 8;
}

QAM_PART(qam_receive_data)
{
	QAM_BEGIN
	q->bits_of_decision = q->bits;
	QAM_CALL(qam_take_symbol);
	q->calm += q->calm < QAM_LONG_CALM;
	if (q->calm == QAM_LONG_CALM)
		q->cap = q->max_bits;
	if (q->window_symbols >= QAM_ERROR_WINDOW) {
		q->mean_square_error = qam_mean_square(q);
		q->bad_windows = q->mean_square_error > qam_bad_error(q->bits) ? q->bad_windows + 1 : 0;
		if (q->may_retrain && q->bad_windows >= QAM_BAD_WINDOWS)
			qam_retrain(q);
	}
	QAM_END
}

/* A sample of the receiver: hunts, or processes a symbol when one is due. */
QAM_PART(qam_receive)
{
	QAM_BEGIN
	__u32 due;

	if (q->wait)
		q->wait--;
	due = !q->wait;
	if (due) {
		q->wait = 3;
		q->behind += q->drift;
		if (q->behind >= QAM_STEP || q->behind <= -QAM_STEP)
			QAM_CALL(qam_move_taps);
		if (q->receive < QAM_TRAIN)
			q->phase += (3u << 30) + (__u32)q->frequency;
	} else if (q->wait == 2) {
		QAM_CALL(qam_keep_time);
	}
	if (q->receive == QAM_HUNT || q->receive == QAM_PEAK) {
		QAM_CALL(qam_hunt);
		QAM_END
	}
	if (q->receive == QAM_IGNORE || !due)
		QAM_END
	QAM_CALL(qam_equalize);
	if (q->receive == QAM_TRAIN)
		QAM_CALL(qam_train);
	else if (q->receive == QAM_READ_RATE)
		QAM_CALL(qam_read_rate);
	else
		QAM_CALL(qam_receive_data);
	QAM_END
}

/* What the passing of time and the end of a burst bring. */
QAM_PART(qam_session)
{
	QAM_BEGIN
	if (q->stage == QAM_SILENT) {
		if (!--q->timer) {
			q->stage = QAM_OFFER;
			qam_send_burst(q, 1, q->cap);
		}
	} else if (q->stage == QAM_OFFER) {
		if (q->send == QAM_SEND_NOTHING) {
			q->stage = QAM_AWAIT;
			q->timer = QAM_PATIENCE;
			q->receive = QAM_HUNT;
			q->train_long = q->role == QAM_CALLING ? QAM_SHORT : QAM_LONG;
		}
	} else if (q->stage == QAM_AWAIT || q->stage == QAM_CONFIRM) {
		if (!--q->timer)
			qam_fail(q);
	} else if (q->stage == QAM_CONNECTED && q->receive == QAM_RECEIVE_DATA && q->quiet > QAM_LOST_SAMPLES) {
		q->retrains++;
		qam_begin_again(q);
	}
	QAM_END
}

#endif
