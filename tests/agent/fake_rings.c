/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of record/guestmem/rings.c, for tests of links.  The environment says:
 *
 *	FAKE_RINGS=LIST  guests, with commas, that have rings from the third tick on; each gives a
 *			 line with its number at each tick
 *	FAKE_RINGS_BYTES=N  these many bytes at each tick instead
 */
#include "record/guestmem/rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUESTS_MAX 100
#define TICKS_BEFORE 2

struct rings {
	struct rings_options options;
	unsigned ticks, nr;
	struct fake_guest {
		char name[64], why[256];
		struct sink *sink; /* NULL: it has ended */
		struct ring_counts counts;
	} guests[GUESTS_MAX];
};

int rings_open(struct rings **out, const struct rings_options *options, struct error *err)
{
	struct rings *r = calloc(1, sizeof(*r));

	(void)err;
	r->options = *options;
	*out = r;
	return 0;
}

static void find_guests(struct rings *r)
{
	const char *list = getenv("FAKE_RINGS");
	char names[4096], *save, *text = names;

	snprintf(names, sizeof(names), "%s", list ? list : "");
	for (char *name = strtok_r(text, ",", &save); name && r->nr < GUESTS_MAX;
	     name = strtok_r(NULL, ",", &save)) {
		struct fake_guest *g = &r->guests[r->nr];
		struct rings_guest shown;

		snprintf(g->name, sizeof(g->name), "%.60s", name);
		shown = rings_guest(r, r->nr++);
		g->sink = r->options.place(&shown, r->options.data);
	}
}

static void give(struct fake_guest *g)
{
	const char *bytes = getenv("FAKE_RINGS_BYTES");
	size_t len = bytes ? strtoull(bytes, NULL, 10) : 0;
	char line[100], *data = bytes ? calloc(1, len) : line;
	struct error err = {0};

	if (!bytes)
		len = (size_t)snprintf(line, sizeof(line), "%s %llu\n", g->name,
				       (unsigned long long)g->counts.blocks);
	if (g->sink->ops->write(g->sink, SINK_BLOCKS, 0, data, len, &err)) {
		snprintf(g->why, sizeof(g->why), "%.250s", err.text);
		g->sink = NULL;
	}
	g->counts.blocks++;
	g->counts.bytes += len;
	g->counts.events_lost = 3;
	if (bytes)
		free(data);
}

void rings_tick(struct rings *r)
{
	if (r->ticks++ == TICKS_BEFORE)
		find_guests(r);
	for (unsigned i = 0; i < r->nr; i++) {
		if (r->guests[i].sink)
			give(&r->guests[i]);
	}
}

unsigned rings_nr_guests(const struct rings *r)
{
	return r->nr;
}

struct rings_guest rings_guest(const struct rings *r, unsigned i)
{
	const struct fake_guest *g = &r->guests[i];

	return (struct rings_guest){.index = i,
				    .pid = 1000 + (int)i,
				    .name = g->name,
				    .uuid = "",
				    .counts = g->counts,
				    .ended = !g->sink,
				    .why = g->why};
}

bool rings_outcome(const struct rings_guest *g, struct record_cost *cost, char why[static 256])
{
	*cost = (struct record_cost){.bytes = g->counts.bytes,
				     .events_lost = g->counts.events_lost};
	snprintf(cost->clock, sizeof(cost->clock), "x86-tsc");
	snprintf(why, 256, "%s", g->why);
	return !*why;
}

void rings_close(struct rings *r)
{
	free(r);
}
