/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An incremental encoder and the loop that holds its shaft where it is wanted, 1,000 times a second:
 *
 *	sudo punctual device run encoder --work examples/encoder.c --context irq -D 5s
 *
 * A block is a millisecond: 16 readings of the encoder's two lines. The loop counts the steps, filters position and velocity,
 * and computes what drives the motor. There is no motor here, so the file turns one as well; with one of your own `turn` is a
 * look at a register. The noise of the device's samples pushes the shaft about.
 */
#include "punctual_work.h"

/* The shaft is wanted here, in steps of the encoder. */
#define TARGET 4096
/* Readings of the lines in a block, at most. */
#define READINGS 64
#define MAX_DRIVE 1500
#define MAX_SUM (1 << 20)

enum { POSITION, VELOCITY, DRIVE, BAD_READINGS };

struct loop {
	/* The shaft, in 65,536ths of a step, and of a step in a reading. */
	long long shaft, speed;
	/* What the lines were; the steps counted; readings of which both lines had changed, which no shaft makes. */
	long long lines, counted, bad;
	/* Filtered, in 65,536ths of a step, and of a step in a block. */
	long long position, velocity;
	/* What was missing to the target, summed up. */
	long long sum;
};

_Static_assert(sizeof(struct loop) <= sizeof(((struct punctual_block *)0)->state), "the state has room");

/* Steps, by what both lines were and what they are; 2: both have changed. */
static const signed char steps[16] = { 0, 1, -1, 2, -1, 0, 2, 1, 1, 2, 0, -1, 2, -1, 1, 0 };

static inline long long within(long long value, long long most)
{
	return value > most ? most : value < -most ? -most : value;
}

/* The motor and its encoder: the two lines a reading later. With hardware of your own they are read from it. */
static inline unsigned int turn(struct loop *loop, long long drive, long long load)
{
	unsigned int quarter;

	loop->speed += drive + load - (loop->speed >> 5);
	loop->shaft += loop->speed;
	quarter = (unsigned int)(loop->shaft >> 16) & 3;
	return quarter ^ quarter >> 1;
}

static inline void count(struct loop *loop, unsigned int lines)
{
	int step = steps[punctual_below(loop->lines << 2 | lines, 16)];

	loop->lines = lines;
	if (step == 2)
		loop->bad++;
	else
		loop->counted += step;
}

int work(struct punctual_block *block)
{
	struct loop *loop = (struct loop *)block->state;
	long long missing, error, drive;

	for (unsigned int reading = 0; reading < block->samples && reading < READINGS; reading++)
		count(loop, turn(loop, block->output[DRIVE], punctual_sample(block, reading) >> 8));

	/* Position and velocity follow what was counted: an alpha-beta filter. */
	loop->position += loop->velocity;
	missing = (loop->counted << 16) - loop->position;
	loop->position += missing >> 1;
	loop->velocity += missing >> 3;

	/* What drives the motor: in proportion, by the sum, and less the faster it turns already. */
	error = (TARGET << 16) - loop->position;
	loop->sum = within(loop->sum + (error >> 13), MAX_SUM);
	drive = (error >> 13) + (loop->sum >> 8) - (loop->velocity >> 13);

	block->output[POSITION] = loop->counted;
	block->output[VELOCITY] = loop->velocity;
	block->output[DRIVE] = within(drive, MAX_DRIVE);
	block->output[BAD_READINGS] = loop->bad;
	return 0;
}
