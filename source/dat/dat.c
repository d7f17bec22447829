/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.dat files: opening and releasing.  See reader.h for the parts.
 */
#include "source/dat/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dat_clock_kind(struct trace_clock *c)
{
	static const struct {
		const char *name;
		enum clock_kind kind;
		uint64_t freq_hz;
	} clocks[] = {
		{"local", CLOCK_LOCAL, NS_PER_SEC}, {"global", CLOCK_LOCAL, NS_PER_SEC},
		{"perf", CLOCK_LOCAL, NS_PER_SEC},  {"mono", CLOCK_MONO, NS_PER_SEC},
		{"boot", CLOCK_BOOT, NS_PER_SEC},   {"x86-tsc", CLOCK_TSC, 0},
		{"counter", CLOCK_COUNTER, 0},
	};
	/* Others: "uptime" counts jiffies, "mono_raw" and "tai" are nanoseconds of clocks that
	 * enum clock_kind does not tell apart, "ppc-tb", "x86-art" ... are counters. */
	if (!strcmp(c->name, "mono_raw") || !strcmp(c->name, "tai"))
		c->freq_hz = NS_PER_SEC;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (strcmp(c->name, clocks[i].name))
			continue;
		c->kind = clocks[i].kind;
		c->freq_hz = clocks[i].freq_hz;
	}
}

static void settle_clock(struct dat *d)
{
	struct trace_clock *c = &d->file.trace->clock;

	if (!*c->name)
		strcpy(c->name, "local"); /* the kernel's default; old files do not say */
	dat_clock_kind(c);
	if (c->kind == CLOCK_TSC)
		c->freq_hz = d->file.tsc_hz;
}

/* "TID NAME" lines, with a u64 length in front. */
static int comms_read(struct dat *d)
{
	struct trace *t = d->file.trace;
	struct bytes b = d->file.tables[DAT_CMDLINES];
	uint64_t len = bytes_u64(&b);
	struct bytes text = bytes_sub(&b, len);
	unsigned lines = 0;

	if (text.bad)
		return 0;
	for (size_t i = 0; i < text.len_bytes; i++)
		lines += text.data[i] == '\n';
	t->comms = arena_alloc(&d->file.arena, lines * sizeof(*t->comms));
	if (!t->comms)
		return -ENOMEM;
	while (t->nr_comms < lines) {
		const char *p = (const char *)text.data + text.pos;
		const char *end = memchr(p, '\n', bytes_left(&text));
		const char *space = memchr(p, ' ', (size_t)(end - p));

		bytes_take(&text, (uint64_t)(end - p) + 1);
		if (!space) {
			lines--;
			continue;
		}
		t->comms[t->nr_comms].tid = (int32_t)strtol(p, NULL, 10);
		t->comms[t->nr_comms].name =
			arena_strndup(&d->file.arena, space + 1, (size_t)(end - space - 1));
		if (!t->comms[t->nr_comms].name)
			return -ENOMEM;
		t->nr_comms++;
	}
	return 0;
}

static int printk_read(struct dat *d)
{
	const struct bytes *b = &d->file.tables[DAT_PRINTK];

	return b->bad || !b->len_bytes ? 0
				       : dat_printk_read(&d->printk, &d->file.arena,
							 (const char *)b->data, b->len_bytes);
}

static void dat_release(struct trace *t)
{
	struct dat *d = t->reader;

	if (!d)
		return;
	dat_streams_release(t);
	dat_printk_release(&d->printk);
	if (d->events.trace)
		dat_events_release(&d->events);
	dat_file_release(&d->file);
	free(d);
}

static int dat_open(struct trace *t, struct error *err)
{
	struct dat *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	t->format = TRACE_DAT;
	t->reader = d;
	d->file.trace = t;
	d->latest = UINT64_MAX;
	strcpy(t->tracer, "trace-cmd");
	ret = dat_file_open(&d->file, err);
	if (!ret)
		ret = dat_types_init(d, err);
	if (!ret)
		ret = dat_streams_init(d, err);
	if (!ret && (comms_read(d) || printk_read(d)))
		ret = fail(err, -ENOMEM, "out of memory opening %s", t->path);
	if (ret)
		return arena_blame(&d->file.arena, ret, t->path, err);
	if (d->file.arena.reached_limit)
		trace_problem(t, "%s says of itself more than is sensible: some of it is not used",
			      t->path);
	settle_clock(d);
	return 0;
}

static const char *dat_symbols(struct trace *t, size_t *len_bytes)
{
	struct dat *d = t->reader;
	const struct bytes *b = &d->file.tables[DAT_SYMBOLS];

	dat_section_symbols(&d->file);
	*len_bytes = b->bad ? 0 : b->len_bytes;
	return b->bad ? NULL : (const char *)b->data;
}

const struct trace_ops dat_trace_ops = {
	.probe = dat_file_probe,
	.open = dat_open,
	.release = dat_release,
	.cursor_init = dat_cursor_init,
	.cursor_next = dat_cursor_next,
	.cursor_release = dat_cursor_release,
	.event_field = dat_event_field,
	.event_print = dat_event_print,
	.symbols = dat_symbols,
	.lacks_events = dat_lacks_events,
	.show_lacking = dat_show_lacking,
};
