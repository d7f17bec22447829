/* SPDX-License-Identifier: Apache-2.0 */
#include "less_specific.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void list_add(struct interval_list *l, const struct sonde_interval *i)
{
	if (l->nr == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		l->list = realloc(l->list, l->room * sizeof(*l->list));
		if (!l->list)
			abort();
	}
	l->list[l->nr++] = *i;
}

static bool keep(const struct sonde_interval *i, void *data)
{
	list_add(data, i);
	return true;
}

void list_attr(struct sonde_history *history, uint32_t attr, struct interval_list *out)
{
	if (attr != SONDE_NO_ATTR)
		sonde_interval_walk(history, attr, sonde_history_begin(history),
				    sonde_history_end(history), keep, out);
}

void list_translate(const struct pair *p, struct interval_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		l->list[i].begin = time_in_whole(p, l->list[i].begin);
		l->list[i].end = time_in_whole(p, l->list[i].end);
	}
}

void list_release(struct interval_list *l)
{
	free(l->list);
	*l = (struct interval_list){0};
}

/* A piece of time in which the second history says what the first one does not. */
struct piece {
	int64_t begin, end, slack, longest;
	uint32_t said, was; /* the longest of it */
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What the first history says in an interval; nothing in its second half, or while it knows nothing
 * of somebody else, if that is the lie. */
static uint32_t said_in(const struct pair *p, const struct sonde_interval *w)
{
	int64_t begin = sonde_history_begin(p->whole.history),
		end = sonde_history_end(p->whole.history);

	if (p->lie == LIE_GAINS && w->begin > begin + (end - begin) / 2)
		return 0;
	return p->lie == LIE_NEIGHBOURS && is_gain_of_any(p, w->begin, w->end) ? 0 : w->value;
}

/*
 * Whether every moment of the piece is within its slack of one at which the first history says so:
 * @at is the interval of it in which the piece begins.
 */
static bool moved(const struct pair *p, const struct question *q, const struct interval_list *whole,
		  size_t at, const struct piece *x)
{
	int64_t from = x->begin, to = x->end;

	for (size_t i = at; i-- > 0 && whole->list[i].end > x->begin - x->slack;) {
		if (q->fits(p, x->said, said_in(p, &whole->list[i]), x->begin)) {
			from = whole->list[i].end + x->slack;
			break;
		}
	}
	for (size_t i = at; i < whole->nr && whole->list[i].begin < x->end + x->slack; i++) {
		if (whole->list[i].begin >= x->end &&
		    q->fits(p, x->said, said_in(p, &whole->list[i]), x->begin)) {
			to = whole->list[i].begin - x->slack;
			break;
		}
	}
	return from >= to || from >= x->end || to <= x->begin;
}

static void judge(struct pair *p, const struct question *q, const struct interval_list *whole,
		  size_t at, const struct piece *x)
{
	char said[160], was[160], kind[40];
	struct subject of = q->of;
	bool more = false;

	if (x->end <= x->begin || moved(p, q, whole, at, x))
		return;
	if (!q->known(&p->whole, x->was) || (q->more && q->more(p, x->said, x->was))) {
		more = true;
		p->more++;
		if (q->context)
			of.machine = machine_of_context(&p->cut, &p->cut.contexts[x->said - 1]);
		p->gain_ns += strcmp(q->kind, "runs") ? 0 : x->end - x->begin;
		if (is_gain(p, &of, x->begin, x->end))
			return;
	}
	snprintf(kind, sizeof(kind), "%s%s", more ? "more of " : "", q->kind);
	q->word(&p->cut, x->said, said, sizeof(said));
	q->word(&p->whole, x->was, was, sizeof(was));
	say_wrong(p, kind, q->which, x->begin, x->end, said, "%s", was);
}

/* One interval of the second history, against all of the first one from @at on. */
static void compare_one(struct pair *p, const struct question *q, const struct sonde_interval *c,
			const struct interval_list *whole, size_t at)
{
	struct piece x = {0};
	size_t first = at;

	for (; at < whole->nr && whole->list[at].begin < c->end; at++) {
		const struct sonde_interval *w = &whole->list[at];
		int64_t begin = later(c->begin, w->begin), end = sooner(c->end, w->end);
		uint32_t was = said_in(p, w);

		p->moments++;
		if (!q->part && q->known(&p->whole, was))
			p->kept_ns += end - begin;
		if (q->fits(p, c->value, was, begin)) {
			judge(p, q, whole, first, &x);
			x = (struct piece){0};
			continue;
		}
		if (!x.end) {
			x = (struct piece){begin, end, 0, 0, c->value, was};
			first = at;
		}
		if (end - begin > x.longest) {
			x.longest = end - begin;
			x.was = was;
		}
		x.end = end;
		x.slack = later(x.slack, q->slack(p, q, c->value, was, begin));
	}
	judge(p, q, whole, first, &x);
}

void compare_timelines(struct pair *p, const struct question *q, const struct interval_list *cut,
		       const struct interval_list *whole)
{
	size_t at = 0;

	for (size_t i = 0; i < whole->nr; i++) {
		if (!q->part && q->known(&p->whole, whole->list[i].value))
			p->known_ns += whole->list[i].end - whole->list[i].begin;
	}
	for (size_t i = 0; i < cut->nr; i++) {
		const struct sonde_interval *c = &cut->list[i];

		while (at < whole->nr && whole->list[at].end <= c->begin)
			at++;
		if (q->known(&p->cut, c->value))
			compare_one(p, q, c, whole, at);
	}
}
