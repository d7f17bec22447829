/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the rows of a time graph. */
#include "serve/tsp/tsp_filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX 200000 /* in one answer */
#define SAMPLES_MAX 8192  /* of a row */
#define LABEL_MAX 200
/* changes looked at for one answer, when a filter is to see all states */
#define WALKED_MAX 3000000
#define SAMPLE_WALKED_MAX 64 /* changes of one sample, when a filter is about times */
#define NOTHING UINT_MAX     /* tags of no state */

/* A state between samples that a filter wants to see. */
struct hit {
	int64_t begin, end;
	uint32_t value;
	unsigned tags; /* NOTHING: there is none in this sample */
};

struct row {
	struct tsp_call *call;
	struct tsp_filter *filter; /* owned; NULL: none */
	struct tsp_entry entry;
	const struct tsp_part *part;
	uint32_t attr;
	int64_t begin, end; /* of the window, in the history's time */
	unsigned samples;
	struct sonde_interval *exact; /* owned: room for samples + 1 */
	unsigned nr_exact;
	struct hit *hits; /* owned, one per sample; NULL: only samples are looked at */
	unsigned next_hit;
	int64_t walked;
	int64_t left_out, left_out_end; /* states that are left out, not written yet */
};

/* ---- writing ------------------------------------------------------------------------------- */

/* What is left out has no style, which viewers do not draw, and neighbours of it are one. */
static void put_left_out(struct row *r)
{
	struct json *j = &r->call->json;

	if (r->left_out >= r->left_out_end)
		return;
	json_begin_object(j, NULL);
	json_int(j, "start", tsp_time(r->part, r->left_out));
	json_int(j, "end", tsp_time(r->part, r->left_out_end));
	json_str(j, "label", "");
	json_int(j, "tags", TSP_EXCLUDED);
	json_end(j);
	r->left_out = r->left_out_end;
}

static void put_state(struct row *r, int64_t begin, int64_t end, uint32_t value, unsigned tags)
{
	struct json *j = &r->call->json;
	enum tsp_output_kind output = r->call->output.kind;
	char text[LABEL_MAX];

	if (!value || begin >= end)
		return;
	if (tags & TSP_EXCLUDED) {
		if (r->left_out_end != begin)
			put_left_out(r);
		if (r->left_out >= r->left_out_end)
			r->left_out = begin;
		r->left_out_end = end;
		return;
	}
	put_left_out(r);
	json_begin_object(j, NULL);
	json_int(j, "start", tsp_time(r->part, begin));
	json_int(j, "end", tsp_time(r->part, end));
	tsp_state_label(output, r->part->history, value, text, sizeof(text));
	json_str(j, "label", text);
	if (tags)
		json_int(j, "tags", tags);
	tsp_put_style(j, tsp_state_style(output, r->part->history, value, text, sizeof(text)));
	json_end(j);
}

static unsigned find_tags(struct row *r, const struct sonde_interval *i)
{
	struct tsp_subject s = {&r->entry, i->value, i->begin, i->end};

	return r->filter && i->value ? tsp_filter_tags(r->filter, &s) : 0;
}

/* ---- states as they were ------------------------------------------------------------------- */

static bool keep_interval(const struct sonde_interval *i, void *data)
{
	struct row *r = data;

	r->exact[r->nr_exact++] = *i;
	return r->nr_exact <= r->samples;
}

/* ---- samples ------------------------------------------------------------------------------- */

static int64_t sample_begin(const struct row *r, unsigned sample)
{
	return r->begin + (int64_t)((__int128)(r->end - r->begin) * sample / r->samples);
}

static bool may_walk(const struct row *r)
{
	return r->walked < WALKED_MAX && !tsp_filter_has_had_enough(r->filter);
}

/* Notes what is best to be seen of the sample in which it begins; one that lasts longer is one
 * itself. */
static bool note_hit(const struct sonde_interval *i, void *data)
{
	struct row *r = data;
	int64_t begin = i->begin > r->begin ? i->begin : r->begin;
	unsigned sample =
		(unsigned)((__int128)(begin - r->begin) * r->samples / (r->end - r->begin));
	unsigned tags = i->value ? find_tags(r, i) : NOTHING;

	if (sample < r->samples && tags < r->hits[sample].tags && !(tags & TSP_EXCLUDED))
		r->hits[sample] = (struct hit){begin, i->end, i->value, tags};
	r->walked++;
	return may_walk(r);
}

static int find_hits(struct row *r)
{
	if (!r->hits)
		return 0;
	for (unsigned i = 0; i < r->samples; i++)
		r->hits[i].tags = NOTHING;
	r->next_hit = 0;
	return may_walk(r) ? sonde_interval_walk(r->part->history, r->attr, r->begin, r->end,
						 note_hit, r)
			   : 0;
}

/* Puts a sample, or nothing (value 0), with what in it is better to be seen. */
static void put_with_hits(struct row *r, int64_t begin, int64_t end, uint32_t value, unsigned tags)
{
	for (; r->hits && r->next_hit < r->samples && sample_begin(r, r->next_hit) < end;
	     r->next_hit++) {
		struct hit h = r->hits[r->next_hit];

		if (h.tags == NOTHING || (value && h.tags >= tags) || h.begin >= end)
			continue;
		h.begin = h.begin > begin ? h.begin : begin;
		h.end = h.end < end ? h.end : end;
		if (h.begin >= h.end)
			continue;
		put_state(r, begin, h.begin, value, tags);
		put_state(r, h.begin, h.end, h.value, h.tags);
		begin = h.end;
	}
	put_state(r, begin, end, value, tags);
}

/* The longest of those that a sample's value stands for, as far as it is looked. */
struct longest {
	struct sonde_interval found;
	uint32_t value;
	unsigned nr;
};

static bool see_longest(const struct sonde_interval *i, void *data)
{
	struct longest *l = data;

	if (i->value == l->value && i->end - i->begin > l->found.end - l->found.begin)
		l->found = *i;
	return ++l->nr < SAMPLE_WALKED_MAX;
}

/* For how long a value is drawn does not tell how long a state lasted. */
static unsigned tags_of_sample(struct row *r, int64_t begin, int64_t end, uint32_t value)
{
	struct sonde_interval drawn = {begin, end, value};
	struct longest l = {.value = value};

	if (!r->filter || !tsp_filter_uses_times(r->filter))
		return find_tags(r, &drawn);
	if (sonde_interval_walk(r->part->history, r->attr, begin, end, see_longest, &l) ||
	    !l.found.value)
		return find_tags(r, &drawn);
	return find_tags(r, &l.found);
}

static void put_pixels(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	struct row *r = data;
	int64_t at = r->begin;

	(void)row;
	for (unsigned i = 0; i < nr; i++) {
		int64_t from = sample_begin(r, runs[i].first);
		int64_t to = sample_begin(r, runs[i].first + runs[i].nr);

		put_with_hits(r, at, from, 0, 0);
		put_with_hits(r, from, to, runs[i].value,
			      tags_of_sample(r, from, to, runs[i].value));
		at = to;
	}
	put_with_hits(r, at, r->end, 0, 0);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* As it was, when that is no more than what was asked for; else what held in most of each sample.
 */
static int put_states(struct row *r, struct error *err)
{
	int ret;

	r->nr_exact = 0;
	r->left_out = r->left_out_end = 0;
	ret = sonde_interval_walk(r->part->history, r->attr, r->begin, r->end, keep_interval, r);
	if (!ret && r->nr_exact <= r->samples) {
		for (unsigned i = 0; i < r->nr_exact; i++)
			put_state(r, r->exact[i].begin, r->exact[i].end, r->exact[i].value,
				  find_tags(r, &r->exact[i]));
	} else if (!ret) {
		ret = find_hits(r);
		if (!ret)
			ret = sonde_pixels_walk(r->part->history, &r->attr, 1, r->begin, r->end,
						r->samples, put_pixels, r);
	}
	put_left_out(r);
	return ret ? fail(err, ret, "cannot read the history: %s", error_reason(ret)) : 0;
}

/* The window may stick out of the history: its samples are then fewer. */
static unsigned samples_in(const struct tsp_range *range, unsigned nr, int64_t length)
{
	__int128 window = (__int128)range->end - range->start;
	__int128 samples = (__int128)nr * length / window;

	return samples < 1 ? 1 : (unsigned)samples;
}

static int put_row(struct tsp_call *c, int64_t id, const struct tsp_range *range, unsigned samples,
		   struct row *r, struct error *err)
{
	int ret = 0;

	if (tsp_entry_find(&c->view, id, &r->entry))
		return 0; /* of another experiment, or out of a viewer's past */
	r->attr = tsp_entry_attr(c->output.kind, &r->entry);
	json_begin_object(&c->json, NULL);
	json_int(&c->json, "entryId", id);
	json_begin_array(&c->json, "states");
	r->part = r->entry.part;
	if (r->attr != SONDE_NO_ATTR &&
	    tsp_clip(r->part, range->start, range->end, &r->begin, &r->end)) {
		r->samples = samples_in(range, samples, r->end - r->begin);
		ret = put_states(r, err);
	}
	json_end(&c->json);
	json_end(&c->json);
	return ret;
}

static int open_row(struct row *r, struct tsp_call *c, unsigned samples, struct error *err)
{
	int ret;

	*r = (struct row){.call = c};
	ret = tsp_filter_open(&r->filter, c, err);
	if (ret)
		return ret;
	r->exact = calloc(samples + 1, sizeof(*r->exact));
	if (r->filter && tsp_filter_is_deep(r->filter))
		r->hits = calloc(samples + 1, sizeof(*r->hits));
	if (!r->exact || (r->filter && tsp_filter_is_deep(r->filter) && !r->hits))
		return fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_row(struct row *r)
{
	if (r->filter && ((r->hits && !may_walk(r)) || tsp_filter_gave_up(r->filter)))
		snprintf(r->call->message, sizeof(r->call->message),
			 "filter: not all states were looked at, there are too many");
	tsp_filter_close(r->filter);
	free(r->exact);
	free(r->hits);
}

int tsp_states(struct tsp_call *c, struct error *err)
{
	struct row r;
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
	ret = open_row(&r, c, samples, err);
	json_begin_object(&c->json, "model");
	json_begin_array(&c->json, "rows");
	for (int i = 0; i < nr && !ret; i++)
		ret = put_row(c, items[i], &range, samples, &r, err);
	json_end(&c->json);
	json_end(&c->json);
	close_row(&r);
	free(items);
	return ret;
}
