/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The 802.11b receiver as functions of this processor, and what makes the signal that it hears. */
#include "dsss.h"
#include "qam_tables.h"

#define DSSS_EACH(d, count, work)                                      \
	do {                                                           \
		for (__u32 each = 0, all = (count); each < all; each++) \
			work(d, each);                                 \
	} while (0)
#define DSSS_PART(name) static void name(struct dsss *d)
#define DSSS_BEGIN
#define DSSS_END
#define DSSS_CALL(name) name(d)

#include "dsss_step.h"
#include "dsss_decode.h"

_Static_assert(sizeof(struct dsss) == 3272, "as in Rust");
_Static_assert(__builtin_offsetof(struct dsss_decoder, receiver) == 136, "as in Rust");

/* Angles whose tangents are 1, 1/2, 1/4, ..., of a turn of 2^32. */
static const __s32 angles[DSSS_ROTATIONS] = { 536870912, 316933406, 167458907, 85004756, 42667331, 21354465,
					      10679838,	 5340245,   2670163,   1335087,	 667544,   333772,
					      166886,	 83443,	    41722,     20861 };

void punctual_dsss_init(struct dsss *d);
void punctual_dsss_run(struct dsss *d, const __s16 *samples, __u64 count);
void punctual_dsss_decode(struct dsss_decoder *decoder, const struct signal_unit *signal, __u64 units);
__u64 punctual_dsss_modulate(const __u8 *frame, __u64 octets, __u32 rate, __s16 *samples);

/* Fills in the tables of a state that is zero except for its taps. */
void punctual_dsss_init(struct dsss *d)
{
	for (__u32 step = 0; step < 256; step++) {
		/* A quarter of a turn before the sine. */
		__u32 angle = 4 * step + 256, within = angle & 255;
		__s32 value = angle & 256 ? qam_quarter[256 - within] : qam_quarter[within];

		d->cosine[step] = angle & 512 ? -value : value;
	}
	for (__u32 round = 0; round < DSSS_ROTATIONS; round++)
		d->angles[round] = angles[round];
}

/* This many complex samples, real parts first. */
void punctual_dsss_run(struct dsss *d, const __s16 *samples, __u64 count)
{
	for (__u64 sample = 0; sample < count; sample++)
		dsss_sample(d, samples[2 * sample], samples[2 * sample + 1]);
}

void punctual_dsss_decode(struct dsss_decoder *decoder, const struct signal_unit *signal, __u64 units)
{
	while (units--) {
		struct dsss_decoding work = { decoder, &signal[decoder->decoding.place] };

		dsss_decode_unit(&work);
	}
}

#define LEVEL 8192

/* The sender: samples so far, the phase of the newest symbol in quarters, the scrambler's newest bits, and a check. */
struct sender {
	__s16 *samples;
	__u64 count;
	__u32 quarters;
	__u32 scrambled;
	__u32 check;
};

static void send_chip(struct sender *sender, __u32 quarters)
{
	for (__u32 half = 0; half < DSSS_A_CHIP; half++) {
		sender->samples[2 * sender->count] = quarters & 1 ? 0 : quarters & 2 ? -LEVEL : LEVEL;
		sender->samples[2 * sender->count + 1] = quarters & 1 ? (quarters & 2 ? -LEVEL : LEVEL) : 0;
		sender->count++;
	}
}

static __u32 scramble(struct sender *sender, __u32 bit)
{
	__u32 out = (bit ^ sender->scrambled >> 3 ^ sender->scrambled >> 6) & 1;

	sender->scrambled = sender->scrambled << 1 | out;
	return out;
}

/* Two scrambled bits, the first lowest, as quarters of a turn. */
static __u32 quarters_of(__u32 bits)
{
	__u32 first = bits & 1, second = bits >> 1 & 1;

	return 2 * first + (first ^ second);
}

static void send_barker(struct sender *sender, __u32 quarters)
{
	static const __u8 turned[DSSS_BARKER] = { 0, 2, 0, 0, 2, 0, 0, 0, 2, 2, 2 };

	sender->quarters = (sender->quarters + quarters) & 3;
	for (__u32 chip = 0; chip < DSSS_BARKER; chip++)
		send_chip(sender, (sender->quarters + turned[chip]) & 3);
}

static void send_bit(struct sender *sender, __u32 bit)
{
	sender->check = dsss_check_header(sender->check, bit);
	send_barker(sender, 2 * scramble(sender, bit));
}

static void send_bits(struct sender *sender, __u32 bits, __u32 count)
{
	for (__u32 bit = 0; bit < count; bit++)
		send_bit(sender, bits >> bit & 1);
}

static void send_code(struct sender *sender, __u32 quarters, __u32 a, __u32 b, __u32 c)
{
	__u32 phase;

	sender->quarters = phase = (sender->quarters + quarters) & 3;
	send_chip(sender, (phase + a + b + c) & 3);
	send_chip(sender, (phase + b + c) & 3);
	send_chip(sender, (phase + a + c) & 3);
	send_chip(sender, (phase + c + 2) & 3);
	send_chip(sender, (phase + a + b) & 3);
	send_chip(sender, (phase + b) & 3);
	send_chip(sender, (phase + a + 2) & 3);
	send_chip(sender, phase);
}

/* The preamble and the header of a frame. */
static void send_header(struct sender *sender, __u64 octets, __u32 rate)
{
	__u32 length = (__u32)(80 * octets + rate - 1) / rate, check;
	/* Carrier and chips share one clock; the header says so if a microsecond has room for more than an octet. */
	__u32 service = 4 | (rate == DSSS_11 && (length * 11 >> 3) > octets ? 128 : 0);

	for (__u32 bit = 0; bit < 128; bit++)
		send_bit(sender, 1);
	send_bits(sender, 0xf3a0, 16);
	sender->check = 0xffff;
	send_bits(sender, rate, 8);
	send_bits(sender, service, 8);
	send_bits(sender, length, 16);
	check = ~sender->check;
	for (__u32 bit = 16; bit--;)
		send_bit(sender, check >> bit & 1);
}

/* A packet with this frame at a level of 8,192, two complex samples for each chip; returns how many samples it has. */
__u64 punctual_dsss_modulate(const __u8 *frame, __u64 octets, __u32 rate, __s16 *samples)
{
	struct sender sender = { .samples = samples, .scrambled = 0x6c };
	__u32 symbol = 0, count = rate == DSSS_1 ? 1 : rate == DSSS_2 ? 2 : rate == DSSS_5_5 ? 4 : 8;

	send_header(&sender, octets, rate);
	for (__u64 place = 0; place < 8 * octets; place += count) {
		__u32 bits = 0, quarters;

		for (__u32 bit = 0; bit < count; bit++)
			bits |= scramble(&sender, frame[(place + bit) >> 3] >> ((place + bit) & 7) & 1) << bit;
		quarters = quarters_of(bits);
		if (rate >= DSSS_5_5)
			quarters = (quarters + 2 * (symbol++ & 1)) & 3;
		if (rate == DSSS_1)
			send_barker(&sender, 2 * bits);
		else if (rate == DSSS_2)
			send_barker(&sender, quarters);
		else if (rate == DSSS_5_5)
			send_code(&sender, quarters, 2 * (bits >> 2 & 1) + 1, 0, 2 * (bits >> 3 & 1));
		else
			send_code(&sender, quarters, 2 * (bits >> 2 & 1) + (bits >> 3 & 1),
				  2 * (bits >> 4 & 1) + (bits >> 5 & 1), 2 * (bits >> 6 & 1) + (bits >> 7 & 1));
	}
	return sender.count;
}
