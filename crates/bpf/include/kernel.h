/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that the programs look into. The loader finds where the members
 * stand in the running kernel, so only names and types matter here, not the layout.
 */
#ifndef PUNCTUAL_KERNEL_H
#define PUNCTUAL_KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

typedef __s64 ktime_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hrtimer {
	ktime_t _softexpires;
	void *function;
};

struct task_struct;

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};

struct rq;

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct {
	int pid;
	struct sched_entity se;
};

/* Every kernel has it, and it begins with a word: what words are read as that belong to no structure. */
struct timespec64 {
	long long tv_sec;
};

#pragma clang attribute pop

/*
 * Kernels from 6.2 on let a program look at memory as at a type of theirs without calling a helper,
 * which costs a stamp tens of nanoseconds. Older ones get the helper.
 */
#define READ_AS(pointer, type, member)                                                                        \
	({                                                                                                     \
		/* By itself: the way to it may lead through structures of these programs. */                  \
		void *read_from = (void *)(pointer);                                                           \
		bpf_ksym_exists(bpf_rdonly_cast) ?                                                             \
			((type *)bpf_rdonly_cast(read_from, bpf_core_type_id_kernel(type)))->member :          \
			BPF_CORE_READ((type *)read_from, member);                                              \
	})

/*
 * A structure of the kernel's, to follow pointers from it. Whenever a program reads a pointer from a structure that the
 * verifier trusts, the verifier goes through the names of all types, several times, to find out whether it may trust
 * that pointer too, which nothing here needs. It does not ask for a structure that it does not trust. Kernels before
 * 6.2 have no such cast, and do not ask.
 */
#define UNTRUSTED(pointer, type)                                                                              \
	((type *)(bpf_ksym_exists(bpf_rdonly_cast) ?                                                           \
			  bpf_rdonly_cast(pointer, bpf_core_type_id_kernel(type)) :                            \
			  (void *)(pointer)))

/* A thread's name, which has 16 bytes: two words, which take no helper. */
static __always_inline void copy_name(char *to, const char *from)
{
	((__u64 *)to)[0] = ((const __u64 *)from)[0];
	((__u64 *)to)[1] = ((const __u64 *)from)[1];
}

/* Whether the running kernel has this helper; the verifier cuts calls out that are not reached. */
#define HAS_HELPER(name) bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_##name)

/* Kernels before 5.11 do not hand the current thread to programs, but only its number and its name. */
#define HAS_CURRENT HAS_HELPER(get_current_task_btf)

/* The number of the current thread, which is given where the kernel hands it over. */
static __always_inline __u32 current_number(struct task_struct *task)
{
	return HAS_CURRENT ? (__u32)task->pid : (__u32)bpf_get_current_pid_tgid();
}

#endif
