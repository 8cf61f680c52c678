/* SPDX-License-Identifier: GPL-2.0-only */
/* The 802.11b receiver in the kernel: a block of samples per call. `radio.rs` declares the same memory. */
#include "kernel.h"
#include "dsss.h"
#include "radio.h"

RADIO(struct dsss);

#define DSSS_STATE (&radio.state)
#include "dsss_kernel.h"

RADIO_PROGRAM(dsss_sample)
