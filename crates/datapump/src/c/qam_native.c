/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The modem's datapump as functions of this processor. */
#include "qam.h"
#include "qam_tables.h"

#define QAM_EACH(q, count, work)                                       \
	do {                                                           \
		for (__u32 each = 0, all = (count); each < all; each++) \
			work(q, each);                                 \
	} while (0)
#define QAM_PART(name) static void name(struct qam *q)
#define QAM_BEGIN
#define QAM_END return;
#define QAM_CALL(name) name(q)

#include "qam_step.h"

_Static_assert(__builtin_offsetof(struct qam, role) == 64, "as in Rust");
_Static_assert(__builtin_offsetof(struct qam, receive) == 180, "as in Rust");
_Static_assert(__builtin_offsetof(struct qam, mean_square_error) == 252, "as in Rust");
_Static_assert(__builtin_offsetof(struct qam, sine) == 348, "as in Rust");
_Static_assert(__builtin_offsetof(struct qam, echo_line) == 9500, "as in Rust");

#define CALLING_SEED 0x122015
#define ANSWERING_SEED 0x4b674

__u64 punctual_qam_size(void);
void punctual_qam_init(struct qam *qam);
void punctual_qam_run(struct qam *qam, const __s16 *received, __s16 *sent, __u64 samples);

__u64 punctual_qam_size(void)
{
	return sizeof(struct qam);
}

/* A pseudo-random sequence of period 2^23 - 1, two bits for each symbol. */
static void fill_training(__u32 *words, __u32 state)
{
	for (__u32 symbol = 0; symbol < QAM_LONG; symbol++) {
		__u32 value = 0;

		for (__u32 bit = 0; bit < 2; bit++) {
			state = (state << 1 | ((state >> 22 ^ state >> 17) & 1)) & 0x7fffff;
			value = value << 1 | (state & 1);
		}
		words[symbol >> 4] |= value << (2 * (symbol & 15));
	}
}

/* Fills in the tables of a state that is zero except for its options. */
void punctual_qam_init(struct qam *q)
{
	__u32 calling = q->role == QAM_CALLING;

	for (__u32 step = 0; step < QAM_SINES; step++) {
		__u32 within = step & 255;

		__s32 value = step & 256 ? qam_quarter[256 - within] : qam_quarter[within];

		q->sine[step] = step & 512 ? -value : value;
	}
	for (__u32 tap = 0; tap < 36; tap++)
		q->shape[tap % 3 * 16 + tap / 3] = qam_shape[tap];
	for (__u32 tap = 0; tap < QAM_TAPS; tap++)
		q->matched[tap] = qam_matched[tap];
	for (__u32 entry = 0; entry < 48; entry++)
		q->root[entry] = qam_root[entry];
	fill_training(q->own_training, calling ? CALLING_SEED : ANSWERING_SEED);
	fill_training(q->far_training, calling ? ANSWERING_SEED : CALLING_SEED);
	for (__u32 symbol = 0; symbol < QAM_SYNC; symbol++) {
		__s32 i, k;

		/* The conjugate of the symbol, turned by j^symbol against the carrier's three quarters of a turn. */
		qam_turn(qam_training(q->far_training, symbol), 1, 1, &i, &k);
		qam_turn(symbol & 3, i, -k, &q->sync_i[symbol], &q->sync_q[symbol]);
	}
	q->cap = q->max_bits;
	q->bits = q->min_bits;
	q->gain = 4096;
	q->echo_shift = 21;
	q->scrambler = 0x2aaaaa;
	qam_begin_again(q);
}

void punctual_qam_run(struct qam *q, const __s16 *received, __s16 *sent, __u64 samples)
{
	for (__u64 sample = 0; sample < samples; sample++) {
		q->received = received[sample];
		qam_step(q);
		sent[sample] = (__s16)q->sent;
	}
}
