/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The echo canceller: learns what comes back of its own samples and subtracts it. It works by banks of taps, so that
 * BPF can go over them with its own loop.
 */
#ifndef PUNCTUAL_QAM_ECHO_H
#define PUNCTUAL_QAM_ECHO_H

#include "qam.h"

/* While it trains (the other end is silent), at the end of that, and while both ends send. */
#define QAM_LEARN_FAST 8
#define QAM_LEARN_FINE 11
#define QAM_LEARN_SLOW 21
/* The taps after the first bank learn this much less: there are many, and each adds its noise. */
#define QAM_LEARN_BEHIND 8

QAM_INLINE void qam_echo_push(struct qam *q, __s32 sample)
{
	__u32 position = (q->echo_position - 1) & (QAM_ECHO - 1);

	q->echo_position = position;
	q->echo_line[position] = sample;
	q->echo_line[position + QAM_ECHO] = sample;
	q->echo_sum = 0;
}

QAM_INLINE const __s32 *qam_echo_window(const struct qam *q, __u32 bank)
{
	__u32 start = (q->echo_position + q->echo_delay) & (QAM_ECHO - 1);

	return &q->echo_line[start + (bank & (QAM_MAX_BANKS - 1)) * QAM_BANK];
}

/* What one bank expects of the echo. */
QAM_INLINE void qam_echo_filter(struct qam *q, __u32 bank)
{
	const __s32 *line = qam_echo_window(q, bank);
	const __s32 *taps = &q->echo_taps[(bank & (QAM_MAX_BANKS - 1)) * QAM_BANK];
	__s64 sum = 0;

	for (__u32 tap = 0; tap < QAM_BANK; tap++)
		sum += (__s64)line[tap] * taps[tap];
	q->echo_sum += sum;
}

/* What is left of a received sample. */
QAM_INLINE void qam_echo_cancel(struct qam *q, __s32 received)
{
	q->residual = qam_clip(received - ((q->echo_sum + (1 << 23)) >> 24));
}

/* What one bank learns from what is left. */
QAM_INLINE void qam_echo_learn(struct qam *q, __u32 bank)
{
	const __s32 *line = qam_echo_window(q, bank);
	__s32 *taps = &q->echo_taps[(bank & (QAM_MAX_BANKS - 1)) * QAM_BANK];
	__u32 shift = (q->echo_shift + (bank ? QAM_LEARN_BEHIND : 0)) & 31;
	__s32 half = 1 << ((shift - 1) & 31), error = q->residual;

	for (__u32 tap = 0; tap < QAM_BANK; tap++)
		taps[tap] = (__s32)((__u32)taps[tap] + (__u32)(((__s64)error * line[tap] + half) >> shift));
}

/* How fast it learns now: only while it hears nothing but its own echo can it learn fast. */
QAM_INLINE void qam_echo_pace(struct qam *q)
{
	__u32 alone = q->send == QAM_SEND_TRAINING && (q->send_long == QAM_LONG || q->role == QAM_ANSWERING);

	if (!alone)
		q->echo_shift = QAM_LEARN_SLOW;
	else if (q->send_long == QAM_LONG && q->send_left > QAM_LONG / 2)
		q->echo_shift = QAM_LEARN_FAST;
	else
		q->echo_shift = QAM_LEARN_FINE;
}

#endif
