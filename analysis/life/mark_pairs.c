/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/life/mark_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/figure.h"

#define KIND_BEGIN 1
#define KIND_END 2

/* Begins that have not been ended, newest last. */
struct open_marks {
	struct sonde_mark *list; /* owned */
	size_t nr, room;
};

static int push(struct open_marks *o, const struct sonde_mark *m)
{
	if (!room_for_one(&o->list, o->nr, &o->room))
		return -ENOMEM;
	o->list[o->nr++] = *m;
	return 0;
}

/* Takes out the newest that @m ends; false: there is none. */
static bool pop(struct open_marks *o, const struct sonde_mark *m, struct sonde_mark *from)
{
	for (size_t i = o->nr; i-- > 0;) {
		if (o->list[i].id != m->id)
			continue;
		*from = o->list[i];
		memmove(&o->list[i], &o->list[i + 1], (o->nr - i - 1) * sizeof(*o->list));
		o->nr--;
		return true;
	}
	return false;
}

static int add(struct mark_pairs *p, const struct sonde_mark *from, const struct sonde_mark *to)
{
	if (!room_for_one(&p->list, p->nr, &p->room))
		return -ENOMEM;
	p->list[p->nr++] = (struct mark_pair){*from, *to};
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct mark_pair *x = a, *y = b;
	ns_t of_x = ns_since(x->to.t, x->from.t), of_y = ns_since(y->to.t, y->from.t);

	return of_x != of_y ? (of_x < of_y) - (of_x > of_y)
			    : (x->from.t > y->from.t) - (x->from.t < y->from.t);
}

/* By its text; an event of user space, "provider:name field=value ...", also by its name. */
static bool says(const struct sonde_mark *m, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(m->text, text, len))
		return false;
	return !m->text[len] || (m->text[len] == ' ' && strchr(text, ':') && !strchr(text, ' '));
}

static bool ends(const struct sonde_mark *m, const char *from, const char *to)
{
	return to ? says(m, to) : m->kind == KIND_END && says(m, from);
}

static bool begins(const struct sonde_mark *m, const char *from, const char *to)
{
	return says(m, from) && (to || m->kind == KIND_BEGIN);
}

int mark_pairs_find(struct mark_pairs *out, const struct sonde_history *history, const char *from,
		    const char *to, ns_t begin, ns_t end)
{
	/* The history's last event is at its end. */
	ns_t last = end == sonde_history_end(history) ? end : end - 1;
	struct open_marks open = {0};
	int ret = 0;

	*out = (struct mark_pairs){0};
	for (int64_t row = 0; row < sonde_nr_marks(history) && !ret; row++) {
		struct sonde_mark m, first;

		if (sonde_mark_get(history, row, &m) || m.t < begin || m.t > last)
			continue;
		/* Of equal texts every second one is an end. */
		if (ends(&m, from, to)) {
			out->ends++;
			if (pop(&open, &m, &first)) {
				ret = add(out, &first, &m);
				continue;
			}
		}
		if (begins(&m, from, to)) {
			out->begins++;
			ret = push(&open, &m);
		}
	}
	free(open.list);
	if (out->nr)
		qsort(out->list, out->nr, sizeof(*out->list), by_length);
	return ret;
}

void mark_pairs_release(struct mark_pairs *p)
{
	free(p->list);
	*p = (struct mark_pairs){0};
}

int64_t mark_thread(const struct sonde_history *history, const struct sonde_mark *m)
{
	struct sonde_cpu cpu;

	if (m->thread >= 0)
		return m->thread;
	return sonde_cpu_get(history, sonde_find_cpu(history, m->machine, m->cpu), &cpu)
		       ? -1
		       : cpu.host_thread;
}
