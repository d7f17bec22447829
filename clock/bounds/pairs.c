/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "clock/sample/declared.h"
#include "clock/bounds/rates.h"

#define TWICE UINT32_MAX
#define NONE UINT32_MAX
/* A thread that makes so few of a CPU's calls, of those that the busiest makes, is no vCPU of
 * it. */
#define STRAYS 16
/* Threads whose clock and the guest's disagree more often than in one of so many steps did not make
 * its calls.  A clock may be set now and then. */
#define BREAKS 8
/* A thread of whose calls one in so many is another's, too, is not known to be the guest's. */
#define COMMON 4
#define MAKERS_MAX (1u << 16) /* a hostile trace has more; sane ones have one thread per vCPU */

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

/* ---- whose calls ---- */

/* A thread of the parent that made calls of a CPU of the guest. */
struct maker {
	int32_t cpu, tid;
	uint64_t votes;	 /* its calls, each once as a request and once as an acknowledgement */
	uint64_t common; /* of these, how many another one that counts made, too */
	uint64_t paired; /* ... of how many it is the one that made them */
	uint64_t steps, breaks; /* from call to call; where the clocks cannot both be right */
	uint64_t request, ack;	/* of the call before, as the guest tells; ack 0: there is none */
	uint64_t exit, entry;	/* ... as the parent does */
	uint64_t of;		/* the guest's call that was looked at last */
	unsigned times;		/* ... how often it made that */
	bool counts;
};

/* One guest's calls and one parent's. */
struct match {
	const struct call_index *parent;
	const struct pair_guest *guest;
	const struct call_list *lists[2]; /* requests, acks */
	struct map own[2];		  /* of these */
	struct maker *makers;		  /* owned */
	size_t nr_makers, room;
	struct map by_thread; /* maker_key() -> index into makers */
	struct fit_options rates;
	bool rates_known;
};

static uint64_t maker_key(int32_t cpu, int32_t tid)
{
	return (uint64_t)(uint32_t)cpu << 32 | (uint32_t)tid;
}

static struct maker *maker_find(const struct match *m, int32_t cpu, int32_t tid)
{
	const uint32_t *i = map_get(&m->by_thread, maker_key(cpu, tid));

	return i ? &m->makers[*i] : NULL;
}

static int maker_get(struct match *m, int32_t cpu, int32_t tid, struct maker **out)
{
	*out = maker_find(m, cpu, tid);
	if (*out || cpu < 0 || tid < 0 || m->nr_makers == MAKERS_MAX)
		return 0;
	if (!room_for_one(&m->makers, m->nr_makers, &m->room) ||
	    map_put(&m->by_thread, maker_key(cpu, tid), (uint32_t)m->nr_makers))
		return -ENOMEM;
	*out = &m->makers[m->nr_makers++];
	**out = (struct maker){.cpu = cpu, .tid = tid};
	return 0;
}

/* The guest's only one with that key; NULL when there is none, or more. */
static const struct call *own_call(const struct match *m, unsigned list, uint64_t key)
{
	const uint32_t *i = map_get(&m->own[list], key);

	return i && *i != TWICE ? &m->lists[list]->list[*i] : NULL;
}

/* The parent's last call with the key of @g, which must be the guest's only one; else NONE.  So
 * each of the parent's calls is of one @g of each list at most, however often one was made. */
static uint32_t last_made(const struct match *m, unsigned list, const struct call *g)
{
	const uint32_t *last =
		own_call(m, list, g->key) ? map_get(&m->parent->by_key, g->key) : NULL;

	return last ? *last : NONE;
}

static const struct call *call_at(const struct match *m, uint32_t i)
{
	return &m->parent->sample->calls.list[i];
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

/* How long @ticks of the guest are for the parent. */
static double parents(const struct match *m, double ticks)
{
	return ticks * (double)m->rates.mult / (double)(UINT64_C(1) << CLOCK_SHIFT);
}

static double between(uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from);
}

/* The thread's next call, that the guest says it began and ended at these times. */
static void step(const struct match *m, struct maker *k, const struct call *p,
		 const struct call *request, const struct call *ack)
{
	uint64_t out = exit_before(m->parent->sample, p), in = entry_after(m->parent->sample, p);
	double least, most, off;

	if (k->ack && m->rates_known) {
		least = parents(m, between(k->ack, request->time));
		most = parents(m, between(k->request, ack->time));
		off = most * m->rates.limit_ppm * 1e-6 + (double)m->rates.slack;
		k->steps++;
		k->breaks +=
			least > between(k->entry, out) + off || most < between(k->exit, in) - off;
	}
	k->request = request->time;
	k->ack = ack->time;
	k->exit = out;
	k->entry = in;
}

/* Who made @g: those that made it once. */
static int vote_for(struct match *m, unsigned list, const struct call *g, uint64_t of)
{
	const struct call *ack = list ? NULL : own_call(m, 1, g->key);
	uint32_t last = last_made(m, list, g);
	struct maker *k;

	for (uint32_t i = last; i != NONE; i = m->parent->before[i]) {
		if (maker_get(m, g->cpu, call_at(m, i)->tid, &k))
			return -ENOMEM;
		if (!k)
			continue;
		k->times = k->of == of ? k->times + 1 : 1;
		k->of = of;
	}
	for (uint32_t i = last; i != NONE; i = m->parent->before[i]) {
		k = maker_find(m, g->cpu, call_at(m, i)->tid);
		if (!k || k->times > 1)
			continue;
		k->votes++;
		if (ack)
			step(m, k, call_at(m, i), g, ack);
	}
	return 0;
}

static int vote_all(struct match *m)
{
	uint64_t of = 0;
	int ret = 0;

	for (unsigned list = 0; list < 2; list++) {
		for (size_t i = 0; i < m->lists[list]->nr && ret == 0; i++)
			ret = vote_for(m, list, &m->lists[list]->list[i], ++of);
	}
	return ret;
}

/* Whether the thread may run that CPU at all. */
static bool may_be_home(const struct pair_guest *guest, const struct maker *k)
{
	const struct declared_vm *vm =
		guest->vm ? declared_vm_of_thread(guest->listed, k->tid) : NULL;

	return k->breaks * BREAKS <= k->steps && (!vm || declared_same_vm(vm, guest->vm));
}

/* The parent's side of @g, when one thread that counts made it, once; *@nr: how often such did. */
static const struct call *made_by_home(const struct match *m, unsigned list, const struct call *g,
				       unsigned *nr)
{
	const struct call *found = NULL;

	*nr = 0;
	for (uint32_t i = last_made(m, list, g); i != NONE; i = m->parent->before[i]) {
		const struct maker *k = maker_find(m, g->cpu, call_at(m, i)->tid);

		if (!k || !k->counts)
			continue;
		found = call_at(m, i);
		++*nr;
	}
	return *nr == 1 ? found : NULL;
}

static void count_common(struct match *m, unsigned list)
{
	for (size_t n = 0; n < m->lists[list]->nr; n++) {
		const struct call *g = &m->lists[list]->list[n];
		unsigned nr;

		made_by_home(m, list, g, &nr);
		for (uint32_t i = nr > 1 ? last_made(m, list, g) : NONE; i != NONE;
		     i = m->parent->before[i]) {
			struct maker *k = maker_find(m, g->cpu, call_at(m, i)->tid);

			if (k)
				k->common++;
		}
	}
}

/* Of each CPU of the guest, what the busiest of its makers made. */
static int most_votes(const struct match *m, struct map *most)
{
	int ret = 0;

	for (size_t i = 0; i < m->nr_makers && ret == 0; i++) {
		const struct maker *k = &m->makers[i];
		const uint32_t *before = map_get(most, (uint32_t)k->cpu);

		if (k->counts && (!before || *before < k->votes))
			ret = map_put(most, (uint32_t)k->cpu,
				      k->votes < UINT32_MAX ? (uint32_t)k->votes : UINT32_MAX);
	}
	return ret;
}

static int leave_strays_out(struct match *m)
{
	struct map most = {0};
	int ret = most_votes(m, &most);

	for (size_t i = 0; i < m->nr_makers && ret == 0; i++) {
		struct maker *k = &m->makers[i];

		k->counts = k->counts && k->votes * STRAYS >= *map_get(&most, (uint32_t)k->cpu);
	}
	map_release(&most);
	return ret;
}

static int choose_makers(struct match *m)
{
	int ret;

	for (size_t i = 0; i < m->nr_makers; i++)
		m->makers[i].counts = may_be_home(m->guest, &m->makers[i]);
	ret = leave_strays_out(m);
	if (ret)
		return ret;
	count_common(m, 0);
	count_common(m, 1);
	for (size_t i = 0; i < m->nr_makers; i++)
		m->makers[i].counts &= m->makers[i].common * COMMON < m->makers[i].votes;
	return 0;
}

static void match_release(struct match *m)
{
	map_release(&m->own[0]);
	map_release(&m->own[1]);
	map_release(&m->by_thread);
	free(m->makers);
}

static int match_make(struct match *m, const struct call_index *parent,
		      const struct pair_guest *guest)
{
	const struct sample *g = guest->sample, *host = parent->sample;
	int ret = 0;

	*m = (struct match){.parent = parent, .guest = guest, .lists = {&g->requests, &g->acks}};
	if (!host->calls.nr)
		return 0;
	m->rates_known = rates_known(g, host, 0);
	m->rates = rates_options(g, host, 0, 0);
	for (unsigned i = 0; i < 2 && ret == 0; i++)
		ret = index_own(&m->own[i], m->lists[i]);
	if (ret == 0)
		ret = vote_all(m);
	if (ret == 0)
		ret = choose_makers(m);
	if (ret)
		match_release(m);
	return ret;
}

/* ---- what follows ---- */

uint64_t pairs_count(const struct call_index *parent, const struct pair_guest *guest)
{
	uint64_t n[2] = {0, 0};
	struct match m;
	unsigned nr;

	if (match_make(&m, parent, guest))
		return 0;
	for (unsigned k = 0; k < 2; k++) {
		for (size_t i = 0; i < m.lists[k]->nr; i++)
			n[k] += made_by_home(&m, k, &m.lists[k]->list[i], &nr) != NULL;
	}
	match_release(&m);
	return n[0] > n[1] ? n[0] : n[1];
}

int32_t pairs_thread(const struct call_index *parent, const struct pair_guest *guest)
{
	const struct maker *most = NULL;
	struct match m;
	int32_t tid;

	if (match_make(&m, parent, guest))
		return -1;
	for (size_t i = 0; i < m.nr_makers; i++) {
		const struct maker *k = &m.makers[i];

		if (k->counts && (!most || k->votes > most->votes))
			most = k;
	}
	tid = most ? most->tid : -1;
	match_release(&m);
	return tid;
}

static int list_votes(const struct match *m, struct vcpu_vote_list *votes)
{
	for (size_t i = 0; i < m->nr_makers; i++) {
		const struct maker *k = &m->makers[i];
		struct vcpu_vote *v = k->paired ? sample_add(votes) : NULL;

		if (k->paired && !v)
			return -ENOMEM;
		if (v)
			*v = (struct vcpu_vote){k->cpu, k->tid, k->paired};
	}
	return 0;
}

static int one_side(const struct match *m, unsigned list, struct constraints *out,
		    uint64_t *nr_pairs)
{
	const struct sample *host = m->parent->sample;
	bool upper = list == 0;
	int ret = 0;

	*nr_pairs = 0;
	for (size_t i = 0; i < m->lists[list]->nr && ret == 0; i++) {
		const struct call *g = &m->lists[list]->list[i];
		unsigned nr;
		const struct call *p = made_by_home(m, list, g, &nr);

		if (!p)
			continue;
		ret = constraints_add(out, g->time,
				      upper ? exit_before(host, p) : entry_after(host, p), upper);
		maker_find(m, g->cpu, p->tid)->paired++;
		++*nr_pairs;
	}
	return ret;
}

int pairs_constraints(const struct call_index *parent, const struct pair_guest *guest,
		      struct constraints *out, struct vcpu_vote_list *votes, uint64_t *nr_pairs)
{
	uint64_t nr[2] = {0, 0};
	struct match m;
	int ret = match_make(&m, parent, guest);

	*nr_pairs = 0;
	if (ret)
		return ret;
	for (unsigned i = 0; i < 2 && ret == 0; i++)
		ret = one_side(&m, i, out, &nr[i]);
	if (ret == 0)
		ret = list_votes(&m, votes);
	match_release(&m);
	*nr_pairs = nr[0] > nr[1] ? nr[0] : nr[1];
	return ret;
}
