/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What devices that decode have in common, as functions of this processor. */
#include "decode.h"

_Static_assert(sizeof(struct decoding) == 136, "as in Rust");
_Static_assert(sizeof(struct signal_unit) == 1232, "as in Rust");

void punctual_begin_block(struct decoding *d, const struct signal_unit *signal, __u64 block);

void punctual_begin_block(struct decoding *d, const struct signal_unit *signal, __u64 block)
{
	__u64 units = decoding_gone(d, block), bits = signal[d->place].before, frames = signal[d->place].frames_before;
	__u64 rounds;

	if (!units)
		return;
	rounds = decoding_pass_over(d, units);
	decoding_miss(d, &signal[d->place], rounds, bits, frames);
}
