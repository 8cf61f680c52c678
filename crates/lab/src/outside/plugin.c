// Watches a guest from outside: a plugin for QEMU.
//
// It counts the guest's instructions, which is the guest's clock, and writes down at which of them the guest read its
// own clock; within one window also every block of instructions that ran, how it ended, and where interrupts were
// turned off and on. None of this is an instruction of the guest's, so a guest that is watched leaves the same bytes.
//
// Arguments: `out=FD` (an open file), `max=RECORDS`, `from=COUNT`, `to=COUNT` (the window, in instructions).
// A record is two words of 64 bits: how many instructions ran before, and an address shifted left by eight with what it is.
//
// None of the packages that people have contains QEMU's own header, so the parts used are repeated here (API version 1,
// from QEMU 4.2 on). It is built without a C library: the emulator has loaded what it needs of one.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info qemu_info_t;
typedef void (*instruction_callback)(unsigned int cpu, void *data);

enum { NO_REGISTERS = 0 };
enum { ADD = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, instruction_callback, int, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, instruction_callback, int, void *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);

long write(int, const void *, size_t);

#define SEEN __attribute__((visibility("default")))

SEEN int qemu_plugin_version = 1;

// What a record is about. `trace.rs` reads the same numbers.
enum kind {
	CLOCK_READ = 1,
	INTERRUPTS_OFF = 2,
	INTERRUPTS_ON = 3,
	FLAGS_RESTORED = 4,
	// A block of instructions, and what its last one is.
	BLOCK = 16,
	BLOCK_CALLS = 17,
	BLOCK_RETURNS = 18,
	BLOCK_LEAVES = 19, // iret, sysret, sysexit
	BLOCK_ASKS = 20,   // syscall, sysenter
	BLOCK_HALTS = 21,
	// The last record of all: in place of a count, how many were not written.
	END = 255,
};

struct record {
	uint64_t count;
	uint64_t word;
};

enum { ROOM = 4096 };

// A guest has one CPU here, so nobody else touches these meanwhile.
static struct record records[ROOM];
static unsigned int used;
static uint64_t count, written, dropped;
static uint64_t window_from, window_to, max_records = 1 << 20;
static int out = -1;
// A loop that waits by the clock reads it at one place, over and over: its first reads are enough.
static uint64_t last_read, last_read_count;
enum { LOOP = 64 };

static void flush(void)
{
	const char *bytes = (const char *)records;
	size_t left = used * sizeof records[0];

	while (left > 0) {
		long done = write(out, bytes, left);

		if (done <= 0) {
			dropped += left / sizeof records[0];
			break;
		}
		bytes += done;
		left -= (size_t)done;
	}
	used = 0;
}

static void put(uint64_t word)
{
	if (written >= max_records) {
		dropped++;
		return;
	}
	records[used].count = count;
	records[used].word = word;
	written++;
	if (++used == ROOM)
		flush();
}

static void on_clock_read(unsigned int cpu, void *data)
{
	bool is_loop = (uint64_t)data == last_read && count - last_read_count < LOOP;

	(void)cpu;
	last_read = (uint64_t)data;
	last_read_count = count;
	if (!is_loop)
		put((uint64_t)data);
}

static bool is_within(void)
{
	return count >= window_from && count < window_to;
}

static void on_step(unsigned int cpu, void *data)
{
	(void)cpu;
	if (is_within())
		put((uint64_t)data);
}

static void *word_of(uint64_t address, enum kind kind)
{
	return (void *)(address << 8 | kind);
}

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
		return true;
	default:
		return (byte & 0xf0) == 0x40;
	}
}

// For an x86-64 instruction: which kind it is; 0 if it is none of these.
static enum kind kind_of(const struct qemu_plugin_insn *instruction)
{
	const uint8_t *bytes = qemu_plugin_insn_data(instruction);
	size_t size = qemu_plugin_insn_size(instruction);

	while (size > 1 && is_prefix(*bytes)) {
		bytes++;
		size--;
	}
	switch (bytes[0]) {
	case 0xfa: return INTERRUPTS_OFF;
	case 0xfb: return INTERRUPTS_ON;
	case 0x9d: return FLAGS_RESTORED;
	case 0xe8: return BLOCK_CALLS;
	case 0xc2: case 0xc3: return BLOCK_RETURNS;
	case 0xcf: return BLOCK_LEAVES;
	case 0xf4: return BLOCK_HALTS;
	case 0xff: return size > 1 && (bytes[1] >> 3 & 7) == 2 ? BLOCK_CALLS : 0;
	case 0x0f:
		if (size < 2)
			return 0;
		switch (bytes[1]) {
		case 0x31: return CLOCK_READ;
		case 0x01: return size > 2 && bytes[2] == 0xf9 ? CLOCK_READ : 0;
		case 0x05: case 0x34: return BLOCK_ASKS;
		case 0x07: case 0x35: return BLOCK_LEAVES;
		default: return 0;
		}
	default: return 0;
	}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t all = qemu_plugin_tb_n_insns(block);
	enum kind end = 0;

	(void)id;
	for (size_t i = 0; i < all; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		enum kind kind = kind_of(instruction);
		void *word = word_of(qemu_plugin_insn_vaddr(instruction), kind);

		qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD, &count, 1);
		if (kind == CLOCK_READ)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_clock_read, NO_REGISTERS, word);
		else if (window_to > 0 && kind != 0 && kind < BLOCK)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_step, NO_REGISTERS, word);
		end = kind;
	}
	if (window_to > 0) {
		void *word = word_of(qemu_plugin_tb_vaddr(block), end < BLOCK ? BLOCK : end);

		qemu_plugin_register_vcpu_tb_exec_cb(block, on_step, NO_REGISTERS, word);
	}
}

static void on_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	flush();
	records[0].count = dropped;
	records[0].word = END;
	used = 1;
	flush();
}

// The number after `name=`, or its previous value.
static uint64_t argument(int argc, char **argv, const char *name, uint64_t or_else)
{
	for (int i = 0; i < argc; i++) {
		const char *text = argv[i], *wanted = name;
		uint64_t number = 0;

		while (*wanted && *text == *wanted) {
			text++;
			wanted++;
		}
		if (*wanted || *text != '=')
			continue;
		for (text++; *text >= '0' && *text <= '9'; text++)
			number = number * 10 + (uint64_t)(*text - '0');
		return number;
	}
	return or_else;
}

SEEN int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	out = (int)argument(argc, argv, "out", 0);
	max_records = argument(argc, argv, "max", max_records);
	window_from = argument(argc, argv, "from", 0);
	window_to = argument(argc, argv, "to", 0);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, 0);
	return 0;
}
