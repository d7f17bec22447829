/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads that send are one guest: held to the rules as they are said, pair by pair. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "libsonde/inputs/callers.h"

#define CALLERS 12
#define WORLDS 20000

static struct caller pool[CALLERS];
static struct caller *list[CALLERS];

/* ---- the rules, pair by pair ---- */

static bool say_the_same(const struct caller *a, const struct caller *b)
{
	return !strcmp(a->hostname, b->hostname) && !a->vmcb == !b->vmcb;
}

static bool contradict(const struct caller *a, const struct caller *b)
{
	return a->process != b->process || (a->vcpu >= 0 && a->vcpu == b->vcpu) ||
	       (a->cpus[0] & b->cpus[0]) || (a->cpus[9] & b->cpus[9]);
}

/* VMs call themselves what this one does. */
static bool is_contested(const struct caller *c, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (pool[i].blocks && pool[k].blocks && say_the_same(&pool[i], c) &&
			    say_the_same(&pool[k], c) && contradict(&pool[i], &pool[k]))
				return true;
		}
	}
	return false;
}

static void group_by_rules(int *guest, unsigned nr)
{
	int nr_guests = 0;

	for (unsigned i = 0; i < nr; i++) {
		const struct caller *c = &pool[i];
		bool unfit[CALLERS] = {false};
		int g = 0;

		guest[i] = -1;
		if (!c->blocks)
			continue;
		for (unsigned k = 0; k < i; k++) {
			if (guest[k] >= 0 &&
			    (!say_the_same(c, &pool[k]) || contradict(c, &pool[k]) ||
			     (c->process < 0 && is_contested(c, nr))))
				unfit[guest[k]] = true;
		}
		while (g < nr_guests && unfit[g])
			g++;
		guest[i] = g;
		nr_guests += g == nr_guests;
	}
}

/* ---- worlds ---- */

static uint64_t seed = 1;

static unsigned any(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % below;
}

static unsigned make_world(void)
{
	unsigned nr = 1 + any(CALLERS), names = 1 + any(3), processes = any(3), vcpus = 1 + any(6);
	unsigned cpus = 4 + any(60);

	memset(pool, 0, sizeof(pool));
	for (unsigned i = 0; i < nr; i++) {
		struct caller *c = &pool[i];

		list[i] = c;
		c->tid = 100 + (int32_t)i;
		c->process = processes ? (int32_t)any(processes) : -1;
		c->vcpu = any(4) ? (int32_t)any(vcpus) : -1;
		c->vmcb = any(8) ? 0 : 0x1000;
		c->blocks = any(8) ? 1 : 0;
		snprintf(c->hostname, sizeof(c->hostname), "vm-%u", any(names));
		c->cpus[any(2) * 9] = UINT64_C(1) << any(cpus);
	}
	return nr;
}

static void as_the_rules_say(void **state)
{
	static const struct declared nothing;
	unsigned together = 0, apart = 0;

	(void)state;
	for (unsigned world = 0; world < WORLDS; world++) {
		unsigned nr = make_world(), listed = 0;
		struct caller_guests g;
		int want[CALLERS];

		group_by_rules(want, nr);
		assert_int_equal(callers_group(&g, list, nr, &nothing), 0);
		for (unsigned i = 0; i < g.nr; i++) {
			assert_true(g.list[i].nr && !g.list[i].listed);
			for (unsigned k = 0; k < g.list[i].nr; k++) {
				assert_int_equal(want[g.list[i].callers[k] - pool], i);
				assert_true(!k || g.list[i].callers[k] > g.list[i].callers[k - 1]);
			}
			listed += g.list[i].nr;
			together += g.list[i].nr > 1;
			apart += g.list[i].nr == 1;
		}
		for (unsigned i = 0; i < nr; i++)
			listed -= want[i] >= 0;
		assert_int_equal(listed, 0);
		caller_guests_release(&g);
	}
	assert_true(together > WORLDS / 10 && apart > WORLDS / 10);
}

/* ---- many, for tests/cmd/costs.py to count what that takes ---- */

/* All of one process and name, of which no two can be one. */
static int group_many(unsigned nr)
{
	static const struct declared nothing;
	struct caller *many = calloc(nr, sizeof(*many)), **at = calloc(nr, sizeof(*at));
	struct caller_guests g = {0};
	int ret = 1;

	for (unsigned i = 0; many && at && i < nr; i++) {
		at[i] = &many[i];
		many[i] = (struct caller){
			.tid = 100 + (int32_t)i, .process = i % 2 ? 7 : -1, .blocks = 1};
		many[i].vcpu = (int32_t)i;
		many[i].cpus[ARRAY_SIZE(many[i].cpus) - 1] = 1;
	}
	if (many && at && !callers_group(&g, at, nr, &nothing))
		ret = g.nr != nr;
	caller_guests_release(&g);
	free(many);
	free(at);
	return ret;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_rules_say),
	};

	if (argc > 1)
		return group_many((unsigned)atoi(argv[1]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
