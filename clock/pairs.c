/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

#define TWICE UINT32_MAX

struct call_index {
	const struct sample *sample;
	struct map by_key; /* index into sample->calls.list, or TWICE */
};

static int index_calls(struct map *m, const struct call_list *l)
{
	for (size_t i = 0; i < l->nr && i < TWICE; i++) {
		uint32_t value = map_get(m, l->list[i].key) ? TWICE : (uint32_t)i;
		int ret = map_put(m, l->list[i].key, value);

		if (ret)
			return ret;
	}
	return 0;
}

int call_index_make(struct call_index **out, const struct sample *s)
{
	struct call_index *x = calloc(1, sizeof(*x));
	int ret;

	*out = NULL;
	if (!x)
		return -ENOMEM;
	x->sample = s;
	ret = index_calls(&x->by_key, &s->calls);
	if (ret) {
		call_index_release(x);
		return ret;
	}
	*out = x;
	return 0;
}

void call_index_release(struct call_index *x)
{
	if (!x)
		return;
	map_release(&x->by_key);
	free(x);
}

static const struct call *find_call(const struct call_index *x, uint64_t key)
{
	const uint32_t *i = map_get(&x->by_key, key);

	return i && *i != TWICE ? &x->sample->calls.list[*i] : NULL;
}

uint64_t pairs_count(const struct call_index *parent, const struct sample *guest)
{
	uint64_t n = 0, acks = 0;

	for (size_t i = 0; i < guest->requests.nr; i++)
		n += find_call(parent, guest->requests.list[i].key) != NULL;
	for (size_t i = 0; i < guest->acks.nr; i++)
		acks += find_call(parent, guest->acks.list[i].key) != NULL;
	return n > acks ? n : acks;
}

int32_t pairs_thread(const struct call_index *parent, const struct sample *guest)
{
	for (size_t i = 0; i < guest->requests.nr; i++) {
		const struct call *c = find_call(parent, guest->requests.list[i].key);

		if (c && c->tid >= 0)
			return c->tid;
	}
	return -1;
}

/* The end of the thread's last stay before the call, or the call itself where that is unknown. */
static uint64_t exit_before(const struct sample *s, const struct call *c)
{
	size_t nr, lo = 0, hi;
	const struct stay *stays = sample_stays(s, c->tid, &nr);

	for (hi = nr; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (stays[mid].begin <= c->time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || stays[lo - 1].end > c->time)
		return c->time;
	return stays[lo - 1].end;
}

static uint64_t entry_after(const struct sample *s, const struct call *c)
{
	size_t nr, lo = 0, hi;
	const struct stay *stays = sample_stays(s, c->tid, &nr);

	for (hi = nr; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (stays[mid].end <= c->time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == nr || stays[lo].begin < c->time)
		return c->time;
	return stays[lo].begin;
}

static int vote(struct vcpu_vote_list *l, int32_t cpu, int32_t tid)
{
	struct vcpu_vote *v;

	if (cpu < 0 || tid < 0)
		return 0;
	for (size_t i = 0; i < l->nr; i++) {
		if (l->list[i].cpu == cpu && l->list[i].tid == tid) {
			l->list[i].votes++;
			return 0;
		}
	}
	if (l->nr > 4096) /* a hostile trace; sane ones have one thread per vCPU */
		return 0;
	v = sample_add(l);
	if (!v)
		return -ENOMEM;
	*v = (struct vcpu_vote){cpu, tid, 1};
	return 0;
}

static int one_side(const struct call_index *parent, const struct call_list *list,
		    const struct map *own, bool upper, struct constraints *out,
		    struct vcpu_vote_list *votes, uint64_t *nr_pairs)
{
	*nr_pairs = 0;
	for (size_t i = 0; i < list->nr; i++) {
		const struct call *g = &list->list[i], *p = find_call(parent, g->key);
		const uint32_t *once = map_get(own, g->key);
		uint64_t y;
		int ret;

		if (!p || !once || *once == TWICE)
			continue;
		y = upper ? exit_before(parent->sample, p) : entry_after(parent->sample, p);
		ret = constraints_add(out, g->time, y, upper);
		if (ret == 0)
			ret = vote(votes, g->cpu, p->tid);
		if (ret)
			return ret;
		++*nr_pairs;
	}
	return 0;
}

int pairs_constraints(const struct call_index *parent, const struct sample *guest,
		      struct constraints *out, struct vcpu_vote_list *votes, uint64_t *nr_pairs)
{
	const struct call_list *lists[2] = {&guest->requests, &guest->acks};
	uint64_t nr[2] = {0, 0};
	int ret = 0;

	for (unsigned i = 0; i < 2 && ret == 0; i++) {
		struct map own = {0};

		ret = index_calls(&own, lists[i]);
		if (ret == 0)
			ret = one_side(parent, lists[i], &own, i == 0, out, votes, &nr[i]);
		map_release(&own);
	}
	*nr_pairs = nr[0] > nr[1] ? nr[0] : nr[1];
	return ret;
}
