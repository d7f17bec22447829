/* SPDX-License-Identifier: Apache-2.0 */

/*
 * dat_compare FILE...: reads each trace.dat with libtracecmd and libtraceevent, and with Sonde, and
 * compares, record for record of every CPU of every buffer: time, event, thread, every field
 * (common ones too), every canonical argument, and the marks for lost events.
 *
 * Prints what was compared, and the first differences.  Exit status 1 when there were any.
 */
#include "events/dialect.h"
#include "source/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>

#define BATCH 512
#define SHOWN_MAX 20

struct compare {
	const char *path;
	struct trace *trace;
	struct tep_handle *tep;
	uint64_t events, fields, args, lost, differences;
};

static void differ(struct compare *c, const struct stream *s, const struct event *e,
		   const char *what, const char *name)
{
	if (c->differences++ >= SHOWN_MAX)
		return;
	printf("%s: CPU %d, time %llu, %s: %s %s differs\n", c->path, s->cpu,
	       (unsigned long long)e->time.v, c->trace->types[e->type].name, what, name);
}

/* A field's bytes as libtraceevent's description places them. */
struct raw {
	const uint8_t *data;
	unsigned len;
};

static struct raw raw_field(struct tep_handle *tep, const struct tep_format_field *f,
			    const struct tep_record *r)
{
	struct raw raw = {(uint8_t *)r->data + f->offset, (unsigned)f->size};

	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		unsigned loc = (unsigned)tep_read_number(tep, raw.data, 4);
		unsigned base = f->flags & TEP_FIELD_IS_RELATIVE ? (unsigned)f->offset + 4 : 0;

		raw.data = (uint8_t *)r->data + base + (loc & 0xffff);
		raw.len = loc >> 16;
	} else if (!f->size) {
		raw.len = (unsigned)r->size - (unsigned)f->offset;
	}
	return raw;
}

static int64_t raw_number(struct tep_handle *tep, const uint8_t *p, unsigned size, bool is_signed)
{
	uint64_t v = tep_read_number(tep, p, (int)size);
	unsigned unused = 64 - 8 * size;

	return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static bool array_same(struct tep_handle *tep, const struct raw *raw, const struct field_value *v,
		       bool is_signed)
{
	unsigned size = v->len ? raw->len / (unsigned)v->len : 0;

	if (!v->len)
		return raw->len < 8;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	for (size_t i = 0; i < v->len; i++) {
		if (v->elems[i] != raw_number(tep, raw->data + i * size, size, is_signed))
			return false;
	}
	return true;
}

static bool field_same(struct tep_handle *tep, const struct tep_format_field *f,
		       const struct tep_record *r, const struct field_value *v)
{
	struct raw raw = raw_field(tep, f, r);
	bool is_signed = f->flags & TEP_FIELD_IS_SIGNED;

	switch (v->cls) {
	case FIELD_INT:
	case FIELD_UINT:
		return v->i == raw_number(tep, raw.data, raw.len, is_signed);
	case FIELD_STRING:
		return v->len == strnlen((const char *)raw.data, raw.len) &&
		       !memcmp(v->text, raw.data, v->len);
	case FIELD_ARRAY:
		return array_same(tep, &raw, v, is_signed);
	default:
		return v->len == raw.len && !memcmp(v->text, raw.data, raw.len);
	}
}

static void compare_fields(struct compare *c, const struct stream *s, const struct event *e,
			   const struct tep_format_field *f, const struct tep_record *r)
{
	for (; f; f = f->next) {
		struct field_value v;

		c->fields++;
		if (trace_event_field(s, e, f->name, &v) || !field_same(c->tep, f, r, &v))
			differ(c, s, e, "field", f->name);
	}
}

static bool has_field(const char *name, void *event)
{
	return tep_find_any_field(event, name) != NULL;
}

static bool arg_same(struct compare *c, const struct event *e, unsigned slot,
		     const struct tep_format_field *f, const struct tep_record *r)
{
	struct raw raw = raw_field(c->tep, f, r);
	const char *text = event_str(e, slot);
	size_t len;

	if (!(f->flags & TEP_FIELD_IS_ARRAY))
		return e->arg[slot] ==
		       raw_number(c->tep, raw.data, raw.len, f->flags & TEP_FIELD_IS_SIGNED);
	len = strnlen((const char *)raw.data, raw.len < 16 ? raw.len : 16);
	return text && strnlen(text, 16) == len && !memcmp(text, raw.data, len);
}

static void compare_args(struct compare *c, const struct stream *s, const struct event *e,
			 struct tep_event *event, const struct tep_record *r)
{
	uint16_t kind = EV_OTHER;
	const struct event_read *read = dialect_find(TRACER_FTRACE, event->name, &kind);

	if (e->kind != kind)
		differ(c, s, e, "kind", event_kind_name(e->kind));
	for (unsigned slot = 0; read && slot < EVENT_ARGS; slot++) {
		char scratch[64];
		const char *name =
			dialect_pick_field(&read->slots[slot], has_field, event, scratch);
		bool same = name ? arg_same(c, e, slot, tep_find_any_field(event, name), r)
				 : e->arg[slot] == read->slots[slot].otherwise;

		c->args++;
		if (!same)
			differ(c, s, e, "argument", name ? name : "(none)");
	}
}

static void compare_event(struct compare *c, const struct stream *s, const struct event *e,
			  struct tep_record *r)
{
	struct tep_event *event = tep_find_event_by_record(c->tep, r);

	c->events++;
	if (e->time.v != r->ts)
		differ(c, s, e, "time", "");
	if (!event || strcmp(event->name, c->trace->types[e->type].name) ||
	    (uint64_t)event->id != c->trace->types[e->type].id) {
		differ(c, s, e, "event type", event ? event->name : "(unknown)");
		return;
	}
	if (e->tid != tep_data_pid(c->tep, r))
		differ(c, s, e, "thread", "");
	compare_fields(c, s, e, event->format.common_fields, r);
	compare_fields(c, s, e, event->format.fields, r);
	compare_args(c, s, e, event, r);
}

/* libtracecmd: missed_events > 0 a number, < 0 not counted, 0 none. */
static void compare_lost(struct compare *c, const struct stream *s, const struct event *e,
			 long long lost, const struct tep_record *r)
{
	long long theirs = r->missed_events < 0 ? -1 : r->missed_events;

	if (theirs)
		c->lost++;
	if (theirs != lost)
		differ(c, s, e, "lost events", "");
}

static void compare_stream(struct compare *c, struct stream *s, struct tracecmd_input *in)
{
	static struct event events[BATCH];
	struct error err = {0};
	struct cursor cursor;
	long long lost = 0;
	struct tep_record *r;
	unsigned n;

	if (cursor_init(&cursor, s, 0, s->nr_packets, 0, &err)) {
		printf("%s: %s\n", c->path, err.text);
		exit(1);
	}
	while ((n = cursor_next(&cursor, events, BATCH))) {
		for (unsigned i = 0; i < n; i++) {
			const struct event *e = &events[i];

			if (e->kind == EV_LOST) {
				lost = e->arg[0] ? e->arg[0] : -1;
				continue;
			}
			r = tracecmd_read_data(in, s->cpu);
			if (!r) {
				differ(c, s, e, "end of stream:", "Sonde has more events; count");
				break;
			}
			compare_event(c, s, e, r);
			compare_lost(c, s, e, lost, r);
			lost = 0;
			tracecmd_free_record(r);
		}
	}
	cursor_release(&cursor);
	r = tracecmd_read_data(in, s->cpu);
	if (r) {
		printf("%s: CPU %d: libtracecmd has more events\n", c->path, s->cpu);
		c->differences++;
		tracecmd_free_record(r);
	}
}

static struct tracecmd_input *input_of(struct tracecmd_input *top, const struct stream *s)
{
	if (!*s->buffer)
		return top;
	for (int i = 0; i < tracecmd_buffer_instances(top); i++) {
		if (!strcmp(tracecmd_buffer_instance_name(top, i), s->buffer))
			return tracecmd_buffer_instance_handle(top, i);
	}
	return NULL;
}

static bool compare_file(const char *path)
{
	struct tracecmd_input *in = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	struct compare c = {.path = path};
	struct error err = {0};

	if (!in) {
		printf("%s: libtracecmd cannot open it\n", path);
		return false;
	}
	if (trace_open(&c.trace, path, &err)) {
		printf("%s\n", err.text);
		return false;
	}
	c.tep = tracecmd_get_tep(in);
	for (unsigned i = 0; i < c.trace->nr_streams; i++) {
		struct stream *s = &c.trace->streams[i];
		struct tracecmd_input *from = input_of(in, s);

		if (!from) {
			printf("%s: libtracecmd knows no buffer \"%s\"\n", path, s->buffer);
			return false;
		}
		compare_stream(&c, s, from);
		if (from != in)
			tracecmd_close(from);
	}
	for (unsigned i = 0; i < c.trace->problems.nr; i++) {
		printf("problem: %s\n", c.trace->problems.list[i].text);
		c.differences++;
	}
	printf("%s: %llu events, %llu fields, %llu arguments, %llu loss marks compared: "
	       "%llu differences\n",
	       path, (unsigned long long)c.events, (unsigned long long)c.fields,
	       (unsigned long long)c.args, (unsigned long long)c.lost,
	       (unsigned long long)c.differences);
	trace_release(c.trace);
	tracecmd_close(in);
	return !c.differences && c.events;
}

int main(int argc, char **argv)
{
	bool same = argc > 1;

	for (int i = 1; i < argc; i++)
		same &= compare_file(argv[i]);
	return same ? 0 : 1;
}
