/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the rows of a time graph. */
#include "serve/tsp_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX 200000 /* in one answer */
#define SAMPLES_MAX 8192  /* of a row */
#define LABEL_MAX 200

struct row {
	struct tsp_call *call;
	const struct tsp_part *part;
	int64_t begin, end; /* of the window, in the run's time */
	unsigned samples;
	struct sonde_interval *exact; /* owned: room for samples + 1 */
	unsigned nr_exact;
};

static void put_state(const struct row *r, int64_t begin, int64_t end, uint32_t value)
{
	struct json *j = &r->call->json;
	enum tsp_output_kind output = r->call->output.kind;
	char text[LABEL_MAX];

	if (!value)
		return;
	json_begin_object(j, NULL);
	json_int(j, "start", tsp_time(r->part, begin));
	json_int(j, "end", tsp_time(r->part, end));
	tsp_state_label(output, r->part->run, value, text, sizeof(text));
	json_str(j, "label", text);
	tsp_put_style(j, tsp_state_style(output, r->part->run, value, text, sizeof(text)));
	json_end(j);
}

static bool keep_interval(const struct sonde_interval *i, void *data)
{
	struct row *r = data;

	r->exact[r->nr_exact++] = *i;
	return r->nr_exact <= r->samples;
}

static void put_pixels(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	const struct row *r = data;
	int64_t length = r->end - r->begin;

	(void)row;
	for (unsigned i = 0; i < nr; i++) {
		unsigned last = runs[i].first + runs[i].nr;
		int64_t from = (int64_t)((__int128)length * runs[i].first / r->samples);
		int64_t to = (int64_t)((__int128)length * last / r->samples);

		put_state(r, r->begin + from, r->begin + to, runs[i].value);
	}
}

/* As it was, when that is no more than what was asked for; else what held in most of each sample.
 */
static int put_states(struct row *r, uint32_t attr, struct error *err)
{
	int ret;

	r->nr_exact = 0;
	ret = sonde_walk(r->part->run, attr, r->begin, r->end, keep_interval, r);
	if (!ret && r->nr_exact <= r->samples) {
		for (unsigned i = 0; i < r->nr_exact; i++)
			put_state(r, r->exact[i].begin, r->exact[i].end, r->exact[i].value);
	} else if (!ret) {
		ret = sonde_pixels(r->part->run, &attr, 1, r->begin, r->end, r->samples, put_pixels,
				   r);
	}
	return ret ? fail(err, ret, "cannot read the history: %s", strerror(-ret)) : 0;
}

/* The window may stick out of the run: its samples are then fewer. */
static unsigned samples_in(const struct tsp_range *range, unsigned nr, int64_t length)
{
	__int128 window = (__int128)range->end - range->start;
	__int128 samples = (__int128)nr * length / window;

	return samples < 1 ? 1 : (unsigned)samples;
}

static int put_row(struct tsp_call *c, int64_t id, const struct tsp_range *range, unsigned samples,
		   struct row *r, struct error *err)
{
	struct tsp_entry e;
	uint32_t attr;
	int ret = 0;

	if (tsp_entry_find(&c->view, id, &e))
		return 0; /* of another experiment, or out of a viewer's past */
	attr = tsp_entry_attr(c->output.kind, &e);
	json_begin_object(&c->json, NULL);
	json_int(&c->json, "entryId", id);
	json_begin_array(&c->json, "states");
	r->part = e.part;
	if (attr != SONDE_NO_ATTR &&
	    tsp_clip(e.part, range->start, range->end, &r->begin, &r->end)) {
		r->samples = samples_in(range, samples, r->end - r->begin);
		ret = put_states(r, attr, err);
	}
	json_end(&c->json);
	json_end(&c->json);
	return ret;
}

int tsp_states(struct tsp_call *c, struct error *err)
{
	struct row r = {.call = c};
	struct tsp_range range;
	unsigned samples;
	int64_t *items;
	int nr = 0;
	int ret = tsp_get_range(c, &range, err);

	if (c->output.kind > TSP_THREADS)
		return fail(err, -EINVAL, "%s is no time graph", c->output.id);
	if (!ret)
		ret = tsp_query_list(c->query, "requested_items", &items, err);
	if (ret < 0)
		return ret;
	nr = ret;
	samples = range.nr > SAMPLES_MAX ? SAMPLES_MAX : range.nr;
	if (nr && samples > STATES_MAX / (unsigned)nr)
		samples = STATES_MAX / (unsigned)nr;
	r.exact = calloc(samples + 1, sizeof(*r.exact));
	ret = r.exact ? 0 : fail(err, -ENOMEM, "out of memory");
	json_begin_object(&c->json, "model");
	json_begin_array(&c->json, "rows");
	for (int i = 0; i < nr && !ret; i++)
		ret = put_row(c, items[i], &range, samples, &r, err);
	json_end(&c->json);
	json_end(&c->json);
	free(r.exact);
	free(items);
	return ret;
}
