/* SPDX-License-Identifier: Apache-2.0 */
/* Threads' states, and who woke them. */
#include "export/draw.h"
#include "model/context.h"

struct row {
	struct draw *draw;
	const struct thread_row *thread;
	uint32_t before; /* state */
	ns_t before_end;
};

/* The context that woke it for @i; false: that is not known.  A thread that runs at once, without
 * having been runnable, may have been woken unseen: then its waker is that of an earlier time. */
static bool woken_by(const struct row *row, const struct sonde_interval *i,
		     struct sonde_context *out)
{
	struct sonde_interval waker;

	return row->thread->waker != ATTR_NONE &&
	       !interval_cache_at(&row->draw->users->cache, row->thread->waker, i->begin, &waker) &&
	       waker.value && (i->value == THREAD_RUNNABLE || waker.begin == i->begin) &&
	       !sonde_context_get(row->draw->history, (int64_t)waker.value - 1, out);
}

static bool is_irq(const struct sonde_context *c)
{
	return c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ;
}

/* What an interrupt's handler does is its CPU's doing, not that of the thread it fell upon. */
static uint64_t waker_track(const struct draw *d, const struct sonde_context *c)
{
	int64_t cpu = sonde_find_cpu(d->history, c->machine, c->cpu);

	if (!is_irq(c) && c->thread >= 0 && draw_has_thread(d, c->thread))
		return track_id(DRAW_THREAD, c->thread);
	return cpu >= 0 && draw_has_cpu(d, cpu) ? track_id(DRAW_CPU, cpu) : 0;
}

/* Off a CPU into readiness is no wake-up; nor is one seen that the window cuts. */
static bool is_woken(const struct row *row, const struct sonde_interval *i)
{
	return (i->value == THREAD_RUNNABLE || i->value == THREAD_RUNNING) &&
	       row->before_end == i->begin &&
	       (row->before == THREAD_SLEEPING || row->before == THREAD_BLOCKED);
}

/* A slice of a thread that was woken, and the arrow to it. */
static void begin_woken(const struct row *row, uint64_t track, const struct sonde_interval *i,
			struct sign *s)
{
	struct note note = {.key = "woken by"};
	struct draw *d = row->draw;
	char by[LABEL_MAX], woken[LABEL_MAX];
	struct sonde_context c;

	if (woken_by(row, i, &c)) {
		uint64_t from = waker_track(d, &c);

		if (is_irq(&c) || c.thread < 0)
			context_mode_label(&c, by, sizeof(by));
		else
			draw_thread_label(d, c.thread, by);
		note.text = by;
		s->notes = &note;
		s->nr_notes = 1;
		draw_thread_label(d, row->thread->thread, woken);
		s->flow = from ? draw_arrow(d, from, i->begin, woken, "wakeup") : 0;
		s->flow_ends = true;
	}
	d->canvas->ops->begin(d->canvas, track, i->begin, s);
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct row *row = data;
	struct draw *d = row->draw;
	uint64_t track = track_id(DRAW_THREAD, row->thread->thread);
	struct sign s = {.name = thread_state_name(i->value), .category = "thread"};

	if (s.name) {
		if (is_woken(row, i))
			begin_woken(row, track, i, &s);
		else
			d->canvas->ops->begin(d->canvas, track, i->begin, &s);
		d->canvas->ops->end(d->canvas, track, i->end);
	}
	row->before = i->value;
	row->before_end = i->end;
	return true;
}

/* The state before the piece, for a thread that is woken at its begin. */
static void look_back(struct row *row, const struct piece *p)
{
	struct sonde_interval i;

	if (!p->first &&
	    !sonde_interval_at(row->draw->history, row->thread->state, p->begin - 1, &i)) {
		row->before = i.value;
		row->before_end = i.end;
	}
}

int draw_threads(struct draw *d, const struct piece *p)
{
	int ret = 0;

	for (size_t i = 0; i < d->rows.nr_threads && !ret; i++) {
		struct row row = {.draw = d, .thread = &d->rows.threads[i]};

		if (!rows_lives_in(row.thread, p))
			continue;
		look_back(&row, p);
		ret = rows_walk(&d->rows, p, row.thread->state, each_state, &row);
	}
	return ret;
}
