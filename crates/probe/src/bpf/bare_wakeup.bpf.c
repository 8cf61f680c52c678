/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a benchmark: programs that do nothing, where those that follow punctual's own threads are. What they add to a
 * wakeup cannot be saved by writing those differently.
 */
#include "wakeup_places.h"

AT_THE_PLACES_OF_A_WAKEUP()

char LICENSE[] SEC("license") = "GPL";
