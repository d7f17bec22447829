/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_HYPERTRACE_H
#define CHANNEL_HYPERTRACE_H

#include "channel/port.h"

/* The numbers of docs/formats/hypertrace.md, for the kernel and for user space. */

#define HT_MAGIC 0x4853 /* "SH" */
#define HT_VERSION 1
#define HT_HEADER_BYTES 24
#define HT_BLOCK_BYTES_MAX 4096

#define HT_FLAG_TABLES 0x10
#define HT_FLAG_PANIC 0x20
#define HT_SHIFT_MASK 0x0f
#define HT_LOST_MANY UINT32_C(0xffffffff)

#define HT_TASK_SLOTS 16
#define HT_TEXT_MAX 255
#define HT_VARINT_MAX 10
#define HT_ARGS_MAX 5 /* of one record */

#define HT_TASK_KTHREAD 1
#define HT_TASK_NAME 2
#define HT_TASK_PROCESS 4

/* By hypercall. */
#define HT_CALL_MAGIC 0x5348
#define HT_CALL_BYTES 36
#define HT_CALL_FRAGMENTS 64
#define HT_CALL_BLOCK_MAX (HT_CALL_BYTES * HT_CALL_FRAGMENTS)
#define HT_CALL_LAST (UINT64_C(1) << 33)
#define HT_MARK_MAGIC 0x534d
#define HT_MARK_TEXT_MAX 32

/* By shared memory: a region says where the rings are, all in pages of HT_SLOT_BYTES. */
#define HT_REGION_MAGIC "SONDERGN"
#define HT_RING_MAGIC "SONDERNG"
#define HT_RING_VERSION 1
#define HT_REGION_RELATIVE 1 /* flag: addresses count from the region's beginning */
#define HT_SLOT_BYTES 4096
#define HT_SLOT_BLOCK_MAX (HT_SLOT_BYTES - 8)
#define HT_RING_BYTES_MAX (HT_SLOT_BYTES * 4096)
#define HT_RINGS_MAX 4096
#define HT_ANNOUNCE_MAGIC 0x5352

enum ht_announcement { HT_REGION_HERE, HT_REGION_GONE, HT_REGION_IN_DEVICE };

struct ht_region {
	char magic[8];
	uint32_t version, flags;
	uint64_t nonce; /* 0: gone */
	uint32_t nr_rings, ring_bytes;
	uint64_t bytes;
	uint64_t zero[3];
	uint64_t rings[]; /* addresses; 0: no such CPU */
};

struct ht_ring {
	char magic[8];
	uint32_t version, cpu;
	uint64_t nonce;
	uint32_t nr_slots, zero[9];
	uint64_t written; /* blocks completed */
};

struct ht_slot {
	uint8_t block[HT_SLOT_BLOCK_MAX];
	uint64_t events; /* of the stream, up to this block's last */
};

/* State of the task that a switch takes off the CPU. */
enum ht_state {
	HT_RUNNABLE,
	HT_SLEEPING,
	HT_BLOCKED,
	HT_STOPPED,
	HT_DEAD,
	HT_IDLE,
	HT_OTHER,
};

/* Of shutdown_phase: what begins. */
enum ht_phase {
	HT_PHASE_PREPARE,
	HT_PHASE_NOTIFIERS,
	HT_PHASE_DEVICES,
	HT_PHASE_REBOOT_CPU,
	HT_PHASE_SYSCORE,
	HT_PHASE_POWER_OFF,
	HT_PHASE_RESTART,
	HT_PHASE_HALT,
};

enum ht_mark { HT_MARK_POINT, HT_MARK_BEGIN, HT_MARK_END };

/* Opcodes up to 0x7f are switches. */
enum ht_table {
	HT_TASK = 0x80,
	HT_CURRENT = 0x81,
	HT_SYMBOL = 0x82,
	HT_DESCRIBE = 0x83,
	HT_MACHINE = 0x84,
	HT_END = 0x85,
	HT_TABLE_LAST = 0x87,
};

/* X(NAME, opcode, "name", "argument letters") */
#define HT_RECORDS(X)                                                                              \
	X(WAKING, 0x90, "waking", "tu")                                                            \
	X(WAKEUP, 0x91, "wakeup", "tu")                                                            \
	X(WAKEUP_NEW, 0x92, "wakeup_new", "tu")                                                    \
	X(FORK, 0x93, "fork", "tuu")                                                               \
	X(EXEC, 0x94, "exec", "un")                                                                \
	X(EXIT, 0x95, "exit", "t")                                                                 \
	X(RENAME, 0x96, "rename", "tn")                                                            \
	X(MIGRATE, 0x97, "migrate", "tuu")                                                         \
	X(SYSCALL_ENTRY, 0xa0, "syscall_entry", "u")                                               \
	X(SYSCALL_EXIT, 0xa1, "syscall_exit", "ss")                                                \
	X(IRQ_ENTRY, 0xa2, "irq_entry", "u")                                                       \
	X(IRQ_EXIT, 0xa3, "irq_exit", "u")                                                         \
	X(SOFTIRQ_RAISE, 0xa4, "softirq_raise", "u")                                               \
	X(SOFTIRQ_ENTRY, 0xa5, "softirq_entry", "u")                                               \
	X(SOFTIRQ_EXIT, 0xa6, "softirq_exit", "u")                                                 \
	X(VECTOR_ENTRY, 0xa7, "vector_entry", "u")                                                 \
	X(VECTOR_EXIT, 0xa8, "vector_exit", "u")                                                   \
	X(HRTIMER_START, 0xb0, "hrtimer_start", "us")                                              \
	X(HRTIMER_CANCEL, 0xb1, "hrtimer_cancel", "u")                                             \
	X(HRTIMER_EXPIRE_ENTRY, 0xb2, "hrtimer_expire_entry", "u")                                 \
	X(HRTIMER_EXPIRE_EXIT, 0xb3, "hrtimer_expire_exit", "u")                                   \
	X(BLOCK_ISSUE, 0xb8, "block_issue", "uuuu")                                                \
	X(BLOCK_COMPLETE, 0xb9, "block_complete", "uuuu")                                          \
	X(NET_SEND, 0xba, "net_send", "uu")                                                        \
	X(NET_RECEIVE, 0xbb, "net_receive", "uu")                                                  \
	X(FUNCTION, 0xc0, "function", "uuu")                                                       \
	X(FUNCTION_ENTRY, 0xc1, "function_entry", "u")                                             \
	X(FUNCTION_EXIT, 0xc2, "function_exit", "u")                                               \
	X(MARK, 0xc8, "mark", "uun")                                                               \
	X(BOOT_LEVEL, 0xd0, "boot_level", "u")                                                     \
	X(INITCALL_ENTRY, 0xd1, "initcall_entry", "u")                                             \
	X(INITCALL_EXIT, 0xd2, "initcall_exit", "us")                                              \
	X(SHUTDOWN_PHASE, 0xd8, "shutdown_phase", "u")                                             \
	X(NOTIFIER_ENTRY, 0xd9, "notifier_entry", "u")                                             \
	X(NOTIFIER_EXIT, 0xda, "notifier_exit", "u")                                               \
	X(DEVICE_SHUTDOWN_ENTRY, 0xdb, "device_shutdown_entry", "n")                               \
	X(DEVICE_SHUTDOWN_EXIT, 0xdc, "device_shutdown_exit", "n")                                 \
	X(PANIC, 0xe0, "panic", "n")

enum ht_record {
#define X(name, opcode, text, letters) HT_##name = opcode,
	HT_RECORDS(X)
#undef X
};

/* The same as a table, channel/records.c. */
struct ht_description {
	uint8_t opcode;
	const char *name, *letters;
};

extern const struct ht_description ht_descriptions[];
extern const unsigned int ht_nr_descriptions;

#endif
