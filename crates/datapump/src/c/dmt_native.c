/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The DSL modem's datapump as functions of this processor. */
#include "dmt.h"
#include "qam_tables.h"

#define DMT_EACH(d, count, work)                                       \
	do {                                                           \
		for (__u32 each = 0, all = (count); each < all; each++) \
			work(d, each);                                 \
	} while (0)
#define DMT_PART(name) static void name(struct dmt *d)
#define DMT_BEGIN
#define DMT_END
#define DMT_CALL(name) name(d)

#include "dmt_step.h"

#include "dmt_decode.h"

_Static_assert(sizeof(struct signal_unit) == 1232, "as in Rust");
_Static_assert(__builtin_offsetof(struct dmt_decoder, pump) == 144, "as in Rust");

_Static_assert(__builtin_offsetof(struct dmt, role) == 64, "as in Rust");
_Static_assert(__builtin_offsetof(struct dmt, size) == 136, "as in Rust");
_Static_assert(__builtin_offsetof(struct dmt, receive) == 228, "as in Rust");
_Static_assert(__builtin_offsetof(struct dmt, cosine) == 384, "as in Rust");
_Static_assert(__builtin_offsetof(struct dmt, echo_line) == 58816, "as in Rust");

/* The tones, 4.3 kHz apart: upstream 7 to 31, downstream 33 to the last. */
#define UP_FIRST 7
#define UP_TONES 25
#define DOWN_FIRST 33

/*
 * How many times the error's power a tone's power must be, for every two bits: the distance to the bound for one error
 * in ten million bits (9.8 dB) and a margin of 6 dB make 38 times (2^bits - 1).
 */
static const __u32 bearing[6] = { 0, 114, 570, 2394, 9690, 38874 };
/* 4,096 divided by the root mean square of a coordinate's odd numbers, and of two coordinates. */
static const __s32 units[6] = { 0, 2896, 1295, 632, 314, 157 };

__u64 punctual_dmt_size(void);
void punctual_dmt_init(struct dmt *dmt);
void punctual_dmt_run(struct dmt *dmt, const __s16 *received, __s16 *sent);

void punctual_dmt_decode(struct dmt_decoder *decoder, const struct signal_unit *signal, __u64 units);

__u64 punctual_dmt_size(void)
{
	return sizeof(struct dmt);
}

static __s32 cosine_of(__u32 step)
{
	/* A quarter of a turn before the sine. */
	__u32 angle = 2 * step + 256, within = angle & 255;
	__s32 value = angle & 256 ? qam_quarter[256 - within] : qam_quarter[within];

	return angle & 512 ? -value : value;
}

static void fill_tables(struct dmt *d)
{
	for (__u32 step = 0; step < DMT_SIZE; step++)
		d->cosine[step] = cosine_of(step);
	for (__u32 place = 0; place < d->size; place++) {
		__u32 reversed = 0;

		for (__u32 bit = 0; bit < d->order; bit++)
			reversed |= (place >> bit & 1) << (d->order - 1 - bit);
		d->reversed[place] = reversed;
	}
	for (__u32 half = 0; half < 6; half++) {
		d->threshold[half] = half ? DMT_POWER / bearing[half] : 0;
		d->unit[half] = units[half];
	}
}

/* Fills in the sizes and tables of a state that is zero except for its options. */
void punctual_dmt_init(struct dmt *d)
{
	__u32 down;

	d->size = 1u << d->order;
	d->prefix = d->size >> 4;
	d->length = d->size + d->prefix;
	down = d->size / 2 - DOWN_FIRST;
	d->send_first = d->role == DMT_OFFICE ? DOWN_FIRST : UP_FIRST;
	d->send_tones = d->role == DMT_OFFICE ? down : UP_TONES;
	d->receive_first = d->role == DMT_OFFICE ? UP_FIRST : DOWN_FIRST;
	d->receive_tones = d->role == DMT_OFFICE ? UP_TONES : down;
	/* Both ends send at about the same power: 25 tones, and 95 or 223. */
	d->send_shift = d->role == DMT_OFFICE ? 4 : 3;
	fill_tables(d);
	dmt_begin_again(d);
}

void punctual_dmt_run(struct dmt *d, const __s16 *received, __s16 *sent)
{
	for (__u32 sample = 0; sample < d->length; sample++)
		d->received[sample] = received[sample];
	dmt_symbol(d);
	for (__u32 sample = 0; sample < d->length; sample++)
		sent[sample] = d->sent[sample];
}

void punctual_dmt_decode(struct dmt_decoder *decoder, const struct signal_unit *signal, __u64 units)
{
	while (units--) {
		struct dmt_decoding work = { decoder, &signal[decoder->decoding.place] };

		dmt_decode_unit(&work);
	}
}
