/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The state of a Bluetooth receiver that decodes a signal; gfsk_decode.h is what it does. */
#ifndef PUNCTUAL_GFSK_DECODER_H
#define PUNCTUAL_GFSK_DECODER_H

#include "decode.h"
#include "gfsk.h"

struct gfsk_decoder {
	struct decoding decoding;
	struct gfsk receiver;
};

/* A unit being processed. */
struct gfsk_decoding {
	struct gfsk_decoder *decoder;
	const struct signal_unit *unit;
};

#endif
