/* SPDX-License-Identifier: Apache-2.0 */
/* In which parts of its window a history knows what it is asked to compare. */
#include "analysis/compare/compare.h"
#include "analysis/sched/usage.h"
#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_SLICES ((1u << COMPARE_SLICES) - 1)

static struct known *known_find(const struct measures *m, const char *machine, int cpu)
{
	const uint32_t *last = map_get(&m->known_by_hash, measures_hash(machine, cpu, ""));

	for (uint32_t i = last ? *last : 0; i; i = m->known[i - 1].next) {
		struct known *k = &m->known[i - 1];

		if (k->cpu == cpu && !strcmp(k->machine, machine))
			return k;
	}
	return NULL;
}

/* A vCPU that is met in a later slice only was not there, or not seen, in those before. */
static struct known *known_get(struct measures *m, const char *machine, int cpu)
{
	uint64_t hash = measures_hash(machine, cpu, "");
	struct known *k = known_find(m, machine, cpu);
	const uint32_t *last;
	char *name;

	if (k)
		return k;
	if (!room_for_one(&m->known, m->nr_known, &m->known_room))
		return NULL;
	name = arena_strdup(&m->arena, machine);
	if (!name)
		return NULL;
	last = map_get(&m->known_by_hash, hash);
	k = &m->known[m->nr_known];
	*k = (struct known){.machine = name, .cpu = cpu, .next = last ? *last : 0};
	if (map_put(&m->known_by_hash, hash, (uint32_t)m->nr_known + 1))
		return NULL;
	m->nr_known++;
	for (unsigned i = 0; i < NR_NEEDS; i++)
		k->slices[i] = ALL_SLICES;
	return k;
}

static bool forget(struct measures *m, const char *machine, int cpu, unsigned slice,
		   enum measure_needs needs, bool unknown)
{
	struct known *k = known_get(m, machine, cpu);

	if (k && unknown)
		k->slices[needs] &= ~(1u << slice);
	return k != NULL;
}

static bool is_much(int64_t part, int64_t of)
{
	return (double)share_ppm(part, of) > KNOWN_LACKS * 1e6;
}

bool known_lacks(struct measures *m, const char *machine, int cpu, unsigned slice,
		 enum measure_needs needs, int64_t part, int64_t of)
{
	return forget(m, machine, cpu, slice, needs, is_much(part, of));
}

static bool take_vcpu(struct measures *m, struct sonde_history *history, unsigned slice,
		      const struct sonde_rows *states, size_t row)
{
	int64_t unknown = rows_named(states, row, "unknown").i,
		total = rows_named(states, row, "total").i;
	int64_t off = rows_named(states, row, "steal_unknown").i;
	const bool is_unknown[NR_NEEDS] = {
		[NEEDS_STATE] = is_much(unknown + off, total),
		[NEEDS_CODE] = is_much(unknown + rows_named(states, row, "guest").i, total),
		[NEEDS_CAUSE] = is_much(unknown + rows_named(states, row, "wait_unknown").i, total),
		[NEEDS_CULPRIT] = is_much(unknown + off, total),
		[NEEDS_ORIGIN] = is_much(unknown + off, total),
	};
	struct sonde_cpu cpu;
	const char *machine;

	if (sonde_cpu_get(history, rows_named(states, row, "vcpu").i, &cpu))
		return true;
	machine = measures_machine(m, history, cpu.machine);
	for (unsigned i = 0; i < NR_NEEDS; i++) {
		/* What is not known of one of its vCPUs is not known of the machine. */
		if (!forget(m, machine, cpu.number, slice, (enum measure_needs)i, is_unknown[i]) ||
		    !forget(m, machine, -1, slice, (enum measure_needs)i, is_unknown[i]))
			return false;
	}
	return true;
}

int known_take(struct measures *m, struct sonde_history *history, unsigned slice, ns_t begin,
	       ns_t end, const struct sonde_rows *states, struct error *err)
{
	const struct usages *u;
	ns_t unknown = 0;
	int ret = usages_get(&u, history, begin, end, err);
	bool fits = true;

	for (size_t i = 0; !ret && i < u->nr; i++) {
		if (u->list[i].context->mode == SONDE_MODE_UNKNOWN)
			unknown += u->list[i].time_ns;
	}
	for (unsigned i = 0; i < NR_NEEDS && !ret; i++)
		fits &= forget(m, "", -1, slice, (enum measure_needs)i,
			       !u->total_ns || is_much(unknown, u->total_ns));
	for (size_t row = 0; row < sonde_rows_nr(states) && !ret; row++)
		fits &= take_vcpu(m, history, slice, states, row);
	return ret || fits ? ret : fail(err, -ENOMEM, "out of memory");
}

uint32_t known_slices(const struct measures *m, const struct measure *measure,
		      enum measure_needs needs)
{
	const struct known *run = known_find(m, "", -1);
	const struct known *k = known_find(m, measure->machine, measure->cpu);
	uint32_t slices = run ? run->slices[needs] : 0;

	if (!k) /* a machine of which no vCPU is known: as the history */
		k = known_find(m, measure->machine, -1);
	return k ? slices & k->slices[needs] : slices;
}
