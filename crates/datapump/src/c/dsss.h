/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An 802.11b receiver's baseband: direct-sequence spread spectrum at 11,000,000 chips a second, two complex samples a chip.
 * At 1 and 2 Mbit/s a symbol is the Barker code of 11 chips, turned against the one before by a half or by quarters of a
 * turn; at 5.5 and 11 Mbit/s it is one of 4 or 64 complementary codes of 8 chips (CCK), turned by quarters.
 *
 * For BPF as for the processor: whole numbers, no division, every index masked. Whoever includes the parts brings
 *   DSSS_EACH(d, count, work)	to call a function for each of so many places,
 *   DSSS_PART(name), DSSS_BEGIN, DSSS_END, DSSS_CALL(name)	to define and call a part, which may be verified by itself.
 */
#ifndef PUNCTUAL_DSSS_H
#define PUNCTUAL_DSSS_H

#include "bits.h"

#define DSSS_INLINE static inline __attribute__((always_inline))

#define DSSS_A_CHIP 2
#define DSSS_BARKER 11
#define DSSS_CCK 8
/* Samples of a Barker symbol: the places at which one may end. */
#define DSSS_PLACES (DSSS_A_CHIP * DSSS_BARKER)
/* Complex samples of a unit: 12 us on the air. */
#define DSSS_SAMPLES 264
/* What ends a preamble, after 48 ones of it; how many bits of each may be wrong. One wrong bit on the air becomes
 * three. */
#define DSSS_START 0x05cfULL
#define DSSS_START_BITS 16
#define DSSS_START_TOLERANCE 3
#define DSSS_ONES_TOLERANCE 6
#define DSSS_HEADER 48
/* What the checks leave if nothing is wrong. */
#define DSSS_HEADER_RIGHT 0x1d0f
#define DSSS_FRAME_RIGHT 0xdebb20e3u
/* Octets of the longest frame. */
#define DSSS_OCTETS 2346
#define DSSS_LINE 32
#define DSSS_BITS_WORDS 64
#define DSSS_BITS (32 * DSSS_BITS_WORDS)
#define DSSS_ROTATIONS 16

enum dsss_receiving { DSSS_HUNT, DSSS_PEAK, DSSS_READ_HEADER, DSSS_READ_FRAME };

/* As in a header, in units of 100,000 bits a second. */
enum dsss_rate { DSSS_1 = 10, DSSS_2 = 20, DSSS_5_5 = 55, DSSS_11 = 110 };

struct dsss {
	__u64 samples;		/* so far */
	__u64 bits_received;	/* of frames, put into the ring so far */
	__u64 packets;		/* whose preamble was found */
	__u64 bad_headers;	/* those of them whose header was wrong: nothing more of them is received; */
	__u64 bad_frames;	/* whose frame's check was wrong; */
	__u64 right;		/* whose frame's check was right */
	__u64 header;		/* its bits so far, the first lowest */
	__u64 seen[DSSS_PLACES];	/* the newest bits of symbols that end at each place, descrambled */
	__s64 sum_re[DSSS_PLACES];	/* the mean turn of the newest 64, times 64: how far the carrier is off */
	__s64 sum_im[DSSS_PLACES];
	__s64 opening[DSSS_PLACES];	/* their mean power, times 64 */
	__s64 best;		/* the largest one where the preamble was found */
	__s64 carrier_re;	/* how much the carrier's offset turns a symbol */
	__s64 carrier_im;
	__s64 last_re;		/* the symbol before */
	__s64 last_im;
	__s64 now_re;		/* and this one */
	__s64 now_im;
	__s64 power;		/* of the most likely code */
	__u32 receive;
	__u32 place;		/* at which a symbol would end with this sample */
	__u32 wait;		/* samples until the next chip */
	__u32 chip;		/* of the symbol that is being received */
	__u32 rate;
	__u32 symbol;		/* of the frame */
	__u32 index;		/* places since the preamble was found; bits of the header so far */
	__u32 left;		/* bits of the frame still to come */
	__u32 scrambled;	/* the newest seven bits as they came, the oldest lowest */
	__u32 check;
	__u32 code;		/* the most likely: three quarters of a turn, two bits each */
	__u32 position;		/* in the delay line */
	__u32 phase;		/* of what undoes the carrier's offset; a turn is 2^32 */
	__u32 step;		/* of a chip */
	__s32 taps[DSSS_A_CHIP];	/* of the filter, as long as a chip; 4,096 is 1 */
	__s32 input_re;		/* the sample before */
	__s32 input_im;
	__u32 raw[DSSS_PLACES];	/* newest bits at each place as they came, the newest lowest */
	__s32 before_re[DSSS_PLACES];	/* the symbol that ended at each place before */
	__s32 before_im[DSSS_PLACES];
	__s32 line_re[2 * DSSS_LINE];	/* after the filter; written twice, so that a window of it is contiguous */
	__s32 line_im[2 * DSSS_LINE];
	__s32 chip_re[16];
	__s32 chip_im[16];
	__s32 pair_re[16];	/* every two chips of a complementary code, put together in four ways */
	__s32 pair_im[16];
	__s32 cosine[256];	/* 16,384 is 1 */
	__s32 angles[DSSS_ROTATIONS];	/* whose tangents are 1, 1/2, 1/4, ...; a turn is 2^32 */
	__u32 ring[DSSS_BITS_WORDS];
};

/* What the Barker code leaves of 11 chips, each `apart` from the previous one; the first is the newest. */
DSSS_INLINE __s32 dsss_barker(const __s32 *chips, __s32 apart)
{
	return chips[10 * apart] - chips[9 * apart] + chips[8 * apart] + chips[7 * apart] - chips[6 * apart] +
	       chips[5 * apart] + chips[4 * apart] + chips[3 * apart] - chips[2 * apart] - chips[apart] - chips[0];
}

/* x^16 + x^12 + x^5 + 1. */
DSSS_INLINE __u32 dsss_check_header(__u32 check, __u32 bit)
{
	__u32 out = (check >> 15 ^ bit) & 1;

	return (check << 1 & 0xffff) ^ (out ? 0x1021 : 0);
}

/* The check of every 802 frame, its lowest bit first. */
DSSS_INLINE __u32 dsss_check_frame(__u32 check, __u32 bit)
{
	return check >> 1 ^ (0xedb88320u & (0u - ((check ^ bit) & 1)));
}

#endif
