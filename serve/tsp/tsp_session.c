/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs are open, and the experiments made of them. */
#include "serve/tsp/tsp_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

/* ---- names --------------------------------------------------------------------------------- */

/* The same for the same text, so that a viewer finds again what it showed last time: version 8 of
 * RFC 9562. */
static void make_uuid(char out[static TSP_UUID_CHARS + 1], const char *text)
{
	XXH128_canonical_t hash;
	uint8_t *b = hash.digest;

	XXH128_canonicalFromHash(&hash, XXH3_128bits(text, strlen(text)));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x80);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(out, TSP_UUID_CHARS + 1,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file's own name; its path where another one is called so, too. */
static const char *trace_name(const struct tsp *tsp, unsigned i)
{
	for (unsigned other = 0; other < tsp->nr; other++) {
		if (other != i && !strcmp(base_name(tsp->paths[other]), base_name(tsp->paths[i])))
			return tsp->paths[i];
	}
	return base_name(tsp->paths[i]);
}

/* ---- the session --------------------------------------------------------------------------- */

/* With the lock held.  NULL: no room. */
static struct tsp_experiment *add_experiment(struct tsp *tsp, const char *name,
					     const unsigned *histories, unsigned nr_histories)
{
	char text[TSP_NAME_MAX + TSP_HISTORIES_MAX * 4] = "";
	size_t used = 0;

	for (unsigned i = 0; i < TSP_EXPERIMENTS_MAX; i++) {
		struct tsp_experiment *x = &tsp->experiments[i];

		if (*x->uuid)
			continue;
		*x = (struct tsp_experiment){.nr_histories = nr_histories};
		snprintf(x->name, sizeof(x->name), "%s", name);
		for (unsigned r = 0; r < nr_histories; r++) {
			x->histories[r] = histories[r];
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%u/",
						 histories[r]);
		}
		/* Last, and told apart by its colon: a name may hold "/1", too. */
		snprintf(text + used, sizeof(text) - used, ":%s", x->name);
		make_uuid(x->uuid, text);
		return x;
	}
	return NULL;
}

int tsp_open(struct tsp **out, const char *const *paths, unsigned nr, struct error *err)
{
	unsigned all[TSP_HISTORIES_MAX];
	struct tsp *tsp;

	*out = NULL;
	if (nr > TSP_HISTORIES_MAX)
		return fail(err, -EINVAL, "more than %d histories at a time", TSP_HISTORIES_MAX);
	tsp = calloc(1, sizeof(*tsp));
	if (!tsp)
		return fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&tsp->lock, NULL);
	pthread_mutex_init(&tsp->rows_lock, NULL);
	pthread_mutex_init(&tsp->events_lock, NULL);
	tsp->paths = paths;
	tsp->nr = nr;
	for (unsigned i = 0; i < nr; i++) {
		make_uuid(tsp->traces[i].uuid, paths[i]);
		tsp->traces[i].open = true;
		all[i] = i;
		add_experiment(tsp, trace_name(tsp, i), &all[i], 1);
	}
	if (nr > 1)
		add_experiment(tsp, "all runs", all, nr);
	*out = tsp;
	return 0;
}

void tsp_close(struct tsp *tsp)
{
	if (!tsp)
		return;
	tsp_rows_release(tsp);
	tsp_events_free(tsp->events);
	pthread_mutex_destroy(&tsp->lock);
	pthread_mutex_destroy(&tsp->rows_lock);
	pthread_mutex_destroy(&tsp->events_lock);
	free(tsp);
}

static struct tsp_experiment *find_locked(struct tsp *tsp, const char *uuid)
{
	for (unsigned i = 0; i < TSP_EXPERIMENTS_MAX && *uuid; i++) {
		if (!strcasecmp(tsp->experiments[i].uuid, uuid))
			return &tsp->experiments[i];
	}
	return NULL;
}

int tsp_find_experiment(struct tsp *tsp, const char *uuid, struct tsp_experiment *out)
{
	const struct tsp_experiment *found;

	pthread_mutex_lock(&tsp->lock);
	found = find_locked(tsp, uuid);
	if (found)
		*out = *found;
	pthread_mutex_unlock(&tsp->lock);
	return found ? 0 : -ENOENT;
}

void tsp_note_events(struct tsp *tsp, const char *uuid, int64_t nr, bool all)
{
	struct tsp_experiment *x;

	pthread_mutex_lock(&tsp->lock);
	x = find_locked(tsp, uuid);
	if (x) {
		x->nr_events = nr;
		x->counted = all;
		if (all && x->nr_histories == 1)
			tsp->traces[x->histories[0]].nr_events = nr;
	}
	pthread_mutex_unlock(&tsp->lock);
}

/* -1 when there is none such, or it was closed. */
static int find_trace(struct tsp *tsp, const char *uuid)
{
	for (unsigned i = 0; i < tsp->nr; i++) {
		if (tsp->traces[i].open && !strcasecmp(tsp->traces[i].uuid, uuid))
			return (int)i;
	}
	return -1;
}

/* ---- traces -------------------------------------------------------------------------------- */

static void put_properties(struct json *j, struct sonde_history *history, bool unix_time)
{
	struct sonde_machine m;

	json_begin_object(j, "properties");
	json_str(j, "times",
		 unix_time ? "Unix time, ns"
		 : sonde_history_ticks_are_ns(history)
			 ? "the physical machine's own clock, ns"
			 : "cycles of the physical machine's counter");
	json_str(j, "complete",
		 sonde_history_complete(history) ? "yes" : "no: its writer was stopped");
	for (int64_t row = 0; !sonde_machine_get(history, row, &m); row++) {
		char key[300], text[300];

		snprintf(key, sizeof(key), "machine %lld: %s", (long long)row, m.name);
		snprintf(text, sizeof(text), "level %u, %s%s%s", m.level,
			 m.traced ? m.tracer : "no trace of its own", *m.release ? ", " : "",
			 m.release);
		json_str(j, key, text);
	}
	json_end(j);
}

static void put_trace(struct tsp_call *c, const char *key, unsigned i, const struct tsp_part *p,
		      bool unix_time)
{
	struct json *j = &c->json;

	json_begin_object(j, key);
	json_str(j, "name", trace_name(c->tsp, i));
	json_str(j, "path", c->tsp->paths[i]);
	json_str(j, "UUID", c->tsp->traces[i].uuid);
	json_int(j, "nbEvents", c->tsp->traces[i].nr_events);
	json_int(j, "start", p->begin + p->offset);
	json_int(j, "end", p->end + p->offset);
	json_str(j, "indexingStatus", "COMPLETED");
	put_properties(j, p->history, unix_time);
	json_end(j);
}

static int put_one_trace(struct tsp_call *c, const char *key, unsigned i, struct error *err)
{
	struct tsp_view v;
	int ret = tsp_view_of(&v, c->readers, &i, 1, err);

	if (!ret)
		put_trace(c, key, i, &v.parts[0], v.unix_time);
	return ret;
}

int tsp_traces(struct tsp_call *c, struct error *err)
{
	int ret = 0;

	json_begin_array(&c->json, NULL);
	pthread_mutex_lock(&c->tsp->lock);
	for (unsigned i = 0; i < c->tsp->nr && !ret; i++) {
		if (c->tsp->traces[i].open)
			ret = put_one_trace(c, NULL, i, err);
	}
	pthread_mutex_unlock(&c->tsp->lock);
	json_end(&c->json);
	return ret;
}

int tsp_trace(struct tsp_call *c, struct error *err)
{
	int i, ret;

	pthread_mutex_lock(&c->tsp->lock);
	i = find_trace(c->tsp, c->route->trace);
	ret = i < 0 ? fail(err, -ENOENT, "there is no such trace")
		    : put_one_trace(c, NULL, (unsigned)i, err);
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}

/* The history that is meant by a path, exactly as it was given or as it is from the root on; -1.
 * Only texts are compared. */
static int find_path(const struct tsp *tsp, const char *uri)
{
	if (!strncmp(uri, "file://", 7))
		uri += 7;
	for (unsigned i = 0; i < tsp->nr; i++) {
		char *whole;
		bool same;

		if (!strcmp(uri, tsp->paths[i]))
			return (int)i;
		whole = realpath(tsp->paths[i], NULL);
		same = whole && !strcmp(uri, whole);
		free(whole);
		if (same)
			return (int)i;
	}
	return -1;
}

int tsp_open_trace(struct tsp_call *c, struct error *err)
{
	const char *uri = tsp_query_text(c->query, "uri");
	int i, ret;

	if (!uri)
		return fail(err, -EINVAL, "uri is missing");
	i = find_path(c->tsp, uri);
	if (i < 0)
		return fail(err, -ENOENT,
			    "this server shows the histories it was started with, and no others: "
			    "sonde serve FILE...");
	pthread_mutex_lock(&c->tsp->lock);
	c->tsp->traces[i].open = true;
	ret = put_one_trace(c, NULL, (unsigned)i, err);
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}

/* With the lock held. */
static bool is_used(const struct tsp *tsp, unsigned trace)
{
	for (unsigned i = 0; i < TSP_EXPERIMENTS_MAX; i++) {
		const struct tsp_experiment *x = &tsp->experiments[i];

		for (unsigned r = 0; *x->uuid && r < x->nr_histories; r++) {
			if (x->histories[r] == trace)
				return true;
		}
	}
	return false;
}

int tsp_close_trace(struct tsp_call *c, struct error *err)
{
	int i, ret;

	pthread_mutex_lock(&c->tsp->lock);
	i = find_trace(c->tsp, c->route->trace);
	if (i < 0) {
		ret = fail(err, -ENOENT, "there is no such trace");
	} else if (is_used(c->tsp, (unsigned)i)) {
		ret = fail(err, -EEXIST, "an experiment has this trace");
	} else {
		ret = put_one_trace(c, NULL, (unsigned)i, err);
		c->tsp->traces[i].open = false;
	}
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}

/* ---- experiments --------------------------------------------------------------------------- */

/* With the lock held. */
static int put_experiment(struct tsp_call *c, const struct tsp_experiment *x, struct error *err)
{
	struct json *j = &c->json;
	struct tsp_view v;
	int ret = tsp_view_of(&v, c->readers, x->histories, x->nr_histories, err);

	if (ret)
		return ret;
	json_begin_object(j, NULL);
	json_str(j, "name", x->name);
	json_str(j, "UUID", x->uuid);
	json_int(j, "nbEvents", x->nr_events);
	json_int(j, "start", v.begin);
	json_int(j, "end", v.end);
	json_str(j, "indexingStatus", x->counted ? "COMPLETED" : "RUNNING");
	json_begin_array(j, "traces");
	for (unsigned i = 0; i < x->nr_histories; i++)
		put_trace(c, NULL, x->histories[i], &v.parts[i], v.unix_time);
	json_end(j);
	json_end(j);
	return 0;
}

int tsp_experiments(struct tsp_call *c, struct error *err)
{
	int ret = 0;

	json_begin_array(&c->json, NULL);
	pthread_mutex_lock(&c->tsp->lock);
	for (unsigned i = 0; i < TSP_EXPERIMENTS_MAX && !ret; i++) {
		if (*c->tsp->experiments[i].uuid)
			ret = put_experiment(c, &c->tsp->experiments[i], err);
	}
	pthread_mutex_unlock(&c->tsp->lock);
	json_end(&c->json);
	return ret;
}

/* Who asks for one waits for its events to be counted, as viewers do when they open it. */
int tsp_experiment(struct tsp_call *c, struct error *err)
{
	int ret;

	if (!c->experiment.counted)
		tsp_count_events(c);
	ret = tsp_find_experiment(c->tsp, c->experiment.uuid, &c->experiment);
	if (ret)
		return fail(err, ret, "there is no such experiment");
	pthread_mutex_lock(&c->tsp->lock);
	ret = put_experiment(c, &c->experiment, err);
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}

/* The histories whose traces are named.  With the lock held. */
static int get_runs(struct tsp_call *c, unsigned histories[static TSP_HISTORIES_MAX],
		    struct error *err)
{
	const char *uuid;
	unsigned nr = 0;

	while ((uuid = tsp_query_text_at(c->query, "traces", nr))) {
		int i = find_trace(c->tsp, uuid);

		if (i < 0)
			return fail(err, -ENOENT, "there is no such trace: %s", uuid);
		if (nr == TSP_HISTORIES_MAX)
			return fail(err, -EINVAL, "more than %d traces", TSP_HISTORIES_MAX);
		for (unsigned k = 0; k < nr; k++) {
			if (histories[k] == (unsigned)i)
				return fail(err, -EINVAL, "the same trace twice");
		}
		histories[nr++] = (unsigned)i;
	}
	return nr ? (int)nr : fail(err, -EINVAL, "traces names none");
}

static int make_experiment(struct tsp_call *c, struct error *err)
{
	const char *name = tsp_query_text(c->query, "name");
	unsigned histories[TSP_HISTORIES_MAX] = {0};
	struct tsp_experiment *x = NULL;
	int nr = get_runs(c, histories, err);

	if (nr < 0)
		return nr;
	if (!name || !*name || strlen(name) >= TSP_NAME_MAX)
		return fail(err, -EINVAL, "name is missing, or too long");
	for (unsigned i = 0; i < TSP_EXPERIMENTS_MAX && !x; i++) {
		if (*c->tsp->experiments[i].uuid && !strcmp(c->tsp->experiments[i].name, name))
			x = &c->tsp->experiments[i];
	}
	if (x && (x->nr_histories != (unsigned)nr ||
		  memcmp(x->histories, histories, (unsigned)nr * sizeof(*histories))))
		return fail(err, -EEXIST, "another experiment has this name");
	if (!x)
		x = add_experiment(c->tsp, name, histories, (unsigned)nr);
	if (!x)
		return fail(err, -ENOSPC, "there are too many experiments: remove some");
	return put_experiment(c, x, err);
}

int tsp_make_experiment(struct tsp_call *c, struct error *err)
{
	int ret;

	pthread_mutex_lock(&c->tsp->lock);
	ret = make_experiment(c, err);
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}

int tsp_remove_experiment(struct tsp_call *c, struct error *err)
{
	struct tsp_experiment *x;
	int ret;

	pthread_mutex_lock(&c->tsp->lock);
	x = find_locked(c->tsp, c->experiment.uuid);
	ret = x ? put_experiment(c, x, err) : fail(err, -ENOENT, "there is no such experiment");
	if (x)
		*x->uuid = '\0';
	pthread_mutex_unlock(&c->tsp->lock);
	return ret;
}
