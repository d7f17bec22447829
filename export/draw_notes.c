/* SPDX-License-Identifier: Apache-2.0 */
/* What is no row of a history: where events were lost, what was marked, how good the clocks are,
 * and where all of it comes from. */
#include "base/units.h"
#include "export/draw.h"
#include "sonde/tables.h"
#include "sonde/sonde.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void declare(struct draw *d, uint64_t id, uint64_t parent, enum track_type type,
		    unsigned rank, const char *name)
{
	const struct track t = {
		.id = id, .parent = parent, .type = type, .name = name, .rank = rank};

	d->canvas->ops->track(d->canvas, &t);
}

/* ---- losses -------------------------------------------------------------------------------- */

static uint64_t declare_losses(struct draw *d, const struct sonde_loss *l)
{
	int64_t cpu = sonde_find_cpu(d->history, (unsigned)l->machine, l->cpu);
	uint64_t id = cpu < 0 ? track_id(DRAW_LOST, l->machine) : track_id(DRAW_LOST_CPU, cpu);
	char name[60];

	snprintf(name, sizeof(name), cpu < 0 ? "lost events" : "lost events of CPU %d", l->cpu);
	declare(d, id, track_id(DRAW_MACHINE, l->machine), TRACK_SLICES, 30, name);
	return id;
}

static void draw_loss(struct draw *d, uint64_t track, const struct sonde_loss *l)
{
	const struct note note = {"events", NULL, l->events};
	char name[60] = "events lost, not counted";
	struct sign s = {.name = name, .category = "gap", .notes = &note};

	if (l->events >= 0) {
		snprintf(name, sizeof(name), "%" PRId64 " events lost", l->events);
		s.nr_notes = 1;
	}
	d->canvas->ops->begin(d->canvas, track, l->begin, &s);
	d->canvas->ops->end(d->canvas, track, l->end);
}

static int draw_losses(struct draw *d)
{
	struct sonde_loss *losses;
	uint64_t track = 0;
	size_t nr;
	int ret = rows_losses(&d->rows, &losses, &nr);

	for (size_t i = 0; i < nr && !ret; i++) {
		const struct sonde_loss *l = &losses[i];

		if (!i || l->machine != l[-1].machine || l->cpu != l[-1].cpu)
			track = declare_losses(d, l);
		draw_loss(d, track, l);
	}
	if (!ret)
		free(losses);
	return ret;
}

/* ---- marks --------------------------------------------------------------------------------- */

static void draw_mark(struct draw *d, const struct sonde_mark *m)
{
	static const char *const kinds[] = {"mark", "begin", "end"};
	char by[LABEL_MAX];
	struct note notes[3];
	struct sign s = {.name = m->text, .category = "mark", .notes = notes};

	notes[s.nr_notes++] =
		(struct note){"kind", kinds[m->kind >= 0 && m->kind < 3 ? m->kind : 0], 0};
	if (m->id)
		notes[s.nr_notes++] = (struct note){"id", NULL, m->id};
	if (m->thread >= 0) {
		draw_thread_label(d, m->thread, by);
		notes[s.nr_notes++] = (struct note){"thread", by, 0};
	}
	d->canvas->ops->moment(d->canvas, track_id(DRAW_MARKS, m->machine), m->t, &s);
}

static void draw_marks_of(struct draw *d, int64_t machine)
{
	bool declared = false;

	for (int64_t row = 0; row < sonde_nr_marks(d->history); row++) {
		struct sonde_mark m;

		if (sonde_mark_get(d->history, row, &m) || m.machine != machine ||
		    m.t < d->options->begin || m.t >= d->options->end)
			continue;
		if (!declared)
			declare(d, track_id(DRAW_MARKS, machine), track_id(DRAW_MACHINE, machine),
				TRACK_SLICES, 5, "marks");
		declared = true;
		draw_mark(d, &m);
	}
}

/* ---- about the history -------------------------------------------------------------------------
 */

#define ABOUT track_id(DRAW_ABOUT, 0)
#define META_MAX 40

static void about(struct draw *d, const char *name, const struct note *notes, unsigned nr)
{
	const struct sign s = {.name = name, .category = "about", .notes = notes, .nr_notes = nr};

	d->canvas->ops->moment(d->canvas, ABOUT, d->options->begin, &s);
}

static void draw_meta(struct draw *d)
{
	struct note notes[META_MAX + 3];
	unsigned nr = 0;

	notes[nr++] = (struct note){"written by sonde", sonde_version(), 0};
	notes[nr++] = (struct note){"unit of time",
				    sonde_history_ticks_are_ns(d->history)
					    ? "ns of the host's clock"
					    : "cycles of a counter of unknown rate, shown as ns",
				    0};
	notes[nr++] = (struct note){
		"whole",
		sonde_history_complete(d->history) ? "yes" : "no: the history is not complete", 0};
	for (int64_t row = 0; row < sonde_nr_meta(d->history) && row < META_MAX; row++) {
		struct sonde_meta m;

		sonde_meta_get(d->history, row, &m);
		notes[nr++] = (struct note){m.key, m.value, 0};
	}
	about(d, "run", notes, nr);
}

static int64_t cell(const struct sonde_rows *f, size_t row, const char *column)
{
	return sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, column)).i;
}

static int draw_clocks(struct draw *d)
{
	struct sonde_rows *f;
	int ret = sonde_rows_get(&f, d->history, "clock", d->options->begin, d->options->end, NULL);

	for (size_t row = 0; !ret && row < sonde_rows_nr(f); row++) {
		int64_t bound = cell(f, row, "bound");
		char name[LABEL_MAX], length[UNIT_TEXT];
		const struct note notes[] = {
			{"method",
			 sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "method")).s, 0},
			{"wrong by at most, ns (-1: no limit known)", NULL, bound},
			{"observations", NULL, cell(f, row, "pairs")},
			{"observations it breaks", NULL, cell(f, row, "violations")},
		};

		snprintf(name, sizeof(name), "clock of %s: wrong by at most %s",
			 draw_machine_name(d, cell(f, row, "machine")),
			 bound < 0 ? "what nobody knows"
				   : unit_length(length, bound,
						 sonde_history_ticks_are_ns(d->history)));
		about(d, name, notes, ARRAY_SIZE(notes));
	}
	if (!ret)
		sonde_rows_free(f);
	return ret;
}

static void draw_problems(struct draw *d)
{
	for (int64_t row = 0; row < sonde_nr_problems(d->history); row++) {
		struct sonde_problem p;
		struct note notes[2];
		unsigned nr = 0;

		sonde_problem_get(d->history, row, &p);
		notes[nr++] = (struct note){"times", NULL, p.count};
		if (p.machine >= 0)
			notes[nr++] = (struct note){"machine", draw_machine_name(d, p.machine), 0};
		about(d, p.text, notes, nr);
	}
}

int draw_notes(struct draw *d)
{
	int ret;

	declare(d, ABOUT, 0, TRACK_SLICES, 0, "about this history");
	draw_meta(d);
	draw_problems(d);
	for (int64_t machine = 0; machine < sonde_nr_machines(d->history); machine++) {
		if (rows_has_machine(&d->rows, machine))
			draw_marks_of(d, machine);
	}
	ret = draw_losses(d);
	return ret ? ret : draw_clocks(d);
}
