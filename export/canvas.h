/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_CANVAS_H
#define EXPORT_CANVAS_H

#include "base/error.h"

#include <stdio.h>

struct sonde_history;

/*
 * What viewers of time lines have in common: a tree of tracks, and on them slices of time that
 * nest, moments, arrows between them, and values over time.  draw.h draws a history on a canvas;
 * each format of such a viewer is a canvas (perfetto.c, chrome.c).
 *
 * Tracks are declared first, a parent before its children.  On one track, slices come in order of
 * time, and of two at one time the one that ends comes first; moments, values and different tracks
 * are in no order.  Times are those of the history, in ns.  Nothing is kept but what a format needs
 * per track and per name.  Texts come out of guests and may hold anything; a canvas makes them safe
 * for its format.
 *
 * Errors are kept, and come out of canvas_close().
 */
enum track_type { TRACK_GROUP, TRACK_SLICES, TRACK_COUNTER };

struct track {
	uint64_t id;	 /* never 0 */
	uint64_t parent; /* 0 = none */
	enum track_type type;
	const char *name;
	const char *unit; /* of a counter */
	unsigned rank;	  /* among its parent's children */
};

/* Something more to be said of a slice or a moment: @text, or when that is NULL @number. */
struct note {
	const char *key;
	const char *text;
	int64_t number;
};

/* A slice that begins, or a moment.  @flow: the arrow (0 = none) that begins here, or, with
 * @flow_ends, ends here; each has one begin and one end, and the begin is drawn first. */
struct sign {
	const char *name;
	const char *category;
	const struct note *notes;
	unsigned nr_notes;
	uint64_t flow;
	bool flow_ends;
};

struct canvas;

struct canvas_ops {
	void (*track)(struct canvas *c, const struct track *t);
	void (*begin)(struct canvas *c, uint64_t track, ns_t t, const struct sign *s);
	void (*end)(struct canvas *c, uint64_t track, ns_t t);
	void (*moment)(struct canvas *c, uint64_t track, ns_t t, const struct sign *s);
	void (*value)(struct canvas *c, uint64_t track, ns_t t, double value);
	int (*close)(struct canvas *c); /* what it keeps is gone, too */
};

struct canvas {
	const struct canvas_ops *ops;
	FILE *out;   /* not owned */
	ns_t origin; /* subtracted from all times; 0 unless the format could not hold them */
};

/* Viewers of both begin where the history does.  NULL: out of memory. */
struct canvas *perfetto_open(FILE *out, const struct sonde_history *history);
struct canvas *chrome_open(FILE *out, const struct sonde_history *history);

/* 0, or the first thing that went wrong: -ENOMEM, or an error of @out. */
static inline int canvas_close(struct canvas *c)
{
	return c->ops->close(c);
}

#endif
