/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_irq.bpf.c; the work is a user's own. */
#include "device_own.h"
#include "device_irq.bpf.c"
