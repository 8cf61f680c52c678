/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers of interrupted code and of system calls, as x86-64 and arm64 keep them. On any other architecture
 * nothing is known about them: no program is refused for that, but nobody learns what the interrupted code was.
 */
#ifndef PUNCTUAL_REGISTERS_H
#define PUNCTUAL_REGISTERS_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long ip;
	unsigned short cs;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r8;
	unsigned long sp;
	unsigned long orig_ax;
};

struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__s32 syscallno;
};

#pragma clang attribute pop

#define IS_X86 bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax)
#define IS_ARM64 bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno)

/* The number of the system call `futex`. */
#define X86_FUTEX 202
#define ARM64_FUTEX 98
/* The levels of privilege: the lower two bits of a segment on x86, the lower four of the state on arm64. */
#define X86_LEVEL 3
#define ARM64_LEVEL 0xf

/* Whether these registers, which the kernel gave, are those of a thread that called `futex`. */
static __always_inline bool calls_futex(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->orig_ax == X86_FUTEX;
	if (IS_ARM64)
		return ((struct pt_regs___arm64 *)registers)->syscallno == ARM64_FUTEX;
	return false;
}

/* Whether they are those of a thread that sends a signal. */
static __always_inline bool sends_signal(struct pt_regs *registers)
{
	if (IS_X86) {
		switch (((struct pt_regs___x86 *)registers)->orig_ax) {
		case 62:	/* kill */
		case 129:	/* rt_sigqueueinfo */
		case 200:	/* tkill */
		case 234:	/* tgkill */
		case 297:	/* rt_tgsigqueueinfo */
		case 424:	/* pidfd_send_signal */
			return true;
		}
		return false;
	}
	if (IS_ARM64) {
		switch (((struct pt_regs___arm64 *)registers)->syscallno) {
		case 129:	/* kill */
		case 130:	/* tkill */
		case 131:	/* tgkill */
		case 138:	/* rt_sigqueueinfo */
		case 240:	/* rt_tgsigqueueinfo */
		case 424:	/* pidfd_send_signal */
			return true;
		}
	}
	return false;
}

/* Arguments of a system call. On arm64 its result replaces the first. */
static __always_inline __u64 first_argument(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->di;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[0] : 0;
}

static __always_inline __u64 second_argument(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->si;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[1] : 0;
}

static __always_inline __u64 third_argument(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->dx;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[2] : 0;
}

static __always_inline __u64 fifth_argument(struct pt_regs *registers)
{
	if (IS_X86)
		return ((struct pt_regs___x86 *)registers)->r8;
	return IS_ARM64 ? ((struct pt_regs___arm64 *)registers)->regs[4] : 0;
}

/* The instruction address among registers that are read from memory, and whether it is a program's; 0: not known. */
static __always_inline __u64 instruction_of(void *registers, bool *is_user)
{
	if (IS_X86) {
		*is_user = READ_AS(registers, struct pt_regs___x86, cs) & X86_LEVEL;
		return READ_AS(registers, struct pt_regs___x86, ip);
	}
	if (IS_ARM64) {
		*is_user = !(READ_AS(registers, struct pt_regs___arm64, pstate) & ARM64_LEVEL);
		return READ_AS(registers, struct pt_regs___arm64, pc);
	}
	return 0;
}

#endif
