/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_softirq.bpf.c; the work is to decode an 802.11b signal. */
#include "device_dsss.h"
#include "device_softirq.bpf.c"
