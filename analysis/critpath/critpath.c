/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critpath/critpath_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/sched/cpu_users.h"
#include "analysis/io/handovers.h"
#include "base/grow.h"
#include "model/context.h"

bool path_add_step(struct path_finder *f, const struct path_step *step)
{
	struct path *p = f->path;

	if (step->end <= step->begin)
		return true;
	if (!room_for_one(&p->steps, p->nr, &p->room)) {
		f->ret = -ENOMEM;
		return false;
	}
	p->steps[p->nr++] = *step;
	return true;
}

void path_add(const struct path_walker *w, enum path_kind kind, int64_t context, ns_t begin,
	      ns_t end)
{
	const struct path_step step = {.begin = begin,
				       .end = end,
				       .kind = kind,
				       .depth = w->depth,
				       .thread = w->thread,
				       .context = context,
				       .on = -1,
				       .ready = -1,
				       .instead = -1};

	path_add_step(w->f, &step);
}

struct path_walker path_walker_of(struct path_finder *f, int64_t thread, unsigned depth)
{
	struct path_walker w = {
		.f = f, .thread = thread, .depth = depth, .ready = -1, .waits = PATH_NO_WAIT};
	struct sonde_thread t;

	sonde_thread_get(f->history, thread, &t);
	w.machine = t.machine;
	w.state = sonde_attr_of_thread(f->history, thread, "state");
	w.cpu = sonde_attr_of_thread(f->history, thread, "cpu");
	w.waker = sonde_attr_of_thread(f->history, thread, "waker");
	w.first_cpu = query_first_cpu(f->history, thread);
	return w;
}

/* ---- its birth ------------------------------------------------------------------------------ */

/* Who made it, by the wake-up that starts it: that comes after the fork, before it runs first. */
static int64_t first_waker(const struct path_walker *w, ns_t birth)
{
	struct sonde_interval first, none, woken;
	struct sonde_context c;

	if (w->waker == ATTR_NONE || sonde_interval_at(w->f->history, w->state, birth, &first) ||
	    first.value != THREAD_RUNNABLE ||
	    sonde_interval_at(w->f->history, w->waker, birth, &none) || none.value ||
	    none.end > first.end || none.end >= sonde_history_end(w->f->history) ||
	    sonde_interval_at(w->f->history, w->waker, none.end, &woken) || !woken.value ||
	    sonde_context_get(w->f->history, (int64_t)woken.value - 1, &c))
		return -1;
	return path_waking_thread(w, &c);
}

/* The first thread of the process that made its process, where it is one's first itself; -1. */
static int64_t first_of_parent(const struct path_walker *w, ns_t birth)
{
	struct sonde_thread t;

	if (sonde_thread_get(w->f->history, w->thread, &t) || t.begin != birth || t.tid != t.pid ||
	    t.ppid <= 0)
		return -1;
	return sonde_find_thread(w->f->history, t.machine, t.ppid, birth);
}

/* Before its first moment it did not wait: the path goes on with who made it.  One that was there,
 * but is seen first when it is woken, slept. */
static void before_birth(struct path_walker *w, ns_t begin, ns_t end)
{
	struct sonde_interval i;
	int64_t maker;

	if (w->waker != ATTR_NONE && !sonde_interval_at(w->f->history, w->waker, end, &i) &&
	    i.value) {
		path_slept(w, begin, end);
		return;
	}
	maker = first_waker(w, end);
	if (maker < 0)
		maker = first_of_parent(w, end);
	if (maker >= 0 && maker != w->thread)
		path_follow(w->f, maker, w->depth + 1, begin, end);
	else
		path_add(w, PATH_UNKNOWN, -1, begin, end);
}

static void one_state(struct path_walker *w, const struct sonde_interval *i, ns_t begin, ns_t end)
{
	switch (i->value) {
	case THREAD_RUNNING:
		path_wants_to_run(w, false, begin, end, begin);
		break;
	case THREAD_RUNNABLE:
		path_wants_to_run(w, true, begin, end, i->end);
		break;
	case THREAD_SLEEPING:
	case THREAD_BLOCKED:
	case THREAD_STOPPED:
		if (end < i->end || end >= sonde_history_end(w->f->history))
			path_add(w, PATH_WAITS, -1, begin, end); /* it goes on sleeping */
		else
			path_slept(w, begin, end);
		break;
	case THREAD_NONE:
		if (end < sonde_history_end(w->f->history))
			before_birth(w, begin, end);
		else
			path_add(w, PATH_UNKNOWN, -1, begin, end);
		break;
	default:
		path_add(w, PATH_UNKNOWN, -1, begin, end);
		break;
	}
}

/* Backwards from @end, state by state. */
void path_follow(struct path_finder *f, int64_t thread, unsigned depth, ns_t begin, ns_t end)
{
	struct path_walker w = path_walker_of(f, thread, depth);

	if (depth >= PATH_DEPTH_MAX || w.state == ATTR_NONE) {
		path_add(&w, PATH_UNKNOWN, -1, begin, end);
		return;
	}
	while (end > begin && !f->ret) {
		struct sonde_interval i;
		ns_t from;

		f->ret = sonde_interval_at(f->history, w.state, end - 1, &i);
		if (f->ret)
			return;
		from = i.begin > begin ? i.begin : begin;
		one_state(&w, &i, from, end);
		end = from;
	}
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct path_step *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool goes_on(const struct path_step *a, const struct path_step *b)
{
	return a->end == b->begin && a->kind == b->kind && a->thread == b->thread &&
	       a->context == b->context && a->on == b->on && a->depth == b->depth &&
	       a->ready == b->ready && a->instead == b->instead;
}

static void settle(struct path *p)
{
	size_t kept = 0;

	if (!p->nr)
		return;
	qsort(p->steps, p->nr, sizeof(*p->steps), by_begin);
	for (size_t i = 1; i < p->nr; i++) {
		if (goes_on(&p->steps[kept], &p->steps[i]))
			p->steps[kept].end = p->steps[i].end;
		else
			p->steps[++kept] = p->steps[i];
	}
	p->nr = kept + 1;
}

int path_find(struct path *p, struct sonde_history *history, int64_t thread, ns_t begin, ns_t end,
	      struct error *err)
{
	struct path_finder f = {.path = p, .history = history};
	int ret = cpu_users_get(&f.users, history);

	*p = (struct path){0};
	if (!ret)
		ret = handovers_get(&f.handed, history);
	if (!ret) {
		path_follow(&f, thread, 0, begin, end);
		ret = f.ret;
	}
	settle(p);
	if (!ret)
		return 0;
	path_release(p);
	return fail(err, ret, "cannot follow a thread: %s", error_reason(ret));
}

void path_release(struct path *p)
{
	free(p->steps);
	*p = (struct path){0};
}
