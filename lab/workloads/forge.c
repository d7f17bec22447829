/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge: a process without rights that speaks as its kernel would (docs/formats/hypertrace.md), as
 * user 1000.  It lays out ring buffers in its own memory and announces them, four times; then,
 * again and again: a panic in a block of one call, a block that names the machine 6.66-forged and
 * has a thread "forged", a fragment of whatever block its kernel may be sending, an announcement,
 * one of memory that the host is to write, and a mark.  --pause-us between the rounds; 0 is a
 * flood.
 */
#include "workload.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOBODY 1000
#define PAGE 4096
#define HUGE_PAGE (2u << 20)
#define REGIONS 4
#define SLOTS 7
#define RING_BYTES ((SLOTS + 1) * PAGE)
#define CALL_BYTES 36
#define EVENTS 0x5348ull
#define MARK 0x534dull
#define RINGS 0x5352ull
#define BOARD 0x5354ull
#define NONCE 0x666666666666ull

static bool intel;
static uint64_t calls;

static void call(uint64_t rax, const uint64_t args[4])
{
	uint64_t rbx = args[0], rcx = args[1], rdx = args[2], rsi = args[3];

	calls++;
	if (intel)
		__asm__ volatile("vmcall"
				 : "+a"(rax)
				 : "b"(rbx), "c"(rcx), "d"(rdx), "S"(rsi)
				 : "memory");
	else
		__asm__ volatile("vmmcall"
				 : "+a"(rax)
				 : "b"(rbx), "c"(rcx), "d"(rdx), "S"(rsi)
				 : "memory");
}

/* A block's header, and @nr bytes of records: its length. */
static unsigned block(uint8_t *to, uint32_t seq, const void *records, unsigned nr)
{
	uint64_t tsc = tsc_now();
	uint16_t len = (uint16_t)(24 + nr);

	memset(to, 0, 2 * CALL_BYTES);
	memcpy(to, "SH\1", 3);
	memcpy(to + 4, &len, 2);
	memcpy(to + 8, &seq, 4);
	memcpy(to + 16, &tsc, 8);
	memcpy(to + 24, records, nr);
	return len;
}

static void fragment(const uint8_t *bytes, uint32_t seq, unsigned number, bool last)
{
	uint64_t args[4];
	uint32_t first;

	memcpy(&first, bytes, 4);
	memcpy(args, bytes + 4, 32);
	call(EVENTS << 48 | (uint64_t)(seq & 0xff) << 40 | (uint64_t)number << 34 |
		     (uint64_t)last << 33 | first,
	     args);
}

static void send(const uint8_t *bytes, unsigned len, uint32_t seq)
{
	for (unsigned i = 0; i * CALL_BYTES < len; i++)
		fragment(bytes + i * CALL_BYTES, seq, i, (i + 1) * CALL_BYTES >= len);
}

static void forge_events(uint32_t seq)
{
	static const uint8_t panic[] = "\xe0\0\6forged";
	/* Task 666 in slot 0, which runs now; who sends. */
	static const uint8_t task[] = "\x80\0\x9a\5\2\6forged\x81\0\x84\4vm-a\x0b"
				      "6.66-forged\0\2";
	uint8_t bytes[2 * CALL_BYTES];

	send(bytes, block(bytes, seq, panic, sizeof(panic) - 1), seq);
	send(bytes, block(bytes, seq + 1, task, sizeof(task) - 1), seq + 1);
}

static void poison(uint32_t seq)
{
	uint8_t bytes[CALL_BYTES];

	memset(bytes, 0xe0, sizeof(bytes));
	fragment(bytes, seq, seq % 64, seq % 3 == 0);
}

static void announce(uint64_t magic, uint64_t nonce)
{
	const uint64_t args[4] = {0x100000, PAGE, nonce, RING_BYTES};

	call(magic << 48 | 1ull << 40 | 1, args);
}

static void mark(void)
{
	const uint64_t args[4] = {0x6b72616d}; /* "mark" */

	call(MARK << 48 | 4ull << 32, args);
}

static void put(uint8_t *at, uint64_t value, unsigned len)
{
	memcpy(at, &value, len);
}

/* One region with one ring, which has a block: as the kernel's module lays it out. */
static void lay_out(uint8_t *region, uint64_t nonce)
{
	static const uint8_t task[] = "\x80\0\x9a\5\2\6forged\x81\0";
	uint8_t *ring = region + PAGE, *slot = ring + PAGE;

	memcpy(region, "SONDERGN\1", 9);
	put(region + 16, nonce, 8);
	put(region + 24, 1, 4);
	put(region + 28, RING_BYTES, 4);
	put(region + 32, PAGE, 8);
	put(region + 64, 0x200000, 8);
	memcpy(ring, "SONDERNG\1", 9);
	put(ring + 16, nonce, 8);
	put(ring + 24, SLOTS, 4);
	block(slot, 0, task, sizeof(task) - 1);
	put(slot + PAGE - 8, 1, 8);
	put(ring + 64, 1, 8);
}

static void lay_out_rings(void)
{
	uint8_t *memory = aligned_alloc(HUGE_PAGE, HUGE_PAGE);

	if (!memory)
		die("aligned_alloc");
	madvise(memory, HUGE_PAGE, MADV_HUGEPAGE); /* in one piece, if it can be */
	memset(memory, 0, HUGE_PAGE);
	for (unsigned i = 0; i < REGIONS; i++) {
		lay_out(memory + i * (PAGE + RING_BYTES), NONCE + i);
		announce(RINGS, NONCE + i);
	}
}

static void give_rights_up(void)
{
	if (setgid(NOBODY) || setuid(NOBODY) || getuid() != NOBODY || !setuid(0))
		die("setuid");
}

int main(int argc, char **argv)
{
	struct workload w = {.kind = "forge"};
	uint64_t pause_us = 10000;
	const struct option_spec specs[] = {
		{"pause-us", "between two rounds (10000); 0: a flood", &pause_us, NULL},
		{0},
	};
	unsigned a, b, c, d;

	intel = __get_cpuid(0, &a, &b, &c, &d) && c == signature_INTEL_ecx;
	workload_options(&w, argc, argv, specs);
	give_rights_up();
	workload_begin(&w, specs);
	lay_out_rings();
	for (uint32_t seq = 0; !workload_over(&w); seq += 2) {
		forge_events(seq);
		poison(seq);
		announce(RINGS, NONCE + seq % REGIONS);
		announce(BOARD, NONCE);
		mark();
		if (pause_us)
			usleep((unsigned)pause_us);
	}
	workload_end(&w, "calls", calls, NULL);
	return 0;
}
