/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The state of an 802.11b receiver that decodes a signal; dsss_decode.h is what it does. */
#ifndef PUNCTUAL_DSSS_DECODER_H
#define PUNCTUAL_DSSS_DECODER_H

#include "decode.h"
#include "dsss.h"

struct dsss_decoder {
	struct decoding decoding;
	struct dsss receiver;
};

/* A unit being processed. */
struct dsss_decoding {
	struct dsss_decoder *decoder;
	const struct signal_unit *unit;
};

#endif
