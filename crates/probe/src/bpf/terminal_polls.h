/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread waits for that waits for several descriptors: whether the terminal is among them, and until when.
 */
#ifndef PUNCTUAL_TERMINAL_POLLS_H
#define PUNCTUAL_TERMINAL_POLLS_H

#include "registers.h"
#include "terminal_ends.h"
#include "terminal_records.h"

#define MAX_DESCRIPTORS 64
#define MAX_POLLED 16
#define NO_LIMIT (~0ULL)

struct pollfd_of_program {
	__s32 fd;
	__s16 events;
	__s16 revents;
};

struct times_of_program {
	__s64 seconds;
	__s64 rest;
};

/* Whether a list of descriptors to wait for contains the terminal. */
static __always_inline bool polls_terminal(__u64 list, __u64 count, __u64 *socket)
{
	struct pollfd_of_program one;

	for (__u32 index = 0; index < MAX_POLLED; index++) {
		if (index >= count)
			break;
		if (bpf_probe_read_user(&one, sizeof(one), (void *)(list + index * sizeof(one))))
			return false;
		if (one.fd >= 0 && is_ours(one.fd, socket))
			return true;
	}
	return false;
}

static __always_inline bool selects_terminal(__u64 set, __u64 *socket)
{
	__u64 bits;

	if (!set || bpf_probe_read_user(&bits, sizeof(bits), (void *)set))
		return false;
	for (__u32 descriptor = 0; descriptor < MAX_DESCRIPTORS; descriptor++)
		if (bits >> descriptor & 1 && is_ours(descriptor, socket))
			return true;
	return false;
}

/* How long a call lasts at most, by a time limit in memory whose second part counts units of so many ns. */
static __always_inline __u64 limit_at(__u64 address, __u64 unit)
{
	struct times_of_program limit;

	if (!address || bpf_probe_read_user(&limit, sizeof(limit), (void *)address))
		return NO_LIMIT;
	return limit.seconds * 1000000000ULL + limit.rest * unit;
}

static __always_inline __u64 limit_in_ms(__s32 ms)
{
	return ms < 0 ? NO_LIMIT : (__u64)ms * 1000000;
}

static __always_inline __u64 fourth_argument(struct pt_regs *registers)
{
	struct pt_regs___fourth {
		unsigned long r10;
	} __attribute__((preserve_access_index));

	if (IS_X86)
		return ((struct pt_regs___fourth *)registers)->r10;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[3] : 0;
}

static __always_inline long number_of(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->orig_ax;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->syscallno : -1;
}

/* How long a wait for several descriptors lasts at most, ns. Most of them only look, and wait for nothing: 0. */
static __always_inline __u64 longest_wait(struct pt_regs *registers)
{
	long number = number_of(registers);
	__u64 address, unit = 1;
	bool x86 = IS_X86;

	if (x86 && number == 7)						/* poll */
		return limit_in_ms(third_argument(registers));
	if (number == (x86 ? 281 : 22) || (x86 && number == 232))	/* epoll_pwait, epoll_wait */
		return limit_in_ms(fourth_argument(registers));
	if (number == (x86 ? 271 : 73)) {				/* ppoll */
		address = third_argument(registers);
	} else if (number == (x86 ? 270 : 72)) {			/* pselect6 */
		address = fifth_argument(registers);
	} else if (x86 && number == 23) {				/* select */
		address = fifth_argument(registers);
		unit = 1000;
	} else if (number == 441) {					/* epoll_pwait2 */
		address = fourth_argument(registers);
	} else {
		return NO_LIMIT;
	}
	return limit_at(address, unit);
}

/* Whether the terminal is among the descriptors that a call waits for. */
static __always_inline void look_at_poll(struct pt_regs *registers, struct own_call *call)
{
	long number = number_of(registers);
	bool x86 = IS_X86, is_known = true, has_terminal = false;

	if ((x86 && number == 7) || number == (x86 ? 271 : 73))		/* poll, ppoll */
		has_terminal = polls_terminal(first_argument(registers), second_argument(registers), &call->socket);
	else if ((x86 && number == 23) || number == (x86 ? 270 : 72))	/* select, pselect6 */
		has_terminal = selects_terminal(second_argument(registers), &call->socket);
	else
		is_known = false;
	if (has_terminal)
		call->flags |= SLEEPS_FOR_INPUT;
	/* With a display, some have one thread that gets the input, and another that waits for that thread. */
	else if (!is_known || terminal_configuration.server)
		call->flags |= SLEEPS_FOR_SEVERAL;
}

#endif
