/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Marks for `punctual log`: a program says what it is doing, and the log shows it between the kernel's events.
 *
 *	punctual_open(100);			once, before the time-critical part
 *	punctual_mark("block begins", n);	as often as you like
 *
 * punctual_open finds the log that runs now; 0: it was found. Where no log runs it returns -1 at once: it does not wait for
 * one to start. The milliseconds are the most that it waits for the answer of a log that runs. Call it again at any time,
 * from a thread that has time, to find a log that was started later.
 *
 * Each program gets memory of its own from the log. A program that writes anything else into it ends its own marks, and the
 * log says so; nobody else's.
 *
 * punctual_mark makes no system call but the first of a thread, takes no lock and never waits: it writes 64 bytes into memory
 * that it shares with the log. Where nobody logs it does nothing. The text is cut after 31 bytes.
 *
 * Nothing to link. Linux, C11 or C++11 with GCC or Clang. After fork(), the child calls punctual_open again: to get its own
 * threads' ids. It goes on in the memory of its parent.
 */
#ifndef PUNCTUAL_H
#define PUNCTUAL_H

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Named only where a program asks for all of Linux. */
#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif
#ifndef F_SEAL_SHRINK
#define F_SEAL_SHRINK 2
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* struct ucred */
struct punctual_peer_ {
	int32_t process;
	uint32_t user;
	uint32_t group;
};

#define PUNCTUAL_MAGIC 0x70756e6d61726b31ULL
#define PUNCTUAL_SLOTS 65536ULL
#define PUNCTUAL_TEXT 32
#define PUNCTUAL_FIRST_SLOT 4096
#define PUNCTUAL_BYTES (PUNCTUAL_FIRST_SLOT + PUNCTUAL_SLOTS * 64)

/* One mark. The seal is a digest of its place and all words after it: what is not whole does not fit it. */
struct punctual_slot {
	uint64_t seal;
	uint64_t time;
	uint32_t thread;
	uint32_t cpu;
	int64_t value;
	char text[PUNCTUAL_TEXT];
};

struct punctual_marks {
	uint64_t magic;
	uint32_t open;			/* 1 while a log reads */
	uint32_t reserved[13];
	uint64_t head;			/* marks ever begun */
	uint64_t full;			/* marks for which there was no room */
	uint64_t pad[6];
	uint64_t tail;			/* marks ever read */
};

/* One for all files of the program. */
__attribute__((weak)) struct punctual_marks *punctual_marks_;

static __thread uint32_t punctual_thread_ __attribute__((unused));

/* The log's answer: memory that nobody can make shorter, from root or from our own user. -1: none. */
static inline int punctual_ask_(int wait_ms)
{
	struct sockaddr_un address;
	struct punctual_peer_ peer;
	socklen_t peer_size = sizeof(peer);
	struct pollfd answer;
	struct iovec part;
	struct msghdr message;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct cmsghdr *about;
	const char *name = getenv("PUNCTUAL_MARKS");
	char byte;
	int memory = -1, channel;
	size_t length;

	if (!name || !*name)
		name = "punctual-marks";
	length = strlen(name);
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	if (length > sizeof(address.sun_path) - 1)
		return -1;
	memcpy(address.sun_path + 1, name, length);
	channel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (channel < 0)
		return -1;
	if (connect(channel, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
	    getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
	    (peer.user == 0 || peer.user == geteuid())) {
		answer.fd = channel;
		answer.events = POLLIN;
		memset(&message, 0, sizeof(message));
		part.iov_base = &byte;
		part.iov_len = 1;
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		if (poll(&answer, 1, wait_ms) == 1 && recvmsg(channel, &message, MSG_CMSG_CLOEXEC) == 1) {
			about = CMSG_FIRSTHDR(&message);
			if (about && about->cmsg_level == SOL_SOCKET && about->cmsg_type == SCM_RIGHTS &&
			    about->cmsg_len == CMSG_LEN(sizeof(int)))
				memcpy(&memory, CMSG_DATA(about), sizeof(int));
		}
	}
	close(channel);
	return memory;
}

static inline int punctual_open(int wait_ms)
{
	struct punctual_marks *known = __atomic_load_n(&punctual_marks_, __ATOMIC_ACQUIRE), *found;
	int memory, seals;
	struct stat about;

	punctual_thread_ = 0;
	if (known && __atomic_load_n(&known->open, __ATOMIC_RELAXED))
		return 0;
	memory = punctual_ask_(wait_ms);
	if (memory < 0)
		return -1;
	seals = fcntl(memory, F_GET_SEALS);
	found = (struct punctual_marks *)MAP_FAILED;
	if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(memory, &about) == 0 &&
	    (uint64_t)about.st_size == PUNCTUAL_BYTES)
		found = (struct punctual_marks *)mmap(NULL, PUNCTUAL_BYTES, PROT_READ | PROT_WRITE,
						      MAP_SHARED | MAP_POPULATE, memory, 0);
	close(memory);
	if (found == (struct punctual_marks *)MAP_FAILED)
		return -1;
	if (found->magic != PUNCTUAL_MAGIC) {
		munmap(found, PUNCTUAL_BYTES);
		return -1;
	}
	/* Another thread may still be writing into the memory of an earlier log: it stays mapped. */
	__atomic_store_n(&punctual_marks_, found, __ATOMIC_RELEASE);
	return 0;
}

static inline uint64_t punctual_seal_(uint64_t position, const struct punctual_slot *slot)
{
	uint64_t words[7], seal = position + 1;
	int index;

	memcpy(words, &slot->time, sizeof(words));
	for (index = 0; index < 7; index++) {
		seal = (seal ^ words[index]) * 0x9e3779b97f4a7c15ULL;
		seal ^= seal >> 32;
	}
	return seal;
}

static inline void punctual_mark(const char *text, int64_t value)
{
	struct punctual_marks *marks = __atomic_load_n(&punctual_marks_, __ATOMIC_ACQUIRE);
	struct punctual_slot *slot, mark;
	struct timespec now;
	uint64_t position;
	unsigned cpu = 0;
	size_t length;

	if (!marks || !__atomic_load_n(&marks->open, __ATOMIC_RELAXED))
		return;
	position = __atomic_load_n(&marks->head, __ATOMIC_RELAXED);
	do {
		if (position - __atomic_load_n(&marks->tail, __ATOMIC_ACQUIRE) >= PUNCTUAL_SLOTS) {
			__atomic_fetch_add(&marks->full, 1, __ATOMIC_RELAXED);
			return;
		}
	} while (!__atomic_compare_exchange_n(&marks->head, &position, position + 1, 1, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	if (!punctual_thread_)
		punctual_thread_ = (uint32_t)syscall(SYS_gettid);
#ifdef __x86_64__
	/* The kernel keeps the CPU's number where any program may read it. */
	__asm__ volatile("lsl %1, %0" : "=r"(cpu) : "r"(0x7b) : "cc");
	cpu &= 0xfff;
#else
	syscall(SYS_getcpu, &cpu, NULL, NULL);
#endif
	memset(mark.text, 0, sizeof(mark.text));
	length = strnlen(text, PUNCTUAL_TEXT - 1);
	memcpy(mark.text, text, length);
	mark.thread = punctual_thread_;
	mark.cpu = cpu;
	mark.value = value;
	clock_gettime(CLOCK_MONOTONIC, &now);
	mark.time = (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
	mark.seal = punctual_seal_(position, &mark);
	slot = (struct punctual_slot *)((char *)marks + PUNCTUAL_FIRST_SLOT) + (position & (PUNCTUAL_SLOTS - 1));
	memcpy(&slot->time, &mark.time, sizeof(mark) - offsetof(struct punctual_slot, time));
	__atomic_store_n(&slot->seal, mark.seal, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
