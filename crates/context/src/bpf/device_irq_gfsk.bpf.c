/* SPDX-License-Identifier: GPL-2.0-only */
/* As device_irq.bpf.c; the work is to decode a Bluetooth signal. */
#include "device_gfsk.h"
#include "device_irq.bpf.c"
