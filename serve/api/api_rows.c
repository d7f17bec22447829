/* SPDX-License-Identifier: Apache-2.0 */
/* A window of time as rows of pixels, and as a chart of who used the CPUs. */
#include "serve/api/api.h"
#include "query/counts.h"
#include "report/buckets.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------- */

#define ROWS_VERSION 1
#define HEAD_BYTES 12

static void put32(FILE *out, uint32_t value)
{
	uint32_t le = htole32(value);

	fwrite(&le, sizeof(le), 1, out);
}

static void put16(FILE *out, uint32_t value)
{
	uint16_t le = htole16((uint16_t)value);

	fwrite(&le, sizeof(le), 1, out);
}

/* What values name, for a page that does not have these tables yet: bits by row. */
struct named {
	uint8_t *contexts, *threads; /* owned */
	int64_t nr_contexts, nr_threads;
	bool *is_runs, *is_task; /* owned: per attribute that was asked for */
};

struct rows {
	FILE *out;
	struct named *named; /* NULL: not wanted */
};

static void mark(uint8_t *bits, int64_t nr, int64_t row)
{
	if (row >= 0 && row < nr)
		bits[row / 8] |= (uint8_t)(1u << row % 8);
}

/* The first from @row on, or @nr; few of very many are marked. */
static int64_t next_marked(const uint8_t *bits, int64_t row, int64_t nr)
{
	for (; row < nr; row++) {
		uint8_t rest = bits[row / 8] >> row % 8;

		if (rest & 1)
			return row;
		if (!rest)
			row |= 7;
	}
	return nr;
}

static void mark_values(struct named *n, unsigned row, const struct sonde_pixels *runs, unsigned nr)
{
	for (unsigned i = 0; i < nr && n->is_runs[row]; i++)
		mark(n->contexts, n->nr_contexts, (int64_t)runs[i].value - 1);
	for (unsigned i = 0; i < nr && n->is_task[row]; i++)
		mark(n->threads, n->nr_threads, (int64_t)runs[i].value - 1);
}

/* Field by field, so that a page reads each as an array where it stands. */
static void write_row(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	const struct rows *r = data;
	FILE *out = r->out;

	if (r->named)
		mark_values(r->named, row, runs, nr);
	put32(out, nr);
	for (unsigned i = 0; i < nr; i++)
		put32(out, runs[i].value);
	for (unsigned i = 0; i < nr; i++)
		put16(out, runs[i].first);
	for (unsigned i = 0; i < nr; i++)
		put16(out, runs[i].nr);
	for (unsigned i = 0; i < nr; i++)
		fputc(runs[i].share, out);
	for (unsigned i = nr; i % 4; i++)
		fputc(0, out);
}

static void named_release(struct named *n)
{
	free(n->contexts);
	free(n->threads);
	free(n->is_runs);
	free(n->is_task);
}

static int named_init(struct named *n, const struct call *c, const uint32_t *attrs, unsigned nr)
{
	n->nr_contexts = sonde_nr_contexts(c->history);
	n->nr_threads = sonde_nr_threads(c->history);
	n->contexts = calloc(1, (size_t)n->nr_contexts / 8 + 1);
	n->threads = calloc(1, (size_t)n->nr_threads / 8 + 1);
	n->is_runs = calloc(nr + 1, sizeof(*n->is_runs));
	n->is_task = calloc(nr + 1, sizeof(*n->is_task));
	if (!n->contexts || !n->threads || !n->is_runs || !n->is_task)
		return -ENOMEM;
	for (int64_t row = 0; row < sonde_nr_cpus(c->history); row++) {
		uint32_t runs = sonde_attr_of_cpu(c->history, row, "runs");
		uint32_t task = sonde_attr_of_cpu(c->history, row, "task");

		for (unsigned i = 0; i < nr; i++) {
			n->is_runs[i] |= attrs[i] == runs;
			n->is_task[i] |= attrs[i] == task;
		}
	}
	return 0;
}

static void write_marked(struct json *j, const struct call *c, const char *key, const uint8_t *bits,
			 int64_t nr,
			 void (*write)(struct json *j, const struct call *c, int64_t row))
{
	json_begin_array(j, key);
	for (int64_t row = next_marked(bits, 0, nr); row < nr;
	     row = next_marked(bits, row + 1, nr)) {
		json_begin_array(j, NULL);
		json_int(j, NULL, row);
		write(j, c, row);
		json_end(j);
	}
	json_end(j);
}

/* What is behind the rows, up to the end of the answer. */
static void write_named(struct named *n, const struct call *c)
{
	struct json j = {.out = c->reply->out, .flat = 2};

	for (int64_t row = next_marked(n->contexts, 0, n->nr_contexts); row < n->nr_contexts;
	     row = next_marked(n->contexts, row + 1, n->nr_contexts)) {
		struct sonde_context x;

		if (!sonde_context_get(c->history, row, &x))
			mark(n->threads, n->nr_threads, x.thread);
	}
	json_begin_object(&j, NULL);
	write_marked(&j, c, "contexts", n->contexts, n->nr_contexts, context_cells);
	write_marked(&j, c, "threads", n->threads, n->nr_threads, thread_cells);
	json_end(&j);
}

/* Fewer are answered before a second worker has begun. */
#define SPLIT_ATTRS 32

/* With names it is not: both halves would have the same ones. */
bool rows_split(const struct request *request)
{
	const char *attrs = request_text(request, "attrs");
	unsigned nr = 1;

	if (!attrs || request_text(request, "names"))
		return false;
	for (; *attrs; attrs++)
		nr += *attrs == ',';
	return nr >= SPLIT_ATTRS;
}

/* Every other one; returns how many. */
static unsigned take_part(uint32_t *attrs, unsigned nr, bool odd)
{
	unsigned n = 0;

	for (unsigned i = odd; i < nr; i += 2)
		attrs[n++] = attrs[i];
	return n;
}

/* The row that @at begins with, up to where the next one begins. */
static const char *copy_row(FILE *out, const char *at, const char *end)
{
	uint32_t nr;
	size_t len;

	if (end - at < 4)
		return end;
	memcpy(&nr, at, sizeof(nr));
	nr = le32toh(nr);
	len = 4 + 8 * (size_t)nr + ((nr + 3) & ~3u);
	if (len > (size_t)(end - at))
		return end;
	fwrite(at, 1, len, out);
	return at + len;
}

int rows_join(FILE *out, const struct reply *even, const struct reply *odd)
{
	const char *end[2], *at[2];

	if (!even->body || !odd->body)
		return -ENOMEM;
	at[0] = even->body + HEAD_BYTES;
	at[1] = odd->body + HEAD_BYTES;
	end[0] = even->body + even->len_bytes;
	end[1] = odd->body + odd->len_bytes;
	fwrite(even->body, 1, HEAD_BYTES, out);
	while (at[0] < end[0]) {
		at[0] = copy_row(out, at[0], end[0]);
		at[1] = copy_row(out, at[1], end[1]);
	}
	return 0;
}

int answer_rows(struct call *c, struct error *err)
{
	uint32_t attrs[ROWS_MAX];
	struct named named = {0};
	struct rows rows = {.out = c->reply->out};
	int64_t begin, end, pixels;
	int ret;
	int nr = request_window(c->request, c->length, &begin, &end, err);

	if (!nr)
		nr = request_int(c->request, "px", 1, PIXELS_MAX, &pixels, err);
	if (!nr)
		nr = request_list(c->request, "attrs", attrs, ROWS_MAX, err);
	for (int i = 0; i < nr; i++) {
		if (attrs[i] >= sonde_nr_attrs(c->history))
			return fail(err, -EINVAL, "attrs has %u, which the history does not",
				    attrs[i]);
	}
	if (nr < 0)
		return nr;
	if (request_text(c->request, "names"))
		rows.named = &named;
	ret = rows.named ? named_init(&named, c, attrs, (unsigned)nr) : 0;
	put32(c->reply->out, ROWS_VERSION);
	put32(c->reply->out, (uint32_t)nr);
	put32(c->reply->out, (uint32_t)pixels);
	if (c->request->part != PART_ALL)
		nr = (int)take_part(attrs, (unsigned)nr, c->request->part == PART_ODD);
	if (!ret)
		ret = sonde_pixels_walk(c->history, attrs, (unsigned)nr, c->begin + begin,
					c->begin + end, (unsigned)pixels, write_row, &rows);
	if (!ret && rows.named)
		write_named(&named, c);
	named_release(&named);
	return ret;
}

/* ---- changes ------------------------------------------------------------------------------- */

struct changes {
	struct json *json;
	const struct call *call;
	int64_t begin; /* of the window */
	unsigned nr;
};

static bool write_change(const struct sonde_interval *i, void *data)
{
	struct changes *w = data;
	int64_t from = i->begin < w->begin ? w->begin : i->begin;

	json_int(w->json, NULL, from - w->call->begin);
	json_uint(w->json, NULL, i->value);
	return ++w->nr < CHANGES_MAX;
}

/* Each attribute as it was, change by change: for who draws without asking again. */
int answer_changes(struct call *c, struct error *err)
{
	struct json j = {.out = c->reply->out, .flat = 1};
	struct changes w = {.json = &j, .call = c};
	uint32_t attrs[ROWS_MAX];
	int64_t begin, end;
	int ret = request_window(c->request, c->length, &begin, &end, err);
	int nr = ret ? ret : request_list(c->request, "attrs", attrs, ROWS_MAX, err);

	if (nr < 0)
		return nr;
	w.begin = c->begin + (begin < 0 ? 0 : begin);
	json_begin_array(&j, NULL);
	for (int i = 0; i < nr && !ret; i++) {
		if (attrs[i] >= sonde_nr_attrs(c->history))
			return fail(err, -EINVAL, "attrs has %u, which the history does not",
				    attrs[i]);
		json_begin_array(&j, NULL);
		ret = sonde_interval_walk(c->history, attrs[i], w.begin, c->begin + end,
					  write_change, &w);
		json_end(&j);
	}
	json_end(&j);
	if (!ret && w.nr >= CHANGES_MAX)
		return fail(err, -EINVAL, "there are more than %d changes in this window",
			    CHANGES_MAX);
	return ret;
}

/* What every chart is asked with: a window, in the history's time, and how many parts of it. */
static int get_chart(const struct call *c, int64_t *begin, int64_t *end, unsigned *nr,
		     struct error *err)
{
	int64_t parts;
	int ret = request_window(c->request, c->length, begin, end, err);

	if (!ret)
		ret = request_int(c->request, "nr", 1, BUCKETS_MAX, &parts, err);
	if (ret)
		return ret;
	*begin += c->begin;
	*end += c->begin;
	*nr = (unsigned)parts;
	return 0;
}

/* ---- load ---------------------------------------------------------------------------------- */

static bool any_time(const int64_t *cells, unsigned nr)
{
	for (unsigned b = 0; b < nr; b++) {
		if (cells[b])
			return true;
	}
	return false;
}

static void write_load(const struct load *l, struct call *c)
{
	struct json j = {.out = c->reply->out, .flat = 2};

	json_begin_object(&j, NULL);
	json_uint(&j, "cpus", l->nr_cpus);
	json_uint(&j, "buckets", l->nr_buckets);
	json_begin_array(&j, "parts");
	for (unsigned m = 0; m < l->nr_machines; m++) {
		for (unsigned mode = 0; mode < QUERY_NR_MODES; mode++) {
			const int64_t *cells = load_cells(l, m, mode);

			if (!any_time(cells, l->nr_buckets))
				continue;
			json_begin_object(&j, NULL);
			json_uint(&j, "machine", m);
			json_uint(&j, "mode", mode);
			json_begin_array(&j, "time");
			for (unsigned b = 0; b < l->nr_buckets; b++)
				json_int(&j, NULL, cells[b]);
			json_end(&j);
			json_end(&j);
		}
	}
	json_end(&j);
	json_end(&j);
}

/* Of a long history it takes seconds, and pages and their reloads ask for the same. */
int answer_load(struct call *c, struct error *err)
{
	struct load l, *kept = &c->kept->load;
	int64_t begin, end;
	unsigned nr;
	int ret = get_chart(c, &begin, &end, &nr, err);
	bool whole = !ret && call_is_whole(c, begin, end);

	if (ret)
		return ret;
	if (whole && kept->time_ns && kept->nr_buckets == nr) {
		write_load(kept, c);
		return 0;
	}
	ret = load_init(&l, c->history, begin, end, nr);
	if (!ret)
		write_load(&l, c);
	if (ret || !whole) {
		load_release(&l);
		return ret;
	}
	load_release(kept);
	*kept = l;
	return 0;
}

/* ---- exits --------------------------------------------------------------------------------- */

static int write_exits(struct json *j, struct call *c, struct exit_counts *x, int64_t cpu)
{
	int ret = exit_counts_of(x, c->history, cpu);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	json_begin_object(j, NULL);
	json_int(j, "cpu", cpu);
	json_bool(j, "about", x->about);
	json_begin_array(j, "counts");
	for (unsigned b = 0; b < x->nr_buckets; b++)
		json_uint(j, NULL, x->counts[b]);
	json_end(j);
	json_end(j);
	return 0;
}

int answer_exits(struct call *c, struct error *err)
{
	struct json j = {.out = c->reply->out, .flat = 2};
	struct exit_counts x;
	int64_t begin, end;
	unsigned nr;
	int ret = get_chart(c, &begin, &end, &nr, err);

	if (ret)
		return ret;
	ret = exit_counts_init(&x, begin, end, nr);
	if (ret)
		return fail(err, ret, "out of memory");
	json_begin_object(&j, NULL);
	json_begin_array(&j, "vcpus");
	for (int64_t row = 0; row < sonde_nr_cpus(c->history) && !ret; row++)
		ret = write_exits(&j, c, &x, row);
	json_end(&j);
	json_end(&j);
	exit_counts_release(&x);
	return ret;
}
