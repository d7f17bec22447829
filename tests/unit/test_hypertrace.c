/* SPDX-License-Identifier: Apache-2.0 */
/* The hypertrace format: what the writer writes, the reader reads; what nobody wrote, it survives.
 */
#include "tests/unit/unit.h"

#include "channel/reader.h"
#include "channel/writer.h"
#include "tests/unit/oracle.h"

#include <stdio.h>

static uint64_t seed = 77;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(oracle_random(&seed) % limit);
}

/* One thing that was written, and must come out again. */
struct expected {
	uint8_t opcode, state;
	uint64_t tsc;
	int64_t args[HT_ARGS_MAX];
	unsigned nr_args;
	char text[32];
};

#define EVENTS 5000
#define SHIFT 4

struct run {
	struct expected events[EVENTS];
	unsigned nr;
	uint8_t stream[EVENTS * 40];
	uint32_t stream_len;
	uint8_t block[HT_BLOCK_BYTES_MAX];
	struct ht_writer writer;
	uint64_t tsc;
	int32_t current;
	uint32_t room;
};

static struct run run;

static void finish_block(void)
{
	uint32_t len = ht_end(&run.writer);

	assert_true(run.stream_len + len <= sizeof(run.stream));
	memcpy(run.stream + run.stream_len, run.block, len);
	run.stream_len += len;
}

static struct ht_task task_of(int32_t tid)
{
	static const char *const names[] = {"swapper/0", "init", "worker", "fifteen-letters", NULL};

	return (struct ht_task){tid, tid ? tid / 2 : -1, tid % 3 == 0, names[tid % 5]};
}

static void begin_block(void)
{
	struct ht_task task = task_of(run.current);

	ht_begin(&run.writer, run.block, run.room, run.tsc);
	assert_true(ht_current(&run.writer, &task));
}

static bool put_switch(struct expected *e)
{
	struct ht_task next = task_of((int32_t)below(40));

	e->state = (uint8_t)below(HT_OTHER + 1);
	if (!ht_switch(&run.writer, run.tsc, &next, (enum ht_state)e->state))
		return false;
	e->opcode = 0;
	e->args[0] = run.current;
	e->args[1] = run.current = next.tid;
	e->nr_args = 2;
	return true;
}

static bool put_waking(struct expected *e)
{
	struct ht_task task = task_of((int32_t)below(40));
	uint64_t cpu = below(300);

	e->opcode = HT_WAKING;
	e->args[0] = task.tid;
	e->args[1] = (int64_t)cpu;
	e->nr_args = 2;
	return ht_task_record(&run.writer, run.tsc, HT_WAKING, &task, &cpu, 1);
}

static bool put_syscall(struct expected *e)
{
	int64_t ret = (int64_t)oracle_random(&seed) >> below(64);
	int64_t id = (int64_t)below(400) - 1;
	const uint64_t args[] = {ht_signed(id), ht_signed(ret)};

	e->opcode = HT_SYSCALL_EXIT;
	e->args[0] = id;
	e->args[1] = ret;
	e->nr_args = 2;
	return ht_record(&run.writer, run.tsc, HT_SYSCALL_EXIT, args, 2, NULL, 0);
}

static bool put_mark(struct expected *e)
{
	const uint64_t args[] = {HT_MARK_BEGIN, oracle_random(&seed)};

	e->opcode = HT_MARK;
	e->args[0] = HT_MARK_BEGIN;
	e->args[1] = (int64_t)args[1];
	e->nr_args = 2;
	snprintf(e->text, sizeof(e->text), "request %u", below(1000));
	return ht_record(&run.writer, run.tsc, HT_MARK, args, 2, e->text,
			 (uint32_t)strlen(e->text));
}

static void write_run(uint32_t room)
{
	static bool (*const put[])(struct expected *) = {put_switch, put_switch, put_waking,
							 put_syscall, put_mark};

	memset(&run, 0, sizeof(run));
	run.room = room;
	run.tsc = UINT64_C(1) << 40;
	ht_writer_init(&run.writer, 3, SHIFT);
	begin_block();
	while (run.nr < EVENTS) {
		struct expected *e = &run.events[run.nr];
		bool (*one)(struct expected *) = put[below(5)];

		run.tsc += below(200000);
		e->tsc = run.tsc;
		if (!one(e)) {
			finish_block();
			begin_block();
			assert_true(one(e));
		}
		run.nr++;
	}
	finish_block();
}

static void expect_item(const struct ht_item *item, const struct expected *e)
{
	assert_int_equal(item->opcode < 0x80 ? 0 : item->opcode, e->opcode);
	if (!e->opcode)
		assert_int_equal(item->state, e->state);
	assert_true(item->tsc <= e->tsc);
	assert_true(e->tsc - item->tsc < 1 << SHIFT);
	assert_int_equal(item->nr_args, e->nr_args);
	assert_memory_equal(item->args, e->args, e->nr_args * sizeof(*e->args));
	if (*e->text) {
		assert_int_equal(item->text[0].len, strlen(e->text));
		assert_memory_equal(item->text[0].at, e->text, strlen(e->text));
	}
}

static void round_trip(void **state)
{
	static const uint32_t rooms[] = {128, 500, HT_CALL_BLOCK_MAX, HT_BLOCK_BYTES_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct ht_reader reader;
		struct ht_item item;
		unsigned nr = 0;

		write_run(rooms[i]);
		ht_reader_init(&reader);
		for (uint32_t at = 0; at < run.stream_len; at += reader.len) {
			assert_int_equal(
				ht_block_open(&reader, run.stream + at, run.stream_len - at), 0);
			assert_int_equal(reader.cpu, 3);
			while (ht_block_next(&reader, &item))
				if (item.opcode < 0x80 || item.opcode > HT_TABLE_LAST)
					expect_item(&item, &run.events[nr++]);
		}
		assert_int_equal(nr, EVENTS);
		assert_int_equal(reader.stats.blocks_broken, 0);
		assert_int_equal(reader.stats.blocks_lost, 0);
	}
}

/* A length that no block has is no length: neither shorter than a head, nor longer than a block. */
static void lengths(void **state)
{
	static const uint32_t bad[] = {0, 1, HT_HEADER_BYTES - 1, HT_BLOCK_BYTES_MAX + 1, 65535};
	uint8_t block[HT_HEADER_BYTES];
	struct ht_reader reader;

	(void)state;
	write_run(700);
	memcpy(block, run.stream, sizeof(block));
	assert_true(ht_block_length(block, sizeof(block)) > HT_HEADER_BYTES);
	assert_int_equal(ht_block_length(block, sizeof(block) - 1), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		block[4] = bad[i] & 0xff;
		block[5] = (uint8_t)(bad[i] >> 8);
		assert_int_equal(ht_block_length(block, sizeof(block)), 0);
		ht_reader_init(&reader);
		assert_true(ht_block_open(&reader, block, sizeof(block)) < 0);
	}
}

/* The same through hypercalls, with one call in twenty lost: what arrives is right, and what does
 * not is counted. */
static void hypercalls(void **state)
{
	static struct ht_assembler assembler;
	uint32_t seq = 0, whole = 0, sent = 0, hit = 0, before = 0, behind = 0;
	struct ht_reader reader;
	struct ht_item item;

	(void)state;
	write_run(700);
	ht_reader_init(&reader);
	for (uint32_t at = 0, len; at < run.stream_len; at += len, seq++) {
		bool lost = false;

		len = ht_block_length(run.stream + at, run.stream_len - at);
		for (uint32_t i = 0; i < ht_call_fragments(len); i++) {
			struct ht_call c;
			uint32_t got;

			ht_call_fragment(&c, run.stream + at, len, seq, i,
					 i + 1 == ht_call_fragments(len));
			assert_true(ht_is_call(c.nr));
			if (!below(20)) {
				lost = true;
				continue;
			}
			got = ht_call_take(&assembler, c.nr, c.a0, c.a1, c.a2, c.a3);
			if (!got)
				continue;
			assert_false(lost);
			assert_int_equal(got, len);
			assert_memory_equal(assembler.block, run.stream + at, len);
			whole++;
			behind = 0;
			assert_int_equal(ht_block_open(&reader, assembler.block, got), 0);
			while (ht_block_next(&reader, &item))
				;
		}
		sent++;
		hit += lost;
		before += lost && !whole;
		behind += lost && whole;
	}
	assert_true(hit > 10 && hit < sent);
	assert_int_equal(whole, sent - hit);
	assert_int_equal(reader.stats.blocks, whole);
	/* Blocks lost before the first and behind the last one that arrived cannot be seen. */
	assert_int_equal(reader.stats.blocks_lost, hit - before - behind);
}

/* Blocks that leave before their length is known: each fragment with its 36 bytes, the last with
 * the end. */
static void open_blocks(void **state)
{
	static struct ht_assembler assembler;
	static uint8_t block[HT_CALL_BLOCK_MAX];
	struct ht_task task = {1, 1, false, "init"};
	struct ht_writer w;
	struct ht_reader reader;
	struct ht_item item;

	(void)state;
	ht_writer_init(&w, 3, 0);
	ht_reader_init(&reader);
	for (uint32_t events = 0; events < 700; events += 1 + events / 40) {
		uint64_t tsc = 1000000, arg = 5;
		uint32_t sent = 0, len, got = 0, seen = 0, written = 0, seq = w.seq;
		struct ht_call c;

		ht_lost(&w, events);
		ht_begin_open(&w, block, sizeof(block), tsc);
		assert_true(ht_current(&w, &task));
		while (written < events &&
		       ht_record(&w, tsc += 77, HT_SOFTIRQ_ENTRY, &arg, 1, NULL, 0)) {
			written++;
			for (; w.used - sent >= HT_CALL_BYTES; sent += HT_CALL_BYTES) {
				ht_call_fragment(&c, block, w.used, seq, sent / HT_CALL_BYTES,
						 false);
				assert_int_equal(
					ht_call_take(&assembler, c.nr, c.a0, c.a1, c.a2, c.a3), 0);
			}
		}
		len = ht_end_open(&w);
		assert_in_range(len, HT_HEADER_BYTES, sizeof(block));
		for (; sent < len; sent += HT_CALL_BYTES) {
			assert_int_equal(got, 0);
			ht_call_fragment(&c, block, len, seq, sent / HT_CALL_BYTES,
					 len - sent <= HT_CALL_BYTES);
			got = ht_call_take(&assembler, c.nr, c.a0, c.a1, c.a2, c.a3);
		}
		assert_in_range(got, len, len + HT_CALL_BYTES - 1);
		assert_int_equal(ht_block_open(&reader, assembler.block, got), 0);
		assert_int_equal(reader.lost_before, events);
		while (ht_block_next(&reader, &item))
			seen += item.opcode == HT_SOFTIRQ_ENTRY;
		assert_int_equal(seen, written);
	}
	assert_int_equal(reader.stats.blocks_broken, 0);
	assert_int_equal(reader.stats.blocks_lost, 0);
}

static void dropped_events_are_said(void **state)
{
	struct ht_reader reader;

	(void)state;
	run.tsc = 5;
	run.room = 256;
	run.current = 1;
	ht_writer_init(&run.writer, 0, 0);
	ht_lost(&run.writer, 17);
	ht_lost(&run.writer, 4);
	begin_block();
	ht_reader_init(&reader);
	assert_int_equal(ht_block_open(&reader, run.block, ht_end(&run.writer)), 0);
	assert_int_equal(reader.lost_before, 21);
	ht_lost(&run.writer, HT_LOST_MANY - 1);
	ht_lost(&run.writer, HT_LOST_MANY - 1);
	begin_block();
	assert_int_equal(ht_block_open(&reader, run.block, ht_end(&run.writer)), 0);
	assert_int_equal(reader.lost_before, HT_LOST_MANY);
}

/* The guest booted again: its writer counts from 0. */
static void writers_begin_anew(void **state)
{
	struct ht_reader reader;

	(void)state;
	run.tsc = 5;
	run.room = 256;
	run.current = 1;
	ht_reader_init(&reader);
	for (uint32_t i = 0; i < 3; i++) {
		ht_writer_init(&run.writer, 0, 0);
		run.writer.seq = i < 2 ? i * 10 : 0;
		begin_block();
		assert_int_equal(ht_block_open(&reader, run.block, ht_end(&run.writer)), 0);
		assert_int_equal(reader.gap_before, i > 0);
		assert_int_equal(reader.stats.blocks_lost, i ? 9 : 0);
	}
}

/* The page in docs/formats says 6 bytes or less for a switch in the median. */
static void switches_are_small(void **state)
{
	struct ht_writer w;
	static uint8_t block[HT_CALL_BLOCK_MAX];
	uint64_t tsc = 1 << 30;
	unsigned nr = 0;

	(void)state;
	ht_writer_init(&w, 0, SHIFT);
	ht_begin(&w, block, sizeof(block), tsc);
	for (;; nr++) {
		struct ht_task next = {(int32_t)below(8), -1, false, NULL};

		tsc += 20000 + below(200000);
		if (!ht_switch(&w, tsc, &next, HT_SLEEPING))
			break;
	}
	assert_true(ht_end(&w) < nr * 4);
}

static void marks(void **state)
{
	struct ht_mark_call mark;
	struct ht_call c;

	(void)state;
	ht_call_mark(&c, HT_MARK_END, 42, "checkout of a basket", 20);
	assert_true(ht_is_mark(c.nr));
	assert_true(ht_mark_take(&mark, c.nr, c.a0, c.a1, c.a2, c.a3));
	assert_int_equal(mark.kind, HT_MARK_END);
	assert_int_equal(mark.id, 42);
	assert_string_equal(mark.text, "checkout of a basket");
	assert_false(ht_mark_take(&mark, c.nr | UINT64_C(0xff) << 32, 0, 0, 0, 0));
	assert_false(ht_mark_take(&mark, c.nr | UINT64_C(0xf) << 44, 0, 0, 0, 0));
}

/* An opcode that this version does not have is read once a description has come. */
static void unknown_opcodes(void **state)
{
	static const uint8_t described[] = {HT_DESCRIBE, 0xef, 0x01, 3, 'n', 'e', 'w', 2, 'u', 's'};
	static const uint8_t record[] = {0xef, 5, 7, 9};
	struct ht_reader reader;
	struct ht_item item;
	uint8_t block[64] = {0x53, 0x48, HT_VERSION, 0, HT_HEADER_BYTES + 4};

	(void)state;
	memcpy(block + HT_HEADER_BYTES, record, sizeof(record));
	ht_reader_init(&reader);
	assert_int_equal(ht_block_open(&reader, block, sizeof(block)), 0);
	assert_false(ht_block_next(&reader, &item));
	assert_int_equal(reader.stats.blocks_broken, 1);

	block[4] = HT_HEADER_BYTES + sizeof(described) + sizeof(record);
	memcpy(block + HT_HEADER_BYTES, described, sizeof(described));
	memcpy(block + HT_HEADER_BYTES + sizeof(described), record, sizeof(record));
	assert_int_equal(ht_block_open(&reader, block, sizeof(block)), 0);
	assert_true(ht_block_next(&reader, &item));
	assert_true(ht_block_next(&reader, &item));
	assert_int_equal(item.args[0], 7);
	assert_int_equal(item.args[1], -5);
	assert_int_equal(item.tsc, 5);
}

static void tables(void **state)
{
	static uint8_t block[512];
	struct ht_reader reader;
	struct ht_item item;
	struct ht_writer w;
	unsigned next = 0, described = 0, blocks = 0;
	bool done;

	(void)state;
	ht_reader_init(&reader);
	ht_writer_init(&w, 0, 0);
	do {
		ht_begin(&w, block, sizeof(block), 1);
		if (!blocks++) {
			assert_true(ht_machine(&w, "vm-a", "6.1.0", 2300000, 4));
			assert_true(ht_symbol(&w, 9, 0xffffffff81000000, "start_kernel"));
		}
		done = ht_describe_all(&w, &next);
		assert_int_equal(ht_block_open(&reader, block, ht_end(&w)), 0);
		while (ht_block_next(&reader, &item)) {
			if (item.opcode == HT_MACHINE)
				assert_int_equal(item.args[0], 2300000);
			else if (item.opcode == HT_SYMBOL)
				assert_int_equal(item.args[1], (int64_t)0xffffffff81000000);
			else
				described += item.opcode == HT_DESCRIBE;
		}
	} while (!done);
	assert_int_equal(reader.stats.blocks_broken, 0);
	assert_true(blocks > 1);
	assert_int_equal(described, next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(lengths),
		cmocka_unit_test(hypercalls),
		cmocka_unit_test(open_blocks),
		cmocka_unit_test(dropped_events_are_said),
		cmocka_unit_test(writers_begin_anew),
		cmocka_unit_test(switches_are_small),
		cmocka_unit_test(marks),
		cmocka_unit_test(unknown_opcodes),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
