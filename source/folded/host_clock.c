/* SPDX-License-Identifier: Apache-2.0 */
#include "source/folded/host_clock.h"

#include <errno.h>
#include <string.h>

void folded_record_at(const struct folded_records *f, size_t i, struct hc_record *out)
{
	memcpy(out, folded_record(f, i), sizeof(*out));
}

/* The host's TSC at the time of a record, as far as it says: of a call, when it left the guest. */
static bool host_tsc(const struct hc_record *r, uint64_t *tsc)
{
	*tsc = r->kind == HC_CLOCK ? r->tsc : r->tsc - (uint64_t)r->tsc_offset;
	if (r->kind == HC_CLOCK)
		return r->tsc;
	return (r->kind == HC_CALL || r->kind == HC_EXIT) && r->tsc && !(r->flags & HC_SCALED);
}

static void add_moment(struct host_clock *c, const struct hc_record *r)
{
	const struct moment *last = c->nr_moments ? &c->moments[c->nr_moments - 1] : NULL;
	uint64_t tsc;

	if (host_tsc(r, &tsc) && (!last || (r->time_ns > last->ns && tsc > last->tick)))
		c->moments[c->nr_moments++] = (struct moment){r->time_ns, tsc};
}

/* The clock records; where the recorder was killed before there were two, the last call stands for
 * the second. */
int host_clock_find(struct host_clock *c, const struct folded_records *f, struct arena *arena)
{
	struct hc_record r;
	size_t nr = 0;

	if (c->ticks_are_ns)
		return 0;
	for (size_t i = 0; i < f->nr; i++) {
		folded_record_at(f, i, &r);
		nr += r.kind == HC_CLOCK;
	}
	c->moments = arena_alloc(arena, (nr + 1) * sizeof(*c->moments));
	if (!c->moments)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr; i++) {
		folded_record_at(f, i, &r);
		if (r.kind == HC_CLOCK)
			add_moment(c, &r);
	}
	for (size_t i = f->nr; i-- && c->nr_moments == 1;) {
		folded_record_at(f, i, &r);
		add_moment(c, &r);
	}
	return 0;
}

/* By the straight line through the two moments around it. */
bool host_clock_tick(const struct host_clock *c, uint64_t ns, uint64_t *tick)
{
	size_t lo = 0, hi = c->nr_moments - 1;
	const struct moment *at;
	double ticks;

	if (c->nr_moments < 2)
		return false;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->moments[mid].ns <= ns)
			lo = mid;
		else
			hi = mid;
	}
	at = &c->moments[lo];
	ticks = (double)at->tick + ((double)ns - (double)at->ns) * (double)(at[1].tick - at->tick) /
					   (double)(at[1].ns - at->ns);
	*tick = ticks > 0 && ticks < 9e18 ? (uint64_t)ticks : 0;
	return *tick;
}

bool host_clock_of(const struct host_clock *c, const struct hc_record *r, uint64_t *exit,
		   uint64_t *entry)
{
	bool is_whole = r->kind == HC_CALL && r->overhead_ns != HC_UNKNOWN;
	uint64_t until_ns = r->time_ns + r->overhead_ns, left;

	*exit = r->time_ns;
	*entry = is_whole ? until_ns : 0;
	if (c->ticks_are_ns)
		return true;
	if (!host_clock_tick(c, r->time_ns, exit) ||
	    (is_whole && !host_clock_tick(c, until_ns, entry)))
		return false;
	if (host_tsc(r, &left) && left > *exit)
		*exit = left;
	if (is_whole && *entry <= *exit)
		*entry = *exit + 1;
	return true;
}
