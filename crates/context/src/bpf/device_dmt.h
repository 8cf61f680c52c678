/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work of a device that decodes a DSL: a symbol of the signal is a unit. The signal is an array that user space fills
 * before the interrupt begins; `device/decode.rs` maps it and the decoder.
 */
#ifndef PUNCTUAL_DEVICE_DMT_H
#define PUNCTUAL_DEVICE_DMT_H

#include "kernel.h"
#include "dmt_decoder.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct signal_unit);
} signal SEC(".maps");

struct dmt_decoder decoder SEC(".data.decoder") = {};

#define DMT_STATE (&decoder.pump)
#include "dmt_kernel.h"

#define DMT_DECODE_EACH(w, count, work) bpf_loop((count) & 63, EACH_##work, NULL, 0)

static long EACH_dmt_load_samples(__u32 index, void *context);
static long EACH_dmt_compare_bits(__u32 index, void *context);

#include "dmt_decode.h"

static __always_inline const struct signal_unit *unit_now(void)
{
	__u32 place = decoder.decoding.place;

	return bpf_map_lookup_elem(&signal, &place);
}

/* What a loop over parts of a symbol calls. */
#define CALLED_OF_SYMBOL(work)                                              \
	static long EACH_##work(__u32 index, void *context)                 \
	{                                                                   \
		struct dmt_decoding of = { &decoder, unit_now() };          \
									    \
		if (!of.unit)                                               \
			return 1;                                           \
		work(&of, index);                                           \
		return 0;                                                   \
	}

CALLED_OF_SYMBOL(dmt_load_samples)
CALLED_OF_SYMBOL(dmt_compare_bits)

#define DECODE_UNIT()                                                       \
	do {                                                                \
		struct dmt_decoding of = { &decoder, unit_now() };          \
									    \
		if (of.unit)                                                \
			dmt_decode_symbol(&of);                             \
	} while (0)

#include "device_decode.h"

#endif
