/* What a mark costs: cc -O2 -I include examples/mark-cost.c -o mark-cost, alone and with punctual log -- ./mark-cost */
#include <stdio.h>
#include "punctual.h"

static double nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(void)
{
	struct timespec pause = { 0, 20000000 };
	double began, took = 0, shortest = 1e9;
	int found = punctual_open(100) == 0, round, mark;

	for (round = 0; round < 50; round++) {
		began = nanoseconds();
		for (mark = 0; mark < 1000; mark++)
			punctual_mark("block begins", mark);
		took = (nanoseconds() - began) / 1000;
		shortest = took < shortest ? took : shortest;
		/* The log empties the memory meanwhile. */
		nanosleep(&pause, NULL);
	}
	printf("%s: %.1f ns a mark, in the best of 50 rounds of 1000\n", found ? "logged" : "nobody logs", shortest);
	return 0;
}
