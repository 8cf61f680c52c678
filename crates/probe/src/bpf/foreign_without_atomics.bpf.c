/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs that follow threads, for kernels that have no atomic operations that return a value (before 5.12). */
#define WITHOUT_ATOMICS
#include "foreign.bpf.c"
