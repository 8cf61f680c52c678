/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The 802.11b receiver for a BPF program, which says where its state is (DSSS_STATE): loops are the kernel's, parts are
 * verified one by one.
 */
#ifndef PUNCTUAL_DSSS_KERNEL_H
#define PUNCTUAL_DSSS_KERNEL_H

#include "kernel.h"
#include "dsss.h"

#define DSSS_EACH(d, count, work) bpf_loop(count, EACH_##work, NULL, 0)
#define DSSS_PART(name) __attribute__((noinline)) int name(void)
#define DSSS_BEGIN struct dsss *d = DSSS_STATE;
#define DSSS_END return 0;
#define DSSS_CALL(name) name()

static long EACH_dsss_pair(__u32 index, void *context);
static long EACH_dsss_try_codes(__u32 index, void *context);

#include "dsss_step.h"

/* What a loop calls. */
#define CALLED_OF_CODE(work)                                  \
	static long EACH_##work(__u32 index, void *context)   \
	{                                                     \
		work(DSSS_STATE, index);                      \
		return 0;                                     \
	}

CALLED_OF_CODE(dsss_pair)
CALLED_OF_CODE(dsss_try_codes)

#endif
