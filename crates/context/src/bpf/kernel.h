/* SPDX-License-Identifier: GPL-2.0-only */
#include "../../../probe/src/bpf/kernel.h"
