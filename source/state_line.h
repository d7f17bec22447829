/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_STATE_LINE_H
#define SOURCE_STATE_LINE_H

#include "source/trace.h"

/*
 * State lines: what `sonde record` wrote into the trace about what was there already, as text
 * (docs/formats/state.md has the grammar).  They are events of kind EV_STATE_LINE; every other text
 * that somebody wrote the same way is such an event, too.
 *
 *	if (state_line_read(&l, stream, event) && state_block_takes(&block, &l, event->tid))
 *		switch (l.kind) ...
 *
 * A parsed line points into the event's text and is good as long as that.  Nothing is allocated.
 * The text is not trusted: what is no state line is none, a key that is missing or whose value is
 * malformed is unknown, of two equal keys the first counts.
 */
enum state_kind {
	STATE_UNKNOWN, /* a state line of a kind that this program does not know */
	STATE_BEGIN,
	STATE_CLOCK,
	STATE_PIDNS,
	STATE_CGROUP,
	STATE_TASK,
	STATE_VM,
	STATE_VCPU,
	STATE_STAT,
	STATE_BOOTED,
	STATE_END,
};

enum state_cause { STATE_CAUSE_OTHER, STATE_CAUSE_START, STATE_CAUSE_VM, STATE_CAUSE_END };

#define STATE_LINE_BYTES 1000 /* longer ones are none: a tracer may have cut them */
#define STATE_PAIRS_MAX 32
#define STATE_VERSION 1

struct state_pair {
	const char *key, *value;
	uint16_t key_len, value_len;
};

struct state_line {
	enum state_kind kind;
	unsigned nr;
	struct state_pair pairs[STATE_PAIRS_MAX];
};

/* False when the text is no state line. */
bool state_line_parse(struct state_line *out, const char *text, size_t len_bytes);

/* The text of an event of kind EV_STATE_LINE, which lives as long as the event; false when it has
 * none. */
bool state_line_text(const struct stream *s, const struct event *e, const char **text,
		     size_t *len_bytes);

/* Both at once. */
bool state_line_read(struct state_line *out, const struct stream *s, const struct event *e);

/* Values by key; what is unknown gives @otherwise. */
int64_t state_int(const struct state_line *l, const char *key, int64_t otherwise);
uint64_t state_uint(const struct state_line *l, const char *key, uint64_t otherwise);

/* The numbers of a list "1,2,3"; returns how many, no more than @room; 0 when any is malformed or
 * there are more. */
unsigned state_list(const struct state_line *l, const char *key, int64_t *out, unsigned room);

/* A text value, decoded, cut to @room (at least 1) with its NUL; "" when it is unknown.  Returns
 * whether it is known. */
bool state_text(const struct state_line *l, const char *key, char *out, size_t room);

/* A UUID that says something: neither all zero nor all ones, as firmware without one has it. */
bool state_uuid(const struct state_line *l, const char *key, uint8_t out[16]);

enum state_cause state_cause(const struct state_line *l);

/*
 * Lines count only inside a block, and only those of the thread that began it: a tracer may let
 * anybody write (LTTng's /proc/lttng-logger does).  Zero-initialise, one for each machine.
 */
struct state_block {
	bool open;
	enum state_cause cause;
	int32_t tid;	  /* who writes it; -1 not told */
	uint64_t ignored; /* lines outside any block, or of another thread */
};

/* Follows the block; true when the line counts: it begins a block, is in one, or ends it.
 * @tid: the event's. */
bool state_block_takes(struct state_block *b, const struct state_line *l, int32_t tid);

#endif
