/* SPDX-License-Identifier: GPL-2.0-only */
/* The DSL modem's datapump in the kernel: one symbol per call. `dsl.rs` declares the same memory. */
#include "kernel.h"
#include "dmt.h"

struct dmt pump;

#define DMT_STATE (&pump)
#include "dmt_kernel.h"

SEC("syscall")
int run_symbol(void *context)
{
	dmt_symbol();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
