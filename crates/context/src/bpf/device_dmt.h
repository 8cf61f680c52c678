/* SPDX-License-Identifier: GPL-2.0-only */
/* The work of a device that decodes DSL: a symbol of the signal is a unit. */
#ifndef PUNCTUAL_DEVICE_DMT_H
#define PUNCTUAL_DEVICE_DMT_H

#include "kernel.h"

#define DECODE_EACH(w, count, work) bpf_loop((count) & 63, EACH_##work, NULL, 0)

#include "dmt_decoder.h"

#define DECODES dmt
#include "device_decode.h"

#define DMT_STATE (&decoder.pump)
#include "dmt_kernel.h"

static long EACH_dmt_load_samples(__u32 index, void *context);
static long EACH_dmt_compare_bits(__u32 index, void *context);

#include "dmt_decode.h"

CALLED_OF_UNIT(dmt_load_samples)
CALLED_OF_UNIT(dmt_compare_bits)

#endif
