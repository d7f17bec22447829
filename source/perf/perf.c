/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data files: opening and releasing, and the slow way to an event.  See reader.h for the
 * parts.
 */
#include "source/perf/reader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* perf record -k; by default, perf_event_open's own clock: sched_clock() */
static const char *clock_name(int32_t clockid)
{
	switch (clockid) {
	case -1:
		return "perf";
	case CLOCK_MONOTONIC:
		return "mono";
	case CLOCK_MONOTONIC_RAW:
		return "mono_raw";
	case CLOCK_BOOTTIME:
		return "boot";
	case CLOCK_TAI:
		return "tai";
	case CLOCK_REALTIME:
		return "realtime";
	default:
		return "unknown";
	}
}

static void settle_clock(struct perf *p)
{
	struct trace_clock *c = &p->trace->clock;
	int32_t clockid = p->attrs.list[0].clockid;

	for (uint32_t i = 1; i < p->attrs.nr; i++) {
		if (p->attrs.list[i].clockid != clockid)
			trace_problem(p->trace,
				      "%s: its events were recorded with different clocks",
				      p->trace->path);
	}
	strcpy(c->name, clock_name(clockid));
	dat_clock_kind(c);
	if (clockid == CLOCK_REALTIME) {
		c->kind = CLOCK_REAL;
		c->freq_hz = NS_PER_SEC;
	}
	if (p->clock_ns) {
		c->offset_ns = (int64_t)(p->wall_ns - p->clock_ns);
		c->offset_known = true;
	}
}

/* Types that no format describes. */
static int own_types(struct perf *p, struct error *err)
{
	static const struct field_desc comm_fields[] = {
		{"pid", FIELD_INT}, {"tid", FIELD_INT}, {"comm", FIELD_STRING}};
	static const struct dat_layout none;
	struct trace *t = p->trace;
	struct event_type comm = {.name = "comm",
				  .kind = EV_STATEDUMP_PROCESS,
				  .syscall = -1,
				  .system = "perf",
				  .fields = comm_fields,
				  .nr_fields = ARRAY_SIZE(comm_fields)};
	struct event_type sample = {.name = "sample",
				    .kind = EV_OTHER,
				    .syscall = -1,
				    .system = "perf",
				    .reader = &none};
	int ret;

	p->comm_type = (uint16_t)t->nr_types;
	ret = trace_add_type(t, &comm);
	p->sample_type = (uint16_t)t->nr_types;
	if (!ret)
		ret = trace_add_type(t, &sample);
	return ret ? fail(err, ret, "%s: no room for two more types of events", t->path) : 0;
}

static int perf_open(struct trace *t, struct error *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	struct perf_index x = {0};
	int ret;

	if (!p)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	t->format = TRACE_PERF;
	t->reader = p;
	p->trace = t;
	strcpy(t->tracer, "perf");
	ret = perf_file_open(p, err);
	if (!ret)
		ret = own_types(p, err);
	if (!ret)
		ret = perf_index_make(p, &x, err);
	if (!ret)
		ret = perf_streams_init(p, &x, err);
	perf_index_release(&x);
	if (!ret)
		settle_clock(p);
	return arena_blame(&p->arena, ret, t->path, err);
}

static void perf_release(struct trace *t)
{
	struct perf *p = t->reader;

	if (!p)
		return;
	perf_streams_release(t);
	perf_file_release(p);
	free(p);
}

/* ---- the slow way to an event --------------------------------------------------------------- */

static bool record_of(const struct perf *p, const struct event *e, struct perf_record *r)
{
	return e->kind != EV_LOST && e->record &&
	       perf_record_read(p->map.data, (uint64_t)(e->record - p->map.data), p->end, r);
}

static bool record_open(const struct stream *s, const struct event *e, const struct perf_record *r,
			struct dat_record *out)
{
	const struct perf *p = ((const struct perf_stream *)s->reader)->perf;
	const struct perf_attr *a = perf_sample_attr(&p->attrs, r);

	out->layout = s->trace->types[e->type].reader;
	out->swap = false;
	return r->type == RECORD_SAMPLE && e->type != p->sample_type && a &&
	       perf_sample_raw(a, r, &out->data, &out->len_bytes);
}

/* fill_comm() has seen that the record is sound. */
static int comm_field(const struct perf_record *r, const char *name, struct field_value *out)
{
	*out = (struct field_value){.cls = FIELD_INT};
	if (!strcmp(name, "pid")) {
		out->i = (int32_t)load_u32(r->data);
	} else if (!strcmp(name, "tid")) {
		out->i = (int32_t)load_u32(r->data + 4);
	} else if (!strcmp(name, "comm")) {
		out->cls = FIELD_STRING;
		out->text = (const char *)r->data + 8;
		out->len = strnlen(out->text, r->len_bytes - 8);
	} else {
		return -ENOENT;
	}
	return 0;
}

static int perf_event_field(const struct stream *s, const struct event *e, const char *name,
			    struct field_value *out)
{
	const struct perf *p = ((const struct perf_stream *)s->reader)->perf;
	struct perf_record r;
	struct dat_record record;

	if (!record_of(p, e, &r))
		return -ENOENT;
	if (r.type == RECORD_COMM)
		return comm_field(&r, name, out);
	return record_open(s, e, &r, &record) ? dat_record_field(&record, name, out) : -ENOENT;
}

static void comm_print(const struct perf_record *r, struct text *t)
{
	struct field_value v;

	text_str(t, "pid=");
	text_i64(t, (int32_t)load_u32(r->data));
	text_str(t, " tid=");
	text_i64(t, (int32_t)load_u32(r->data + 4));
	text_str(t, " comm=\"");
	comm_field(r, "comm", &v);
	text_quotable(t, (const uint8_t *)v.text, v.len, false);
	text_char(t, '"');
}

static size_t perf_event_print(const struct stream *s, const struct event *e, char *buf,
			       size_t room)
{
	const struct perf *p = ((const struct perf_stream *)s->reader)->perf;
	struct text text = text_in(buf, room);
	struct perf_record r;
	struct dat_record record;

	if (e->kind == EV_LOST) {
		text_str(&text, "lost=");
		text_i64(&text, e->arg[0]);
	} else if (!record_of(p, e, &r)) {
		return text_end(&text, room);
	} else if (r.type == RECORD_COMM) {
		comm_print(&r, &text);
	} else if (record_open(s, e, &r, &record)) {
		dat_record_print(&record, &text);
	}
	return text_end(&text, room);
}

const struct trace_ops perf_trace_ops = {
	.probe = perf_file_probe,
	.open = perf_open,
	.release = perf_release,
	.cursor_init = perf_cursor_init,
	.cursor_next = perf_cursor_next,
	.cursor_release = perf_cursor_release,
	.event_field = perf_event_field,
	.event_print = perf_event_print,
};
