/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of intervals against the history that it is read from, what a CPU did against its sums, and rows
 * against those of a history that was asked for nothing before. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/sched/cpu_users.h"
#include "analysis/rows.h"
#include "analysis/longest.h"
#include "analysis/sched/thread_waits.h"
#include "analysis/sched/wait_sweep.h"
#include "sonde/tables.h"
#include "tests/unit/oracle.h"
#include "tests/unit/small_history_test.h"

/* ---- the cache -------------------------------------------------------------------------------- */

#define CHANGES (BLOCK_ROOM * 30) /* a block has to grow twice to hold them */
#define STEP 10

/* The begin of the @i-th interval when they are as uneven as they come: most in a few bursts. */
static ns_t uneven(uint32_t i)
{
	return (ns_t)i * STEP + (ns_t)(i / 5000) * 1000000000;
}

static ns_t even(uint32_t i)
{
	return (ns_t)i * STEP;
}

static void write_many(char name[static 64], ns_t (*begin)(uint32_t i))
{
	const struct history_writer_options opt = {.ticks_are_ns = true};
	struct history_writer *w;
	attr_t attr;
	int fd;

	snprintf(name, 64, "/tmp/sonde-block-XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(history_writer_open(&w, name, &opt, NULL), 0);
	attr = history_writer_attr(w, ATTR_ROOT, "many", ATTR_NUMBER, 0);
	for (uint32_t i = 0; i < CHANGES; i++)
		history_writer_set(w, attr, begin(i), 1 + i);
	assert_int_equal(history_writer_close(w, begin(CHANGES), NULL), 0);
}

static void is_at(struct interval_cache *s, attr_t attr, ns_t t)
{
	struct sonde_interval i;

	assert_int_equal(interval_cache_at(s, attr, t, &i), 0);
	assert_int_equal(i.value, 1 + t / STEP);
	assert_int_equal(i.begin, t / STEP * STEP);
	assert_int_equal(i.end, i.begin + STEP);
}

static bool count(const struct sonde_interval *i, void *data)
{
	uint32_t *next = data;

	assert_int_equal(i->value, 1 + (*next)++);
	return true;
}

/* Forwards, backwards, far and near: each time what the history says. */
static void cached_intervals_are_the_history(void **state)
{
	static const ns_t at[] = {0,
				  1,
				  5000,
				  4000,
				  CHANGES - 1,
				  CHANGES - 2000,
				  CHANGES - 3000,
				  20,
				  0,
				  CHANGES / 2,
				  CHANGES / 4,
				  CHANGES - 1,
				  3,
				  CHANGES / 3};
	struct sonde_history *many;
	struct interval_cache s = {0};
	uint32_t next = 0;
	char name[64];
	attr_t attr;

	(void)state;
	write_many(name, even);
	assert_int_equal(sonde_history_open(&many, name, NULL), 0);
	s.history = many;
	attr = sonde_attr_find(many, "many");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		is_at(&s, attr, at[i] * STEP);
		is_at(&s, attr, at[i] * STEP + STEP - 1);
	}
	assert_int_equal(interval_cache_walk(&s, attr, 0, (ns_t)CHANGES * STEP, count, &next), 0);
	assert_int_equal(next, CHANGES);
	assert_int_equal(
		interval_cache_at(&s, attr, (ns_t)CHANGES * STEP, &(struct sonde_interval){0}),
		-ERANGE);
	interval_cache_release(&s);
	sonde_history_close(many);
	unlink(name);
}

struct scan {
	struct interval_cache *cache;
	attr_t attr;
	uint32_t next;
};

/* Reads elsewhere meanwhile, so that the block may be filled anew. */
static bool count_and_jump(const struct sonde_interval *i, void *data)
{
	struct scan *c = data;

	assert_int_equal(i->value, 1 + c->next++);
	if (i->value % 1000 == 0)
		is_at(c->cache, c->attr, (ns_t)(CHANGES - i->value) * STEP);
	return true;
}

static void scans_are_the_history(void **state)
{
	static const uint32_t windows[][2] = {{100, 120},   {90, 110},	      {2000, 9000},
					      {0, CHANGES}, {0, CHANGES + 7}, {5000, 5001}};
	struct sonde_history *many;
	struct interval_cache s = {0};
	char name[64];

	(void)state;
	write_many(name, even);
	assert_int_equal(sonde_history_open(&many, name, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(windows) * 2; i++) {
		const uint32_t *w = windows[i % ARRAY_SIZE(windows)];
		struct scan c = {&s, sonde_attr_find(many, "many"), w[0]};

		s.history = many;
		assert_int_equal(interval_cache_scan(&s, c.attr, (ns_t)w[0] * STEP,
						     (ns_t)w[1] * STEP, count_and_jump, &c),
				 0);
		assert_int_equal(c.next, w[1] < CHANGES ? w[1] : CHANGES);
		if (i % 3 == 0)
			interval_cache_release(&s);
	}
	assert_int_equal(interval_cache_scan(&s, ATTR_NONE, 0, 1, count, NULL), -ENOENT);
	interval_cache_release(&s);
	sonde_history_close(many);
	unlink(name);
}

/* A long list that is held has an index; moments that are far from each other in time are near in
 * it, and the other way round. */
static void held_lists_are_the_history(void **state)
{
	struct sonde_history *many;
	struct interval_cache s = {0};
	uint32_t seed = 1;
	char name[64];
	attr_t attr;

	(void)state;
	write_many(name, uneven);
	assert_int_equal(sonde_history_open(&many, name, NULL), 0);
	s.history = many;
	attr = sonde_attr_find(many, "many");
	assert_int_equal(interval_cache_hold(&s, attr, 0, uneven(CHANGES)), 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct sonde_interval at;
		struct interval_list list;
		uint32_t first, last;

		seed = seed * 1664525 + 1013904223;
		first = (seed >> 8) % CHANGES;
		last = first + (seed >> 4) % 300;
		last = last < CHANGES ? last : CHANGES - 1;
		assert_int_equal(
			interval_cache_list(&s, attr, uneven(first), uneven(last) + 1, &list), 0);
		assert_int_equal(list.nr, last - first + 1);
		assert_int_equal(list.values[0], 1 + first);
		assert_int_equal(list.begins[0], uneven(first));
		assert_int_equal(list.values[list.nr - 1], 1 + last);
		assert_int_equal(list.begins[list.nr], uneven(last + 1));
		assert_int_equal(interval_cache_at(&s, attr, uneven(last + 1) - 1, &at), 0);
		assert_int_equal(at.value, 1 + last);
	}
	interval_cache_release(&s);
	sonde_history_close(many);
	unlink(name);
}

/* What is too much to be held is held part by part; what comes before a part is forgotten when it
 * is half of what there is room for. */
static void too_much_is_held_in_parts(void **state)
{
	static const uint32_t parts[][2] = {
		{0, BLOCK_ROOM},
		{BLOCK_ROOM / 2 - 1, BLOCK_ROOM},
		{BLOCK_ROOM / 2, BLOCK_ROOM / 2 + BLOCK_ROOM},
		{BLOCK_ROOM / 2 + 1, BLOCK_ROOM / 2 + BLOCK_ROOM},
		{9000, 9000 + BLOCK_ROOM},
		{9000 + BLOCK_ROOM, 9000 + 2 * BLOCK_ROOM},
		{CHANGES - 10, CHANGES},
	};
	struct sonde_history *many;
	struct interval_cache s = {0};
	char name[64];
	attr_t attr;

	(void)state;
	write_many(name, even);
	assert_int_equal(sonde_history_open(&many, name, NULL), 0);
	s.history = many;
	s.intervals = CACHED_INTERVALS_MAX; /* others have taken it all */
	attr = sonde_attr_find(many, "many");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint32_t begin = parts[i][0], end = parts[i][1];

		assert_int_equal(interval_cache_hold(&s, attr, even(begin), even(CHANGES)), 0);
		assert_int_equal(interval_cache_held(&s, attr, even(begin)), even(end));
		is_at(&s, attr, even(begin));
		is_at(&s, attr, even(end) - 1);
	}
	assert_int_equal(interval_cache_held(&s, attr, even(20)), even(20));
	interval_cache_release(&s);
	sonde_history_close(many);
	unlink(name);
}

/* ---- long lists ---------------------------------------------------------------------------- */

/* Those that are equal in the key stay as they were before. */
static void is_sorted(const struct sonde_rows *f, bool rising, bool nr_rises)
{
	for (size_t row = 1; row < f->nr_rows; row++) {
		int64_t before = sonde_rows_cell(f, row - 1, 1).i;
		int64_t key = sonde_rows_cell(f, row, 1).i;

		assert_true(rising ? before <= key : before >= key);
		if (before == key)
			assert_int_equal(sonde_rows_cell(f, row - 1, 0).i <
						 sonde_rows_cell(f, row, 0).i,
					 nr_rises);
	}
}

static void sort_by_key(struct sonde_rows *f, bool rising)
{
	if (rising)
		rows_sort_rising(f, "key");
	else
		rows_sort(f, "key");
}

static void rows_are_sorted(size_t nr, bool rising)
{
	static const struct sonde_column columns[] = {{"nr", "NR", SONDE_COL_INT, ""},
						      {"key", "KEY", SONDE_COL_NS, ""}};
	static const struct sonde_table table = {"list", "", "", columns, 2};
	struct sonde_rows *f = calloc(1, sizeof(*f));
	uint64_t seed = 1;

	assert_non_null(f);
	f->table = &table;
	for (size_t i = 0; i < nr; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		/* Many are equal, some are negative, some differ in their highest bits alone. */
		rows_add(f,
			 (union sonde_cell[]){{.i = (int64_t)i},
					      {.i = (int64_t)(seed >> 60 << (seed >> 58 & 60))}});
	}
	sort_by_key(f, rising);
	assert_int_equal(f->nr_rows, nr);
	is_sorted(f, rising, true);
	rows_sort(f, "nr");
	sort_by_key(f, rising);
	is_sorted(f, rising, false);
	sonde_rows_free(f);
}

static void lists_are_sorted(void **state)
{
	(void)state;
	for (unsigned rising = 0; rising < 2; rising++) {
		rows_are_sorted(0, rising);
		rows_are_sorted(ROWS_PAGE, rising);
		rows_are_sorted(ROWS_PAGE + 1, rising);
		rows_are_sorted(3000, rising);
	}
}

static void the_longest_are_known(void **state)
{
	struct longest *l = calloc(1, sizeof(*l));

	(void)state;
	assert_non_null(l);
	for (ns_t i = 0; i < LONGEST_MAX; i++) {
		assert_int_equal(longest_least(l), 0);
		longest_add(l, i * 7919 % LONGEST_MAX + 1); /* each once */
	}
	assert_int_equal(longest_least(l), 1);
	for (ns_t i = 0; i < 500; i++)
		longest_add(l, LONGEST_MAX + 1 + i);
	assert_int_equal(longest_least(l), 501);
	longest_add(l, 501);
	assert_int_equal(longest_least(l), 501);
	free(l);
}

/* ---- sums ---------------------------------------------------------------------------------- */

struct seen {
	const struct culprits *culprits;
	ns_t time_ns[SMALL_CONTEXTS + 1], longest_ns[SMALL_CONTEXTS + 1]; /* per culprit */
	ns_t total_ns;
};

static bool see_piece(const struct cpu_user *user, void *data)
{
	struct seen *seen = data;
	uint32_t number = culprit_number(seen->culprits, (uint32_t)(user->context + 1));
	ns_t length = user->to - user->from;

	seen->total_ns += length;
	seen->time_ns[number] += length;
	if (length > seen->longest_ns[number])
		seen->longest_ns[number] = length;
	return true;
}

static bool see_use(const struct cpu_use *use, void *data)
{
	struct seen *seen = data;

	assert_true(use->count >= 1 || seen->total_ns); /* else it goes on */
	assert_true(use->number < seen->culprits->nr);
	seen->total_ns += use->time_ns;
	seen->time_ns[use->number] += use->time_ns;
	if (use->longest_ns > seen->longest_ns[use->number])
		seen->longest_ns[use->number] = use->longest_ns;
	return true;
}

static void sums_are_those_of_the_pieces(void **state)
{
	static const ns_t windows[][2] = {{SMALL_BEGIN, SMALL_END},
					  {1120000, 1460000},
					  {1300001, 1300002},
					  {1710000, 1990000}};
	struct cpu_users *u;

	(void)state;
	assert_int_equal(cpu_users_get(&u, history), 0);
	for (unsigned machine = 0; machine < SMALL_MACHINES; machine++) {
		for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
			ns_t from = windows[i][0], to = windows[i][1];
			struct seen pieces = {.culprits = u->culprits}, sums = pieces;

			assert_int_equal(
				cpu_users_walk(u, machine, 0, from, to, see_piece, &pieces), 0);
			assert_int_equal(cpu_users_sum(u, machine, 0, from, to, see_use, &sums), 0);
			assert_int_equal(sums.total_ns, to - from);
			assert_memory_equal(&pieces, &sums, sizeof(sums));
		}
	}
}

/* The CPU that it was on last means nothing once its state is not known. */
static void a_cpu_that_was_left_unseen(void **state)
{
	struct cpu_users *u;

	(void)state;
	assert_int_equal(cpu_users_get(&u, history), 0);
	assert_int_equal(cpu_users_parent_cpu(u, VM_AN_0, 1120000), -1); /* unknown */
	assert_int_equal(cpu_users_parent_cpu(u, VM_AN_0, 1145000), 0);	 /* on a CPU */
	assert_int_equal(cpu_users_parent_cpu(u, VM_AN_0, 1200000), 0);	 /* it lost that one */
	assert_int_equal(cpu_users_parent_cpu(u, VM_A_0, 1050000),
			 -1); /* asleep from the start on */
	assert_int_equal(cpu_users_parent_cpu(u, VM_A_0, 1950000),
			 0); /* asleep, after it lost it */
	assert_int_equal(cpu_users_parent_cpu(u, VM_B_0, 1499999), 1);
	assert_int_equal(cpu_users_parent_cpu(u, VM_B_0, 1600000), -1); /* unknown again */
}

static bool count_uses(const struct cpu_use *use, void *data)
{
	unsigned *nr = data;

	(*nr)++;
	assert_true(use->on == HOST_0);
	return true;
}

static void one_sum_for_each_culprit(void **state)
{
	struct cpu_users *u;
	unsigned nr = 0;

	(void)state;
	assert_int_equal(cpu_users_get(&u, history), 0);
	/* Of the nine contexts on CPU 0 KVM for vm-a/0, after HLT and after INTR, is one culprit,
	 * and burn's user space and its system call are one. */
	assert_int_equal(cpu_users_sum(u, HOST, 0, SMALL_BEGIN, SMALL_END, count_uses, &nr), 0);
	assert_int_equal(nr, 7);
}

/* ---- waits, many at a time ----------------------------------------------------------------- */

#define SWEPT 300

struct swept {
	struct cpu_users *users;
	struct swept_wait waits[SWEPT];
	struct culprit_sums sums[SWEPT]; /* of each wait */
	struct culprit_sums alone;	 /* of the wait at hand */
	uint32_t last_who;
	bool done[SWEPT];
};

/* The same wait, looked at by itself. */
static bool add_alone(const struct cpu_user *user, void *data)
{
	struct swept *s = data;
	const struct culprits *c = s->users->culprits;
	uint32_t number = culprit_number(c, (uint32_t)(user->context + 1));
	ns_t length = user->to - user->from;
	const struct use_sum use = {length, length, user->from, s->last_who != c->who[number], 0};

	assert_true(
		culprit_sums_add(&s->alone, culprit_sums_key(user->on, number), &use, user->from));
	s->last_who = c->who[number];
	return true;
}

static void are_same_sums(const struct culprit_sums *a, const struct culprit_sums *b)
{
	assert_int_equal(a->nr, b->nr);
	for (uint32_t i = 0; i < a->nr; i++) {
		const struct culprit_sum *x = &a->parts[i], *y = &b->parts[i];

		assert_int_equal(x->key, y->key);
		assert_int_equal(x->met, y->met);
		assert_int_equal(x->use.count, y->use.count);
		assert_int_equal(x->use.time_ns, y->use.time_ns);
		assert_int_equal(x->use.longest_ns, y->use.longest_ns);
		assert_int_equal(x->use.longest_at, y->use.longest_at);
	}
}

static void is_as_alone(struct swept *s, const struct swept_wait *wait,
			const struct culprit_sums *culprits)
{
	culprit_sums_clear(&s->alone);
	s->last_who = UINT32_MAX;
	assert_int_equal(cpu_users_walk(s->users, wait->machine, wait->cpu, wait->from, wait->to,
					add_alone, s),
			 0);
	are_same_sums(culprits, &s->alone);
}

static int told_as_alone(const struct swept_wait *wait, const struct culprit_sums *culprits,
			 void *data)
{
	struct swept *s = data;

	assert_true(wait->told);
	assert_false(s->done[wait->id]);
	s->done[wait->id] = true;
	is_as_alone(s, wait, culprits);
	return 0;
}

static int stop_at_once(const struct swept_wait *wait, const struct culprit_sums *culprits,
			void *data)
{
	(void)wait;
	(void)culprits;
	(void)data;
	return -EINTR;
}

static int ends_well(const struct swept_wait *wait, const struct culprit_sums *culprits, void *data)
{
	(void)wait;
	(void)culprits;
	(void)data;
	return 0;
}

/* Of all CPUs, and of one that is not known; long ones and short ones, many at the same moments. */
static void waits_are_swept_as_if_alone(void **state)
{
	struct swept s = {0};
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(cpu_users_get(&s.users, history), 0);
	for (uint32_t i = 0; i < SWEPT; i++) {
		ns_t step = i % 3 ? 50000 : 1; /* 50000: where something changes */
		ns_t from = SMALL_BEGIN + (ns_t)(oracle_random(&seed) % 990000) / step * step;
		ns_t length = 1 + (ns_t)(oracle_random(&seed) % (i % 5 ? 20000 : 700000));

		s.waits[i] = (struct swept_wait){
			.from = from,
			.to = from + length < SMALL_END ? from + length : SMALL_END,
			.machine = (unsigned)(oracle_random(&seed) % SMALL_MACHINES),
			.cpu = (int)(oracle_random(&seed) % 3) - 1,
			.id = i,
			.told = i % 2,
			.sum = &s.sums[i],
		};
	}
	assert_int_equal(wait_sweep(s.users, s.waits, SWEPT, told_as_alone, &s), 0);
	for (unsigned i = 0; i < SWEPT; i++) {
		assert_int_equal(s.done[i], s.waits[i].told);
		is_as_alone(&s, &s.waits[i], &s.sums[i]);
	}
	assert_int_equal(wait_sweep(s.users, s.waits, SWEPT, stop_at_once, NULL), -EINTR);
	assert_int_equal(wait_sweep(s.users, s.waits, 0, stop_at_once, NULL), 0);
	for (unsigned i = 0; i < SWEPT; i++)
		culprit_sums_release(&s.sums[i]);
	culprit_sums_release(&s.alone);
}

/* Those of one sum: it has what all of them had, and when each was met first. */
static void waits_share_a_sum(void **state)
{
	struct swept s = {0};
	struct culprit_sums all = {0};
	const ns_t step = (SMALL_END - SMALL_BEGIN) / SWEPT;

	(void)state;
	assert_int_equal(cpu_users_get(&s.users, history), 0);
	for (uint32_t i = 0; i < SWEPT; i++) {
		s.waits[i] = (struct swept_wait){
			.from = SMALL_BEGIN + i * step,
			.to = SMALL_BEGIN + (i + 1) * step,
			.machine =
				(SWEPT - i) % SMALL_MACHINES, /* not swept in the order of time */
			.id = i,
			.told = i % 3 == 0,
			.sum = &s.sums[0],
		};
		s.last_who = UINT32_MAX;
		assert_int_equal(cpu_users_walk(s.users, s.waits[i].machine, 0, s.waits[i].from,
						s.waits[i].to, add_alone, &s),
				 0);
	}
	assert_int_equal(wait_sweep(s.users, s.waits, SWEPT, ends_well, NULL), 0);
	for (uint32_t i = 0; i < s.sums[0].nr; i++) { /* in the same order */
		const struct culprit_sum *part = culprit_sums_get(&s.alone, s.sums[0].parts[i].key);

		assert_true(culprit_sums_add(&all, part->key, &part->use, part->met));
	}
	assert_int_equal(all.nr, s.alone.nr);
	are_same_sums(&s.sums[0], &all);
	culprit_sums_release(&s.sums[0]);
	culprit_sums_release(&s.alone);
	culprit_sums_release(&all);
}

/* ---- threads' waits ------------------------------------------------------------------------ */

struct parts {
	const struct thread_waits *w;
	struct use_sums sums;
	const struct waiter *waiter;
	size_t nr;
};

static bool add_part(const struct wait_part *part, void *data)
{
	struct parts *p = data;

	p->sums.uses[part->culprit].time_ns += part->time_ns;
	return true;
}

static void add_parts(const struct thread_wait *wait, void *data)
{
	struct parts *p = data;

	if (wait->thread != p->waiter->thread)
		return;
	p->nr++;
	assert_int_equal(thread_wait_parts(p->w, history, wait, add_part, p), 0);
}

/* What each thread waited behind is what its waits were made of, those together that were kept one
 * by one and those that were not. */
static void waits_add_up(void **state)
{
	static const ns_t windows[][2] = {{SMALL_BEGIN, SMALL_END}, {1200000, 1500000}};
	const struct culprits *culprits;

	(void)state;
	assert_int_equal(culprits_get(&culprits, history), 0);
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		struct parts p = {0};

		assert_int_equal(
			thread_waits_get(&p.w, history, windows[i][0], windows[i][1], NULL), 0);
		assert_true(p.w->nr_waiters > 0);
		for (size_t k = 0; k < p.w->nr_waiters; k++) {
			ns_t total = 0;

			p.waiter = &p.w->waiters[k];
			p.nr = 0;
			assert_int_equal(use_sums_init(&p.sums, culprits), 0);
			assert_int_equal(thread_waits_scan(p.w, history, add_parts, &p, NULL), 0);
			assert_int_equal(p.nr, p.waiter->count);
			for (size_t u = p.waiter->first; u < p.waiter->first + p.waiter->nr; u++) {
				const struct cpu_use *use = &p.w->uses[u];

				assert_int_equal(use->time_ns, p.sums.uses[use->number].time_ns);
				total += use->time_ns;
			}
			assert_int_equal(total, p.waiter->total_ns);
			use_sums_release(&p.sums);
		}
	}
}

/* ---- kept between questions ---------------------------------------------------------------- */

static void same_rows(const struct sonde_rows *a, const struct sonde_rows *b)
{
	const struct sonde_table *table = sonde_rows_table(a);

	assert_int_equal(sonde_rows_nr(a), sonde_rows_nr(b));
	for (size_t row = 0; row < sonde_rows_nr(a); row++) {
		for (unsigned i = 0; i < table->nr_columns; i++) {
			union sonde_cell x = sonde_rows_cell(a, row, i);
			union sonde_cell y = sonde_rows_cell(b, row, i);

			if (table->columns[i].type == SONDE_COL_STRING)
				assert_string_equal(x.s, y.s);
			else
				assert_int_equal(x.i, y.i);
		}
	}
}

/* Of another window first, so that what is kept of that would be found. */
static void rows_do_not_depend_on_earlier_ones(void **state)
{
	static const ns_t windows[][2] = {
		{1200000, 1500000}, {SMALL_BEGIN, SMALL_END}, {1200000, 1800000}};
	const struct sonde_table *const *list;
	unsigned nr;

	(void)state;
	list = sonde_tables(&nr);
	for (size_t w = 0; w < ARRAY_SIZE(windows); w++) {
		for (unsigned i = 0; i < nr; i++) {
			struct sonde_rows *kept, *fresh;
			struct sonde_history *other;

			assert_int_equal(sonde_history_open(&other, path, NULL), 0);
			assert_int_equal(sonde_rows_get(&fresh, other, list[i]->name, windows[w][0],
							windows[w][1], NULL),
					 0);
			assert_int_equal(sonde_rows_get(&kept, history, list[i]->name,
							windows[w][0], windows[w][1], NULL),
					 0);
			same_rows(kept, fresh);
			sonde_rows_free(kept);
			sonde_rows_free(fresh);
			sonde_history_close(other);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cached_intervals_are_the_history),
		cmocka_unit_test(scans_are_the_history),
		cmocka_unit_test(held_lists_are_the_history),
		cmocka_unit_test(too_much_is_held_in_parts),
		cmocka_unit_test(lists_are_sorted),
		cmocka_unit_test(the_longest_are_known),
		cmocka_unit_test(a_cpu_that_was_left_unseen),
		cmocka_unit_test(sums_are_those_of_the_pieces),
		cmocka_unit_test(one_sum_for_each_culprit),
		cmocka_unit_test(waits_are_swept_as_if_alone),
		cmocka_unit_test(waits_share_a_sum),
		cmocka_unit_test(waits_add_up),
		cmocka_unit_test(rows_do_not_depend_on_earlier_ones),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
