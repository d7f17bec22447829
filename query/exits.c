/* SPDX-License-Identifier: Apache-2.0 */
#include "query/exits.h"

#include <errno.h>
#include <stdlib.h>

/* So many intervals are read at a time in the window; beyond it, it is mostly one that is needed.
 */
#define READ_ROOM 8192
#define READ_BEYOND 64
/* So many of them are gone through before what was found is told: that is then still in the
 * processor's cache. */
#define SCAN_BATCH 512

enum scan_state {
	SCAN_BETWEEN, /* exits, or in one whose kind or begin is not known */
	SCAN_OUTSIDE, /* the exit at hand began before the window: it is another window's */
	SCAN_OPEN     /* list[nr] is the exit at hand */
};

struct scan {
	struct sonde_history *history;
	uint32_t vcpu;
	ns_t begin, end;
	enum scan_state state;
	uint32_t kind; /* of the exit at hand, unless in between */
	bool (*each)(const struct exit_interval *list, size_t nr, void *data);
	void *data;
	unsigned nr;
	/* An exit takes an interval to begin and one to end; and one may have been open before. */
	struct exit_interval list[SCAN_BATCH / 2 + 1];
	uint32_t values[READ_ROOM];
	ns_t begins[READ_ROOM + 1];
};

static bool same_reason(const struct scan *s, const struct exit_kind *kind)
{
	const struct exit_kind *first = query_exit_kind(s->history, s->kind);

	return first->reason == kind->reason && first->isa == kind->isa;
}

/* More is known of the exit at hand, or it has come to the VMM's user space. */
static void go_on(struct exit_interval *e, ns_t begin, uint32_t row, const struct exit_kind *kind)
{
	e->kind = row;
	if (kind->user_reason < 0 || e->user_kind)
		return;
	e->user_kind = row;
	e->user_begin = begin;
}

/* A value that is not the one of guest mode; false: all exits of the window are known. */
static bool add_value(struct scan *s, ns_t begin, uint32_t row)
{
	const struct exit_kind *kind = query_exit_kind(s->history, row);

	if (!kind) {
		/* How it ended was not seen. */
		s->state = s->state == SCAN_OPEN ? SCAN_BETWEEN : s->state;
		return true;
	}
	if (s->state != SCAN_BETWEEN && same_reason(s, kind)) {
		if (s->state == SCAN_OPEN)
			go_on(&s->list[s->nr], begin, row, kind);
		return true;
	}
	if (begin >= s->end)
		return false;
	s->list[s->nr] = (struct exit_interval){.begin = begin, .vcpu = s->vcpu, .kind = row};
	s->kind = row;
	s->state = begin < s->begin ? SCAN_OUTSIDE : SCAN_OPEN;
	return true;
}

/* Back in guest mode. */
static void end_exit(struct scan *s, ns_t t)
{
	if (s->state == SCAN_OPEN)
		s->list[s->nr++].end = t;
	s->state = SCAN_BETWEEN;
}

/* How many of the intervals, at the front, are exits of one kind each with the entry after them, as
 * most are: these go into the list.  Where the window begins or ends, each must be looked at for
 * itself. */
static unsigned add_plain(struct scan *s, const ns_t *begins, const uint32_t *values, unsigned nr)
{
	bool is_inside = begins[0] >= s->begin && begins[nr - 1] < s->end;
	struct exit_interval *e = &s->list[s->nr];
	const struct sonde_history *history = s->history;
	const uint32_t vcpu = s->vcpu;
	unsigned at = 0;

	for (; is_inside && at + 1 < nr && !values[at + 1] &&
	       query_exit_kind(history, (int64_t)values[at] - 1);
	     at += 2, e++) {
		e->begin = begins[at];
		e->end = begins[at + 1];
		e->vcpu = vcpu;
		e->kind = values[at] - 1;
		e->user_kind = 0;
	}
	s->nr += at / 2;
	return at;
}

/* Tells what was found; the exit at hand comes to the front. */
static bool tell(struct scan *s)
{
	bool more = !s->nr || s->each(s->list, s->nr, s->data);

	s->list[0] = s->list[s->nr];
	s->nr = 0;
	return more;
}

static bool scan_batch(struct scan *s, const ns_t *begins, const uint32_t *values, unsigned nr)
{
	bool more = true;

	for (unsigned i = 0; i < nr && more; i++) {
		if (s->state == SCAN_BETWEEN)
			i += add_plain(s, begins + i, values + i, nr - i);
		if (i == nr)
			break;
		if (values[i])
			more = add_value(s, begins[i], values[i] - 1);
		else
			end_exit(s, begins[i]);
	}
	return tell(s) && more;
}

/* Goes on at *@at until @until, some intervals at a time; @more: whether there may be more exits of
 * the window. */
static int scan_until(struct scan *s, attr_t attr, ns_t *at, ns_t until, unsigned room, bool *more)
{
	while (*more && *at < until) {
		unsigned nr;
		int ret = query_list(s->history, attr, *at, until, s->begins, s->values, room, &nr);

		if (ret)
			return ret;
		for (unsigned i = 0; i < nr && *more; i += SCAN_BATCH)
			*more = scan_batch(s, s->begins + i, s->values + i,
					   nr - i < SCAN_BATCH ? nr - i : SCAN_BATCH);
		*at = s->begins[nr];
	}
	return 0;
}

int exits_scan(struct sonde_history *history, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct exit_interval *list, size_t nr, void *data), void *data)
{
	attr_t attr = history->cpu_attrs[vcpu][CPU_EXIT];
	ns_t last = sonde_history_end(history);
	ns_t at = begin > sonde_history_begin(history) ? begin : sonde_history_begin(history);
	bool more = true;
	struct scan *s;
	int ret;

	if (attr == ATTR_NONE)
		return 0;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->history = history;
	s->vcpu = (uint32_t)vcpu;
	s->begin = begin;
	s->end = end;
	s->state = SCAN_BETWEEN;
	s->nr = 0;
	s->each = each;
	s->data = data;
	ret = scan_until(s, attr, &at, end < last ? end : last, READ_ROOM, &more);
	if (!ret) /* for the end of what begins in the window */
		ret = scan_until(s, attr, &at, last, READ_BEYOND, &more);
	free(s);
	return ret;
}

const char *exit_name(const struct sonde_history *history, int64_t isa, int64_t reason)
{
	const char *name = exit_reason_name(isa ? isa : history->isa, reason);

	return name ? name : "";
}

bool exit_is_halt(const struct sonde_history *history, int64_t isa, int64_t reason)
{
	return exit_halts(reason, isa ? isa : history->isa);
}
