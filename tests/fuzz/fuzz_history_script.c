/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzz target: a history is written, damaged and read.
 *
 * The input is not the file itself: checksums would keep nearly all damage from the code behind
 * them, and stored files would be out of date with the next format.  Instead:
 *   0  u16  length of the script  (little-endian; more than there is means the rest)
 *   2  script: 3 bytes per change: attribute and value, time step (low and high byte)
 *      damage: 4 bytes per byte that changes: u24 place (modulo the length), new value;
 *      an odd count of these also cuts the file at the last place
 * The checksums of parts are made right again after the damage.  No query may then read what is not
 * there or run without end; what it says is of no interest.  Without damage, the history must hold
 * the last value of every attribute, and answers must be consistent.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "tests/fuzz/fake_mapfile.h"
#include "history/parts/bytes.h"
#include "history/parts/format.h"
#include "history/history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NR_ATTRS 12
#define FILE_MAX_BYTES (8u << 20)
#define QUERIED_ATTRS_MAX 40
#define INTERVALS_MAX 300
#define CELLS_MAX 500

static uint8_t *file;
static size_t file_len;

static struct fake_file fake_file_at(const char *path)
{
	(void)path;
	return (struct fake_file){file, file_len};
}

/* Attributes of a small tree; their last values go to @last. */
static ns_t run_script(struct history_writer *w, const uint8_t *script, size_t len,
		       uint32_t last[NR_ATTRS])
{
	static const struct column columns[] = {{"number", COL_INT}, {"text", COL_STRING}};
	int table = history_writer_table(w, "table", columns, ARRAY_SIZE(columns));
	attr_t attrs[NR_ATTRS], dir = history_writer_attr(w, ATTR_ROOT, "dir", ATTR_DIR, 0);
	ns_t t = 1000;

	for (unsigned i = 0; i < NR_ATTRS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "attr%u", i);
		attrs[i] = history_writer_attr(w, i % 3 ? dir : ATTR_ROOT, name,
					       i % 2 ? ATTR_NUMBER : ATTR_ENUM,
					       i % 4 ? 0 : ATTR_SUMMED);
	}
	for (size_t i = 0; i + 3 <= len; i += 3) {
		unsigned which = script[i] % NR_ATTRS;
		int64_t cells[] = {(int64_t)i, history_writer_string(w, "text", i % 5)};

		t += script[i + 1] | (ns_t)script[i + 2] << (script[i] & 31);
		last[which] = script[i] / NR_ATTRS;
		history_writer_set(w, attrs[which], t, last[which]);
		if (!script[i + 1])
			history_writer_row(w, table, cells);
	}
	return t + 1;
}

/* Writes the history to memory; fills file and file_len. */
static void write_file(const uint8_t *script, size_t len, uint32_t last[NR_ATTRS])
{
	struct history_writer_options opt = {.ticks_are_ns = true};
	int fd = memfd_create("history", MFD_CLOEXEC);
	struct history_writer *w;
	char path[64];
	struct stat st;
	ns_t end;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || history_writer_open(&w, path, &opt, NULL))
		abort();
	end = run_script(w, script, len, last);
	if (history_writer_close(w, end, NULL) || fstat(fd, &st) || st.st_size > FILE_MAX_BYTES)
		abort();
	file_len = (size_t)st.st_size;
	file = malloc(file_len);
	if (!file || pread(fd, file, file_len, 0) != (ssize_t)file_len)
		abort();
	close(fd);
}

/* Makes the checksums right wherever something looks like a part. */
static void repair(void)
{
	if (file_len >= FILE_HEADER_BYTES)
		set_u64(file + 56, XXH3_64bits(file, 56));
	for (size_t at = FILE_HEADER_BYTES; at + PART_HEADER_BYTES <= file_len; at += 8) {
		uint8_t *h = file + at;
		uint64_t len = get_u64(h + 8);

		if (get_u32(h) != PART_MAGIC)
			continue;
		if (len <= file_len - at - PART_HEADER_BYTES)
			set_u64(h + 32, XXH3_64bits(h + PART_HEADER_BYTES, len));
		set_u64(h + 40, XXH3_64bits(h, 40));
	}
	if (file_len >= TRAILER_BYTES) {
		uint8_t *t = file + file_len - TRAILER_BYTES;

		set_u64(t + 56, XXH3_64bits(t, 56));
	}
}

static bool damage(const uint8_t *list, size_t len)
{
	size_t place = 0, nr = 0;

	for (; len >= 4; list += 4, len -= 4, nr++) {
		place = (list[0] | list[1] << 8 | (size_t)list[2] << 16) % file_len;
		file[place] = list[3];
	}
	if (nr % 2)
		file_len = place;
	repair();
	return nr;
}

static bool count_interval(const struct interval *i, void *data)
{
	(void)i;
	return ++*(unsigned *)data < INTERVALS_MAX;
}

static void check_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	uint32_t next = 0;

	(void)row;
	for (unsigned i = 0; i < nr; i++) {
		if (runs[i].first < next || !runs[i].nr || runs[i].first + runs[i].nr > 100)
			abort();
		next = runs[i].first + runs[i].nr;
	}
	*(unsigned *)data += nr;
}

static void query_attr(struct history *h, attr_t a, ns_t begin, ns_t end, bool damaged)
{
	struct value_time *sums;
	struct interval i;
	unsigned nr = 0;
	ns_t t;

	if (!history_at(h, a, begin, &i) && !damaged && (i.begin > begin || i.end <= begin))
		abort();
	history_walk(h, a, begin, end, count_interval, &nr);
	history_next_change(h, a, begin, &t);
	history_prev_change(h, a, end, &t);
	if (!history_sum(h, a, begin, end, &sums, &nr))
		free(sums);
	history_attr_name(h, a);
	history_attr_type(h, a);
	history_first_child(h, a);
	history_next_sibling(h, a);
}

static void query_tables(const struct history *h)
{
	for (unsigned table = 0; table < history_nr_tables(h); table++) {
		int64_t rows = history_nr_rows(h, (int)table);
		unsigned nr;

		history_table_name(h, (int)table);
		history_table_columns(h, (int)table, &nr);
		for (int64_t row = 0; row < rows && row < CELLS_MAX; row++)
			for (unsigned c = 0; c < nr; c++)
				history_string(h, (uint32_t)history_cell(h, (int)table, row, c));
	}
}

static void query_all(struct history *h, bool damaged)
{
	uint32_t nr = history_nr_attrs(h);
	ns_t begin = history_begin(h), end = history_end(h);
	ns_t middle = begin + (ns_t)(((uint64_t)end - (uint64_t)begin) / 2);
	uint32_t *values = malloc((nr + 1ull) * sizeof(*values));
	ns_t *since = malloc((nr + 1ull) * sizeof(*since));
	attr_t rows[QUERIED_ATTRS_MAX];
	unsigned nr_rows = nr < QUERIED_ATTRS_MAX ? nr : QUERIED_ATTRS_MAX, runs = 0;

	if (!values || !since)
		abort();
	history_state(h, begin, values, since);
	history_state(h, middle, values, NULL);
	for (unsigned i = 0; i < nr_rows; i++) {
		rows[i] = i;
		query_attr(h, i, begin, end, damaged);
		query_attr(h, i, middle, middle + 50, damaged);
	}
	history_pixels(h, rows, nr_rows, begin, end, 100, check_runs, &runs);
	history_pixels(h, rows, nr_rows, middle, middle + 1000, 100, check_runs, &runs);
	query_tables(h);
	free(values);
	free(since);
}

static void check_undamaged(struct history *h, const uint32_t last[NR_ATTRS])
{
	uint32_t values[64];

	if (!history_complete(h) || history_nr_attrs(h) > ARRAY_SIZE(values))
		abort();
	if (history_begin(h) == history_end(h)) /* nothing but zeros was set: no change at all */
		memset(values, 0, sizeof(values));
	else if (history_state(h, history_end(h) - 1, values, NULL))
		abort();
	for (unsigned i = 0; i < NR_ATTRS; i++) {
		char path[32];
		attr_t a;

		snprintf(path, sizeof(path), i % 3 ? "dir/attr%u" : "attr%u", i);
		a = history_find(h, path);
		if (a == ATTR_NONE || values[a] != last[i])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	uint32_t last[NR_ATTRS] = {0};
	struct history *h;
	size_t script;
	bool damaged;

	if (len_bytes < 2)
		return 0;
	script = data[0] | (size_t)data[1] << 8;
	script = script < len_bytes - 2 ? script : len_bytes - 2;
	write_file(data + 2, script, last);
	damaged = damage(data + 2 + script, len_bytes - 2 - script);
	if (!history_open(&h, "input", NULL)) {
		if (!damaged)
			check_undamaged(h, last);
		query_all(h, damaged);
		history_close(h);
	} else if (!damaged) {
		abort();
	}
	free(file);
	return 0;
}
