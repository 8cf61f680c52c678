/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a device decodes: a signal that was made beforehand, with a number of its units in each block. It begins with a
 * start-up; what follows repeats endlessly. It is known which bits each unit brings, so that wrong and missing ones can
 * be counted. A block that nobody processed is gone: the line does not wait.
 *
 * Freestanding, like everything here: the same text for the processor and for BPF.
 */
#ifndef PUNCTUAL_DECODE_H
#define PUNCTUAL_DECODE_H

#include "bits.h"

#define DECODE_INLINE static inline __attribute__((always_inline))

/* Calls a function for each of this many places of the unit being processed; for BPF, whoever includes this provides
 * another. */
#ifndef DECODE_EACH
#define DECODE_EACH(w, count, work)                                    \
	do {                                                           \
		for (__u32 each = 0, all = (count); each < all; each++) \
			work(w, each);                                 \
	} while (0)
#endif

/* Words of 32 bits for the bits of a unit, and samples. */
#define UNIT_WORDS 32
#define UNIT_SAMPLES 544

struct signal_unit {
	__u32 bits;			/* that it brings */
	__u32 before;			/* bits of the repeated part before it */
	__u32 frames;			/* that end in it */
	__u32 frames_before;		/* that end in the repeated part before it */
	__u32 known[UNIT_WORDS];	/* 32 in a word, the lowest first */
	__s16 samples[UNIT_SAMPLES];
};

struct decoding {
	__u64 units;		/* that were worked on */
	__u64 connected;	/* those of them during which data came */
	__u64 bits;		/* that were known of the units worked on */
	__u64 wrong;		/* received bits that differ from the known ones, or for which none was known */
	__u64 missing;		/* known bits not received, including those of units that nobody worked on */
	__u64 skipped;		/* units that nobody worked on */
	__u64 restarts;		/* connections that were lost: the signal began anew */
	__u64 frames;		/* that ended, including those of units that nobody worked on */
	__u64 frames_right;	/* that were received and whose check was right */
	__u64 next_block;	/* the number of the block that comes next, if none is skipped */
	__u64 known_bits;	/* of the repeated part */
	__u64 known_frames;
	__u32 place;		/* of the next unit in the signal */
	__u32 start_up;		/* units before the repeated part */
	__u32 length;		/* units in all */
	__u32 units_a_block;
	__u32 left_of_block;	/* units of the newest block that were not worked on */
	__u32 pad;
	__u64 compare_from;	/* while a unit's bits are compared: the first of those received, */
	__u32 known_from;	/* the first of those known, */
	__u32 compare;		/* and how many */
};

/* The 32 bits from this one on of a ring whose words are a power of two. */
DECODE_INLINE __u32 bits_from(const __u32 *ring, __u32 words, __u32 first)
{
	__u32 low = ring[first >> 5 & (words - 1)], high = ring[((first >> 5) + 1) & (words - 1)], shift = first & 31;

	return shift ? low >> shift | high << (32 - shift) : low;
}

/*
 * This many bits of a unit were received, starting with this one of the ring. If the number is wrong the last ones are
 * compared: what is missing, or extra, is assumed to come before them.
 */
DECODE_INLINE void decoding_begin_unit(struct decoding *d, const struct signal_unit *unit, __u64 from, __u32 received)
{
	__u32 known = unit->bits, lacking = known > received ? known - received : 0;
	__u32 surplus = received > known ? received - known : 0;

	d->bits += known;
	d->frames += unit->frames;
	d->missing += lacking;
	d->wrong += surplus;
	d->known_from = lacking;
	d->compare_from = from + surplus;
	d->compare = known - lacking;
}

/* Compares 32 bits of a unit. */
DECODE_INLINE void decoding_compare(struct decoding *d, const struct signal_unit *unit, const __u32 *ring, __u32 words,
				    __u32 index)
{
	__u32 start = 32 * index, left = d->compare - start, wrong;

	if (start >= d->compare)
		return;
	wrong = bits_from(ring, words, (__u32)d->compare_from + start) ^
		bits_from(unit->known, UNIT_WORDS, d->known_from + start);
	if (left < 32)
		wrong &= (1u << left) - 1;
	d->wrong += bits_set(wrong);
}

/* Moves on to the next unit, after this many frames whose check was right; if the connection was lost, to the first
 * of all. */
DECODE_INLINE void decoding_end_unit(struct decoding *d, __u32 connected, __u32 frames_right, __u32 lost)
{
	d->units++;
	d->connected += connected;
	d->frames_right += frames_right;
	if (d->left_of_block)
		d->left_of_block--;
	d->place = d->place + 1 >= d->length ? d->start_up : d->place + 1;
	if (lost) {
		d->restarts++;
		d->place = 0;
	}
}

/* Before the block with this number: units that nobody worked on, from blocks before it and from one that was given
 * up. */
DECODE_INLINE __u64 decoding_gone(struct decoding *d, __u64 block)
{
	__u64 units = (block - d->next_block) * d->units_a_block + d->left_of_block;

	d->next_block = block + 1;
	d->left_of_block = d->units_a_block;
	d->skipped += units;
	return units;
}

/* Skips units that nobody works on; returns how many whole rounds of the repeated part that were. */
DECODE_INLINE __u64 decoding_pass_over(struct decoding *d, __u64 units)
{
	__u64 round = d->length - d->start_up, rounds = 0, place;

	if (d->place < d->start_up) {
		__u64 left = d->start_up - d->place;

		if (units < left) {
			d->place += (__u32)units;
			return 0;
		}
		units -= left;
		d->place = d->start_up;
	}
	if (!round)
		return 0;
	place = d->place - d->start_up + units;
	rounds = place / round;
	d->place = d->start_up + (__u32)(place % round);
	return rounds;
}

/* What is missing of them: whole rounds, and what comes between the unit at which this count began and this one. */
DECODE_INLINE void decoding_miss(struct decoding *d, const struct signal_unit *unit, __u64 rounds, __u64 bits_before,
				 __u64 frames_before)
{
	d->missing += rounds * d->known_bits + unit->before - bits_before;
	d->frames += rounds * d->known_frames + unit->frames_before - frames_before;
}

#endif
