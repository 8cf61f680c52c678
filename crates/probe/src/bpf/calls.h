/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread called the kernel for, by the number of the system call. A number that is not listed here is another
 * call.
 */
#ifndef PUNCTUAL_CALLS_H
#define PUNCTUAL_CALLS_H

#include "codes.h"
#include "registers.h"

static __always_inline __u32 call_of_x86(long number)
{
	switch (number) {
	case 35:	/* nanosleep */
	case 230:	/* clock_nanosleep */
		return CALL_SLEEP;
	case 34:	/* pause */
	case 128:	/* rt_sigtimedwait */
	case 130:	/* rt_sigsuspend */
		return CALL_SIGNAL;
	case 202:	/* futex */
	case 449:	/* futex_waitv */
	case 454:	/* futex_wake */
	case 455:	/* futex_wait */
		return CALL_FUTEX;
	case 0:		/* read */
	case 17:	/* pread64 */
	case 19:	/* readv */
	case 45:	/* recvfrom */
	case 47:	/* recvmsg */
	case 295:	/* preadv */
	case 299:	/* recvmmsg */
	case 327:	/* preadv2 */
		return CALL_READ;
	case 1:		/* write */
	case 18:	/* pwrite64 */
	case 20:	/* writev */
	case 40:	/* sendfile */
	case 44:	/* sendto */
	case 46:	/* sendmsg */
	case 48:	/* shutdown */
	case 275:	/* splice */
	case 276:	/* tee */
	case 296:	/* pwritev */
	case 307:	/* sendmmsg */
	case 328:	/* pwritev2 */
		return CALL_WRITE;
	case 7:		/* poll */
	case 23:	/* select */
	case 208:	/* io_getevents */
	case 232:	/* epoll_wait */
	case 270:	/* pselect6 */
	case 271:	/* ppoll */
	case 281:	/* epoll_pwait */
	case 333:	/* io_pgetevents */
	case 426:	/* io_uring_enter */
	case 441:	/* epoll_pwait2 */
		return CALL_POLL;
	case 42:	/* connect */
	case 43:	/* accept */
	case 288:	/* accept4 */
		return CALL_CONNECT;
	case 72:	/* fcntl */
	case 73:	/* flock */
		return CALL_FILE_LOCK;
	case 56:	/* clone */
	case 58:	/* vfork */
	case 61:	/* wait4 */
	case 247:	/* waitid */
	case 435:	/* clone3 */
		return CALL_CHILD;
	case 65:	/* semop */
	case 69:	/* msgsnd */
	case 70:	/* msgrcv */
	case 220:	/* semtimedop */
	case 242:	/* mq_timedsend */
	case 243:	/* mq_timedreceive */
		return CALL_QUEUE;
	case 219:	/* restart_syscall */
		return CALL_RESTART;
	default:
		return number < 0 ? CALL_NONE : CALL_OTHER;
	}
}

static __always_inline __u32 call_of_arm64(long number)
{
	switch (number) {
	case 101:	/* nanosleep */
	case 115:	/* clock_nanosleep */
		return CALL_SLEEP;
	case 133:	/* rt_sigsuspend */
	case 137:	/* rt_sigtimedwait */
		return CALL_SIGNAL;
	case 98:	/* futex */
	case 449:	/* futex_waitv */
	case 454:	/* futex_wake */
	case 455:	/* futex_wait */
		return CALL_FUTEX;
	case 63:	/* read */
	case 65:	/* readv */
	case 67:	/* pread64 */
	case 69:	/* preadv */
	case 207:	/* recvfrom */
	case 212:	/* recvmsg */
	case 243:	/* recvmmsg */
	case 286:	/* preadv2 */
		return CALL_READ;
	case 64:	/* write */
	case 66:	/* writev */
	case 68:	/* pwrite64 */
	case 70:	/* pwritev */
	case 71:	/* sendfile */
	case 76:	/* splice */
	case 77:	/* tee */
	case 206:	/* sendto */
	case 210:	/* shutdown */
	case 211:	/* sendmsg */
	case 269:	/* sendmmsg */
	case 287:	/* pwritev2 */
		return CALL_WRITE;
	case 4:		/* io_getevents */
	case 22:	/* epoll_pwait */
	case 72:	/* pselect6 */
	case 73:	/* ppoll */
	case 292:	/* io_pgetevents */
	case 426:	/* io_uring_enter */
	case 441:	/* epoll_pwait2 */
		return CALL_POLL;
	case 202:	/* accept */
	case 203:	/* connect */
	case 242:	/* accept4 */
		return CALL_CONNECT;
	case 25:	/* fcntl */
	case 32:	/* flock */
		return CALL_FILE_LOCK;
	case 95:	/* waitid */
	case 220:	/* clone */
	case 260:	/* wait4 */
	case 435:	/* clone3 */
		return CALL_CHILD;
	case 182:	/* mq_timedsend */
	case 183:	/* mq_timedreceive */
	case 188:	/* msgrcv */
	case 189:	/* msgsnd */
	case 192:	/* semtimedop */
	case 193:	/* semop */
		return CALL_QUEUE;
	case 128:	/* restart_syscall */
		return CALL_RESTART;
	default:
		return number < 0 ? CALL_NONE : CALL_OTHER;
	}
}

/* What a thread is in the kernel for, by the registers that it entered with; 0: not known. */
static __always_inline __u32 call_of(struct pt_regs *registers)
{
	if (IS_X86)
		return call_of_x86(((struct pt_regs___x86 *)registers)->orig_ax);
	if (IS_ARM64)
		return call_of_arm64(((struct pt_regs___arm64 *)registers)->syscallno);
	return 0;
}

/* Whether a thread waits for what happens to a single descriptor: by `poll` or `ppoll`, which say how many there
 * are. */
static __always_inline bool polls_for_one(struct pt_regs *registers)
{
	long number;

	if (second_argument(registers) != 1)
		return false;
	if (IS_X86) {
		number = ((struct pt_regs___x86 *)registers)->orig_ax;
		return number == 7 || number == 271;
	}
	return IS_ARM64 && ((struct pt_regs___arm64 *)registers)->syscallno == 73;
}

/*
 * Where in its program a thread waits: at which instruction, how deep in its stack, and for which object. Two waits at
 * the same place are for the same thing. Never 0.
 */
static __always_inline __u32 place_of(struct pt_regs *registers, __u32 call)
{
	__u64 instruction = 0, stack = 0, object = first_argument(registers);

	if (IS_X86) {
		instruction = ((struct pt_regs___x86 *)registers)->ip;
		stack = ((struct pt_regs___x86 *)registers)->sp;
	} else if (IS_ARM64) {
		instruction = ((struct pt_regs___arm64 *)registers)->pc;
		stack = ((struct pt_regs___arm64 *)registers)->sp;
	}
	/* A condition variable of the C library waits for two adjacent words in turn. */
	if (call == CALL_FUTEX)
		object &= ~7ULL;
	/* A list of what to wait for may be somewhere else each time; a descriptor is a small number. */
	if (call == CALL_POLL && object > 0xffff)
		object = 0;
	instruction = instruction * 0x9e3779b97f4a7c15ULL ^ stack * 0xc2b2ae3d27d4eb4fULL ^ object * 0x165667b19e3779f9ULL;
	return (__u32)(instruction >> 32) | 1;
}

#endif
