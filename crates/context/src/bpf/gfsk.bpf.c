/* SPDX-License-Identifier: GPL-2.0-only */
/* The Bluetooth receiver in the kernel: a block of samples per call. `radio.rs` declares the same memory. */
#include "kernel.h"
#include "gfsk.h"
#include "radio.h"

RADIO(struct gfsk);

RADIO_PROGRAM(gfsk_sample)
