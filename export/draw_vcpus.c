/* SPDX-License-Identifier: Apache-2.0 */
/* vCPUs as their hosts see them: on a CPU, preempted, waiting; what ended each wait; and who had
 * the CPU while they were ready to run. */
#include "analysis/sched/preemption.h"
#include "analysis/wakeup/waits.h"
#include "analysis/sentence.h"
#include "export/draw.h"

#include <string.h>

struct row {
	struct draw *draw;
	const struct piece *piece;
	int64_t vcpu;
};

static void slice(struct draw *d, uint64_t track, ns_t begin, ns_t end, const struct sign *s)
{
	d->canvas->ops->begin(d->canvas, track, begin, s);
	d->canvas->ops->end(d->canvas, track, end);
}

/* ---- states -------------------------------------------------------------------------------- */

static bool each_state(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;
	const struct sign s = {.name = vcpu_state_name(i->value), .category = "vCPU"};

	if (s.name)
		slice(row->draw, track_id(DRAW_CPU, row->vcpu), i->begin, i->end, &s);
	return true;
}

/* ---- waits --------------------------------------------------------------------------------- */

/* Who woke it is a thread of the parent, or the vCPU that sent the interrupt. */
static uint64_t waker_track(const struct draw *d, const struct sonde_wake *w)
{
	if (w->from >= 0 && draw_has_cpu(d, w->from))
		return track_id(DRAW_CPU, w->from);
	if (w->by >= 0 && draw_has_thread(d, w->by))
		return track_id(DRAW_THREAD, w->by);
	return 0;
}

static unsigned wait_notes(const struct draw *d, const struct wait *wait,
			   const struct sonde_wake *w, struct note notes[5],
			   char text[2][LABEL_MAX])
{
	unsigned nr = 0;

	notes[nr++] = (struct note){"evidence", w->evidence, 0};
	if (*w->irq)
		notes[nr++] = (struct note){"interrupt", w->irq, 0};
	if (w->vector >= 0)
		notes[nr++] = (struct note){"vector", NULL, w->vector};
	if (w->by >= 0) {
		draw_thread_label(d, w->by, text[0]);
		notes[nr++] = (struct note){"woken by", text[0], 0};
	} else if (w->from >= 0) {
		sonde_cpu_label(d->history, w->from, text[0], LABEL_MAX);
		notes[nr++] = (struct note){"woken by", text[0], 0};
	}
	if (wait->polled)
		notes[nr++] = (struct note){"polled",
					    "the hypervisor polled: its thread did not sleep", 0};
	return nr;
}

/* What comes before it was woken, and the way from there to guest code. */
static bool each_wait(const struct wait *wait, void *data)
{
	const struct row *row = data;
	struct draw *d = row->draw;
	ns_t begin = wait->begin < d->options->begin ? d->options->begin : wait->begin;
	ns_t end = wait->entry > d->options->end ? d->options->end : wait->entry;
	uint64_t track = track_id(DRAW_WAITS, row->vcpu), from;
	char text[2][LABEL_MAX];
	struct note notes[5];
	struct sonde_wake w;
	struct sign s = {.category = "wait", .notes = notes};

	if (!piece_has(row->piece, wait->begin) || end <= begin)
		return true;
	wait_wake(d->history, wait, &w);
	s.name = sonde_cause_name(w.cause);
	s.nr_notes = wait_notes(d, wait, &w, notes, text);
	d->canvas->ops->begin(d->canvas, track, begin, &s);
	from = waker_track(d, &w);
	if (from && wait->ended && wait->woken >= begin && wait->woken < end) {
		sonde_cpu_label(d->history, row->vcpu, text[1], LABEL_MAX);
		s = (struct sign){.name = "woken", .category = "wakeup", .flow_ends = true};
		s.flow = draw_arrow(d, from, wait->woken, text[1], "wakeup");
		d->canvas->ops->moment(d->canvas, track, wait->woken, &s);
	}
	d->canvas->ops->end(d->canvas, track, end);
	return true;
}

/* ---- who had the CPU ----------------------------------------------------------------------- */

struct kept_off {
	struct draw *draw;
	const struct piece *piece;
	struct preemption now; /* the culprit at hand, from .from to .to */
	struct culprit culprit;
	bool open;
};

static void draw_culprit(struct kept_off *k)
{
	const struct preemption *p = &k->now;
	struct draw *d = k->draw;
	struct sentence says = {.history = d->history};
	char label[LABEL_MAX];
	const struct note why = {"because", sonde_off_name(p->why), 0};
	struct sign s = {.category = "preemption", .notes = &why, .nr_notes = 1, .flow_ends = true};

	if (!k->open || !rows_has_vcpu(&d->rows, p->vcpu) || p->to <= p->from)
		return;
	say_culprit(&says, &k->culprit);
	if (says.len && says.text[says.len - 1] == ',') /* a sentence would go on */
		says.text[says.len - 1] = '\0';
	s.name = says.text;
	if (p->from == p->begin && p->why != SONDE_OFF_READY && p->on >= 0 &&
	    rows_has_cpu(&d->rows, p->on)) {
		sonde_cpu_label(d->history, p->vcpu, label, sizeof(label));
		s.flow = draw_arrow(d, track_id(DRAW_CPU, p->on), p->from, label, "preemption");
	}
	slice(d, track_id(DRAW_KEPT_OFF, p->vcpu), p->from, p->to, &s);
}

/* Pieces that follow each other and are one culprit's are one slice. */
static bool each_preemption(const struct preemption *p, void *data)
{
	struct kept_off *k = data;
	struct culprit culprit = culprit_of(k->draw->history, p->context);

	if (k->open && k->now.vcpu == p->vcpu && k->now.begin == p->begin && k->now.to == p->from &&
	    !memcmp(&culprit, &k->culprit, sizeof(culprit))) {
		k->now.to = p->to;
		return true;
	}
	draw_culprit(k);
	k->now = *p;
	k->culprit = culprit;
	k->open = true;
	return true;
}

/* ---- a piece ------------------------------------------------------------------------------- */

static int draw_kept_off(struct draw *d, const struct piece *p)
{
	struct kept_off k = {.draw = d, .piece = p};
	int ret = preemption_scan(d->history, p->begin, p->end, each_preemption, &k, NULL);

	draw_culprit(&k);
	return ret;
}

int draw_vcpus(struct draw *d, const struct piece *p)
{
	int ret = 0;

	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(d->history) && !ret; vcpu++) {
		struct row row = {d, p, vcpu};

		if (!rows_has_vcpu(&d->rows, vcpu))
			continue;
		ret = rows_walk(&d->rows, p, d->history->cpu_attrs[vcpu][CPU_STATE], each_state,
				&row);
		if (!ret)
			ret = waits_scan(&d->users->cache, vcpu, p->begin, p->end, each_wait, &row);
	}
	return ret ? ret : draw_kept_off(d, p);
}
