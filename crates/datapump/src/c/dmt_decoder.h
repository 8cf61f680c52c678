/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The state of a DSL modem that decodes a signal; dmt_decode.h is what it does. */
#ifndef PUNCTUAL_DMT_DECODER_H
#define PUNCTUAL_DMT_DECODER_H

#include "decode.h"
#include "dmt.h"

struct dmt_decoder {
	struct decoding decoding;
	__s32 last_sent;	/* the newest sample of which the echo has been made */
	__u32 hybrid;		/* 1: two wires, an echo about 12 dB below what is sent; 0: four */
	struct dmt pump;
};

/* A symbol being processed. */
struct dmt_decoding {
	struct dmt_decoder *decoder;
	const struct signal_unit *unit;
};

#endif
