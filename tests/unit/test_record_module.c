/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent passes on from the guest's kernel module; a fifo stands for the module's device. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/writer.h"
#include "record/base/cpus.h"
#include "record/tracers/module.h"

#define ROOM 65536u
#define PATIENCE_MS 20000

struct taken {
	struct sink sink;
	int code; /* what writing returns */
	atomic_uint len;
	uint8_t bytes[ROOM];
};

static int take(struct sink *s, enum sink_part kind, unsigned number, const void *data,
		size_t len_bytes, struct error *err)
{
	struct taken *t = (struct taken *)s;
	unsigned len = t->len;

	assert_int_equal(kind, SINK_BLOCKS);
	assert_int_equal(number, 0);
	assert_true(len_bytes <= ROOM - len);
	if (t->code)
		return fail(err, t->code, "it takes no more");
	memcpy(t->bytes + len, data, len_bytes);
	t->len = len + (unsigned)len_bytes;
	return 0;
}

struct world {
	char path[64];
	int device; /* the module's end */
	struct taken taken;
	struct tracer *tracer;
	struct ht_writer writer;
};

static void begin(struct world *w, int code)
{
	static const struct sink_ops ops = {.write = take};

	memset(w, 0, sizeof(*w));
	w->taken.sink.ops = &ops;
	w->taken.code = code;
	snprintf(w->path, sizeof(w->path), "/tmp/sonde-test-module-%d", (int)getpid());
	unlink(w->path);
	assert_int_equal(mkfifo(w->path, 0600), 0);
	w->device = open(w->path, O_RDWR | O_CLOEXEC);
	assert_true(w->device >= 0);
	ht_writer_init(&w->writer, 3, 0);
	assert_int_equal(module_open(&w->tracer, w->path, &w->taken.sink, NULL), 0);
	assert_int_equal(w->tracer->marker, -1);
	assert_int_equal(w->tracer->ops->on(w->tracer, NULL), 0);
}

static void end(struct world *w)
{
	assert_int_equal(w->tracer->ops->close(w->tracer, NULL), 0);
	close(w->device);
	unlink(w->path);
}

static unsigned make_block(struct ht_writer *writer, uint8_t block[static 512])
{
	const struct ht_task task = {10, 10, false, "worker"};

	ht_begin(writer, block, 512, 1000);
	ht_switch(writer, 1000, &task, HT_SLEEPING);
	return ht_end(writer);
}

static unsigned send_block(struct world *w)
{
	uint8_t block[512];
	unsigned len = make_block(&w->writer, block);

	assert_int_equal(write(w->device, block, len), len);
	return len;
}

static void wait_a_while(void)
{
	usleep(20000);
}

static void test_passes_on(void **state)
{
	static struct world w;
	unsigned sent = 0;

	(void)state;
	begin(&w, 0);
	for (unsigned i = 0; i < 20; i++)
		sent += send_block(&w);
	for (unsigned ms = 0; w.taken.len < sent && ms < PATIENCE_MS; ms += 20)
		wait_a_while();
	assert_int_equal(w.taken.len, sent);
	assert_int_equal(w.tracer->ops->bytes(w.tracer), sent);
	assert_int_equal(w.tracer->ops->check(w.tracer, NULL), 0);
	/* What came just before the end is not forgotten; what is lost is said. */
	w.writer.seq += 5;
	ht_lost(&w.writer, 70);
	sent += send_block(&w);
	assert_string_equal(w.tracer->missing, "");
	assert_int_equal(w.tracer->ops->off(w.tracer, NULL), 0);
	assert_int_equal(w.taken.len, sent);
	assert_int_equal(w.tracer->ops->lost(w.tracer), 70);
	assert_non_null(strstr(w.tracer->missing, "5 blocks were overwritten"));
	end(&w);
}

static void wait_for_end(struct world *w, int code)
{
	struct error err = {0};

	for (unsigned ms = 0; !w->tracer->ops->check(w->tracer, NULL) && ms < PATIENCE_MS; ms += 20)
		wait_a_while();
	assert_int_equal(w->tracer->ops->check(w->tracer, &err), code);
	assert_true(*err.text);
	assert_int_equal(w->tracer->ops->off(w->tracer, NULL), code);
	end(w);
}

static void test_ends(void **state)
{
	static struct world w;

	(void)state;
	begin(&w, -EDQUOT);
	send_block(&w);
	wait_for_end(&w, -EDQUOT);
	begin(&w, 0);
	assert_int_equal(write(w.device, "no block at all", 15), 15);
	wait_for_end(&w, -EPROTO);
	assert_int_equal(w.taken.len, 0);
}

static void test_no_device(void **state)
{
	struct error err = {0};
	struct tracer *t;

	(void)state;
	assert_int_equal(module_open(&t, "/dev/no/such", NULL, &err), -ENOENT);
	assert_null(t);
	assert_non_null(strstr(err.text, "insmod"));
}

static void test_count(void **state)
{
	static uint64_t next[CPUS_MAX];
	struct module_losses losses = {0};
	uint8_t block[512], two[1024];
	struct ht_writer w;
	unsigned len;

	(void)state;
	ht_writer_init(&w, 1, 0);
	w.seq = UINT32_MAX; /* the first one that is seen may have any number */
	len = make_block(&w, block);
	assert_true(module_count(&losses, next, block, len));
	make_block(&w, block); /* 0 follows */
	assert_true(module_count(&losses, next, block, len));
	assert_int_equal(losses.blocks, 0);
	w.seq += 2;
	make_block(&w, two);
	w.seq += 1;
	make_block(&w, block);
	memcpy(two + len, block, len);
	assert_true(module_count(&losses, next, two, 2 * len));
	assert_int_equal(losses.blocks, 3);
	/* A module that was loaded anew. */
	w.seq = 0;
	make_block(&w, block);
	assert_true(module_count(&losses, next, block, len));
	assert_int_equal(losses.blocks, 3);
	/* A block's part, and a CPU that cannot be. */
	assert_false(module_count(&losses, next, two, 2 * len - 1));
	block[7] = 0xff;
	assert_false(module_count(&losses, next, block, len));
	assert_true(module_count(&losses, next, block, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_passes_on),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_no_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
