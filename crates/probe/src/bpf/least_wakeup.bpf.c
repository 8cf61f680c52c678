/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a benchmark: programs that record the time in the CPU's ring, and nothing else, where those that follow punctual's
 * own threads are.
 */
#include "least_record.h"
#include "wakeup_places.h"

AT_THE_PLACES_OF_A_WAKEUP(write_record())

char LICENSE[] SEC("license") = "GPL";
