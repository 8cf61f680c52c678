/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs that follow threads, for kernels that know no atomic operation that gives a value back (before 5.12). */
#define WITHOUT_ATOMICS
#include "foreign.bpf.c"
