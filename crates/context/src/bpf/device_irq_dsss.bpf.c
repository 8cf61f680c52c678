/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_irq.bpf.c; the work is to decode an 802.11b signal. */
#include "device_dsss.h"
#include "device_irq.bpf.c"
