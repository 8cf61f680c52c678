/* SPDX-License-Identifier: GPL-2.0-only */
/* The work of a device that decodes a Bluetooth signal: 62.5 us of it are a unit. */
#ifndef PUNCTUAL_DEVICE_GFSK_H
#define PUNCTUAL_DEVICE_GFSK_H

#include "kernel.h"

#define DECODE_EACH(w, count, work) bpf_loop((count) & 511, EACH_##work, NULL, 0)

#include "gfsk_decoder.h"

#define DECODES gfsk
#include "device_decode.h"

static long EACH_gfsk_decode_sample(__u32 index, void *context);
static long EACH_gfsk_compare_bits(__u32 index, void *context);

#include "gfsk_decode.h"

CALLED_OF_UNIT(gfsk_decode_sample)
CALLED_OF_UNIT(gfsk_compare_bits)

#endif
