/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare/places.h"
#include "analysis/compare/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- two machines that are one ------------------------------------------------------------- */

static bool same_view(const struct match *m, int64_t before)
{
	struct sonde_machine of[2];

	if (before < 0 || m->to_after[before] < 0)
		return true;
	sonde_machine_get(m->before, before, &of[0]);
	sonde_machine_get(m->after, m->to_after[before], &of[1]);
	return of[0].traced == of[1].traced;
}

static bool same_place(const struct match *m, int64_t before)
{
	struct sonde_machine of[2];

	while (before >= 0 && m->to_after[before] >= 0) {
		sonde_machine_get(m->before, before, &of[0]);
		sonde_machine_get(m->after, m->to_after[before], &of[1]);
		if (of[0].parent < 0 && of[1].parent < 0)
			return true;
		if (of[0].parent < 0 || m->to_after[of[0].parent] != of[1].parent)
			return false;
		before = of[0].parent;
	}
	return false;
}

/* Of a history, by machine. */
struct census {
	unsigned *nr_cpus; /* owned */
	/* Owned, by row + 1 (0: in none): there are machines in it that the other history has not. */
	bool *has_strangers;
};

static bool census_take(struct census *c, const struct sonde_history *history,
			const int64_t *to_other)
{
	int64_t nr = sonde_nr_machines(history);
	struct sonde_machine m;
	struct sonde_cpu cpu;

	c->nr_cpus = calloc((size_t)nr + 1, sizeof(*c->nr_cpus));
	c->has_strangers = calloc((size_t)nr + 1, sizeof(*c->has_strangers));
	if (!c->nr_cpus || !c->has_strangers)
		return false;
	for (int64_t row = 0; !sonde_cpu_get(history, row, &cpu); row++) {
		if (cpu.machine >= 0 && cpu.machine < nr)
			c->nr_cpus[cpu.machine]++;
	}
	for (int64_t row = 0; !sonde_machine_get(history, row, &m); row++) {
		if (to_other[row] < 0)
			c->has_strangers[m.parent + 1] = true;
	}
	return true;
}

static bool is_beside_stranger(const struct census *c, const struct sonde_history *history,
			       int64_t row)
{
	struct sonde_machine m;

	return !sonde_machine_get(history, row, &m) && c->has_strangers[m.parent + 1];
}

/* A machine that the other history does not have may be one there that this one does not have: they
 * are in machines that are each other's, but neither name nor structure tells. */
static bool may_be_another(const struct sonde_history *history, int64_t row,
			   const int64_t *to_other, const struct census *other)
{
	struct sonde_machine m;

	if (to_other[row] >= 0)
		return false;
	while (row >= 0 && to_other[row] < 0 && !sonde_machine_get(history, row, &m))
		row = m.parent;
	return other->has_strangers[(row < 0 ? row : to_other[row]) + 1];
}

static bool is_whole(const struct match *m, const struct census census[2], int64_t before)
{
	int64_t after = before < 0 ? -1 : m->to_after[before];
	unsigned nr[2];

	if (after < 0)
		return true;
	nr[0] = census[0].nr_cpus[before];
	nr[1] = census[1].nr_cpus[after];
	return !(nr[0] < nr[1] && is_beside_stranger(&census[0], m->before, before)) &&
	       !(nr[1] < nr[0] && is_beside_stranger(&census[1], m->after, after));
}

/* ---- all of them --------------------------------------------------------------------------- */

static struct place *find(const struct places *p, const char *name, uint64_t hash)
{
	const uint32_t *last = map_get(&p->by_hash, hash);

	for (uint32_t i = last ? *last : 0; i; i = p->list[i - 1].next) {
		if (!strcmp(p->list[i - 1].name, name))
			return &p->list[i - 1];
	}
	return NULL;
}

/* The place of that name; NULL: memory is out. */
static struct place *get(struct places *p, const char *name)
{
	uint64_t hash = measures_hash(name, -1, "");
	struct place *at = find(p, name, hash);
	const uint32_t *last;

	if (at)
		return at;
	last = map_get(&p->by_hash, hash);
	at = &p->list[p->nr];
	*at = (struct place){.name = name,
			     .before = -1,
			     .after = -1,
			     .same_view = true,
			     .is_whole = true,
			     .next = last ? *last : 0};
	if (map_put(&p->by_hash, hash, (uint32_t)p->nr + 1))
		return NULL;
	p->nr++;
	return at;
}

static bool fill(struct places *p, const struct match *m, const struct census census[2])
{
	struct sonde_machine machine;
	struct place *at;

	for (int64_t row = 0; !sonde_machine_get(m->before, row, &machine); row++) {
		at = get(p, machine.name);
		if (!at)
			return false;
		if (at->before >= 0) /* a name means the first that has it */
			continue;
		at->before = row;
		at->same_view = same_view(m, row) &&
				!may_be_another(m->before, row, m->to_after, &census[1]);
		at->same_place = same_place(m, row);
		at->is_whole = is_whole(m, census, row);
	}
	for (int64_t row = 0; row < sonde_nr_machines(m->after); row++) {
		at = get(p, m->names[row]);
		if (!at)
			return false;
		at->after = row;
		at->same_view &= !may_be_another(m->after, row, m->to_before, &census[0]);
	}
	return true;
}

int places_make(struct places *p, const struct match *match)
{
	size_t room = (size_t)(sonde_nr_machines(match->before) + sonde_nr_machines(match->after));
	struct census census[2] = {0};
	bool fits;

	*p = (struct places){.list = calloc(room + 1, sizeof(*p->list))};
	fits = p->list && census_take(&census[0], match->before, match->to_after) &&
	       census_take(&census[1], match->after, match->to_before) && fill(p, match, census);
	for (unsigned i = 0; i < 2; i++) {
		free(census[i].nr_cpus);
		free(census[i].has_strangers);
	}
	return fits ? 0 : -ENOMEM;
}

void places_release(struct places *p)
{
	free(p->list);
	map_release(&p->by_hash);
	*p = (struct places){0};
}

const struct place *places_find(const struct places *p, const char *name)
{
	static const struct place nowhere = {"", .before = -1, .after = -1, .same_view = true,
					     .is_whole = true};
	const struct place *at = find(p, name, measures_hash(name, -1, ""));

	return at ? at : &nowhere;
}
