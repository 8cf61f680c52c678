/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_irq.bpf.c; the work is to decode DSL. */
#include "device_dmt.h"
#include "device_irq.bpf.c"
