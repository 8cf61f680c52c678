/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sender: bits to symbols to samples. */
#ifndef PUNCTUAL_QAM_SEND_H
#define PUNCTUAL_QAM_SEND_H

#include "qam.h"

/* The next bit of data; ones if there is none, as modems send. */
QAM_INLINE __u32 qam_next_bit(struct qam *q)
{
	__u32 bit = 1;

	if (q->send == QAM_SEND_RATE) {
		bit = q->send_word >> 15 & 1;
		q->send_word = (q->send_word << 1 | bit) & 0xffff;
	} else if (q->stage == QAM_CONNECTED && q->bits_sent != q->bits_given) {
		__u32 index = q->bits_sent & (QAM_BITS - 1);

		bit = q->send_bits[index >> 5 & (QAM_BITS_WORDS - 1)] >> (index & 31) & 1;
		q->bits_sent++;
	}
	return qam_scramble(&q->scrambler, q->role == QAM_CALLING, bit);
}

/* Collects a bit of a symbol. */
QAM_INLINE void qam_collect_bit(struct qam *q, __u32 index)
{
	(void)index;
	q->send_value = q->send_value << 1 | qam_next_bit(q);
}

/* A symbol of scrambled bits: the first two turn the quadrant, the others choose the point within it. */
QAM_INLINE void qam_modulate(struct qam *q, __s32 *i, __s32 *k)
{
	__u32 bits = q->send == QAM_SEND_RATE ? 2 : q->bits, value, column = 0, row = 0;
	__s32 unit = qam_unit(bits);

	q->send_value = 0;
	QAM_EACH(q, bits, qam_collect_bit);
	value = q->send_value;
	if (bits == 6) {
		column = qam_gray(value >> 2);
		row = qam_gray(value);
		value >>= 4;
	} else if (bits == 4) {
		column = value >> 1 & 1;
		row = value & 1;
		value >>= 2;
	}
	q->send_quadrant = (q->send_quadrant + qam_gray(value)) & 3;
	qam_turn(q->send_quadrant, (__s32)(2 * column + 1) * unit, (__s32)(2 * row + 1) * unit, i, k);
}

QAM_INLINE void qam_send_next_part(struct qam *q)
{
	q->send_index = 0;
	if (q->send == QAM_SEND_ALTERNATIONS) {
		q->send = QAM_SEND_TRAINING;
		q->send_left = q->send_long;
	} else if (q->send == QAM_SEND_TRAINING) {
		q->send = QAM_SEND_RATE;
		q->send_left = QAM_RATE;
	} else if (q->send == QAM_SEND_RATE) {
		/* The first burst of each end is followed by silence, so that the other can answer. */
		q->send = q->send_long == QAM_LONG ? QAM_SEND_NOTHING : QAM_SEND_DATA;
		q->send_left = 0;
	}
}

/* The next symbol that is sent. */
QAM_INLINE void qam_send_symbol(struct qam *q, __s32 *i, __s32 *k)
{
	*i = 0;
	*k = 0;
	if (q->send == QAM_SEND_ALTERNATIONS) {
		qam_turn(2 * (q->send_index & 1), QAM_UNIT_2, QAM_UNIT_2, i, k);
	} else if (q->send == QAM_SEND_TRAINING) {
		q->send_quadrant = qam_training(q->own_training, q->send_index);
		qam_turn(q->send_quadrant, QAM_UNIT_2, QAM_UNIT_2, i, k);
	} else if (q->send != QAM_SEND_NOTHING) {
		qam_modulate(q, i, k);
	}
	q->send_index++;
	if (q->send_left && !--q->send_left)
		qam_send_next_part(q);
}

/* Puts the next symbol where samples are made from it. */
QAM_PART(qam_next_symbol)
{
	QAM_BEGIN
	__u32 position = (q->symbol_position - 1) & (QAM_SYMBOLS - 1);
	__s32 i, k;

	qam_send_symbol(q, &i, &k);
	q->symbol_position = position;
	q->symbols_i[position] = q->symbols_i[position + QAM_SYMBOLS] = i;
	q->symbols_q[position] = q->symbols_q[position + QAM_SYMBOLS] = k;
	QAM_END
}

/* The next sample. The carrier is a quarter of the sampling rate, so that a single coordinate makes a sample. */
QAM_PART(qam_send_sample)
{
	QAM_BEGIN
	const __s32 *symbols, *shape;
	__s64 sum = 0;
	__s32 sample;

	if (!q->third)
		QAM_CALL(qam_next_symbol);
	symbols = q->quarter & 1 ? q->symbols_q : q->symbols_i;
	symbols += q->symbol_position & (QAM_SYMBOLS - 1);
	/* The shape is stored by thirds, 16 places each. */
	shape = &q->shape[(q->third & 1) * 16 + (q->third >> 1 & 1) * 32];
	for (__u32 tap = 0; tap < QAM_SPAN; tap++)
		sum += (__s64)symbols[tap] * shape[tap];
	sample = qam_clip((sum + 8192) >> 14);
	/* Re((i + jq) e^(j pi n / 2)) is i, -q, -i, q. */
	if (((q->quarter + 1) & 3) >> 1)
		sample = -sample;
	q->third = q->third == 2 ? 0 : q->third + 1;
	q->quarter = (q->quarter + 1) & 3;
	q->sent = sample;
	QAM_END
}

#endif
