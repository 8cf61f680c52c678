/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel part of any radio's receiver: its memory, and the program that takes a block of complex samples. */
#ifndef PUNCTUAL_RADIO_H
#define PUNCTUAL_RADIO_H

#define BLOCK 256

#define RADIO(type)                       \
	struct radio {                    \
		type state;               \
		__s16 samples[2 * BLOCK]; \
	} radio

struct block {
	__u32 samples;
};

#define RADIO_PROGRAM(take_sample)                                                              \
	static long one_sample(__u32 index, void *context)                                      \
	{                                                                                       \
		__u32 place = 2 * (index & (BLOCK - 1));                                        \
												\
		take_sample(&radio.state, radio.samples[place], radio.samples[place + 1]);      \
		return 0;                                                                       \
	}                                                                                       \
												\
	SEC("syscall")                                                                          \
	int run_block(struct block *block)                                                      \
	{                                                                                       \
		bpf_loop(block->samples, one_sample, NULL, 0);                                  \
		return 0;                                                                       \
	}                                                                                       \
												\
	char LICENSE[] SEC("license") = "GPL";

#endif
