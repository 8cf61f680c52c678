/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_softirq.bpf.c; the work is to decode DSL. */
#include "device_dmt.h"
#include "device_softirq.bpf.c"
