/* A program with marks: cc -O2 -I include examples/mark.c -o mark, then sudo punctual log -- ./mark */
#include <stdio.h>
#include "punctual.h"

int main(void)
{
	struct timespec pause = { 0, 1000000 };
	int block;

	if (punctual_open(100) < 0)
		fprintf(stderr, "nobody logs: run it with punctual log -- ./mark\n");
	for (block = 0; block < 100; block++) {
		punctual_mark("block begins", block);
		nanosleep(&pause, NULL);
		punctual_mark("block ends", block);
	}
	return 0;
}
