/* SPDX-License-Identifier: GPL-2.0-only */
/* The work of a device that decodes an 802.11b signal: 12 us of it are a unit. */
#ifndef PUNCTUAL_DEVICE_DSSS_H
#define PUNCTUAL_DEVICE_DSSS_H

#include "kernel.h"

#define DECODE_EACH(w, count, work) bpf_loop((count) & 511, EACH_##work, NULL, 0)

#include "dsss_decoder.h"

#define DECODES dsss
#include "device_decode.h"

#define DSSS_STATE (&decoder.receiver)
#include "dsss_kernel.h"

static long EACH_dsss_decode_sample(__u32 index, void *context);
static long EACH_dsss_compare_bits(__u32 index, void *context);

#include "dsss_decode.h"

CALLED_OF_UNIT(dsss_decode_sample)
CALLED_OF_UNIT(dsss_compare_bits)

#endif
