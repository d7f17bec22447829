/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a recording: the folder that takes them, and their joining into a trace.dat. */
#define _GNU_SOURCE /* fallocate() */
#include "tests/unit/unit.h"

#include "record/host/clocks.h"
#include "record/tracers/datfile.h"
#include "record/directory/folder.h"
#include "record/directory/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int make_scratch(void **state)
{
	char *dir = strdup("/tmp/sonde-test-record-XXXXXX");

	*state = mkdtemp(dir);
	return *state ? 0 : -1;
}

static int remove_scratch(void **state)
{
	nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}

static const char *in(void **state, const char *name)
{
	static char path[8][512];
	static unsigned next;
	char *p = path[next++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", (const char *)*state, name);
	return p;
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

static struct buffer read_all(const char *path)
{
	struct buffer b = {0};

	assert_true(buffer_file(&b, AT_FDCWD, path) >= 0);
	return b;
}

/* ---- the smallest head and tail ---- */

static void make_head(struct buffer *b)
{
	buffer_bytes(b, "\x17\x08\x44tracing", 10);
	buffer_text(b, "6");
	buffer_bytes(b, "\0\x08", 2);
	buffer_u32(b, PAGE);
	buffer_text(b, "header_page");
	buffer_u64(b, 3);
	buffer_bytes(b, "abc", 3);
	buffer_text(b, "header_event");
	buffer_u64(b, 0);
	buffer_u32(b, 1); /* ftrace's own formats */
	buffer_u64(b, 2);
	buffer_bytes(b, "xy", 2);
	buffer_u32(b, 1); /* systems */
	buffer_text(b, "sched");
	buffer_u32(b, 1);
	buffer_u64(b, 1);
	buffer_bytes(b, "z", 1);
	buffer_u32(b, 0); /* symbols */
	buffer_u32(b, 4); /* printk formats */
	buffer_bytes(b, "fmt\n", 4);
}

static void make_tail(struct buffer *b, uint32_t nr_cpus, const char *comm)
{
	buffer_u64(b, strlen(comm));
	buffer_bytes(b, comm, strlen(comm));
	buffer_u32(b, nr_cpus);
	buffer_bytes(b, "options  ", 10);
	buffer_u16(b, 8);
	buffer_u32(b, 4);
	buffer_u32(b, nr_cpus);
	buffer_u16(b, 0);
}

static void put_file(const char *path, const void *data, size_t len_bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len_bytes), len_bytes);
	close(fd);
}

static void put_buffer(const char *path, struct buffer *b)
{
	put_file(path, b->data, b->len_bytes);
	buffer_release(b);
}

static void put_pages(const char *path, unsigned nr, char with, size_t more)
{
	char *data = malloc(nr * PAGE + more);

	for (unsigned i = 0; i < nr; i++)
		memset(data + i * PAGE, with + (char)i, PAGE);
	memset(data + nr * PAGE, '?', more);
	put_file(path, data, nr * PAGE + more);
	free(data);
}

static void make_parts(void **state)
{
	struct buffer head = {0}, tail = {0};

	make_head(&head);
	make_tail(&tail, 2, "1 init\n");
	put_buffer(in(state, "head"), &head);
	put_buffer(in(state, "tail0"), &tail);
	put_pages(in(state, "cpu0.raw"), 3, 'a', 0);
	put_pages(in(state, "cpu1.raw"), 2, 'k', 100); /* a page that was cut off */
}

/* Where CPU @cpu's pages are, by the table behind "flyrecord". */
static const char *pages_of(const struct buffer *whole, uint32_t nr_cpus, unsigned cpu,
			    uint64_t *len_bytes)
{
	const char *table = memmem(whole->data, whole->len_bytes, "flyrecord", 10);
	uint64_t offset;

	assert_non_null(table);
	assert_true(cpu < nr_cpus);
	memcpy(&offset, table + 10 + cpu * 16, 8);
	memcpy(len_bytes, table + 10 + cpu * 16 + 8, 8);
	assert_int_equal(offset % PAGE, 0);
	assert_true(offset + *len_bytes <= whole->len_bytes);
	return whole->data + offset;
}

static void check_whole(void **state, uint32_t nr_cpus)
{
	struct buffer whole = read_all(in(state, "trace.dat"));
	struct buffer head = {0};
	const char *p;
	uint64_t len;

	make_head(&head);
	assert_memory_equal(whole.data, head.data, head.len_bytes);
	p = pages_of(&whole, nr_cpus, 0, &len);
	assert_int_equal(len, 3 * PAGE);
	for (unsigned i = 0; i < 3 * PAGE; i++)
		assert_int_equal(p[i], 'a' + (char)(i / PAGE));
	p = pages_of(&whole, nr_cpus, 1, &len);
	assert_int_equal(len, 2 * PAGE);
	for (unsigned i = 0; i < 2 * PAGE; i++)
		assert_int_equal(p[i], 'k' + (char)(i / PAGE));
	buffer_release(&head);
	buffer_release(&whole);
	assert_false(is_there(in(state, "head")));
	assert_false(is_there(in(state, "cpu0.raw")));
	assert_false(is_there(in(state, "trace.dat.part")));
}

/* ---- joining ---- */

static void parts_are_joined(void **state)
{
	make_parts(state);
	assert_true(datfile_has_parts(*state));
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 2);
	assert_false(datfile_has_parts(*state));
}

/* A CPU that came after the tail was written, and one between that wrote nothing. */
static void later_cpus_have_their_place(void **state)
{
	struct buffer whole;
	uint64_t len;

	make_parts(state);
	put_pages(in(state, "cpu5.raw"), 1, 'x', 0);
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 6);
	whole = read_all(in(state, "trace.dat"));
	assert_int_equal(*pages_of(&whole, 6, 5, &len), 'x');
	assert_int_equal(len, PAGE);
	pages_of(&whole, 6, 3, &len);
	assert_int_equal(len, 0);
	buffer_release(&whole);
}

/* A copy beside a CPU's file is neither taken for it nor removed. */
static void only_a_cpus_own_file_is_its_part(void **state)
{
	static const char *const others[] = {"cpu1.raw.bak", "cpu01.raw", "cpu1.raw~",
					     "cpu+1.raw",    "cpu 1.raw", "cpu9.rawest"};

	make_parts(state);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		put_pages(in(state, others[i]), 4, 'q', 0);
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 2);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(is_there(in(state, others[i])));
}

/* The last whole tail counts. */
static void tails(void **state)
{
	struct buffer tail = {0}, whole;

	make_parts(state);
	make_tail(&tail, 2, "2 later\n");
	tail.len_bytes -= 3; /* killed while it was written */
	put_buffer(in(state, "tail1"), &tail);
	assert_int_equal(datfile_join(*state, NULL), 0);
	whole = read_all(in(state, "trace.dat"));
	assert_non_null(memmem(whole.data, whole.len_bytes, "1 init\n", 7));
	assert_null(memmem(whole.data, whole.len_bytes, "2 later\n", 8));
	buffer_release(&whole);
	unlink(in(state, "trace.dat"));

	make_parts(state);
	make_tail(&tail, 2, "2 later\n");
	put_buffer(in(state, "tail1"), &tail);
	assert_int_equal(datfile_join(*state, NULL), 0);
	whole = read_all(in(state, "trace.dat"));
	assert_non_null(memmem(whole.data, whole.len_bytes, "2 later\n", 8));
	assert_null(memmem(whole.data, whole.len_bytes, "1 init\n", 7));
	buffer_release(&whole);
}

/* Where in a tail's options that one's data is; fails when it is not there. */
static const char *option(const struct buffer *tail, uint16_t wanted)
{
	size_t at = 8 + 4 + 10; /* no names of threads, CPUs, "options  " */

	for (;;) {
		uint16_t id;
		uint32_t len;

		assert_true(at + sizeof(id) + sizeof(len) <= tail->len_bytes);
		memcpy(&id, tail->data + at, sizeof(id));
		memcpy(&len, tail->data + at + sizeof(id), sizeof(len));
		assert_true(id);
		at += sizeof(id) + sizeof(len);
		if (id == wanted)
			return tail->data + at;
		at += len;
	}
}

/* The factor of a counter of 1 GHz, as the kernel gives it, is a signed number for libtracecmd. */
static void rates_are_signed(void **state)
{
	const struct tsc_rate rates[] = {{.mult = 0x80000000, .shift = 31},
					 {.mult = 0xfffffffe, .shift = 32},
					 {.mult = 1654321987, .shift = 32}};
	int dir = open(*state, O_RDONLY | O_DIRECTORY);

	assert_true(dir >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct buffer none = {0}, tail = {0};
		struct error err;
		const struct dat_tail told = {
			.comms = &none, .instance_dir = dir, .rate = &rates[i], .writer = "test"};
		int32_t factor[2];

		assert_int_equal(datfile_tail(&tail, &told, &err), 0);
		memcpy(factor, option(&tail, 14), sizeof(factor));
		assert_true(factor[0] > 0);
		assert_true((uint64_t)factor[0] << (rates[i].shift - (uint32_t)factor[1]) ==
			    rates[i].mult);
		buffer_release(&tail);
	}
	close(dir);
}

/* A head or tail cut anywhere, or with any number in it changed, is refused or joined; the parts
 * stay when it is refused. */
static void damaged_tables(void **state)
{
	struct buffer head = {0}, tail = {0};

	make_head(&head);
	make_tail(&tail, 2, "1 init\n");
	for (size_t cut = 0; cut < head.len_bytes; cut++) {
		make_parts(state);
		put_file(in(state, "head"), head.data, cut);
		assert_int_equal(datfile_join(*state, NULL), -ENOENT);
		assert_true(is_there(in(state, "cpu1.raw")));
	}
	for (size_t cut = 0; cut < tail.len_bytes; cut++) {
		make_parts(state);
		put_file(in(state, "tail0"), tail.data, cut);
		assert_int_equal(datfile_join(*state, NULL), -ENOENT);
	}
	for (size_t at = 0; at < head.len_bytes + tail.len_bytes; at++) {
		struct buffer *which = at < head.len_bytes ? &head : &tail;
		char *byte = which->data + (at < head.len_bytes ? at : at - head.len_bytes);
		char before = *byte;
		int ret;

		*byte = (char)0xff;
		make_parts(state);
		put_file(in(state, "head"), head.data, head.len_bytes);
		put_file(in(state, "tail0"), tail.data, tail.len_bytes);
		*byte = before;
		ret = datfile_join(*state, NULL);
		assert_true(ret == 0 || ret == -ENOENT);
		assert_int_equal(is_there(in(state, "trace.dat")), !ret);
		unlink(in(state, "trace.dat"));
	}
	buffer_release(&head);
	buffer_release(&tail);
}

/* A joining that was stopped goes on: what it has moved is a hole in the parts by then. */
static void joining_goes_on(void **state)
{
	struct buffer whole;
	uint64_t len, at;
	int fd;

	make_parts(state);
	assert_int_equal(datfile_join(*state, NULL), 0);
	whole = read_all(in(state, "trace.dat"));
	at = (uint64_t)(pages_of(&whole, 2, 0, &len) - whole.data);

	/* Killed when the first two pages of CPU 0 had been moved. */
	make_parts(state);
	fd = open(in(state, "cpu0.raw"), O_WRONLY);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * PAGE)) {
		close(fd);
		buffer_release(&whole);
		skip();
	}
	close(fd);
	rename(in(state, "trace.dat"), in(state, "trace.dat.part"));
	fd = open(in(state, "trace.dat.part"), O_WRONLY);
	assert_int_equal(ftruncate(fd, (off_t)(at + 2 * PAGE)), 0);
	close(fd);
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 2);
	buffer_release(&whole);

	/* Killed between the joining and the removal of the parts. */
	make_parts(state);
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 2);
}

static void expect_refused(void **state, const char *what)
{
	struct error err = {0};

	assert_int_equal(datfile_join(*state, &err), -EEXIST);
	if (!strstr(err.text, "trace.dat is not what the parts beside it make")) {
		print_error("%s: %s\n", what, err.text);
		assert_true(false);
	}
	assert_true(is_there(in(state, "head")));
	assert_true(is_there(in(state, "tail0")));
	assert_true(is_there(in(state, "cpu0.raw")));
	assert_true(is_there(in(state, "cpu1.raw")));
}

/* The parts may be the only copy: they go only when the trace.dat beside them holds them all. */
static void another_trace_is_no_copy_of_the_parts(void **state)
{
	struct buffer whole;

	make_parts(state);
	assert_int_equal(datfile_join(*state, NULL), 0);
	whole = read_all(in(state, "trace.dat"));

	make_parts(state);
	for (size_t cut = 1; cut < whole.len_bytes; cut += cut < 600 ? 7 : PAGE / 2) {
		put_file(in(state, "trace.dat"), whole.data, cut);
		expect_refused(state, "cut");
	}
	whole.data[3] ^= 1;
	put_file(in(state, "trace.dat"), whole.data, whole.len_bytes);
	expect_refused(state, "another head");
	whole.data[3] ^= 1;
	put_file(in(state, "trace.dat"), whole.data, whole.len_bytes);
	put_pages(in(state, "cpu1.raw"), 3, 'k', 0);
	expect_refused(state, "a longer part");
	make_parts(state);
	put_pages(in(state, "cpu5.raw"), 1, 'x', 0);
	expect_refused(state, "another CPU");
	unlink(in(state, "cpu5.raw"));

	unlink(in(state, "trace.dat"));
	assert_int_equal(symlink("nowhere", in(state, "trace.dat")), 0);
	expect_refused(state, "a link to nothing");
	unlink(in(state, "trace.dat"));
	put_file(in(state, "trace.dat"), "", 0); /* with which nothing is lost */
	assert_int_equal(datfile_join(*state, NULL), 0);
	check_whole(state, 2);
	buffer_release(&whole);
}

/* ---- the folder ---- */

static void folder_names_its_files(void **state)
{
	const char *path = in(state, "machine");
	struct sink *s;

	assert_int_equal(folder_open(&s, path, NULL, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_HEAD, 0, "h", 1, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_TAIL, 1, "t", 1, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_CPU, 17, "c", 1, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_CPU, 17, "d", 1, NULL), 0);
	assert_int_equal(s->ops->file(s, 3, "kernel/index/ch_0.idx", NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_FILE, 3, "f", 1, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_BLOCKS, 0, "b", 1, NULL), 0);
	assert_int_equal(folder_bytes(s), 6);

	/* What a guest may try. */
	assert_int_equal(s->ops->write(s, SINK_HEAD, 1, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, SINK_TAIL, 2, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, SINK_CPU, 4000000000u, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, SINK_FILE, 4, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, SINK_BLOCKS, 1, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, SINK_KINDS, 0, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->write(s, (enum sink_part) - 1, 0, "x", 1, NULL), -EINVAL);
	assert_int_equal(s->ops->file(s, 3, "again", NULL), -EEXIST);
	assert_int_equal(s->ops->file(s, 5, "kernel/index/ch_0.idx", NULL), -EEXIST);
	assert_int_equal(s->ops->file(s, FOLDER_FILES_MAX, "a", NULL), -EINVAL);
	folder_close(s);

	assert_true(is_there(in(state, "machine/head")));
	assert_true(is_there(in(state, "machine/tail1")));
	assert_true(is_there(in(state, "machine/hypertrace")));
	assert_true(is_there(in(state, "machine/cpu17.raw")));
	assert_true(is_there(in(state, "machine/hypertrace")));
	assert_true(is_there(in(state, "machine/lttng/kernel/index/ch_0.idx")));
	assert_false(is_there(in(state, "machine/reserve")));
}

static void folder_refuses_names(void **state)
{
	static const char *const names[] = {
		"",	"/",	"/etc/passwd", "../up", "a/../b", "a/..", ".",	 "..",	 ".hidden",
		"a/.b", "a//b", "a/",	       "a b",	"a\nb",	  "a\\b", "a:b", "\xff", "a\x01",
	};
	char large[400];
	struct sink *s;

	assert_int_equal(folder_open(&s, in(state, "machine"), NULL, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(s->ops->file(s, (unsigned)i, names[i], NULL), -EINVAL);
	memset(large, 'a', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(s->ops->file(s, 100, large, NULL), -EINVAL);
	folder_close(s);
	assert_false(is_there(in(state, "machine/lttng")));
}

static void folder_has_a_limit(void **state)
{
	struct folder_options opt = {.limit_bytes = 10};
	struct error err = {0};
	struct sink *s;

	assert_int_equal(folder_open(&s, in(state, "machine"), &opt, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_CPU, 0, "12345678", 8, NULL), 0);
	assert_int_equal(s->ops->write(s, SINK_CPU, 0, "12345678", 8, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "limit of 10 bytes"));
	/* From then on nothing, but for the end. */
	assert_int_equal(s->ops->write(s, SINK_CPU, 1, "1", 1, NULL), -EDQUOT);
	assert_int_equal(s->ops->write(s, SINK_TAIL, 1, "end", 3, NULL), 0);
	folder_close(s);
}

/* Nobody can lead it out of the folder by a link that is there already. */
static void folder_follows_no_link(void **state)
{
	struct sink *s;

	assert_int_equal(symlink(*state, in(state, "link")), 0);
	assert_true(folder_open(&s, in(state, "link"), NULL, NULL) < 0);
	assert_null(s);
	assert_int_equal(mkdir(in(state, "machine"), 0755), 0);
	assert_int_equal(symlink("/tmp", in(state, "machine/lttng")), 0);
	assert_int_equal(symlink("/dev/null", in(state, "machine/head")), 0);
	assert_int_equal(folder_open(&s, in(state, "machine"), NULL, NULL), 0);
	assert_true(s->ops->write(s, SINK_HEAD, 0, "x", 1, NULL) < 0);
	assert_true(s->ops->file(s, 0, "sonde-test-record-file", NULL) < 0);
	assert_false(is_there("/tmp/sonde-test-record-file"));
	folder_close(s);
}

/* ---- the history ---- */

static void machines_have_names(void **state)
{
	struct run_machine *host, *a, *b, *odd;
	struct run *run;

	assert_int_equal(run_create(&run, in(state, "run"), "sonde record", "1", NULL), 0);
	host = run_add_machine(run, "host0", NULL, NULL);
	a = run_add_machine(run, "vm a/../b", host, NULL);
	b = run_add_machine(run, "vm a/../b", host, NULL);
	odd = run_add_machine(run, "..", a, NULL);
	assert_string_equal(host->parent, "");
	assert_string_equal(a->name, "vm_a_.._b");
	assert_string_equal(a->parent, "host0");
	assert_string_equal(b->name, "vm_a_.._b-2");
	assert_int_not_equal(odd->name[0], '.');
	assert_string_equal(odd->parent, a->name);
	/* A guest "run" has a guest "json". */
	assert_string_equal(run_add_machine(run, "run.json", a, NULL)->name, "run.json-2");
	assert_string_equal(run_add_machine(run, "run.json.part", a, NULL)->name,
			    "run.json.part-2");
	assert_int_equal(run_save(run, NULL), 0);
	assert_true(is_there(in(state, "run/run.json")));
	run_abandon(run);
	assert_false(is_there(in(state, "run")));
}

static void runs_are_locked_and_recovered(void **state)
{
	char long_path[5000] = "/tmp/sonde-test-record-long/";
	struct error err = {0};
	struct run *run, *other;
	unsigned done;

	memset(long_path + strlen(long_path), '/', sizeof(long_path) - strlen(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(run_create(&run, long_path, "", "1", &err), -ENAMETOOLONG);
	assert_false(is_there("/tmp/sonde-test-record-long"));

	assert_int_equal(run_create(&run, in(state, "run"), "", "1", NULL), 0);
	assert_int_equal(run_save(run, NULL), 0);
	assert_int_equal(run_recover(in(state, "run"), &done, &err), -EBUSY);
	assert_int_equal(run_create(&other, in(state, "run"), "", "1", &err), -EBUSY);
	run_abandon(run);
	assert_int_equal(run_recover(*state, &done, &err), -ENOENT);
	assert_false(is_there(in(state, "run.json")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_are_joined),
		TEST(later_cpus_have_their_place),
		TEST(only_a_cpus_own_file_is_its_part),
		TEST(tails),
		TEST(rates_are_signed),
		TEST(damaged_tables),
		TEST(another_trace_is_no_copy_of_the_parts),
		TEST(joining_goes_on),
		TEST(folder_names_its_files),
		TEST(folder_refuses_names),
		TEST(folder_has_a_limit),
		TEST(folder_follows_no_link),
		TEST(machines_have_names),
		TEST(runs_are_locked_and_recovered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
