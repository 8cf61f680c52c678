/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A DSL modem's datapump: discrete multitone, about 4,059 symbols a second, both directions at once on one pair of
 * wires, each on tones of its own. Freestanding: the same text is compiled for the processor and for BPF, and gives
 * the same output to the bit.
 *
 * This file is the state and what the parts share; dmt_transform.h, dmt_send.h, dmt_echo.h, dmt_receive.h and
 * dmt_session.h are the parts, and dmt_step.h does one symbol.
 *
 * For BPF: whole numbers only, no division, every loop bounded, every index masked, no tables but those in the state.
 */
#ifndef PUNCTUAL_DMT_H
#define PUNCTUAL_DMT_H

#include <linux/types.h>

#define DMT_INLINE static inline __attribute__((always_inline))

/* The largest transform, and half of it: the tones. */
#define DMT_SIZE 512
#define DMT_TONES (DMT_SIZE / 2)
/* Room for the samples of a symbol with its prefix, 544 at most. */
#define DMT_SAMPLES 1024
/* How many received samples are kept. */
#define DMT_WINDOW 2048
/* Taps in a bank of the echo canceller, how many banks there may be, and how many sent samples are kept. */
#define DMT_BANK 64
#define DMT_MAX_BANKS 8
#define DMT_ECHO 8192
/* Words of 32 bits in each ring of bits. */
#define DMT_BITS_WORDS 2048
#define DMT_BITS (32 * DMT_BITS_WORDS)
/* Bits of a tone: 0, 2, 4, 6, 8 or 10. */
#define DMT_MAX_BITS 10
/* A superframe: symbols of data, and one that marks its end. */
#define DMT_FRAME 68

/* The parts of a burst, in symbols. */
#define DMT_TIMING 48
#define DMT_FIXED 80
#define DMT_TURNED 8
#define DMT_TRAINING 256
/* A message: a header and a check of 16 bits each, and between them four bits for each tone; one bit in each symbol. */
#define DMT_HEADER 16
#define DMT_CHECK 16
#define DMT_MAGIC 0xa5c0
/* The scrambler's initial state. */
#define DMT_SCRAMBLER 0x2aaaaa

/* The mean power of a tone: 4,096 squared. */
#define DMT_POWER (1 << 24)

/* The office sends on the many tones, downstream; the remote end on the few. */
enum dmt_role { DMT_REMOTE, DMT_OFFICE };

/* What is being sent. */
enum dmt_sending {
	DMT_SEND_NOTHING,
	DMT_SEND_TIMING,
	DMT_SEND_FIXED,
	DMT_SEND_TURNED,
	DMT_SEND_TRAINING,
	DMT_SEND_MESSAGE,
	DMT_SEND_DATA,
};

/* What happens to received symbols. */
enum dmt_receiving {
	DMT_IGNORE,
	DMT_HUNT,
	DMT_FIND_SYMBOL,
	DMT_LEARN_FIXED,
	DMT_AWAIT_TRAINING,
	DMT_TRAIN,
	DMT_READ_MESSAGE,
	DMT_RECEIVE_DATA,
};

/* How far the start-up is. The remote end goes 1, 2, 3, 5, the office 0, 2, 3, 4, 5. */
enum dmt_stage { DMT_SILENT, DMT_LISTEN, DMT_OFFER, DMT_AWAIT, DMT_CONFIRM, DMT_CONNECTED };

struct dmt {
	__u64 symbols;		/* processed so far */
	__u64 bits_sent;	/* taken from the ring so far */
	__u64 bits_given;	/* put into it so far */
	__u64 bits_received;	/* put into the other ring so far */
	__u64 bits_taken;	/* taken from it so far */
	__u64 superframes;	/* that were received */
	__u64 bad_superframes;	/* those of them whose check was wrong */
	__u64 energy;		/* of the newest symbol's samples */

	/* Options. */
	__u32 role;
	__u32 order;		/* of the transform: 8 or 9 */
	__u32 banks;		/* of the echo canceller: 0 to DMT_MAX_BANKS */
	__u32 echo_delay;	/* samples between a sample sent and the first that may hold its echo */
	__u32 max_bits;		/* of a tone */
	__u32 fixed_bits;	/* of each tone, regardless of what was measured; 0: as measured */
	__u32 may_retrain;	/* 0: never by itself */
	__u32 learns;		/* 0: the equalizer's taps stay as they are */

	/* The start-up. */
	__u32 stage;
	__u32 timer;		/* how many symbols the stage may last */
	__u32 retrains;		/* start-ups that began again after a connection */
	__u32 failures;		/* start-ups that failed */
	__u32 bits_lost;	/* received ones for which the ring had no room */
	__u32 send_loaded;	/* bits of a symbol that is sent, and of one that is received */
	__u32 receive_loaded;
	__u32 send_used;	/* tones with bits */
	__u32 receive_used;
	__u32 square_error;	/* the mean of points, of the newest 1,024 decisions; DMT_POWER is 1 */

	/* Sizes that follow from order and role, filled in when the pump is made. */
	__u32 size;
	__u32 prefix;
	__u32 length;		/* of a symbol with its prefix */
	__u32 send_first;	/* the tones of this end, and how many */
	__u32 send_tones;
	__u32 receive_first;
	__u32 receive_tones;
	__u32 send_shift;	/* by how much samples are smaller than the sum of the tones */

	/* Sending. */
	__u32 send;
	__u32 send_left;	/* symbols, of what is being sent */
	__u32 send_index;	/* of the symbol in it */
	__u32 send_header;	/* the first word of the message */
	__u32 send_key;		/* from which the symbol's known quadrants are made */
	__u32 send_turn;	/* by which all of them are turned */
	__u32 send_scrambler;
	__u32 send_check;	/* of the bits of this superframe, or of the message */
	__u32 send_old_check;	/* of the one before */
	__u32 send_check_left;	/* bits of it that still have to be sent */
	__u32 send_frame;	/* the symbol's place in the superframe */
	__u32 send_value;	/* the bits of a tone, while they are collected */

	/* The echo canceller. */
	__u32 echo_position;
	__u32 echo_shift;	/* how little it learns: the product of error and sample is shifted by this much */
	__s32 residual;		/* of the newest sample */

	/* Receiving. */
	__u32 receive;
	__u32 receive_index;	/* symbols of what is being received */
	__u32 timer_of_fixed;	/* symbols since the symbol was found */
	__u32 loud;		/* symbols for which there has been a carrier, and none */
	__u32 quiet;
	__u32 heard;		/* how many samples have gone into the window */
	__u32 start;		/* of the transform, after the beginning of a block */
	__u32 begin;		/* the same in the window, for this symbol */
	__u32 stage_of_transform;
	__u32 expect_key;	/* from which the symbol's known quadrants are made */
	__u32 expect_turn;
	__u32 learn;		/* how little the equalizer learns: errors are shifted by this much */
	__u32 descrambler;
	__u32 receive_check;
	__u32 receive_old_check;
	__u32 receive_check_left;
	__u32 receive_frame;
	__u32 word;		/* the newest bits of a message or of a check */
	__u32 receive_header;
	__u32 bad_row;		/* superframes with a wrong check, in a row */
	__u32 best_start;
	__u32 error_count;
	__u32 value;		/* the bits of a tone, while they are handed out, the first on top */
	__s32 coordinate;	/* of a point, while its level is being found, and the result */
	__u32 level;
	__s32 step_of_level;
	__u32 place;		/* of the samples that are being added, while a place is compared */
	__s64 place_sum;	/* of the correlation there */
	__s64 agreement;	/* how well a symbol's points agree with the known ones */
	__s64 best;		/* the highest correlation of prefix and end */
	__u64 energy_sum;	/* over the symbols that are searched */
	__u64 error_total;	/* of squared errors */
	__s64 echo_sum;		/* of the filter over the samples sent, while a sample is processed */

	/* Tables, filled in when the pump is made. */
	__s32 cosine[DMT_SIZE];
	__u32 reversed[DMT_SIZE];
	__u32 threshold[8];	/* the error below which a tone bears twice this many bits */
	__s32 unit[8];		/* the coordinate of its innermost point */

	/* By tone: taps of the equalizer, how strong the tone is, errors, bits. */
	__s32 taps_re[DMT_TONES];
	__s32 taps_im[DMT_TONES];
	__u64 power[DMT_TONES];
	__u32 strength[DMT_TONES];	/* how many times 1 must be doubled to reach the power, at most */
	__s32 point_re[DMT_TONES];	/* of the newest symbol; then how far they are from where they should be */
	__s32 point_im[DMT_TONES];
	__u64 error_sum[DMT_TONES];
	__u32 send_bits[DMT_TONES];
	__u32 receive_bits[DMT_TONES];

	/* The transform's numbers, blocks of samples, and rings. */
	__s32 re[DMT_SIZE];
	__s32 im[DMT_SIZE];
	__s64 correlation[DMT_SAMPLES];
	__s32 window[DMT_WINDOW];
	__s16 received[DMT_SAMPLES];
	__s16 sent[DMT_SAMPLES];
	__u32 send_ring[DMT_BITS_WORDS];
	__u32 receive_ring[DMT_BITS_WORDS];
	__s32 echo_taps[DMT_BANK * DMT_MAX_BANKS];
	__s32 echo_line[2 * DMT_ECHO];
};

DMT_INLINE __s32 dmt_clip(__s64 value)
{
	if (value > 32767)
		return 32767;
	if (value < -32767)
		return -32767;
	return (__s32)value;
}

/* The known quadrant of a tone: pseudo-random, the same at both ends. */
DMT_INLINE __u32 dmt_quadrant(__u32 key, __u32 tone)
{
	__u32 value = (key * 512 + tone + 1) * 2654435761u;

	value = (value ^ value >> 15) * 2246822519u;
	value = (value ^ value >> 13) * 3266489917u;
	return value >> 30;
}

/* The corner of a quadrant, its coordinates 2,896 each. */
DMT_INLINE void dmt_corner(__u32 quadrant, __s32 *re, __s32 *im)
{
	*re = quadrant & 2 ? -2896 : 2896;
	*im = (quadrant >> 1 ^ quadrant) & 1 ? -2896 : 2896;
}

/* A bit into a check of 16 bits: x^16 + x^12 + x^5 + 1. */
DMT_INLINE __u32 dmt_check(__u32 check, __u32 bit)
{
	__u32 out = (check >> 15 ^ bit) & 1;

	return (check << 1 & 0xffff) ^ (out * 0x1021);
}

/* One bit through a self-synchronizing scrambler, 1 + x^-18 + x^-23. */
DMT_INLINE __u32 dmt_scramble(__u32 *state, __u32 bit)
{
	__u32 out = (bit ^ *state >> 17 ^ *state >> 22) & 1;

	*state = *state << 1 | out;
	return out;
}

DMT_INLINE __u32 dmt_descramble(__u32 *state, __u32 bit)
{
	__u32 out = (bit ^ *state >> 17 ^ *state >> 22) & 1;

	*state = *state << 1 | (bit & 1);
	return out;
}

#endif
