/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events a program's toolkit hands on to the program's own code. Each program is attached to the beginning of the
 * function that every event of one toolkit goes through, only in the processes that are followed, and notes the kind of
 * event that it is given.
 */
#include "kernel.h"
#include "registers.h"
#include "toolkit_records.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Functions get their fourth argument in another register than system calls. */
struct pt_regs___called {
	unsigned long cx;
};

#pragma clang attribute pop

static __always_inline __u64 first_given(struct pt_regs *registers)
{
	if (IS_X86)
		return BPF_CORE_READ((struct pt_regs___x86 *)registers, di);
	return IS_ARM64 ? BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[0]) : 0;
}

static __always_inline __u64 second_given(struct pt_regs *registers)
{
	if (IS_X86)
		return BPF_CORE_READ((struct pt_regs___x86 *)registers, si);
	return IS_ARM64 ? BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[1]) : 0;
}

static __always_inline __u64 fourth_given(struct pt_regs *registers)
{
	if (IS_X86)
		return BPF_CORE_READ((struct pt_regs___called *)registers, cx);
	return IS_ARM64 ? BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[3]) : 0;
}

/* Takes the next place. Whoever runs here may lose its CPU to another thread that does the same: the mark comes
 * last. */
static __always_inline struct event_record *begin_event(__u32 function, __u64 *position)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct event_ring *ring = bpf_map_lookup_elem(&event_rings, &cpu);
	__u64 who = bpf_get_current_pid_tgid();
	struct event_record *record;

	if (!ring)
		return 0;
	*position = __sync_fetch_and_add(&ring->head, 1);
	record = &ring->records[*position & (EVENTS - 1)];
	record->sequence = 0;
	barrier();
	record->at = bpf_ktime_get_ns();
	record->tid = (__u32)who;
	record->process = who >> 32;
	record->function = function;
	record->number = UNREADABLE;
	record->interface[0] = 0;
	record->event[0] = 0;
	return record;
}

static __always_inline void end_event(struct event_record *record, __u64 position)
{
	barrier();
	*(volatile __u64 *)&record->sequence = position + 1;
}

/* An event that has its kind in it as a number. */
static __always_inline int numbered(struct pt_regs *registers, __u32 function, __u32 offset)
{
	__u64 event = first_given(registers), position;
	struct event_record *record = begin_event(function, &position);
	__s32 type;

	if (!record)
		return 0;
	if (!bpf_probe_read_user(&type, sizeof(type), (void *)(event + offset)))
		record->number = type;
	end_event(record, position);
	return 0;
}

SEC("uprobe")
int gtk2_event(struct pt_regs *registers)
{
	return numbered(registers, GTK2, 0);
}

SEC("uprobe")
int gtk3_event(struct pt_regs *registers)
{
	return numbered(registers, GTK3, 0);
}

/* What an event of this toolkit begins with. */
struct gdk_event_of_program {
	__u64 class;
	__s32 references;
	__s32 type;
};

/* No function that others may call sees its events on their way. So an event is noted when it is finished: its last
 * user releases it. Its users are counted down from -1. */
SEC("uprobe")
int gtk4_event(struct pt_regs *registers)
{
	struct gdk_event_of_program event;
	struct event_record *record;
	__u64 position;
	bool is_read = !bpf_probe_read_user(&event, sizeof(event), (void *)first_given(registers));

	if (is_read && event.references != -1)
		return 0;
	record = begin_event(GTK4, &position);
	if (!record)
		return 0;
	if (is_read)
		record->number = event.type;
	end_event(record, position);
	return 0;
}

/* After the table of its class. */
SEC("uprobe")
int qt5_event(struct pt_regs *registers)
{
	return numbered(registers, QT5, 8);
}

SEC("uprobe")
int qt6_event(struct pt_regs *registers)
{
	return numbered(registers, QT6, 8);
}

SEC("uprobe")
int xt_event(struct pt_regs *registers)
{
	return numbered(registers, XT, 0);
}

/* What a program keeps of one of its compositor's objects. */
struct object_of_program {
	__u64 interface;
	__u64 implementation;
};

struct interface_of_program {
	__u64 name;
	__s32 version;
	__s32 methods_count;
	__u64 methods;
	__s32 events_count;
	__s32 pad;
	__u64 events;
};

struct message_of_program {
	__u64 name;
	__u64 signature;
	__u64 types;
};

/* An event on its way, up to its arguments. */
struct closure_of_program {
	__s32 count;
	__s32 pad;
	__u64 message;
	__u32 number;
	__u32 sender;
};

#define MAX_LISTENED 32
#define NOBODYS (-1)
#define SEVERAL (-2)

/* Which event it is, if it has arguments: these follow its number. */
static __always_inline __s32 number_by_closure(__u64 arguments, struct interface_of_program *interface)
{
	struct closure_of_program closure;
	__u64 first;

	if (bpf_probe_read_user(&first, sizeof(first), (void *)(arguments + 16)) ||
	    bpf_probe_read_user(&closure, sizeof(closure), (void *)(first - sizeof(closure))))
		return NOBODYS;
	if (closure.number >= (__u32)interface->events_count ||
	    closure.message != interface->events + closure.number * sizeof(struct message_of_program))
		return NOBODYS;
	return closure.number;
}

/* Whether an event has arguments: its signature may begin with the version that introduced it. */
static __always_inline bool has_arguments(__u64 message)
{
	struct message_of_program said;
	char words[4] = {};

	if (bpf_probe_read_user(&said, sizeof(said), (void *)message) ||
	    bpf_probe_read_user_str(words, sizeof(words), (void *)said.signature) < 0)
		return true;
	for (int at = 0; at < 3; at++) {
		if (!words[at])
			return false;
		if (words[at] < '0' || words[at] > '9')
			return true;
	}
	return true;
}

/* Which event it is, if it has none: the only such one that this function listens to. */
static __always_inline __s32 number_by_listener(__u64 function, __u64 implementation,
						struct interface_of_program *interface)
{
	__s32 found = NOBODYS;
	__u64 listener;

	for (int number = 0; number < MAX_LISTENED; number++) {
		if (number >= interface->events_count)
			break;
		if (bpf_probe_read_user(&listener, sizeof(listener), (void *)(implementation + number * 8)))
			break;
		if (listener != function ||
		    has_arguments(interface->events + number * sizeof(struct message_of_program)))
			continue;
		if (found >= 0)
			return SEVERAL;
		found = number;
	}
	return found;
}

/*
 * Wayland's library calls a program's listeners through another library, which others use too: the arguments tell
 * whether it is an event, which one and of what.
 */
SEC("uprobe")
int wayland_event(struct pt_regs *registers)
{
	__u64 function = second_given(registers), arguments = fourth_given(registers);
	struct interface_of_program interface;
	struct object_of_program object;
	struct message_of_program message;
	struct event_record *record;
	__u64 slot, target, position;
	__s32 number;

	if (bpf_probe_read_user(&slot, sizeof(slot), (void *)(arguments + 8)) ||
	    bpf_probe_read_user(&target, sizeof(target), (void *)slot) ||
	    bpf_probe_read_user(&object, sizeof(object), (void *)target) ||
	    bpf_probe_read_user(&interface, sizeof(interface), (void *)object.interface))
		return 0;
	if (interface.events_count <= 0 || interface.events_count > MAX_LISTENED || interface.version <= 0 ||
	    interface.version > 1000)
		return 0;
	number = number_by_closure(arguments, &interface);
	if (number < 0)
		number = number_by_listener(function, object.implementation, &interface);
	else if (bpf_probe_read_user(&slot, sizeof(slot), (void *)(object.implementation + number * 8)) ||
		 slot != function)
		return 0;
	if (number == NOBODYS)
		return 0;
	record = begin_event(WAYLAND, &position);
	if (!record)
		return 0;
	if (bpf_probe_read_user_str(record->interface, WORD_SIZE, (void *)interface.name) >= 0 && number >= 0 &&
	    !bpf_probe_read_user(&message, sizeof(message), (void *)(interface.events + number * sizeof(message))) &&
	    bpf_probe_read_user_str(record->event, WORD_SIZE, (void *)message.name) >= 0)
		record->number = number;
	end_event(record, position);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
