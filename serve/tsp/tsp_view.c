/* SPDX-License-Identifier: Apache-2.0 */
/* An experiment's runs on one line of time; and what the server says of itself. */
#include "serve/tsp/tsp_call.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Between 1970 and 2116: so that times of several histories can be subtracted from each other. */
static bool is_unix_time(int64_t t, int64_t offset)
{
	return !__builtin_add_overflow(t, offset, &t) && t >= 0 && t < INT64_C(1) << 62;
}

static bool knows_unix_time(const struct sonde_history *history, int64_t *offset)
{
	return sonde_history_ticks_are_ns(history) && sonde_history_wall_offset(history, offset) &&
	       *offset > -(INT64_C(1) << 62) && *offset < INT64_C(1) << 62 &&
	       is_unix_time(sonde_history_begin(history), *offset) &&
	       is_unix_time(sonde_history_end(history), *offset);
}

int tsp_view_of(struct tsp_view *v, const struct readers *readers, const unsigned *histories,
		unsigned nr, struct error *err)
{
	int64_t first_id = 0;

	*v = (struct tsp_view){.nr = nr, .unix_time = true};
	for (unsigned i = 0; i < nr; i++) {
		struct tsp_part *p = &v->parts[i];

		p->history = readers->histories[histories[i]];
		p->path = sonde_history_path(readers->histories[histories[i]]);
		p->begin = sonde_history_begin(p->history);
		p->end = sonde_history_end(p->history);
		p->first_id = first_id;
		v->unix_time &= knows_unix_time(p->history, &p->offset);
		first_id += tsp_nr_entries(p->history);
	}
	if (first_id > INT32_MAX)
		return fail(err, -ERANGE, "the histories have too many threads for this protocol");
	for (unsigned i = 0; i < nr; i++) {
		struct tsp_part *p = &v->parts[i];

		if (!v->unix_time)
			p->offset = 0;
		if (!i || p->begin + p->offset < v->begin)
			v->begin = p->begin + p->offset;
		if (!i || p->end + p->offset > v->end)
			v->end = p->end + p->offset;
	}
	return 0;
}

int tsp_view_init(struct tsp_call *c, struct error *err)
{
	return tsp_view_of(&c->view, c->readers, c->experiment.histories,
			   c->experiment.nr_histories, err);
}

int64_t tsp_time(const struct tsp_part *p, int64_t t)
{
	t = t < p->begin ? p->begin : t;
	return (t > p->end ? p->end : t) + p->offset;
}

int64_t tsp_run_time(const struct tsp_part *p, int64_t t)
{
	int64_t own;

	if (__builtin_sub_overflow(t, p->offset, &own))
		return t < 0 ? INT64_MIN : INT64_MAX;
	return own;
}

bool tsp_clip(const struct tsp_part *p, int64_t from, int64_t to, int64_t *begin, int64_t *end)
{
	from = tsp_run_time(p, from);
	to = tsp_run_time(p, to);
	*begin = from < p->begin ? p->begin : from;
	*end = to > p->end ? p->end : to;
	return *begin < *end;
}

/* ---- the server ---------------------------------------------------------------------------- */

int tsp_health(struct tsp_call *c, struct error *err)
{
	(void)err;
	json_begin_object(&c->json, NULL);
	json_str(&c->json, "status", "UP");
	json_end(&c->json);
	return 0;
}

int tsp_identifier(struct tsp_call *c, struct error *err)
{
	struct utsname os = {0};
	struct json *j = &c->json;

	(void)err;
	uname(&os);
	json_begin_object(j, NULL);
	json_str(j, "version", sonde_version());
	json_str(j, "tspVersion", "0.6.0");
	json_str(j, "productId", "sonde");
	json_str(j, "launcherName", "sonde serve");
	json_str(j, "os", os.sysname);
	json_str(j, "osArch", os.machine);
	json_str(j, "osVersion", os.release);
	json_int(j, "cpuCount", sysconf(_SC_NPROCESSORS_ONLN));
	json_int(j, "maxMemory", (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	json_end(j);
	return 0;
}

/* Nothing of a history can be configured. */
int tsp_empty_list(struct tsp_call *c, struct error *err)
{
	(void)err;
	json_begin_array(&c->json, NULL);
	json_end(&c->json);
	return 0;
}
