/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A modem's datapump: 2,400 symbols of 2, 4 or 6 bits a second, in both directions at once on one pair of wires.
 * Freestanding: the same text is compiled for the processor and for BPF, and gives the same output to the bit.
 *
 * This file is the state and what the parts share; qam_send.h, qam_echo.h, qam_receive.h, qam_clock.h and
 * qam_session.h are the parts, and qam_step.h does one sample.
 *
 * For BPF: whole numbers only, no division, every loop bounded, every index masked, no tables but those in the state.
 */
#ifndef PUNCTUAL_QAM_H
#define PUNCTUAL_QAM_H

#include <linux/types.h>

#define QAM_INLINE static inline __attribute__((always_inline))

/* Taps in a bank of the echo canceller, and how many banks there may be. */
#define QAM_BANK 128
#define QAM_MAX_BANKS 512
#define QAM_ECHO (QAM_BANK * QAM_MAX_BANKS)
/* Taps of the equalizer, a third of a symbol apart, and the one on which the symbol is centred. */
#define QAM_TAPS 64
#define QAM_CENTRE 32
/* How many received samples are kept: the equalizer's, and those that are searched for the training sequence. */
#define QAM_WINDOW 256
/* Symbols that shape one sample, the size of the ring that holds them, and samples of the shape. */
#define QAM_SPAN 12
#define QAM_SYMBOLS 16
#define QAM_SHAPE 48
#define QAM_SINES 1024
/* Words of 32 bits in each ring of bits. */
#define QAM_BITS_WORDS 64
#define QAM_BITS (32 * QAM_BITS_WORDS)

/* A burst: alternations, the training sequence, long or short, and the rate signal; in symbols. */
#define QAM_ALTERNATIONS 64
#define QAM_SYNC 64
#define QAM_LONG 1024
#define QAM_SHORT 384
#define QAM_RATE 64
/* The first symbol that the equalizer computes after the training sequence was found. */
#define QAM_FIRST 55

/* The mean power of symbols: 4,096 squared. */
#define QAM_POWER (1 << 24)
/* The coordinate of the innermost point, by bits a symbol. */
#define QAM_UNIT_2 2896
#define QAM_UNIT_4 1295
#define QAM_UNIT_6 632

enum qam_role { QAM_CALLING, QAM_ANSWERING };

/* What is being sent. */
enum qam_sending { QAM_SEND_NOTHING, QAM_SEND_ALTERNATIONS, QAM_SEND_TRAINING, QAM_SEND_RATE, QAM_SEND_DATA };

/* What happens to received samples. */
enum qam_receiving { QAM_IGNORE, QAM_HUNT, QAM_PEAK, QAM_TRAIN, QAM_READ_RATE, QAM_RECEIVE_DATA };

/* How far the start-up is. The calling end goes 1, 2, 3, 5, the answering end 0, 2, 3, 4, 5. */
enum qam_stage { QAM_SILENT, QAM_LISTEN, QAM_OFFER, QAM_AWAIT, QAM_CONFIRM, QAM_CONNECTED };

struct qam {
	__u64 samples;		/* processed so far */
	__s64 echo_sum;		/* of the filter over the samples sent, while a sample is processed */
	__u64 error_sum;	/* of squared errors in the window of symbols */
	__u64 sync_best;	/* the highest correlation with the training sequence */
	__u64 bits_sent;	/* taken from the ring so far */
	__u64 bits_given;	/* put into it so far */
	__u64 bits_received;	/* put into the other ring so far */
	__u64 bits_taken;	/* taken from it so far */

	/* Options. */
	__u32 role;
	__u32 banks;		/* of the echo canceller: 1 to QAM_MAX_BANKS */
	__u32 echo_delay;	/* samples between a sample sent and the first that may hold its echo */
	__u32 min_bits;		/* a symbol: 2, 4 or 6 */
	__u32 max_bits;
	__u32 may_retrain;	/* 0: never by itself */

	/* The start-up. */
	__u32 stage;
	__u32 timer;		/* how many samples the stage may last */
	__u32 cap;		/* bits a symbol that this end still allows itself after retrains */
	__u32 bits_lost;	/* received ones for which the ring had no room */
	__u32 bits;		/* a symbol, agreed */
	__u32 retrains;		/* start-ups that began again after a connection */
	__u32 failures;		/* start-ups that failed */
	__u32 own_retrains;	/* that this end asked for in short succession */
	__u32 calm;		/* symbols since the last of them */

	/* Sending. */
	__u32 send;
	__u32 send_left;	/* symbols, of what is being sent */
	__u32 send_index;	/* of the symbol in it */
	__u32 send_long;	/* symbols of the training sequence */
	__u32 send_word;	/* the rate signal */
	__u32 third;		/* of the symbol */
	__u32 quarter;		/* of the carrier */
	__u32 scrambler;
	__u32 send_quadrant;
	__u32 symbol_position;
	__s32 sent;		/* the newest sample */

	/* The echo canceller. */
	__u32 echo_position;
	__u32 echo_shift;	/* how little it learns: the product of error and sample is shifted by this much */
	__s32 residual;		/* of the newest sample */

	/* Receiving. */
	__u32 receive;
	__u32 power;		/* of received samples, smoothed, before the gain */
	__u32 level;		/* the same after the gain */
	__u32 quiet;		/* samples for which the level has been low */
	__u32 gain;		/* 1 is 4096 */
	__u32 window_position;
	__u32 wait;		/* samples until the next symbol */
	__u32 since_best;	/* samples since the highest correlation */
	__u32 sync_quadrant;	/* the carrier's phase there */
	__u32 symbol;		/* how many symbols of the burst have come */
	__u32 train_long;
	__u32 phase;		/* of the carrier; a turn is 2^32 */
	__s32 frequency;	/* how much it gains in each symbol over 0.75 turns */
	__u32 descrambler;
	__u32 receive_quadrant;
	__u32 word;		/* the newest bits of the rate signal */
	__u32 rate_word;	/* the newest that was valid */
	__u32 window_symbols;	/* in the sum of squared errors */
	__u32 mean_square_error;
	__u32 bad_windows;	/* in a row */
	__s32 decided_i;	/* the newest decision, and what it was about */
	__s32 decided_q;
	__s32 point_i;
	__s32 point_q;

	/* What one part finds for the next. */
	__u32 decided_quadrant;	/* of the newest decision */
	__u32 decided_inner;	/* the bits of its place within the quadrant */
	__u32 send_value;	/* the bits of a symbol, while they are collected */
	__u32 value;		/* the bits of a decision, while they are handed out, the first on top */
	__u32 carrier_pace;	/* shifts of the errors from which carrier, frequency and taps learn; taps: 0: none */
	__u32 drift_pace;
	__u32 learn_pace;
	__u32 bits_of_decision;	/* in a symbol of what is being received */
	__s32 received;		/* the newest sample, before anything was done to it */
	__s32 slope_i;		/* how much the newest point would change if it were taken a sample later */
	__s32 slope_q;

	/* The symbol clock, in parts of a sample (QAM_SAMPLE). */
	__s32 drift;		/* how much later each symbol comes than this end's clock says */
	__s32 behind;		/* by how much the taps have still to move for that */
	__s32 moved;		/* by how much they have, less the whole samples by which symbols are taken later */

	/* Which symbol of a short sequence is which. */
	__u32 is_aligned;
	__u32 agreed[3];	/* how many symbols were those of the one before, of their own place and of the one behind */

	/* Tables, filled in when the pump is made. */
	__s32 sine[QAM_SINES];
	__s32 shape[QAM_SHAPE];
	__s32 matched[QAM_TAPS];
	__s32 sync_i[QAM_SYNC];
	__s32 sync_q[QAM_SYNC];
	__u32 root[64];
	__u32 own_training[QAM_LONG / 16];
	__u32 far_training[QAM_LONG / 16];

	/* Delay lines that are written twice, so that a window of them is contiguous, taps, and rings of bits. */
	__s32 symbols_i[2 * QAM_SYMBOLS];
	__s32 symbols_q[2 * QAM_SYMBOLS];
	__s32 window[2 * QAM_WINDOW];
	__s32 taps_i[QAM_TAPS];
	__s32 taps_q[QAM_TAPS];
	__u32 send_bits[QAM_BITS_WORDS];
	__u32 receive_bits[QAM_BITS_WORDS];
	__s32 echo_line[2 * QAM_ECHO];
	__s32 echo_taps[QAM_ECHO];
};

QAM_INLINE __s32 qam_clip(__s64 value)
{
	if (value > 32767)
		return 32767;
	if (value < -32767)
		return -32767;
	return (__s32)value;
}

/* The coordinate of the innermost point. */
QAM_INLINE __s32 qam_unit(__u32 bits)
{
	return bits == 6 ? QAM_UNIT_6 : bits == 4 ? QAM_UNIT_4 : QAM_UNIT_2;
}

/* A point of the first quadrant, turned into another. */
QAM_INLINE void qam_turn(__u32 quadrant, __s32 x, __s32 y, __s32 *i, __s32 *q)
{
	quadrant &= 3;
	*i = quadrant == 0 ? x : quadrant == 1 ? -y : quadrant == 2 ? -x : y;
	*q = quadrant == 0 ? y : quadrant == 1 ? x : quadrant == 2 ? -y : -x;
}

/* The quadrant of a symbol of a training sequence: a word holds 16 of them. */
QAM_INLINE __u32 qam_training(const __u32 *sequence, __u32 index)
{
	return sequence[index >> 4 & (QAM_LONG / 16 - 1)] >> (2 * (index & 15)) & 3;
}

/* One bit through a self-synchronizing scrambler, 1 + x^-18 + x^-23 for the calling end and 1 + x^-5 + x^-23. */
QAM_INLINE __u32 qam_scramble(__u32 *state, __u32 calling, __u32 bit)
{
	__u32 tap = calling ? *state >> 17 : *state >> 4;
	__u32 out = (bit ^ tap ^ *state >> 22) & 1;

	*state = *state << 1 | out;
	return out;
}

QAM_INLINE __u32 qam_descramble(__u32 *state, __u32 calling, __u32 bit)
{
	__u32 tap = calling ? *state >> 17 : *state >> 4;
	__u32 out = (bit ^ tap ^ *state >> 22) & 1;

	*state = *state << 1 | (bit & 1);
	return out;
}

/* Two bits to the number of quadrants that they turn, and back: neighbours differ in one bit. For two bits both are
 * the same. */
QAM_INLINE __u32 qam_gray(__u32 value)
{
	value &= 3;
	return value ^ value >> 1;
}

#endif
