/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A Bluetooth receiver's baseband: Gaussian frequency shift keying, a million bits a second, four complex samples a
 * bit. A filter as long as a bit, the phase from one bit to the next, its sign; the receiver looks for the access code
 * at each of the four places of a bit, the header comes three times, header and payload are whitened and have checks.
 *
 * For BPF as for the processor: whole numbers, no division, every index masked.
 */
#ifndef PUNCTUAL_GFSK_H
#define PUNCTUAL_GFSK_H

#include "bits.h"

#define GFSK_INLINE static inline __attribute__((always_inline))

/* Complex samples of a unit: 62.5 us. */
#define GFSK_SAMPLES 250
#define GFSK_A_BIT 4
#define GFSK_TAPS 4
/* Bits of the access code that are compared, and how many of them may be wrong. */
#define GFSK_CODE 64
#define GFSK_TOLERANCE 7
/* What follows the code: a trailer, the header, with each of its bits three times, and the payload of a DH1 packet. */
#define GFSK_TRAILER 4
#define GFSK_HEADER 18
#define GFSK_PAYLOAD 240
#define GFSK_BITS_WORDS 64
#define GFSK_BITS (32 * GFSK_BITS_WORDS)

enum gfsk_receiving { GFSK_HUNT, GFSK_PEAK, GFSK_READ_HEADER, GFSK_READ_PAYLOAD };

struct gfsk {
	__u64 samples;		/* so far */
	__u64 bits_received;	/* put into the ring so far */
	__u64 packets;		/* whose access code was found */
	__u64 bad_headers;	/* those of them whose header was wrong, */
	__u64 bad_payloads;	/* and whose payload was; */
	__u64 right;		/* whose payload's check was right */
	__u64 code;		/* the access code, its last bit lowest */
	__u64 seen[GFSK_A_BIT];	/* the newest bits at each place of a bit */
	__s64 sum_re[GFSK_A_BIT];	/* of the newest 64 turns, which tells how far the carrier is off */
	__s64 sum_im[GFSK_A_BIT];
	__s64 opening[GFSK_A_BIT];	/* of the newest 64: how far they are turned */
	__s64 best;		/* the widest opening where the code was found */
	__s64 carrier_re;	/* how much the carrier's offset turns */
	__s64 carrier_im;
	__u32 receive;
	__u32 wait;		/* samples until the next bit, or until the place is chosen */
	__u32 index;		/* of the bit in what is being received */
	__u32 whitening;	/* the state of the whitener */
	__u32 whitening_begin;
	__u32 check_begin;	/* of both checks */
	__u32 check;
	__u32 votes;		/* for a bit of the header, out of the times that it came */
	__u32 times;
	__u32 position;		/* in the delay line */
	__s32 taps[GFSK_TAPS];	/* of the filter; 4,096 is 1 */
	__s32 input_re[2 * GFSK_TAPS];	/* written twice, so that a window of it is contiguous */
	__s32 input_im[2 * GFSK_TAPS];
	__s32 filtered_re[GFSK_A_BIT];	/* a bit ago */
	__s32 filtered_im[GFSK_A_BIT];
	__s32 turn_re[GFSK_CODE * GFSK_A_BIT];
	__s32 turn_im[GFSK_CODE * GFSK_A_BIT];
	__u32 ring[GFSK_BITS_WORDS];
};

/* x^7 + x^4 + 1. */
GFSK_INLINE __u32 gfsk_whiten(__u32 *state, __u32 bit)
{
	__u32 out = *state >> 6 & 1;

	*state = (*state << 1 & 0x7f) ^ (out ? 0x11 : 0);
	return bit ^ out;
}

/* The check of a header: (x + 1)(x^7 + x^4 + x^3 + x^2 + 1). */
GFSK_INLINE __u32 gfsk_check_header(__u32 check, __u32 bit)
{
	__u32 out = (check >> 7 ^ bit) & 1;

	return (check << 1 & 0xff) ^ (out ? 0xa7 : 0);
}

/* The check of a payload: x^16 + x^12 + x^5 + 1. */
GFSK_INLINE __u32 gfsk_check_payload(__u32 check, __u32 bit)
{
	__u32 out = (check >> 15 ^ bit) & 1;

	return (check << 1 & 0xffff) ^ (out ? 0x1021 : 0);
}

/* A whitened bit of the header, sent three times: the majority counts. The last 8 are its check. */
GFSK_INLINE void gfsk_take_header(struct gfsk *g, __u32 bit)
{
	__u32 place = g->index - GFSK_TRAILER, plain;

	if (g->index++ < GFSK_TRAILER)
		return;
	g->votes += bit;
	if (++g->times < 3)
		return;
	plain = gfsk_whiten(&g->whitening, g->votes >= 2);
	g->votes = 0;
	g->times = 0;
	g->check = gfsk_check_header(g->check, plain);
	if (place < 3 * GFSK_HEADER - 1)
		return;
	/* A check that follows what it covers leaves nothing. */
	g->bad_headers += g->check != 0;
	g->receive = GFSK_READ_PAYLOAD;
	g->index = 0;
	g->check = g->check_begin << 8;
}

GFSK_INLINE void gfsk_take_payload(struct gfsk *g, __u32 bit)
{
	__u32 plain = gfsk_whiten(&g->whitening, bit), place = (__u32)g->bits_received & (GFSK_BITS - 1);
	__u32 *word = &g->ring[place >> 5 & (GFSK_BITS_WORDS - 1)];

	g->check = gfsk_check_payload(g->check, plain);
	*word = (*word & ~(1u << (place & 31))) | plain << (place & 31);
	g->bits_received++;
	if (++g->index < GFSK_PAYLOAD)
		return;
	g->right += g->check == 0;
	g->bad_payloads += g->check != 0;
	g->receive = GFSK_HUNT;
}

/* The place of a bit where the eye is widest, among those where the code was found. */
GFSK_INLINE void gfsk_look_for_code(struct gfsk *g, __u32 place)
{
	if (bits_set(g->seen[place] ^ g->code) <= GFSK_TOLERANCE) {
		if (g->receive == GFSK_HUNT) {
			g->receive = GFSK_PEAK;
			g->index = 0;
			g->best = -1;
		}
		if (g->opening[place] > g->best) {
			g->best = g->opening[place];
			g->carrier_re = g->sum_re[place] >> 8;
			g->carrier_im = g->sum_im[place] >> 8;
			/* The next bit at this place is four samples later; index is how many have passed. */
			g->wait = GFSK_A_BIT;
		}
	}
	if (g->receive != GFSK_PEAK)
		return;
	if (g->wait)
		g->wait--;
	if (++g->index < GFSK_A_BIT)
		return;
	g->receive = GFSK_READ_HEADER;
	g->packets++;
	g->index = 0;
	g->votes = 0;
	g->times = 0;
	g->whitening = g->whitening_begin;
	g->check = g->check_begin;
}

/* Filters a sample; keeps how much the phase has turned since one bit ago. */
GFSK_INLINE void gfsk_turn(struct gfsk *g, __s32 re, __s32 im)
{
	__u32 position = (g->position - 1) & (GFSK_TAPS - 1), place = (__u32)g->samples & (GFSK_A_BIT - 1);
	__u32 cell = (__u32)g->samples & (GFSK_CODE * GFSK_A_BIT - 1);
	__s64 sum_re = 0, sum_im = 0, turn_re, turn_im;
	__s32 old_re = g->filtered_re[place], old_im = g->filtered_im[place];

	g->position = position;
	g->input_re[position] = g->input_re[position + GFSK_TAPS] = re;
	g->input_im[position] = g->input_im[position + GFSK_TAPS] = im;
	for (__u32 tap = 0; tap < GFSK_TAPS; tap++) {
		sum_re += (__s64)g->taps[tap] * g->input_re[position + tap];
		sum_im += (__s64)g->taps[tap] * g->input_im[position + tap];
	}
	g->filtered_re[place] = (__s32)(sum_re >> 12);
	g->filtered_im[place] = (__s32)(sum_im >> 12);
	turn_re = ((__s64)g->filtered_re[place] * old_re + (__s64)g->filtered_im[place] * old_im) >> 8;
	turn_im = ((__s64)g->filtered_im[place] * old_re - (__s64)g->filtered_re[place] * old_im) >> 8;
	g->sum_re[place] += turn_re - g->turn_re[cell];
	g->sum_im[place] += turn_im - g->turn_im[cell];
	g->opening[place] += (turn_im < 0 ? -turn_im : turn_im) - (g->turn_im[cell] < 0 ? -g->turn_im[cell] : g->turn_im[cell]);
	g->turn_re[cell] = (__s32)turn_re;
	g->turn_im[cell] = (__s32)turn_im;
	/* The carrier's offset may be as much as a bit's turn: the average turn is subtracted. */
	g->seen[place] = g->seen[place] << 1 | (turn_im * (g->sum_re[place] >> 8) > turn_re * (g->sum_im[place] >> 8));
}

/* Takes a sample. */
GFSK_INLINE void gfsk_sample(struct gfsk *g, __s32 re, __s32 im)
{
	__u32 place = (__u32)g->samples & (GFSK_A_BIT - 1), cell = (__u32)g->samples & (GFSK_CODE * GFSK_A_BIT - 1);
	__u32 bit;

	gfsk_turn(g, re, im);
	g->samples++;
	if (g->receive <= GFSK_PEAK) {
		gfsk_look_for_code(g, place);
		return;
	}
	if (g->wait) {
		g->wait--;
		return;
	}
	g->wait = GFSK_A_BIT - 1;
	/* The turn less the carrier's. */
	bit = g->turn_im[cell] * g->carrier_re > g->turn_re[cell] * g->carrier_im;
	if (g->receive == GFSK_READ_HEADER)
		gfsk_take_header(g, bit);
	else
		gfsk_take_payload(g, bit);
}

#endif
