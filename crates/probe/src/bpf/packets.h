/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who sent the packet that a softirq delivers, if a thread of this machine did. What a thread sends to this machine
 * itself is queued in its own context and delivered in whichever softirq comes next on the same CPU: its own, an
 * interrupt's, ksoftirqd's, or one in the middle of another thread.
 */
#ifndef PUNCTUAL_PACKETS_H
#define PUNCTUAL_PACKETS_H

#include "event_ring.h"
#include "wakes.h"

/* In `open_handlers.sender`: no known thread sent this packet. Thread 1 sends nothing. */
#define NOBODY 1

/* Who sent a packet that has not been delivered yet, by the packet's address. A dropped one stays until it is pushed
 * out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} senders SEC(".maps");

/* A packet for this machine is queued. What a softirq sends belongs to no thread, whichever it runs in. */
SEC("?tp_btf/netif_rx")
int BPF_PROG(packet_queued, void *packet)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ring *ring = own_ring();
	__u64 key = (__u64)packet;
	__u32 sender = task->pid;

	if (!ring)
		return 0;
	if (ring->open.softirq || nesting(task) & HARDIRQ_MASK)
		bpf_map_delete_elem(&senders, &key);
	else
		bpf_map_update_elem(&senders, &key, &sender, BPF_ANY);
	return 0;
}

/* A packet is delivered, whether it came from here or from elsewhere. */
SEC("?tp_btf/netif_receive_skb")
int BPF_PROG(packet_delivered, void *packet)
{
	struct ring *ring = own_ring();
	__u64 key = (__u64)packet;
	__u32 *sender;

	if (!ring)
		return 0;
	sender = bpf_map_lookup_elem(&senders, &key);
	ring->open.sender = sender ? *sender : NOBODY;
	if (sender)
		bpf_map_delete_elem(&senders, &key);
	return 0;
}

/* What a waking tells, together with who sent the packet that ends the wait, unless the wait was for a word in
 * memory. */
static __always_inline __u64 with_sender(struct ring *ring, __u64 told)
{
	if ((told >> WORD_BIT & 3) != WORD_NONE || !ring->open.softirq)
		return told;
	return told | (ring->open.sender & 0x3fffff) << OWNER_BIT;
}

#endif
