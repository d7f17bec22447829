/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user sees of the two: `sonde state`, moment by moment and frame by frame, and the picture
 * of `sonde timeline` and SVG, pixel by pixel.
 */
#include "less_specific.h"

#include <stdio.h>
#include <string.h>

#include "report/moment.h"
#include "report/picture.h"

#define MOMENTS 200
#define PIXELS 400

/* ---- sonde state ----------------------------------------------------------------------------- */

static bool containers_fit(const struct pair *p, int64_t cut, int64_t whole)
{
	char c[128], w[128];

	container_text(p->cut.history, cut, c, sizeof(c));
	container_text(p->whole.history, whole, w, sizeof(w));
	return !*c || !strcmp(c, w);
}

static bool frames_fit(const struct pair *p, const struct sonde_frame *c,
		       const struct sonde_frame *w)
{
	int64_t cpu = sonde_find_cpu(p->cut.history, c->machine, c->cpu);

	return machine_fits(p, c->machine, w->machine) &&
	       cpu_fits(p, cpu, sonde_find_cpu(p->whole.history, w->machine, w->cpu)) &&
	       thread_fits(p, c->thread, w->thread) && containers_fit(p, c->thread, w->thread);
}

/* Each frame is one of the whole's, in its order; some may not be known.  Only the innermost can be
 * of which it is unknown what it does. */
static bool stacks_fit(const struct pair *p, const struct sonde_stack *c,
		       const struct sonde_stack *w)
{
	unsigned at = 0;

	for (unsigned i = 0; i < c->nr; i++) {
		while (at < w->nr && !frames_fit(p, &c->frames[i], &w->frames[at]))
			at++;
		if (at++ == w->nr)
			return c->mode == SONDE_MODE_UNKNOWN && i + 1 == c->nr;
	}
	return true;
}

static int64_t slack_of_stack(const struct pair *p, const struct sonde_stack *s, int64_t t)
{
	int64_t most = 0;

	for (unsigned i = 0; i < s->nr; i++) {
		int64_t m = s->frames[i].machine;
		int64_t slack = slack_of(p, m, p->machines[m].row, t);

		most = slack > most ? slack : most;
	}
	return most;
}

/* At that moment, or where clocks may have moved it to. */
static bool fits_about(const struct pair *p, int number, const struct sonde_stack *c, int64_t t)
{
	int64_t slack = slack_of_stack(p, c, t), end = t + slack;
	struct subject of = {c->nr ? c->frames[c->nr - 1].machine : 0, -1, -1};
	struct sonde_stack w;

	t = t - slack < sonde_history_begin(p->whole.history)
		    ? sonde_history_begin(p->whole.history)
		    : t - slack;
	for (; t <= end && !sonde_stack_at(p->whole.history, number, t, &w); t = w.end) {
		if (w.end <= t)
			break;
		if (stacks_fit(p, c, &w) || (!w.nr && is_gain(p, &of, t, t)))
			return true;
		if (w.mode == SONDE_MODE_UNKNOWN && is_gain(p, &of, t, t + 1))
			return true;
		if (w.mode == SONDE_MODE_GUEST && w.nr < c->nr &&
		    is_beside_a_trace(p, &of, t, t + 1))
			return true;
	}
	return false;
}

static void compare_moment(struct pair *p, int number, int64_t at)
{
	int64_t t = time_in_whole(p, at);
	struct sonde_stack c;
	char said[256] = "", which[32];
	size_t len = 0;

	if (sonde_stack_at(p->cut.history, number, at, &c) ||
	    t < sonde_history_begin(p->whole.history) || t >= sonde_history_end(p->whole.history))
		return;
	if (fits_about(p, number, &c, t))
		return;
	for (unsigned i = 0; i < c.nr && len < 180; i++) {
		char does[64];

		stack_does_text(p->cut.history, &c, i, does, sizeof(does));
		len += (size_t)snprintf(said + len, sizeof(said) - len, "%s: %.40s; ",
					p->cut.machines[c.frames[i].machine].name, does);
	}
	snprintf(which, sizeof(which), "CPU %d", number);
	say_wrong(p, "sonde state", which, t, t, said, "another stack");
}

static void compare_state_words(struct pair *p)
{
	int64_t begin = sonde_history_begin(p->cut.history),
		end = sonde_history_end(p->cut.history);

	for (int64_t cpu = 0; cpu < p->cut.nr_cpus; cpu++) {
		if (p->cut.cpus[cpu].machine || p->cpus[cpu] < 0)
			continue;
		for (int i = 0; i < MOMENTS; i++)
			compare_moment(p, p->cut.cpus[cpu].number,
				       begin + (end - begin) / MOMENTS * i);
	}
}

/* ---- the picture
 * ------------------------------------------------------------------------------ */

static const struct picture_row *twin_row(const struct pair *p, const struct picture *whole,
					  const struct picture_row *c, unsigned *index)
{
	for (*index = 0; *index < whole->nr_rows; ++*index) {
		const struct picture_row *w = &whole->rows[*index];

		if (w->kind == c->kind && w->cpu == p->cpus[c->cpu] &&
		    (c->kind != ROW_MACHINE || p->machines[c->machine].row == w->machine))
			return w;
	}
	return NULL;
}

/* Nothing at all, in a whole pixel, is a statement: there was no such vCPU.  What is unknown is
 * hatched, but before a vCPU is first heard of. */
static void compare_row(struct pair *p, const struct picture *cut, const struct picture *whole,
			unsigned row)
{
	const struct picture_row *r = &cut->rows[row];
	unsigned twin, blank = 0, early = 0, first = 0;
	bool heard = false;
	char which[160];

	if (r->kind == ROW_MACHINE || p->cpus[r->cpu] < 0 || !twin_row(p, whole, r, &twin))
		return;
	for (unsigned x = 0; x < cut->width; x++) {
		heard |= picture_cell(cut, row, x);
		if (picture_cell(cut, row, x) || !picture_cell(whole, twin, x))
			continue;
		early += !heard;
		first = blank++ ? first : x;
	}
	if (!blank || (heard && blank == early))
		return;
	snprintf(which, sizeof(which), "%s %s", r->group, r->label);
	say_wrong(p, "picture", which, picture_time(cut, first), picture_time(cut, cut->width),
		  "blank", "something in %u of %u pixels", blank, cut->width);
}

static void compare_pictures(struct pair *p)
{
	int64_t begin = sonde_history_begin(p->cut.history),
		end = sonde_history_end(p->cut.history);
	struct picture cut, whole;
	struct error err = {0};
	const unsigned which = PICTURE_CPUS | PICTURE_MACHINES | PICTURE_VCPUS;

	if (picture_init(&cut, p->cut.history, begin, end, PIXELS, which, &err)) {
		say_wrong(p, "picture", "it", begin, end, "failed", "%s", err.text);
		return;
	}
	if (picture_init(&whole, p->whole.history, time_in_whole(p, begin), time_in_whole(p, end),
			 PIXELS, which, &err)) {
		say_wrong(p, "picture", "the whole's", begin, end, "failed", "%s", err.text);
	} else {
		for (unsigned row = 0; row < cut.nr_rows; row++)
			compare_row(p, &cut, &whole, row);
		picture_release(&whole);
	}
	picture_release(&cut);
}

void compare_words(struct pair *p)
{
	compare_state_words(p);
	compare_pictures(p);
}
