/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The receiver: gain, finding the training sequence, equalizer, carrier, decisions, bits. */
#ifndef PUNCTUAL_QAM_RECEIVE_H
#define PUNCTUAL_QAM_RECEIVE_H

#include "qam.h"

/* Below this power (150 squared) there is no carrier. */
#define QAM_MIN_POWER 22500
/* A carrier whose power fell by 15 dB for 30 ms is lost. */
#define QAM_LOST_LEVEL (QAM_POWER >> 5)
#define QAM_LOST_SAMPLES 216
/* Over how many symbols the mean square error is taken. */
#define QAM_ERROR_WINDOW 128
/* For how many symbols from QAM_FIRST on the taps stay while the carrier is acquired. */
#define QAM_CATCH 96
/* How many symbols of a short sequence say which they are. */
#define QAM_ALIGN 32

/* The gain that brings the smoothed power to QAM_POWER: 2^24 divided by its root, from a table. */
QAM_INLINE void qam_set_gain(struct qam *q)
{
	__u32 power = q->power | 1, doublings = 0;

	for (__u32 round = 0; round < 14; round++)
		if (power < 1u << 28) {
			power <<= 2;
			doublings++;
		}
	q->gain = q->root[((power >> 24) - 16) & 63] << (doublings & 15);
}

/* Takes a sample after the echo has been subtracted. */
QAM_PART(qam_receive_sample)
{
	QAM_BEGIN
	__u32 position = (q->window_position - 1) & (QAM_WINDOW - 1);
	__s32 sample, square = q->residual * q->residual;

	q->power += ((__s32)square - (__s32)q->power) >> 6;
	if (q->receive <= QAM_HUNT)
		qam_set_gain(q);
	sample = qam_clip(((__s64)q->residual * q->gain + 2048) >> 12);
	square = sample * sample;
	q->level += ((__s32)square - (__s32)q->level) >> 6;
	q->quiet = q->level < QAM_LOST_LEVEL ? q->quiet + 1 : 0;
	q->window_position = position;
	q->window[position] = q->window[position + QAM_WINDOW] = sample;
	QAM_END
}

/*
 * The training sequence was found: the last symbol of the searched part came 6 samples ago. The short sequence comes to
 * an end that has heard the long one: taps, frequency, symbol clock and the carrier's phase, which kept running, still
 * hold.
 */
QAM_PART(qam_begin_training)
{
	QAM_BEGIN
	q->receive = QAM_TRAIN;
	q->symbol = QAM_FIRST;
	q->error_sum = 0;
	q->window_symbols = 0;
	q->bad_windows = 0;
	q->is_aligned = q->train_long == QAM_LONG;
	q->agreed[0] = q->agreed[1] = q->agreed[2] = 0;
	if (!q->is_aligned)
		QAM_END
	q->wait = 2;
	/* The middle of the quadrant, at the first symbol. */
	q->phase = (2 * q->sync_quadrant + 1) << 29;
	q->phase += (3u << 30) * QAM_FIRST;
	q->frequency = 0;
	q->drift = 0;
	q->behind = 0;
	q->moved = 0;
	for (__u32 tap = 0; tap < QAM_TAPS; tap++) {
		__s32 weight = q->matched[tap];

		/* Tap 32 is the centre: e^(j pi (tap - 32) / 2). */
		q->taps_i[tap] = tap & 1 ? 0 : tap & 2 ? -weight : weight;
		q->taps_q[tap] = tap & 1 ? (tap & 2 ? -weight : weight) : 0;
	}
	QAM_END
}

/* Looks for the beginning of the training sequence: its correlation with the newest symbols' samples. */
QAM_PART(qam_hunt)
{
	QAM_BEGIN
	const __s32 *window = &q->window[q->window_position & (QAM_WINDOW - 1)];
	__s64 sum_i = 0, sum_q = 0, energy = 0;
	__u64 found;

	for (__u32 symbol = 0; symbol < QAM_SYNC; symbol++) {
		__s32 sample = window[3 * (QAM_SYNC - 1 - symbol)];

		sum_i += sample * q->sync_i[symbol];
		sum_q += sample * q->sync_q[symbol];
		energy += (__s64)sample * sample;
	}
	found = sum_i * sum_i + sum_q * sum_q;
	if (q->receive == QAM_HUNT) {
		/*
		 * The highest possible value is 64 times the energy, that of noise twice the energy. A burst's last few
		 * samples could match by chance: there is no search while a part of the window is silent.
		 */
		if (q->power < QAM_MIN_POWER || energy < (__s64)QAM_POWER * (QAM_SYNC / 4) || found < 25 * (__u64)energy)
			QAM_END
		q->receive = QAM_PEAK;
		q->sync_best = 0;
	}
	q->since_best++;
	if (found > q->sync_best) {
		q->sync_best = found;
		q->since_best = 0;
		q->sync_quadrant = sum_q >= 0 ? (sum_i >= 0 ? 0 : 1) : (sum_i < 0 ? 2 : 3);
	}
	if (q->since_best >= 6)
		QAM_CALL(qam_begin_training);
	QAM_END
}

/*
 * The point that a symbol's samples give: equalized, and turned back by the carrier's phase. And its slope: half of how far the
 * point of a sample later is from that of a sample earlier, with the carrier turned back by a quarter for each.
 */
QAM_PART(qam_equalize)
{
	QAM_BEGIN
	const __s32 *window = &q->window[q->window_position & (QAM_WINDOW - 1)];
	__u32 angle = q->phase >> 22;
	__s64 sine = q->sine[angle & (QAM_SINES - 1)];
	__s64 cosine = q->sine[(angle + QAM_SINES / 4) & (QAM_SINES - 1)];
	__s64 i = 0, k = 0, slope_i = 0, slope_k = 0;

	for (__u32 tap = 0; tap < QAM_TAPS; tap++) {
		i += (__s64)q->taps_i[tap] * window[tap];
		k += (__s64)q->taps_q[tap] * window[tap];
	}
	for (__u32 tap = 1; tap < QAM_TAPS - 1; tap++) {
		__s64 beside = window[tap - 1] + window[tap + 1];

		slope_i += q->taps_q[tap] * beside;
		slope_k -= q->taps_i[tap] * beside;
	}
	i = qam_clip((i + (1 << 23)) >> 24);
	k = qam_clip((k + (1 << 23)) >> 24);
	q->point_i = (__s32)((i * cosine + k * sine + 8192) >> 14);
	q->point_q = (__s32)((k * cosine - i * sine + 8192) >> 14);
	slope_i = qam_clip((slope_i + (1 << 24)) >> 25);
	slope_k = qam_clip((slope_k + (1 << 24)) >> 25);
	q->slope_i = (__s32)((slope_i * cosine + slope_k * sine + 8192) >> 14);
	q->slope_q = (__s32)((slope_k * cosine - slope_i * sine + 8192) >> 14);
	QAM_END
}

/* Which of the points along an axis is nearest to a positive coordinate. */
QAM_INLINE __u32 qam_slice(__u32 bits, __s32 unit, __s32 value)
{
	__u32 level = 0;

	if (bits >= 4)
		level += value >= 2 * unit;
	if (bits == 6) {
		level += value >= 4 * unit;
		level += value >= 6 * unit;
	}
	return level;
}

/* The nearest point of the constellation, and the bits of its place within the quadrant. */
QAM_PART(qam_decide)
{
	QAM_BEGIN
	__u32 bits = q->bits_of_decision, quadrant, column, row;
	__s32 i = q->point_i, k = q->point_q, x, y, unit = qam_unit(bits);

	quadrant = k >= 0 ? (i >= 0 ? 0 : 1) : (i < 0 ? 2 : 3);
	qam_turn(4 - quadrant, i, k, &x, &y);
	column = qam_slice(bits, unit, x);
	row = qam_slice(bits, unit, y);
	qam_turn(quadrant, (__s32)(2 * column + 1) * unit, (__s32)(2 * row + 1) * unit, &q->decided_i, &q->decided_q);
	q->decided_quadrant = quadrant;
	q->decided_inner = bits == 6 ? qam_gray(column) << 2 | qam_gray(row) : bits == 4 ? column << 1 | row : 0;
	QAM_END
}

QAM_INLINE void qam_set_paces(struct qam *q, __u32 carrier, __u32 drift, __u32 learn)
{
	q->carrier_pace = carrier;
	q->drift_pace = drift;
	q->learn_pace = learn;
}

/* A sample, as the symbol clock counts. */
#define QAM_SAMPLE (1 << 28)
/*
 * What the slope explains of an error says by how much the symbol was taken too soon: about a 78th of that. So the taps move at
 * once by a 500th of it, and their drift changes by a 50,000th.
 */
#define QAM_MOVE 10000
#define QAM_DRIFT 100
#define QAM_CLOCK_SHIFT 16
/* A wrong decision must not move them far: an eighth of a sample. */
#define QAM_MAX_MOVE (QAM_SAMPLE >> 3)
/* 500 ppm: three samples a symbol. */
#define QAM_MAX_DRIFT 402653

QAM_INLINE __s32 qam_within(__s64 value, __s32 most)
{
	return value > most ? most : value < -most ? -most : (__s32)value;
}

QAM_INLINE void qam_follow_clock(struct qam *q, __s64 error_i, __s64 error_q)
{
	__s64 explained = error_i * q->slope_i + error_q * q->slope_q;

	q->drift = qam_within(q->drift + ((explained * QAM_DRIFT) >> QAM_CLOCK_SHIFT), QAM_MAX_DRIFT);
	q->behind = qam_within(q->behind + ((explained * QAM_MOVE) >> QAM_CLOCK_SHIFT), QAM_MAX_MOVE);
}

/* Carrier and taps follow the error of the newest symbol, at the paces that were set. */
QAM_PART(qam_follow)
{
	QAM_BEGIN
	const __s32 *window = &q->window[q->window_position & (QAM_WINDOW - 1)];
	__u32 learn = q->learn_pace & 31;
	__s64 error_i = q->decided_i - q->point_i, error_q = q->decided_q - q->point_q;
	__s64 turned = (__s64)q->point_q * q->decided_i - (__s64)q->point_i * q->decided_q;
	__u32 angle = q->phase >> 22;
	__s64 sine = q->sine[angle & (QAM_SINES - 1)];
	__s64 cosine = q->sine[(angle + QAM_SINES / 4) & (QAM_SINES - 1)];
	__s64 i = qam_clip((error_i * cosine - error_q * sine + 8192) >> 14);
	__s64 k = qam_clip((error_i * sine + error_q * cosine + 8192) >> 14);
	__s64 frequency = q->frequency + ((turned * 8) >> (q->drift_pace & 31));

	q->error_sum += error_i * error_i + error_q * error_q;
	q->window_symbols++;
	if (learn) {
		__s64 half = 1 << ((learn - 1) & 31);

		qam_follow_clock(q, error_i, error_q);
		for (__u32 tap = 0; tap < QAM_TAPS; tap++) {
			q->taps_i[tap] = (__s32)((__u32)q->taps_i[tap] + (__u32)((i * window[tap] + half) >> learn));
			q->taps_q[tap] = (__s32)((__u32)q->taps_q[tap] + (__u32)((k * window[tap] + half) >> learn));
		}
	}
	/* 20 Hz either way. */
	if (frequency > 35791394)
		frequency = 35791394;
	if (frequency < -35791394)
		frequency = -35791394;
	q->frequency = (__s32)frequency;
	q->phase += (3u << 30) + (__u32)q->frequency + (__u32)((turned * 8) >> (q->carrier_pace & 31));
	QAM_END
}

QAM_INLINE void qam_receive_bit(struct qam *q, __u32 bit)
{
	__u32 index = q->bits_received & (QAM_BITS - 1);
	__u32 *word = &q->receive_bits[index >> 5 & (QAM_BITS_WORDS - 1)];

	/* Whoever takes bits this slowly loses the newest. */
	if (q->bits_received - q->bits_taken >= QAM_BITS) {
		q->bits_lost++;
		return;
	}
	*word = (*word & ~(1u << (index & 31))) | bit << (index & 31);
	q->bits_received++;
}

/* A rate word: 1010, the burst's number, bits a symbol, and a check of both. */
QAM_INLINE __u32 qam_rate_word(__u32 burst, __u32 bits)
{
	__u32 content = 0xa0 | (burst & 3) << 2 | (bits >> 1 & 3);

	return content << 8 | ((content * 5 ^ 0x3c) & 0xff);
}

QAM_INLINE void qam_hand_out_bit(struct qam *q, __u32 index)
{
	__u32 plain = qam_descramble(&q->descrambler, q->role != QAM_CALLING, q->value >> 31);

	(void)index;
	q->value <<= 1;
	if (q->receive == QAM_READ_RATE)
		q->word = (q->word << 1 | plain) & 0xffff;
	else
		qam_receive_bit(q, plain);
}

/* The bits of the newest decision. */
QAM_PART(qam_take_bits)
{
	QAM_BEGIN
	__u32 bits = q->bits_of_decision;
	__u32 value = qam_gray(q->decided_quadrant - q->receive_quadrant) << ((bits - 2) & 7) | q->decided_inner;

	q->receive_quadrant = q->decided_quadrant;
	q->value = value << ((32 - bits) & 31);
	QAM_EACH(q, bits, qam_hand_out_bit);
	QAM_END
}

#endif
