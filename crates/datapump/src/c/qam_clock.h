/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The symbol clock. If the other end's clock runs faster or slower than this one, its symbols come a little sooner or later
 * each time, and the equalizer's taps, which are a filter, are moved by as much. In the long run they would move out of their
 * room: once that is most of a tap, all of them go back by a whole one, and symbols are taken a sample sooner or later. So the
 * same samples meet the same taps, and a short burst finds the symbols where they are expected.
 */
#ifndef PUNCTUAL_QAM_CLOCK_H
#define PUNCTUAL_QAM_CLOCK_H

#include "qam_receive.h"

/* The taps move in steps of at least a 256th of a sample, and go back after three quarters. */
#define QAM_STEP (QAM_SAMPLE >> 8)
#define QAM_MOVED (3 * (QAM_SAMPLE >> 2))
/* The slope by three samples on either side, for a signal that is limited to its band: 3/4, 3/20 and 1/60; 1 is 2^14. */
#define QAM_NEAR 12288
#define QAM_FARTHER 2458
#define QAM_FARTHEST 273
/* A loop that moves taps stays a loop: BPF has no memmove to call instead. */
#define QAM_IN_ORDER __asm__ __volatile__("" : : : "memory")

/* Moves the taps along their slope, without that of the carrier, which is a quarter of a turn a tap. Those at the ends stay:
 * there is next to nothing. */
QAM_PART(qam_move_taps)
{
	QAM_BEGIN
	__s64 part = q->behind >> 8;
	__s64 i1 = q->taps_i[2], i2 = q->taps_i[1], i3 = q->taps_i[0];
	__s64 k1 = q->taps_q[2], k2 = q->taps_q[1], k3 = q->taps_q[0];

	q->moved += q->behind;
	q->behind = 0;
	for (__u32 tap = 3; tap < QAM_TAPS - 3; tap++) {
		__s64 i = q->taps_i[tap], k = q->taps_q[tap];
		__s64 slope_i = QAM_NEAR * (q->taps_q[tap + 1] + k1) + QAM_FARTHER * (q->taps_i[tap + 2] - i2) -
				QAM_FARTHEST * (q->taps_q[tap + 3] + k3);
		__s64 slope_k = -QAM_NEAR * (q->taps_i[tap + 1] + i1) + QAM_FARTHER * (q->taps_q[tap + 2] - k2) +
				QAM_FARTHEST * (q->taps_i[tap + 3] + i3);

		q->taps_i[tap] = (__s32)(i + (((slope_i >> 14) * part) >> 20));
		q->taps_q[tap] = (__s32)(k + (((slope_k >> 14) * part) >> 20));
		i3 = i2, i2 = i1, i1 = i;
		k3 = k2, k2 = k1, k1 = k;
	}
	QAM_END
}

/* Between two symbols: once the taps have moved by most of a sample, they go back by one, and the next symbol comes as much
 * sooner or later. */
QAM_PART(qam_keep_time)
{
	QAM_BEGIN
	if (q->moved < -QAM_MOVED) {
		for (__u32 tap = 0; tap < QAM_TAPS - 1; tap++) {
			q->taps_i[tap] = q->taps_i[tap + 1];
			q->taps_q[tap] = q->taps_q[tap + 1];
			QAM_IN_ORDER;
		}
		q->taps_i[QAM_TAPS - 1] = q->taps_q[QAM_TAPS - 1] = 0;
		q->wait--;
		q->moved += QAM_SAMPLE;
	} else if (q->moved > QAM_MOVED) {
		__s32 before_i = 0, before_q = 0;

		/* Upwards, as the verifier follows an index below zero no further. */
		for (__u32 tap = 0; tap < QAM_TAPS; tap++) {
			__s32 tap_i = q->taps_i[tap], tap_q = q->taps_q[tap];

			q->taps_i[tap] = before_i;
			q->taps_q[tap] = before_q;
			before_i = tap_i;
			before_q = tap_q;
		}
		q->wait++;
		q->moved -= QAM_SAMPLE;
	}
	QAM_END
}

#endif
