/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a program, each by itself many times over, for the benchmark `programs`: no program that does these
 * things costs less than their sum.
 */
#include "least_record.h"

#define TIMES 1024

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u64);
} hashed SEC(".maps");

struct parts {
	__u64 sum;
	__u64 head;
	__u64 words[8];
};

struct parts parts;

/* What a call is given: how long all turns took, ns. */
struct took {
	__u64 ns;
};

#define PART(name, turn)                                                                                        \
	SEC("syscall")                                                                                          \
	int name(struct took *took)                                                                             \
	{                                                                                                       \
		__u64 began = bpf_ktime_get_ns();                                                               \
                                                                                                                \
		for (__u32 number = 0; number < TIMES; number++) {                                              \
			turn;                                                                                   \
			barrier();                                                                              \
		}                                                                                               \
		took->ns = bpf_ktime_get_ns() - began;                                                          \
		return 0;                                                                                       \
	}

static __always_inline void look_up_hashed(void)
{
	__u64 key = 7, *value = bpf_map_lookup_elem(&hashed, &key);

	parts.sum += value ? *value : 1;
}

static __always_inline void read_elsewhere(void)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), &parts.head);
	parts.sum += word;
}

PART(nothing, parts.sum += number)
PART(clock_read, parts.sum += bpf_ktime_get_ns())
PART(own_cpu, parts.sum += bpf_get_smp_processor_id())
PART(own_thread, parts.sum += ((struct task_struct___recorded *)bpf_get_current_task_btf())->pid)
PART(array_place, parts.sum += own_ring() != 0)
PART(hash_place, look_up_hashed())
PART(place_taken, parts.sum += __sync_fetch_and_add(&parts.head, 1))
PART(word_of_kernel, read_elsewhere())
PART(whole_record, write_record())

char LICENSE[] SEC("license") = "GPL";
