/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose requests a disk is given, and when they are done.
 */
#ifndef PUNCTUAL_DISKS_H
#define PUNCTUAL_DISKS_H

#include "event_ring.h"
#include "groups.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct blkcg_gq *bi_blkg;
};

struct request___asked {
	struct bio *bio;
};

#pragma clang attribute pop

/*
 * The number of the control group that a request is charged to, whoever hands it on; 0: none, or this kernel does not
 * account for disks, and so has no limits.
 */
static __always_inline __u64 account_of(void *request)
{
	struct bio *bio;

	if (!bpf_core_field_exists(((struct bio *)0)->bi_blkg))
		return 0;
	bio = READ_AS(request, struct request___asked, bio);
	if (bpf_ksym_exists(bpf_rdonly_cast))
		return (__u32)bio->bi_blkg->blkcg->css.cgroup->kn->id;
	return (__u32)BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup, kn, id);
}

/* A request to a disk, when it is made and when it goes out. */
static __always_inline int note_request(const void *arguments)
{
	__u64 request = recorder_configuration.requests_tell_queue ? ((const __u64 *)arguments)[1] :
								      ((const __u64 *)arguments)[0];

	return note_named(REQUEST_BEGIN, request,
			  account_of((void *)request) << 32 | READ_AS((void *)request, struct request, __data_len));
}

SEC("?tp_btf/block_rq_insert")
int BPF_PROG(request_waits, void *first)
{
	return note_request(ctx);
}

SEC("?tp_btf/block_rq_issue")
int BPF_PROG(request_goes, void *first)
{
	return note_request(ctx);
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(request_done, struct request *request)
{
	struct request___with_disk *before = (void *)request;
	struct ring *ring = own_ring();
	struct gendisk *disk = 0;
	struct record *record;
	__u64 position;

	if (!ring)
		return 0;
	if (bpf_core_field_exists(((struct request_queue *)0)->disk))
		disk = UNTRUSTED(request, struct request)->q->disk;
	else if (bpf_core_field_exists(before->rq_disk))
		disk = before->rq_disk;
	record = begin_record(ring, bpf_get_current_task_btf(), REQUEST_END, &position);
	record->value = (__u64)request;
	record->extra = 0;
	record->name[0] = 0;
	if (disk)
		bpf_probe_read_kernel_str(record->name, NAME_SIZE, &disk->disk_name);
	end_record(record, position);
	return 0;
}

#endif
