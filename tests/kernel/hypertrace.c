/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a guest's module sent, as text, for tests:
 *
 *	hypertrace calls
 *		hypercalls from stdin: lines "THREAD NR A0 A1 A2 A3", the numbers in hex
 *	hypertrace stream FILE
 *		blocks of all CPUs, one after the other
 *	hypertrace rings PID GPA BYTES NONCE FILE
 *		reads the rings of the VM process, until stdin ends, into FILE
 *
 * A line is CPU, TSC, name, arguments; at the end come the counts, after "#".
 */
#include "channel/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernel/rings.h"

#define CPUS 64

static struct ht_reader readers[CPUS];
static uint64_t switch_bytes[32]; /* how many switches took so many bytes */

static void print_item(const struct ht_reader *r, const struct ht_item *item)
{
	const char *name = item->opcode == HT_SYMBOL ? "symbol" : ht_opcode_name(item->opcode);

	printf("%u %" PRIu64 " %s", r->cpu, item->tsc, name ? name : "?");
	if (item->opcode < 0x80)
		printf(" %u", item->state);
	for (unsigned i = 0; i < item->nr_args; i++)
		printf(" %" PRId64, item->args[i]);
	for (unsigned i = 0; i < item->nr_text; i++)
		printf(" %.*s", item->text[i].len, item->text[i].at);
	putchar('\n');
}

static void print_block(const uint8_t *block, uint32_t len)
{
	unsigned cpu = block[6] | block[7] << 8;
	struct ht_reader *r = &readers[cpu % CPUS];
	struct ht_item item;

	if (ht_block_open(r, block, len))
		return;
	for (uint32_t at = r->at; ht_block_next(r, &item); at = r->at) {
		if (item.opcode < HT_TASK || item.opcode > HT_TABLE_LAST ||
		    item.opcode == HT_SYMBOL)
			print_item(r, &item);
		if (item.opcode < HT_TASK)
			switch_bytes[r->at - at]++;
	}
}

static unsigned median_switch(void)
{
	uint64_t all = 0, below = 0;

	for (unsigned i = 0; i < 32; i++)
		all += switch_bytes[i];
	for (unsigned i = 0; i < 32; i++) {
		below += switch_bytes[i];
		if (below * 2 > all)
			return i;
	}
	return 0;
}

static void print_counts(uint64_t calls)
{
	struct ht_stats sum = {0};

	for (unsigned i = 0; i < CPUS; i++) {
		sum.blocks += readers[i].stats.blocks;
		sum.items += readers[i].stats.items;
		sum.dropped += readers[i].stats.dropped;
		sum.blocks_lost += readers[i].stats.blocks_lost;
		sum.blocks_broken += readers[i].stats.blocks_broken;
	}
	printf("# calls %" PRIu64 " blocks %" PRIu64 " items %" PRIu64 " dropped %" PRIu64
	       " lost %" PRIu64 " broken %" PRIu64 " switch_bytes %u\n",
	       calls, sum.blocks, sum.items, sum.dropped, sum.blocks_lost, sum.blocks_broken,
	       median_switch());
}

struct thread {
	unsigned id;
	struct ht_assembler assembler;
};

static struct ht_assembler *assembler_of(unsigned id)
{
	static struct thread threads[CPUS];
	static unsigned nr;

	for (unsigned i = 0; i < nr; i++)
		if (threads[i].id == id)
			return &threads[i].assembler;
	if (nr == CPUS)
		exit(2);
	threads[nr].id = id;
	return &threads[nr++].assembler;
}

static int calls(void)
{
	uint64_t nr, a0, a1, a2, a3, taken = 0;
	unsigned thread;

	while (scanf("%u %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &thread, &nr,
		     &a0, &a1, &a2, &a3) == 6) {
		struct ht_assembler *a = assembler_of(thread);
		uint32_t len;

		if (!ht_is_call(nr))
			continue;
		taken++;
		len = ht_call_take(a, nr, a0, a1, a2, a3);
		if (len)
			print_block(a->block, len);
	}
	print_counts(taken);
	return 0;
}

static int stream(const char *path)
{
	static uint8_t data[HT_BLOCK_BYTES_MAX];
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		return 1;
	}
	while (fread(data, HT_HEADER_BYTES, 1, file) == 1) {
		uint32_t len = ht_block_length(data, HT_HEADER_BYTES);

		if (!len || (len > HT_HEADER_BYTES &&
			     fread(data + HT_HEADER_BYTES, len - HT_HEADER_BYTES, 1, file) != 1)) {
			fprintf(stderr, "%s: no block where one should be\n", path);
			return 1;
		}
		print_block(data, len);
	}
	fclose(file);
	print_counts(0);
	return 0;
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < CPUS; i++)
		ht_reader_init(&readers[i]);
	if (argc == 2 && !strcmp(argv[1], "calls"))
		return calls();
	if (argc == 3 && !strcmp(argv[1], "stream"))
		return stream(argv[2]);
	if (argc == 7 && !strcmp(argv[1], "rings"))
		return rings_save(argv + 2);
	fprintf(stderr, "usage: hypertrace calls | stream FILE | rings PID GPA BYTES NONCE FILE\n");
	return 2;
}
