/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create() */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "history/read/reader.h"
#include "tests/fuzz/mended_history.h"
#include "tests/unit/oracle.h"

#include <cmocka.h>

/*
 * The file of a history in bad times: writers that die, files that are cut or damaged, disks that
 * are full.  What is answered must be right; what cannot be known must be an error.
 */
#define NR_ROWS 3000
#define NR_CHANGES 700000

static struct oracle oracle;
static char path[64], copy[80];
static uint64_t seed = 777767777;

static uint64_t pick(uint64_t below)
{
	return oracle_random(&seed) % below;
}

/* Rows 0 .. 4 change often, the others seldom; two rows at a time. */
static ns_t fill(struct history_writer *w, struct oracle *o)
{
	attr_t attrs[NR_ROWS];
	ns_t t = 1000;

	for (unsigned i = 0; i < NR_ROWS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "row%u", i);
		attrs[i] = history_writer_attr(w, ATTR_ROOT, name, ATTR_NUMBER, ATTR_SUMMED);
		assert_int_equal(attrs[i], i + 1);
	}
	for (unsigned i = 0; i < NR_CHANGES; i++) {
		unsigned row = (unsigned)pick(pick(2) ? 5 : NR_ROWS);
		uint32_t value = (uint32_t)pick(30);

		t += i % 2 ? 0 : (ns_t)pick(4000);
		history_writer_set(w, attrs[row], t, value);
		if (o)
			oracle_set(o, row, t, value);
	}
	return t;
}

static struct history_writer *open_writer(const char *file, unsigned threads)
{
	const struct history_writer_options opt = {.threads = threads};
	struct history_writer *w;

	assert_int_equal(history_writer_open(&w, file, &opt, NULL), 0);
	return w;
}

static int make_file(void **state)
{
	struct history_writer *w;
	struct error err = {0};

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_history_file.%d.sonde", getpid());
	snprintf(copy, sizeof(copy), "%s.copy", path);
	oracle_init(&oracle, NR_ROWS);
	w = open_writer(path, 1);
	oracle.end = fill(w, &oracle) + 100;
	return history_writer_close(w, oracle.end, &err);
}

static int drop_file(void **state)
{
	(void)state;
	oracle_release(&oracle);
	unlink(path);
	unlink(copy);
	return 0;
}

static uint8_t *load(const char *file, size_t *len_bytes)
{
	FILE *f = fopen(file, "rb");
	struct stat st;
	uint8_t *data;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*len_bytes = (size_t)st.st_size;
	data = malloc(*len_bytes);
	assert_int_equal(fread(data, 1, *len_bytes, f), *len_bytes);
	fclose(f);
	return data;
}

static void store(const uint8_t *data, size_t len_bytes)
{
	FILE *f = fopen(copy, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len_bytes, f), len_bytes);
	assert_int_equal(fclose(f), 0);
}

/* Errors allowed by the caller are counted, everything else must be right. */
struct outcome {
	unsigned right, refused;
};

static bool count(struct outcome *o, int ret)
{
	if (ret)
		assert_int_equal(ret, -EIO);
	o->refused += ret != 0;
	o->right += ret == 0;
	return !ret;
}

static bool collect(const struct interval *i, void *data)
{
	struct interval *last = data;

	if (last->end)
		assert_int_equal(i->begin, last->end);
	*last = *i;
	return true;
}

static void ask_one(struct history *h, unsigned row, ns_t t, struct outcome *o)
{
	struct interval want = oracle_at(&oracle, row, t), got, last = {0};
	struct value_time *list;
	ns_t end = t + 1 + (ns_t)pick((uint64_t)(oracle.end - t));
	unsigned nr;

	if (count(o, history_at(h, row + 1, t, &got))) {
		assert_int_equal(got.value, want.value);
		assert_int_equal(got.begin, want.begin);
		assert_int_equal(got.end, want.end);
	}
	if (count(o, history_walk(h, row + 1, t, end, collect, &last))) {
		want = oracle_at(&oracle, row, end - 1);
		assert_int_equal(last.value, want.value);
		assert_int_equal(last.end, want.end);
	}
	if (count(o, history_sum(h, row + 1, t, end, &list, &nr))) {
		ns_t sum = 0;

		for (unsigned i = 0; i < nr; i++)
			sum += list[i].time_ns;
		assert_int_equal(sum, end - t);
		free(list);
	}
}

static void ignore_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	(void)row;
	(void)runs;
	(void)nr;
	(void)data;
}

/* Random questions about the copy, whose end the oracle has taken over. */
static void ask(struct history *h, unsigned nr, struct outcome *o)
{
	uint32_t *values = malloc(history_nr_attrs(h) * sizeof(*values));
	attr_t attrs[2] = {1, 100};

	for (unsigned i = 0; i < nr; i++) {
		ns_t t = oracle.begin + (ns_t)pick((uint64_t)(oracle.end - oracle.begin));
		ns_t end = t + 1 + (ns_t)pick((uint64_t)(oracle.end - t));

		ask_one(h, (unsigned)pick(pick(2) ? 5 : NR_ROWS), t, o);
		if (count(o, history_state(h, t, values, NULL))) {
			for (unsigned row = 0; row < NR_ROWS; row++)
				assert_int_equal(values[row + 1], oracle_at(&oracle, row, t).value);
		}
		count(o, history_pixels(h, attrs, 2, t, end, 500, ignore_runs, NULL));
	}
	free(values);
}

static void whole_file(void **state)
{
	struct outcome o = {0};
	struct history *h;

	(void)state;
	assert_int_equal(history_open(&h, path, NULL), 0);
	assert_true(history_complete(h));
	ask(h, 50, &o);
	assert_int_equal(o.refused, 0);
	history_close(h);
}

/* Opens the copy of a history that was cut; true when something of it is left. */
static bool open_cut(struct history **h)
{
	int ret = history_open(h, copy, NULL);

	if (ret) {
		assert_true(ret == -EINVAL || ret == -EIO);
		return false;
	}
	assert_false(history_complete(*h));
	if (history_end(*h) > history_begin(*h))
		return true;
	history_close(*h);
	return false;
}

static void cut_file(void **state)
{
	ns_t end = oracle.end;
	struct outcome o = {0};
	unsigned usable = 0;
	size_t len;
	uint8_t *data = load(path, &len);

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct history *h;

		store(data, i < 4 ? len - 1 - i * 40 : len / (1 + i % 3) - pick(len / 3));
		if (!open_cut(&h))
			continue;
		usable++;
		assert_true(history_end(h) <= end);
		oracle.end = history_end(h);
		ask(h, 3, &o);
		history_close(h);
		oracle.end = end;
	}
	assert_true(usable >= 8 && usable < 40);
	assert_int_equal(o.refused, 0);
	free(data);
}

/* One bit is wrong: refused, or not needed for the answer. */
static void flipped_bits(void **state)
{
	ns_t end = oracle.end;
	struct outcome o = {0};
	unsigned opened = 0;
	size_t len;
	uint8_t *data = load(path, &len);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		size_t at = i < 60 ? (i < 30 ? i * 4 : len - 1 - (i - 30) * 4) : pick(len);
		struct history *h;
		int ret;

		data[at] ^= 1u << i % 8;
		store(data, len);
		ret = history_open(&h, copy, NULL);
		assert_true(ret == 0 || ret == -EINVAL || ret == -EIO);
		if (!ret && history_end(h) > history_begin(h)) {
			opened++;
			oracle.end = history_end(h);
			ask(h, 2, &o);
			oracle.end = end;
		}
		if (!ret)
			history_close(h);
		data[at] ^= 1u << i % 8;
	}
	assert_true(opened >= 200);
	assert_true(o.refused > 0);
	free(data);
}

/* Nothing of the header is believed when any bit of it is not as it was written. */
static void a_header_has_a_checksum(void **state)
{
	size_t len;
	uint8_t *data = load(path, &len);

	(void)state;
	for (size_t at = 0; at < 64; at++) {
		struct history *h;

		data[at] ^= 1u << at % 8;
		store(data, len);
		assert_int_not_equal(history_open(&h, copy, NULL), 0);
		data[at] ^= 1u << at % 8;
	}
	free(data);
}

struct damage {
	uint64_t at; /* the byte that was changed */
	bool named;
};

static void is_it_named(const struct history_damage *damage, void *data)
{
	struct damage *d = data;

	d->named |=
		d->at >= damage->offset_bytes && d->at < damage->offset_bytes + damage->len_bytes;
}

/* The index is all that the trailer tells: without the one, the file is whole by the other. */
static void damaged_trailer(void **state)
{
	size_t len;
	uint8_t *data = load(path, &len);

	(void)state;
	for (size_t at = len - 64; at < len; at++) {
		struct damage d = {.at = at};
		struct history *h;

		data[at] ^= 1u << at % 8;
		store(data, len);
		assert_int_equal(history_open(&h, copy, NULL), 0);
		assert_true(history_complete(h));
		assert_int_equal(history_end(h), oracle.end);
		assert_int_equal(history_verify(h, is_it_named, &d), 1);
		assert_true(d.named);
		history_close(h);
		data[at] ^= 1u << at % 8;
	}
	free(data);
}

/* Bytes behind the end are no loss; without the end they are no end. */
static void bytes_behind(void **state)
{
	size_t len;
	uint8_t *data = load(path, &len);
	uint8_t *longer = calloc(1, len + 100);
	struct damage d = {0};
	struct history *h;

	(void)state;
	memcpy(longer, data, len);
	for (size_t more = 1; more <= 100; more += 33) {
		store(longer, len + more);
		assert_int_equal(history_open(&h, copy, NULL), 0);
		assert_true(history_complete(h));
		assert_int_equal(history_end(h), oracle.end);
		assert_int_equal(history_bytes_behind(h), more);
		assert_int_equal(history_verify(h, is_it_named, &d), 0);
		history_close(h);
	}
	memset(longer + len - 64, 0, 64);
	store(longer, len + 100);
	assert_int_equal(history_open(&h, copy, NULL), 0);
	assert_false(history_complete(h));
	assert_int_equal(history_bytes_behind(h), 0);
	history_close(h);
	free(longer);
	free(data);
}

/* Reading everything finds every changed bit of every part, and says where it is. */
static void verified_bits(void **state)
{
	size_t len;
	uint8_t *data = load(path, &len);
	unsigned missed = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct damage d = {.at = 64 + pick(len - 128)};
		struct history *h;

		data[d.at] ^= 1u << i % 8;
		store(data, len);
		if (!history_open(&h, copy, NULL)) {
			history_verify(h, is_it_named, &d);
			missed += !d.named; /* up to 7 bytes between parts mean nothing */
			history_close(h);
		}
		data[d.at] ^= 1u << i % 8;
	}
	assert_true(missed <= 4);
	free(data);
}

static void killed_writer(void **state)
{
	ns_t end = oracle.end;
	struct outcome o = {0};
	struct history *h;
	int status;
	pid_t pid;

	(void)state;
	seed = 777767777;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		fill(open_writer(copy, 0), NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(open_cut(&h));
	assert_true(history_end(h) > oracle.begin + (end - oracle.begin) / 4);
	oracle.end = history_end(h);
	ask(h, 30, &o);
	assert_int_equal(o.refused, 0);
	oracle.end = end;
	history_close(h);
}

/* Of a file whose writer was killed: where its last part of names with another in front of it is;
 * *@end: up to when that one reaches. */
static size_t last_names(const uint8_t *data, size_t len, ns_t *end)
{
	size_t last = 0, next;
	ns_t reaches = 0;

	for (size_t at = FILE_HEADER_BYTES; at + PART_HEADER_BYTES < len; at = next) {
		next = at + PART_HEADER_BYTES + ((get_u64(data + at + 8) + 7) & ~7ull);
		if (get_u32(data + at) != PART_MAGIC || get_u32(data + at + 4) != PART_NAMES)
			continue;
		last = at;
		*end = reaches;
		reaches = (ns_t)get_u64(data + at + 24);
	}
	assert_true(*end > oracle.begin);
	return last;
}

static void count_damage(const struct history_damage *damage, void *data)
{
	(void)damage;
	++*(unsigned *)data;
}

/* It reaches up to the last names that are as they were written; that it ends within a part is no
 * damage. */
static void damaged_names_end_an_incomplete_file(void **state)
{
	ns_t end = oracle.end;
	struct outcome o = {0};
	unsigned damages = 0;
	struct history *h;
	size_t len, at;
	uint8_t *data = load(path, &len);

	(void)state;
	at = last_names(data, len, &oracle.end);
	store(data, at + PART_HEADER_BYTES / 2);
	assert_true(open_cut(&h));
	assert_int_equal(history_verify(h, count_damage, &damages), 0);
	assert_int_equal(damages, 0);
	history_close(h);
	data[at + PART_HEADER_BYTES] ^= 1;
	store(data, len - 1);
	assert_true(open_cut(&h));
	assert_int_equal(history_end(h), oracle.end);
	ask(h, 30, &o);
	assert_int_equal(o.refused, 0);
	history_close(h);
	oracle.end = end;
	free(data);
}

/* The file depends on what was written, not on how threads ran. */
static void same_bytes(void **state)
{
	size_t len, other_len;
	uint8_t *data = load(path, &len), *other;
	struct history_writer *w;

	(void)state;
	seed = 777767777;
	w = open_writer(copy, 0);
	fill(w, NULL);
	assert_int_equal(history_writer_close(w, oracle.end, NULL), 0);
	other = load(copy, &other_len);
	assert_int_equal(len, other_len);
	assert_memory_equal(data, other, len);
	free(data);
	free(other);
}

static void disk_full(void **state)
{
	const struct history_writer_options opt = {.threads = 1};
	const struct rlimit small = {.rlim_cur = 500000, .rlim_max = RLIM_INFINITY};
	struct history_writer *w;
	struct error err = {0};
	struct rlimit old;

	(void)state;
	assert_int_equal(history_writer_open(&w, "/dev/full", &opt, &err), 0);
	assert_int_equal(history_writer_close(w, 10, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full"));

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_FSIZE, &small);
	w = open_writer(copy, 1);
	fill(w, NULL);
	assert_int_equal(history_writer_close(w, NS_MAX - 1, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
}

/* Whoever writes a file knows how to make its checksums right: times that no arithmetic can hold
 * are refused all the same. */
static void times_that_make_no_sense(void **state)
{
	static const int64_t wrong[][2] = {{0, INT64_MAX},
					   {INT64_MIN, 0},
					   {5, 4},
					   {0, HISTORY_TIME_MAX + 1},
					   {-HISTORY_TIME_MAX - 1, 0}};
	struct error err = {0};
	struct history *h;
	size_t len;
	uint8_t *data = load(path, &len), *trailer = data + len - 64;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t sum;

		memcpy(trailer + 8, wrong[i], 2 * sizeof(int64_t));
		sum = XXH3_64bits(trailer, 56);
		memcpy(trailer + 56, &sum, sizeof(sum));
		store(data, len);
		assert_int_equal(history_open(&h, copy, &err), -EIO);
	}
	free(data);
}

/* ... and so is an index that lists more than is in it. */
static void an_index_ends_with_its_part(void **state)
{
	struct error err = {0};
	struct history *h;
	size_t len;
	uint8_t *data = load(path, &len), *part = data + get_u64(data + len - 64 + 24);
	uint8_t *payload = part + PART_HEADER_BYTES;
	uint64_t len_bytes = get_u64(part + 8), last = get_u32(payload) - 1;
	uint8_t *nr = payload + 4 + last * INDEX_STREAM_BYTES + 4;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		set_u32(nr, get_u32(nr) + more);
		set_u64(part + 32, XXH3_64bits(payload, len_bytes));
		set_u64(part + 40, XXH3_64bits(part, 40));
		store(data, len);
		assert_int_equal(history_open(&h, copy, &err), more ? -EIO : 0);
		if (!more)
			history_close(h);
	}
	assert_non_null(strstr(err.text, "its index makes no sense"));
	free(data);
}

static void not_a_history(void **state)
{
	struct error err = {0};
	struct history *h;
	uint8_t bytes[4096];
	size_t len;
	uint8_t *data = load(path, &len);

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)pick(256);
	for (size_t n = 0; n <= sizeof(bytes); n = n * 2 + 1) {
		store(bytes, n);
		assert_int_equal(history_open(&h, copy, &err), -EINVAL);
	}
	assert_int_equal(history_open(&h, "/nowhere/at/all", &err), -ENOENT);
	data[8]++;
	store(data, len);
	assert_int_equal(history_open(&h, copy, &err), -EINVAL);
	assert_non_null(strstr(err.text, "version"));
	free(data);
}

static void nothing_ever_changed(void **state)
{
	struct history_writer *w = open_writer(copy, 0);
	struct interval i;
	struct history *h;
	uint32_t values[8];

	(void)state;
	history_writer_set(w, history_writer_attr(w, ATTR_ROOT, "a", ATTR_NUMBER, 0), 5, 0);
	history_writer_set(w, 999, 5, 1);
	assert_int_equal(history_writer_close(w, 10, NULL), 0);
	assert_int_equal(history_open(&h, copy, NULL), 0);
	assert_true(history_complete(h));
	assert_int_equal(history_begin(h), history_end(h));
	assert_int_equal(history_at(h, 1, 10, &i), -ERANGE);
	assert_int_equal(history_state(h, 10, values, NULL), -ERANGE);
	assert_int_equal(history_find(h, "a"), 1);
	history_close(h);
}

static void time_steps_back(void **state)
{
	struct history_writer *w = open_writer(copy, 0);
	attr_t a = history_writer_attr(w, ATTR_ROOT, "a", ATTR_NUMBER, 0);
	struct interval i;
	struct history *h;

	(void)state;
	history_writer_set(w, a, 100, 1);
	history_writer_set(w, a, 50, 2); /* raised to 100: replaces what was set there */
	history_writer_set(w, a, 200, 3);
	history_writer_set(w, a, 200, 2); /* and so nothing changes at 200 */
	history_writer_set(w, a, 300, 9);
	assert_int_equal(history_writer_close(w, 250, NULL), 0);
	assert_int_equal(history_open(&h, copy, NULL), 0);
	assert_int_equal(history_end(h), 300);
	assert_int_equal(history_at(h, a, 150, &i), 0);
	assert_int_equal(i.begin, 100);
	assert_int_equal(i.end, 300);
	assert_int_equal(i.value, 2);
	history_close(h);
}

static bool is_not_empty(const struct interval *i, void *data)
{
	(void)data;
	assert_true(i->begin < i->end);
	return true;
}

/* In each part of this file times rise, but its second slice begins long before the first ends. */
static void slices_that_overlap(void **state)
{
	struct history_writer *w = open_writer(copy, 0);
	attr_t a = history_writer_attr(w, ATTR_ROOT, "a", ATTR_NUMBER, 0);
	size_t len_bytes, at = FILE_HEADER_BYTES;
	unsigned slices = 0;
	struct history *h;
	uint8_t *data;

	(void)state;
	for (unsigned i = 0; i < 2 * SLICE_CHANGES + 100; i++)
		history_writer_set(w, a, (ns_t)(100 + 7 * i + pick(7)), (uint32_t)pick(1u << 30));
	assert_int_equal(history_writer_close(w, 20 * SLICE_CHANGES, NULL), 0);
	data = load(copy, &len_bytes);
	for (; get_u32(data + at) == PART_MAGIC; /* the next part */
	     at += PART_HEADER_BYTES + ((get_u64(data + at + 8) + 7) & ~7ull)) {
		uint8_t *base = data + at + PART_HEADER_BYTES;

		if ((get_u32(data + at + 4) & 0xffff) == PART_SLICE && ++slices == 2)
			set_u64(base, get_u64(base) - 1000);
	}
	assert_true(slices >= 2);
	mend(data, len_bytes);
	store(data, len_bytes);
	free(data);
	assert_int_equal(history_open(&h, copy, NULL), 0);
	assert_int_equal(history_walk(h, a, 0, 20 * SLICE_CHANGES, is_not_empty, NULL), -EIO);
	history_close(h);
}

/* A part is where a whole one begins, and nowhere else. */
static void no_part_is_there(void **state)
{
	static _Alignas(8) uint8_t data[8 + 2 * PART_HEADER_BYTES];
	const struct mapfile whole = {.data = data, .len_bytes = 8 + PART_HEADER_BYTES + 16};
	struct mapfile file = whole;
	struct part p;
	unsigned kind;

	(void)state;
	set_u32(data + 8, PART_MAGIC);
	set_u32(data + 8 + 4, PART_INDEX);
	set_u64(data + 8 + 8, 16);
	set_u64(data + 8 + 40, XXH3_64bits(data + 8, 40));
	assert_int_equal(part_open(&file, 8, false, &kind, &p), 0);
	assert_int_equal(kind, PART_INDEX);
	assert_ptr_equal(p.payload, data + 8 + PART_HEADER_BYTES);
	assert_int_equal(p.len_bytes, 16);
	/* Its payload, or its header, ends behind the file; it is behind the file itself. */
	file.len_bytes = whole.len_bytes - 1;
	assert_int_equal(part_open(&file, 8, false, &kind, &p), -EIO);
	file.len_bytes = 8 + PART_HEADER_BYTES - 1;
	assert_int_equal(part_open(&file, 8, false, &kind, &p), -EIO);
	file.len_bytes = 0;
	assert_int_equal(part_open(&file, 8, false, &kind, &p), -EIO);
	/* The same, but not at a multiple of eight. */
	memmove(data + 4, data + 8, PART_HEADER_BYTES);
	assert_int_equal(part_open(&whole, 4, false, &kind, &p), -EIO);
	/* Another header than was written, and another magic than a part's. */
	memmove(data + 8, data + 4, PART_HEADER_BYTES);
	data[8 + 16] ^= 1;
	assert_int_equal(part_open(&whole, 8, false, &kind, &p), -EIO);
	set_u32(data + 8, PART_MAGIC + 1);
	set_u64(data + 8 + 40, XXH3_64bits(data + 8, 40));
	assert_int_equal(part_open(&whole, 8, false, &kind, &p), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file),
		cmocka_unit_test(cut_file),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(a_header_has_a_checksum),
		cmocka_unit_test(verified_bits),
		cmocka_unit_test(damaged_trailer),
		cmocka_unit_test(bytes_behind),
		cmocka_unit_test(killed_writer),
		cmocka_unit_test(damaged_names_end_an_incomplete_file),
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(disk_full),
		cmocka_unit_test(times_that_make_no_sense),
		cmocka_unit_test(an_index_ends_with_its_part),
		cmocka_unit_test(not_a_history),
		cmocka_unit_test(nothing_ever_changed),
		cmocka_unit_test(time_steps_back),
		cmocka_unit_test(slices_that_overlap),
		cmocka_unit_test(no_part_is_there),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
