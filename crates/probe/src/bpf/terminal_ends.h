/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which threads are at the terminal, and which descriptors lead to it or, with a display, to its server. Only this file
 * reads what the kernel keeps of files, terminals and sockets.
 */
#ifndef PUNCTUAL_TERMINAL_ENDS_H
#define PUNCTUAL_TERMINAL_ENDS_H

#include "terminal_records.h"

#define ICANON 0000002
#define QUEUE_MASK 4095
#define FILE_TYPE 0170000
#define IS_SOCKET 0140000
#define AF_UNIX 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Among a thread's flags: it belongs to the kernel. */
#define OF_KERNEL 0x00200000

struct task_struct___flagged {
	unsigned int flags;
};

struct ktermios___lines {
	__u32 c_lflag;
};

struct work_struct___at {
	void *func;
};

struct tty_bufhead___at {
	struct work_struct___at work;
};

struct tty_port___at {
	struct tty_bufhead___at buf;
};

struct tty_struct {
	void *disc_data;
	struct tty_struct *link;
	struct tty_port___at *port;
	struct ktermios___lines termios;
};

struct tty_file_private {
	struct tty_struct *tty;
};

struct n_tty_data {
	unsigned long commit_head;
	unsigned long canon_head;
	unsigned long read_tail;
};

struct upid___at {
	int nr;
};

struct pid___at {
	struct upid___at numbers[1];
};

struct sk_buff_head___at {
	__u32 qlen;
};

struct sock_common___at {
	unsigned short skc_family;
};

struct sock___at {
	struct sock_common___at __sk_common;
	struct sk_buff_head___at sk_receive_queue;
	struct pid___at *sk_peer_pid;
};

struct socket___at {
	struct sock___at *sk;
};

struct unix_sock___at {
	struct sock___at *peer;
};

struct inode___at {
	unsigned short i_mode;
	unsigned int i_rdev;
};

struct file {
	void *private_data;
	struct inode___at *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct signal_struct___at {
	struct tty_struct *tty;
};

struct task_struct___at {
	int pid;
	int tgid;
	unsigned int in_iowait : 1;
	char comm[NAME_SIZE];
	struct files_struct *files;
	struct signal_struct___at *signal;
	struct task_struct___at *real_parent;
};

#pragma clang attribute pop

/* A word of the kernel's memory. */
static __always_inline __u64 word_at(const void *address)
{
	return READ_AS(address, struct timespec64, tv_sec);
}

/* A pointer in a structure of the kernel's, as a word: kernels let nobody compute with an address that has a type. */
#define POINTER_IN(pointer, type, member) word_at((void *)(pointer) + bpf_core_field_offset(type, member))

static __always_inline bool is_theirs(__u64 terminal)
{
	if (!terminal)
		return false;
	if (terminal == terminal_state.terminal)
		return true;
	if (!terminal_configuration.server)
		return false;
	for (__u32 index = 0; index < MAX_OTHERS; index++)
		if (terminal == terminal_state.others[index])
			return true;
	return false;
}

static __always_inline bool is_watched(__u32 process)
{
	return terminal_state.may_be_watched[process & (WATCH_PLACES - 1)] &&
	       bpf_map_lookup_elem(&watched_processes, &process);
}

static __always_inline bool is_there(struct task_struct *task)
{
	if (terminal_configuration.by_process)
		return terminal_state.terminal && is_watched(((struct task_struct___at *)task)->tgid);
	return terminal_state.terminal &&
	       is_theirs((__u64)UNTRUSTED(task, struct task_struct___at)->signal->tty);
}

static __always_inline bool is_server(struct task_struct *task)
{
	return terminal_configuration.server &&
	       (__u32)((struct task_struct___at *)task)->tgid == terminal_configuration.server;
}

/* The file behind a descriptor of the current process. */
static __always_inline struct file *file_at(__u64 descriptor)
{
	struct task_struct___at *task = (void *)bpf_get_current_task_btf();
	struct fdtable *table = UNTRUSTED(task, struct task_struct___at)->files->fdt;

	if (!table || descriptor >= table->max_fds)
		return 0;
	return (struct file *)word_at(table->fd + descriptor);
}

/* The terminal behind a descriptor of the current process; 0: it is not one. */
static __always_inline __u64 terminal_at(__u64 descriptor)
{
	struct file *file = file_at(descriptor);
	__u64 private = file ? POINTER_IN(file, struct file, private_data) : 0;

	return private ? POINTER_IN(private, struct tty_file_private, tty) : 0;
}

/* The kind of a file, as its inode has it; with a device its number too. */
static __always_inline unsigned short kind_of(struct file *file, __u32 *device)
{
	__u64 inode = POINTER_IN(file, struct file, f_inode);

	if (device)
		*device = READ_AS(inode, struct inode___at, i_rdev);
	return READ_AS(inode, struct inode___at, i_mode) & FILE_TYPE;
}

/* The local socket behind a descriptor of the current process; 0: it is not one. */
static __always_inline struct sock___at *any_socket_at(__u64 descriptor)
{
	struct file *file = file_at(descriptor);
	__u64 socket, sock;

	if (!file || kind_of(file, 0) != IS_SOCKET)
		return 0;
	socket = POINTER_IN(file, struct file, private_data);
	sock = socket ? POINTER_IN(socket, struct socket___at, sk) : 0;
	return sock && READ_AS(sock, struct sock___at, __sk_common.skc_family) == AF_UNIX ? (struct sock___at *)sock : 0;
}

/* The process that connected, or listened, at the other end. */
static __always_inline __u32 peer_of(struct sock___at *sock)
{
	__u64 peer = POINTER_IN(sock, struct sock___at, sk_peer_pid);

	return READ_AS(peer, struct pid___at, numbers[0].nr);
}

/* The other end of a local socket; 0: it has none. */
static __always_inline __u64 other_end(struct sock___at *sock)
{
	struct unix_sock___at *local = (void *)sock;

	return bpf_core_field_exists(local->peer) ? (__u64)BPF_CORE_READ(local, peer) : 0;
}

#define CHARACTERS 0020000
#define MULTIPLEXER ((5U << 20) | 2)
#define FIRST_TERMINAL (136U << 20)
#define BEHIND_TERMINALS (144U << 20)

/* Whether a descriptor of the current process is either end of any pseudo-terminal. */
static __always_inline bool is_pseudo_terminal(__u64 descriptor)
{
	struct file *file = file_at(descriptor);
	__u32 device;

	if (!file || kind_of(file, &device) != CHARACTERS)
		return false;
	return device == MULTIPLEXER || (device >= FIRST_TERMINAL && device < BEHIND_TERMINALS);
}

/* The socket to this process behind a descriptor of the current process; 0: it is not one. */
static __always_inline __u64 socket_at(__u64 descriptor, __u64 peer)
{
	struct sock___at *sock = any_socket_at(descriptor);

	return sock && peer_of(sock) == (__u32)peer ? (__u64)sock : 0;
}

/* Whether input comes, or output goes, through a descriptor of the current process; with a display, through which
 * socket. */
static __always_inline bool is_ours(__u64 descriptor, __u64 *socket)
{
	if (!terminal_configuration.server)
		return terminal_at(descriptor) == terminal_state.terminal;
	*socket = socket_at(descriptor, terminal_configuration.server);
	return *socket;
}

/* How far there is input to get from the terminal, in bytes since it was opened or emptied: whole lines if it hands
 * on lines. */
static __always_inline unsigned long head_of_input(struct tty_struct *terminal, struct n_tty_data *data, __u16 *flags)
{
	if (READ_AS(terminal, struct tty_struct, termios.c_lflag) & ICANON) {
		*flags |= TAKES_LINES;
		return READ_AS(data, struct n_tty_data, canon_head);
	}
	return READ_AS(data, struct n_tty_data, commit_head);
}

/* How far the terminal's input has been read; 0 with a display. */
static __always_inline __u32 tail_of_input(void)
{
	struct n_tty_data *data;

	if (terminal_configuration.server)
		return 0;
	data = (void *)POINTER_IN(terminal_state.terminal, struct tty_struct, disc_data);
	return data ? READ_AS(data, struct n_tty_data, read_tail) : 0;
}

/* Whether a work item is the one by which the kernel's worker hands on the terminal's input. */
static __always_inline bool hands_on_input(__u64 work)
{
	struct tty_struct *terminal = (void *)terminal_state.terminal;
	__u64 port = terminal && !terminal_configuration.server ? (__u64)BPF_CORE_READ(terminal, port) : 0;

	return port && work == port + bpf_core_field_offset(struct tty_port___at, buf.work);
}

/* Bytes to get from the terminal: whole lines if it hands on lines. For a display, messages. */
static __always_inline __u32 queued(__u16 *flags, __u64 socket)
{
	struct tty_struct *terminal = (void *)terminal_state.terminal;
	struct n_tty_data *data;
	unsigned long head, tail;

	if (terminal_configuration.server) {
		socket = socket ? socket : terminal_state.socket;
		return socket ? READ_AS((void *)socket, struct sock___at, sk_receive_queue.qlen) : 0;
	}
	data = (void *)POINTER_IN(terminal, struct tty_struct, disc_data);
	if (!data)
		return 0;
	head = head_of_input(terminal, data, flags);
	tail = READ_AS(data, struct n_tty_data, read_tail);
	return head - tail > QUEUE_MASK + 1 ? 0 : head - tail;
}

#endif
