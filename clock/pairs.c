/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

#define TWICE UINT32_MAX
#define NONE UINT32_MAX
/* A thread that makes so few of a CPU's calls, of those that the busiest makes, is no vCPU of it. */
#define STRAYS 16
/* Of a payload that the parent has more often none of them counts. */
#define SAME_MAX 16

struct call_index {
	const struct sample *sample;
	struct map by_key; /* index into sample->calls.list: the last with that key */
	uint32_t *before;  /* owned: the one before with the same key; NONE the first */
};

/* One side alone: a key that is there twice tells nothing. */
static int index_own(struct map *m, const struct call_list *l)
{
	for (size_t i = 0; i < l->nr && i < TWICE; i++) {
		uint32_t value = map_get(m, l->list[i].key) ? TWICE : (uint32_t)i;
		int ret = map_put(m, l->list[i].key, value);

		if (ret)
			return ret;
	}
	return 0;
}

static int index_calls(struct call_index *x, const struct call_list *l)
{
	int ret = 0;

	x->before = malloc((l->nr + 1) * sizeof(*x->before));
	if (!x->before)
		return -ENOMEM;
	for (size_t i = 0; i < l->nr && i < NONE && ret == 0; i++) {
		const uint32_t *last = map_get(&x->by_key, l->list[i].key);

		x->before[i] = last ? *last : NONE;
		ret = map_put(&x->by_key, l->list[i].key, (uint32_t)i);
	}
	return ret;
}

int call_index_make(struct call_index **out, const struct sample *s)
{
	struct call_index *x = calloc(1, sizeof(*x));
	int ret;

	*out = NULL;
	if (!x)
		return -ENOMEM;
	x->sample = s;
	ret = index_calls(x, &s->calls);
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
	free(x->before);
	free(x);
}

/* The only one with that key. */
static const struct call *find_call(const struct call_index *x, uint64_t key)
{
	const uint32_t *i = map_get(&x->by_key, key);

	return i && x->before[*i] == NONE ? &x->sample->calls.list[*i] : NULL;
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

/* ---- whose calls ------------------------------------------------------------------------------ */

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

/* By calls whose payload the parent has once. */
static int vote_all(const struct call_index *parent, const struct sample *guest,
		    struct vcpu_vote_list *votes)
{
	const struct call_list *lists[2] = {&guest->requests, &guest->acks};
	int ret = 0;

	for (unsigned k = 0; k < 2; k++) {
		for (size_t i = 0; i < lists[k]->nr && ret == 0; i++) {
			const struct call *p = find_call(parent, lists[k]->list[i].key);

			if (p)
				ret = vote(votes, lists[k]->list[i].cpu, p->tid);
		}
	}
	return ret;
}

/* Whether that thread runs the guest's CPU, as far as the votes tell: another VM's kernel may repeat
 * a payload, but has threads of its own. */
static bool is_home(const struct vcpu_vote_list *l, int32_t cpu, int32_t tid)
{
	uint64_t most = 0, own = 0;

	for (size_t i = 0; i < l->nr; i++) {
		if (l->list[i].cpu != cpu)
			continue;
		most = l->list[i].votes > most ? l->list[i].votes : most;
		own = l->list[i].tid == tid ? l->list[i].votes : own;
	}
	return !most || own * STRAYS >= most;
}

/* The parent's side of @g: the only one that a thread of its CPU made. */
static const struct call *partner(const struct call_index *parent,
				  const struct vcpu_vote_list *home, const struct call *g)
{
	const uint32_t *last = map_get(&parent->by_key, g->key);
	const struct call *found = NULL;
	unsigned nr = 0;

	for (uint32_t i = last ? *last : NONE; i != NONE; i = parent->before[i]) {
		const struct call *p = &parent->sample->calls.list[i];

		if (++nr > SAME_MAX)
			return NULL;
		if (!is_home(home, g->cpu, p->tid))
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

int32_t pairs_thread(const struct call_index *parent, const struct sample *guest)
{
	struct vcpu_vote_list votes = {0};
	const struct vcpu_vote *most = NULL;
	int32_t tid = -1;

	if (!vote_all(parent, guest, &votes)) {
		for (size_t i = 0; i < votes.nr; i++)
			most = most && most->votes >= votes.list[i].votes ? most : &votes.list[i];
		tid = most ? most->tid : -1;
	}
	free(votes.list);
	return tid;
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

static int one_side(const struct call_index *parent, const struct call_list *list,
		    const struct map *own, bool upper, const struct vcpu_vote_list *home,
		    struct constraints *out, struct vcpu_vote_list *votes, uint64_t *nr_pairs)
{
	*nr_pairs = 0;
	for (size_t i = 0; i < list->nr; i++) {
		const struct call *g = &list->list[i], *p;
		const uint32_t *once = map_get(own, g->key);
		uint64_t y;
		int ret;

		p = once && *once != TWICE ? partner(parent, home, g) : NULL;
		if (!p)
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
	struct vcpu_vote_list home = {0};
	uint64_t nr[2] = {0, 0};
	int ret = vote_all(parent, guest, &home);

	for (unsigned i = 0; i < 2 && ret == 0; i++) {
		struct map own = {0};

		ret = index_own(&own, lists[i]);
		if (ret == 0)
			ret = one_side(parent, lists[i], &own, i == 0, &home, out, votes, &nr[i]);
		map_release(&own);
	}
	free(home.list);
	*nr_pairs = nr[0] > nr[1] ? nr[0] : nr[1];
	return ret;
}
