/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes what is handed to network devices: see packet_taker.h. */
#include "model/io/packet_taker.h"

#include <stdlib.h>
#include <string.h>

#include "model/identity/process.h"
#include "source/trace.h"

/* So often in a row it must have been the same one that was woken. */
#define TIMES_MIN 3
/* More devices than this are not told apart. */
#define TAPS_MAX 4096

static struct tap *tap_add(struct machine_state *mc, uint32_t name)
{
	struct model *m = mc->model;
	struct tap *tap = m->by_tap.nr < TAPS_MAX ? arena_alloc(&m->arena, sizeof(*tap)) : NULL;

	if (!tap ||
	    model_grow(m, (void **)&m->taps, m->nr_taps, &m->taps_room, sizeof(struct tap *)))
		return NULL;
	if (map_put(&m->by_tap, pair_key(mc, name), m->nr_taps)) {
		model_no_memory(m);
		return NULL;
	}
	*tap = (struct tap){.machine = mc, .name = name};
	return m->taps[m->nr_taps++] = tap;
}

static struct tap *tap_of(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	struct field_value field;
	const uint32_t *at;
	uint32_t name;

	if (trace_event_field(m->stream, e, "name", &field) || !field.text)
		return NULL;
	name = history_writer_string(m->w, field.text, strnlen(field.text, field.len));
	at = map_get(&m->by_tap, pair_key(cpu->machine, name));
	return at ? m->taps[*at] : tap_add(cpu->machine, name);
}

void taps_release(struct model *m)
{
	free(m->taps);
	map_release(&m->by_tap);
}

void tap_lost(struct machine_state *mc)
{
	for (struct tap *tap; (tap = mc->tapped);) {
		mc->tapped = tap->next_tapped;
		tap->nr = 0;
		tap->in_tapped = false;
	}
}

static void note_tapped(struct tap *tap)
{
	if (likely(tap->in_tapped))
		return;
	tap->in_tapped = true;
	tap->next_tapped = tap->machine->tapped;
	tap->machine->tapped = tap;
}

void tap_xmit(struct cpu *cpu, const struct event *e)
{
	struct tap *tap = tap_of(cpu, e);

	cpu->tap = tap;
	if (!tap)
		return;
	note_tapped(tap);
	if (tap->nr < TAP_HANDED)
		tap->handed[tap->nr] = (struct handing){cpu->machine->model->now,
							cpu->nr_irqs ? NULL : cpu->thread};
	tap->nr += tap->nr <= TAP_HANDED;
}

/* ---- takers -------------------------------------------------------------------------------- */

static void takes_no_more(struct tap *tap)
{
	struct tap **at = &tap->woken->taps;

	while (*at && *at != tap)
		at = &(*at)->next_of_taker;
	if (*at)
		*at = tap->next_of_taker;
}

static bool same_process(const struct thread *a, const struct thread *b)
{
	int32_t process = process_of_thread(a);

	return a == b || (process >= 0 && process == process_of_thread(b));
}

void tap_woken(struct cpu *cpu, struct thread *woken)
{
	struct tap *tap = cpu->tap;

	/* What else its code wakes is not for the packet: a vCPU, or another thread of its own. */
	if (!tap || woken->vcpu ||
	    (!cpu->nr_irqs && cpu->thread && same_process(cpu->thread, woken)))
		return;
	cpu->tap = NULL;
	if (tap->woken != woken) {
		if (tap->woken)
			takes_no_more(tap);
		tap->woken = woken;
		tap->next_of_taker = woken->taps;
		woken->taps = tap;
		tap->times = 0;
	}
	tap->times++;
}

/* ---- what they took ------------------------------------------------------------------------ */

/* Of all that were looked at. */
struct taken {
	struct handing last;
	bool any, unclear;
};

static void take(struct tap *tap, ns_t until, struct taken *all)
{
	unsigned told = 0;

	/* Of those that are not kept nothing is known: they count as told of, with all before them.
	 */
	if (tap->nr > TAP_HANDED) {
		all->unclear = true;
		tap->nr = 0;
		return;
	}
	for (; told < tap->nr && tap->handed[told].at <= until; told++) {
		const struct handing *one = &tap->handed[told];

		all->unclear |= !one->by || (all->any && one->by != all->last.by);
		if (!all->any || one->at > all->last.at)
			all->last = *one;
		all->any = true;
	}
	tap->nr -= told;
	memmove(tap->handed, tap->handed + told, tap->nr * sizeof(*tap->handed));
}

bool tap_handed(struct thread *taker, ns_t until, struct handing *out)
{
	struct taken all = {.any = false};

	for (struct tap *tap = taker->taps; tap; tap = tap->next_of_taker) {
		if (tap->times >= TIMES_MIN)
			take(tap, until, &all);
	}
	*out = all.last;
	return all.any && !all.unclear && all.last.by != taker;
}
