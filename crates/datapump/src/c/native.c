/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The datapump and the line as functions of this processor. */
#include "pump.h"
#include "line.h"

_Static_assert(sizeof(struct pump) == 32 + 4 * (PUMP_RING + 2 * PUMP_TAPS + PUMP_BANKS * PUMP_TAPS), "as in Rust");
_Static_assert(sizeof(struct line) == 80, "as in Rust");

void punctual_pump_run(struct pump *pump, __u64 units);
void punctual_line_arrive(struct line *line, __u64 expected);
__u64 punctual_line_pending(const struct line *line, __u64 now);
void punctual_line_begin(struct line *line, __u64 now);
__u64 punctual_line_oldest(const struct line *line);

void punctual_pump_run(struct pump *pump, __u64 units)
{
	while (units--)
		pump_unit(pump);
}

void punctual_line_arrive(struct line *line, __u64 expected)
{
	line_arrive(line, expected);
}

__u64 punctual_line_pending(const struct line *line, __u64 now)
{
	return line_pending(line, now);
}

void punctual_line_begin(struct line *line, __u64 now)
{
	line_begin(line, now);
}

__u64 punctual_line_oldest(const struct line *line)
{
	return line_oldest(line);
}
