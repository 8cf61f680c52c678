/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What devices that decode have in common: the signal, an array that user space fills before the interrupt begins, and the
 * decoder; `device/decoder_memory.rs` maps both. The work's own header, `device_NAME.h`, says which it is
 * (`#define DECODES NAME`, after NAME_decoder.h) and includes this one, then NAME_decode.h, and says what loops over parts of a unit
 * call (CALLED_OF_UNIT).
 */
#ifndef PUNCTUAL_DEVICE_DECODE_H
#define PUNCTUAL_DEVICE_DECODE_H

#include "kernel.h"
#include "decode.h"

#define JOINED_(first, second) first##second
#define JOINED(first, second) JOINED_(first, second)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct signal_unit);
} signal SEC(".maps");

struct JOINED(DECODES, _decoder) decoder SEC(".data.decoder") = {};

static __always_inline const struct signal_unit *unit_now(void)
{
	__u32 place = decoder.decoding.place;

	return bpf_map_lookup_elem(&signal, &place);
}

/* What a loop over parts of a unit calls. */
#define CALLED_OF_UNIT(work)                                                     \
	static long EACH_##work(__u32 index, void *context)                      \
	{                                                                        \
		struct JOINED(DECODES, _decoding) of = { &decoder, unit_now() }; \
										 \
		if (!of.unit)                                                    \
			return 1;                                                \
		work(&of, index);                                                \
		return 0;                                                        \
	}

/* A unit is long: the clock is read before each. */
#define UNITS_A_LOOK 1
#define DEVICE_UNIT()                                                            \
	do {                                                                     \
		struct JOINED(DECODES, _decoding) of = { &decoder, unit_now() }; \
										 \
		if (of.unit)                                                     \
			JOINED(DECODES, _decode_unit)(&of);                      \
	} while (0)
#define DEVICE_BLOCK(number) begin_decoding(number)

/* Earlier blocks that nobody worked on are gone, and with them the rest of one that was given up. */
static __always_inline void begin_decoding(__u64 block)
{
	struct decoding *d = &decoder.decoding;
	const struct signal_unit *unit = unit_now();
	__u64 units = decoding_gone(d, block), bits, frames, rounds;

	if (!units || !unit)
		return;
	bits = unit->before;
	frames = unit->frames_before;
	rounds = decoding_pass_over(d, units);
	unit = unit_now();
	if (unit)
		decoding_miss(d, unit, rounds, bits, frames);
}

#endif
