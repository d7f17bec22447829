/* SPDX-License-Identifier: Apache-2.0 */
#include "source/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One lock for all traces: problems and losses are rare. */
static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

int trace_set_paths(struct trace *t, const char *const *paths, unsigned nr)
{
	t->paths = calloc(nr, sizeof(*t->paths));
	for (unsigned i = 0; i < nr && t->paths; i++) {
		t->paths[i] = strdup(paths[i]);
		if (!t->paths[i])
			return -ENOMEM;
		t->nr_paths++;
	}
	t->path = t->paths ? t->paths[0] : NULL;
	return t->paths ? 0 : -ENOMEM;
}

int trace_has_streams(const struct trace *t, struct error *err)
{
	const struct problems *p = &t->problems;

	if (t->nr_streams || !t->ops->takes_parts)
		return 0;
	return fail(err, -ENODATA, "%s has metadata, but no stream file that can be used%s%s",
		    t->path, p->nr ? ". " : "", p->nr ? p->list[0].text : "");
}

static bool is_zero(const uint8_t uuid[16])
{
	static const uint8_t zero[16];

	return !memcmp(uuid, zero, sizeof(zero));
}

/* One recording, of one kernel, by one clock.  What the wall clock was may have been asked anew
 * between two parts. */
static bool is_part_of(const struct trace *a, const struct trace *b)
{
	bool same_id = (a->trace_id && a->trace_id == b->trace_id) ||
		       (!is_zero(a->uuid) && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)));

	return same_id && a->format == b->format && a->lttng == b->lttng &&
	       a->clock.kind == b->clock.kind && a->clock.freq_hz == b->clock.freq_hz &&
	       !memcmp(a->clock.uuid, b->clock.uuid, sizeof(a->clock.uuid)) &&
	       !strcmp(a->hostname, b->hostname) && !strcmp(a->release, b->release);
}

/* A type's number means the same in both: what was declared later comes behind. */
static bool has_types_of(const struct trace *t, const struct trace *part)
{
	if (part->nr_types > t->nr_types)
		return false;
	for (unsigned i = 0; i < part->nr_types; i++) {
		if (strcmp(part->types[i].name, t->types[i].name) ||
		    part->types[i].kind != t->types[i].kind ||
		    part->types[i].syscall != t->types[i].syscall)
			return false;
	}
	return true;
}

bool trace_has_part(const struct trace *t, const struct trace *part)
{
	if (!is_part_of(t, part))
		return false;
	return t->ops->covers ? t->ops->covers(t, part) : has_types_of(t, part);
}

int trace_join(struct trace *t, struct trace *part, struct error *err)
{
	if (!is_part_of(t, part) || !has_types_of(t, part))
		return fail(err, -EINVAL,
			    "%s and %s say to be one trace, but their clocks, machines or events "
			    "differ",
			    t->path, part->path);
	return trace_take(t, part, err);
}

/* Room for one more part with all its paths. */
static int make_room(struct trace *t, const struct trace *part)
{
	struct trace **parts = reallocarray(t->parts, t->nr_parts + 1, sizeof(*parts));
	char **paths;

	if (!parts)
		return -ENOMEM;
	t->parts = parts;
	paths = reallocarray(t->paths, t->nr_paths + part->nr_paths, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	t->paths = paths;
	return 0;
}

static int add_paths(struct trace *t, const struct trace *part)
{
	unsigned nr = t->nr_paths;

	for (unsigned i = 0; i < part->nr_paths; i++) {
		t->paths[nr + i] = strdup(part->paths[i]);
		if (!t->paths[nr + i]) {
			while (i-- > 0)
				free(t->paths[nr + i]);
			return -ENOMEM;
		}
	}
	t->nr_paths += part->nr_paths;
	return 0;
}

/* Its streams, and behind them those of @part. */
static struct stream *streams_with(const struct trace *t, const struct trace *part)
{
	struct stream *streams = calloc(t->nr_streams + part->nr_streams + 1, sizeof(*streams));

	if (streams && t->nr_streams)
		memcpy(streams, t->streams, t->nr_streams * sizeof(*streams));
	if (streams && part->nr_streams)
		memcpy(streams + t->nr_streams, part->streams, part->nr_streams * sizeof(*streams));
	return streams;
}

int trace_take(struct trace *t, struct trace *part, struct error *err)
{
	struct stream *streams = streams_with(t, part);

	if (!streams || make_room(t, part) || add_paths(t, part)) {
		free(streams);
		return fail(err, -ENOMEM, "out of memory");
	}
	if (t->nr_parts) {
		free(t->streams);
	} else {
		t->own_streams = t->streams;
		t->nr_own_streams = t->nr_streams;
	}
	t->streams = streams;
	t->nr_streams += part->nr_streams;
	t->nr_cpus = part->nr_cpus > t->nr_cpus ? part->nr_cpus : t->nr_cpus;
	t->len_bytes += part->len_bytes;
	t->parts[t->nr_parts++] = part;
	return 0;
}

int trace_add_type(struct trace *t, const struct event_type *type)
{
	struct event_type *types;

	if (t->nr_types >= UINT16_MAX)
		return -EFBIG;
	types = calloc(t->nr_types + 1, sizeof(*types));
	if (!types)
		return -ENOMEM;
	if (t->nr_types)
		memcpy(types, t->types, t->nr_types * sizeof(*types));
	types[t->nr_types] = *type;
	if (t->own_types) {
		free(t->types);
	} else {
		t->own_types = t->types;
		t->nr_own_types = t->nr_types;
	}
	t->types = types;
	t->nr_types++;
	return 0;
}

/* Its own types are the reader's again. */
static void types_from(struct trace *t)
{
	if (!t->own_types)
		return;
	free(t->types);
	t->types = t->own_types;
	t->nr_types = t->nr_own_types;
}

/* Its own streams are the reader's again. */
static void parts_from(struct trace *t)
{
	for (unsigned i = 0; i < t->nr_parts; i++)
		trace_release(t->parts[i]);
	if (t->nr_parts) {
		free(t->streams);
		t->streams = t->own_streams;
		t->nr_streams = t->nr_own_streams;
	}
	free(t->parts);
}

void trace_release(struct trace *t)
{
	if (!t)
		return;
	parts_from(t);
	types_from(t);
	t->ops->release(t);
	problems_release(&t->problems);
	for (unsigned i = 0; i < t->nr_paths; i++)
		free(t->paths[i]);
	free(t->paths);
	free(t);
}

static void tell(struct trace *t, void (*to)(struct problems *p, const char *fmt, ...),
		 const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	pthread_mutex_lock(&problem_lock);
	to(&t->problems, "%s", text);
	pthread_mutex_unlock(&problem_lock);
}

void trace_problem(struct trace *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(t, problems_add, fmt, ap);
	va_end(ap);
}

void trace_note(struct trace *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(t, problems_note, fmt, ap);
	va_end(ap);
}

void trace_loss_add(struct trace *t, const struct trace_loss *more)
{
	pthread_mutex_lock(&problem_lock);
	t->loss.events += more->events;
	t->loss.unknown += more->unknown;
	t->loss.packets += more->packets;
	t->loss.bytes_skipped += more->bytes_skipped;
	t->loss.headless += more->headless;
	pthread_mutex_unlock(&problem_lock);
}

int cursor_init(struct cursor *c, struct stream *s, uint32_t first, uint32_t nr, kinds_t want,
		struct error *err)
{
	memset(c, 0, sizeof(*c));
	c->stream = s;
	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++)
		c->wants[kind] = !want || (want & KIND_BIT(kind));
	c->packet = first;
	c->records_left = UINT64_MAX;
	c->packet_end = nr > s->nr_packets - first ? s->nr_packets : first + nr;
	return s->trace->ops->cursor_init(c, err);
}

unsigned cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	return c->stream->trace->ops->cursor_next(c, events, room);
}

void cursor_release(struct cursor *c)
{
	if (c->stream)
		c->stream->trace->ops->cursor_release(c);
	memset(c, 0, sizeof(*c));
}

int trace_event_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out)
{
	return s->trace->ops->event_field(s, e, name, out);
}

size_t trace_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	return s->trace->ops->event_print(s, e, buf, room);
}

/* ---- events that only a count tells of ------------------------------------------------------- */

bool trace_lacks_events(const struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];

		if (s->trace->ops->lacks_events && s->trace->ops->lacks_events(s))
			return true;
	}
	return false;
}

static int read_whole(struct stream *s)
{
	struct event events[64];
	struct cursor c;
	int ret = cursor_init(&c, s, 0, s->nr_packets, WANT(LOST), NULL);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	while (cursor_next(&c, events, ARRAY_SIZE(events)))
		;
	cursor_release(&c);
	return 0;
}

int trace_show_lacking(struct trace *t)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams && !ret; i++) {
		if (t->streams[i].trace->ops->lacks_events)
			ret = read_whole(&t->streams[i]);
	}
	for (unsigned i = 0; i < t->nr_streams && !ret; i++) {
		if (t->streams[i].trace->ops->lacks_events)
			t->streams[i].trace->ops->show_lacking(&t->streams[i]);
	}
	return ret;
}
