/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counting bits, where neither the processor's instruction nor a library may be used. */
#ifndef PUNCTUAL_BITS_H
#define PUNCTUAL_BITS_H

#include <linux/types.h>

static inline __attribute__((always_inline)) __u32 bits_set(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	return (__u32)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL >> 56);
}

#endif
