/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_softirq.bpf.c; the work is to decode a Bluetooth signal. */
#include "device_gfsk.h"
#include "device_softirq.bpf.c"
