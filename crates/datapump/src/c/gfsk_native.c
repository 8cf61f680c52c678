/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Bluetooth receiver as functions of this processor, and what makes the signal that it hears. */
#include "gfsk_decode.h"
#include "qam_tables.h"

_Static_assert(sizeof(struct gfsk) == 2664, "as in Rust");

/* The turn of a bit, in 32,768ths, over three bits' time: a bit's frequency through a Gaussian filter with BT = 0.5. */
static const __s32 gfsk_pulse[12] = { 6, 93, 706, 2659, 5527, 7393, 7393, 5527, 2659, 706, 93, 6 };
/* A bit turns by 0.315 half turns: the index of modulation. A turn is 2^32; this is of a 32,768th of a bit. */
#define GFSK_STEP 20644

void punctual_gfsk_run(struct gfsk *g, const __s16 *samples, __u64 count);
void punctual_gfsk_decode(struct gfsk_decoder *decoder, const struct signal_unit *signal, __u64 units);
void punctual_gfsk_modulate(const __u8 *bits, __u64 count, __s16 *samples);

/* This many complex samples, real parts first. */
void punctual_gfsk_run(struct gfsk *g, const __s16 *samples, __u64 count)
{
	for (__u64 sample = 0; sample < count; sample++)
		gfsk_sample(g, samples[2 * sample], samples[2 * sample + 1]);
}

void punctual_gfsk_decode(struct gfsk_decoder *decoder, const struct signal_unit *signal, __u64 units)
{
	while (units--) {
		struct gfsk_decoding work = { decoder, &signal[decoder->decoding.place] };

		gfsk_decode_unit(&work);
	}
}

static __s32 sine(__u32 angle)
{
	__u32 step = angle >> 22, within = step & 255;
	__s32 value = step & 256 ? qam_quarter[256 - within] : qam_quarter[within];

	return step & 512 ? -value : value;
}

/* Turns bits into complex samples of a level of 8,192, four for each bit and 12 more in which the last ones fade
 * away. */
void punctual_gfsk_modulate(const __u8 *bits, __u64 count, __s16 *samples)
{
	__u32 phase = 0;

	for (__u64 sample = 0; sample < 4 * count + 12; sample++) {
		for (__u64 back = sample & 3; back < 12 && back <= sample; back += 4) {
			__u64 bit = (sample - back) >> 2;

			if (bit < count)
				phase += (__u32)(bits[bit] ? gfsk_pulse[back] : -gfsk_pulse[back]) * GFSK_STEP;
		}
		samples[2 * sample] = (__s16)(sine(phase + (1u << 30)) >> 1);
		samples[2 * sample + 1] = (__s16)(sine(phase) >> 1);
	}
}
