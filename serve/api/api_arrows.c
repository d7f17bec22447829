/* SPDX-License-Identifier: Apache-2.0 */
/* Who woke which thread, and who took which vCPU's CPU: what is drawn from one row to another. */
#include "serve/api/api.h"
#include "serve/api/wakers.h"
#include "sonde/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arrows {
	struct call *call;
	struct json *json;
	int64_t begin, end; /* of the history's clock */
	int64_t thread;	    /* row: whose states are walked */
	uint32_t waker;	    /* its attribute */
	bool slept;	    /* so far */
	int64_t woken;	    /* when, and not yet run; -1 none */
	uint32_t woken_to;  /* state */
	unsigned nr, max;   /* in the answer */
	unsigned walked, walked_max;
	bool more; /* than there is room for */
};

/* [t, thread, waker's thread, its machine, its CPU, its mode, when the thread ran or null] */
static void write_wake(struct arrows *a, int64_t ran)
{
	struct sonde_context by = {.thread = -1, .mode = SONDE_MODE_UNKNOWN, .cpu = -1};
	struct json *j = a->json;
	int64_t machine = -1;

	if (thread_woken_by(a->call->history, a->waker, a->woken_to, a->woken, &by))
		machine = by.machine;
	json_begin_array(j, NULL);
	json_int(j, NULL, a->woken - a->call->begin);
	json_int(j, NULL, a->thread);
	json_int(j, NULL, by.thread);
	json_int(j, NULL, machine);
	json_int(j, NULL, by.cpu);
	json_uint(j, NULL, by.mode);
	json_row(j, NULL, ran < 0 ? -1 : ran - a->call->begin);
	json_end(j);
	a->woken = -1;
	a->nr++;
}

static bool see_state(const struct sonde_interval *i, void *data)
{
	struct arrows *a = data;
	bool runs = i->value == THREAD_RUNNING;

	if (a->woken >= 0 && (runs || thread_sleeps(i->value)))
		write_wake(a, runs ? i->begin : -1);
	if (a->slept && i->begin >= a->begin && (runs || i->value == THREAD_RUNNABLE)) {
		a->woken = i->begin;
		a->woken_to = i->value;
		if (runs)
			write_wake(a, i->begin);
	}
	a->slept = thread_sleeps(i->value);
	if (++a->walked >= a->walked_max || a->nr >= a->max)
		a->more = true;
	return !a->more;
}

static int write_wakes(struct arrows *a, const uint32_t *threads, unsigned nr)
{
	struct sonde_history *history = a->call->history;
	int ret = 0;

	json_begin_array(a->json, "wakes");
	for (unsigned i = 0; i < nr && !ret && !a->more; i++) {
		uint32_t state = sonde_attr_of_thread(history, threads[i], "state");

		a->thread = threads[i];
		a->waker = sonde_attr_of_thread(history, threads[i], "waker");
		a->slept = false;
		a->woken = -1;
		if (state == SONDE_NO_ATTR || a->waker == SONDE_NO_ATTR)
			continue;
		/* One ns before the window: what it was then. */
		ret = sonde_interval_walk(history, state, a->begin - 1, a->end, see_state, a);
		if (!ret && a->woken >= 0)
			write_wake(a, -1);
	}
	json_end(a->json);
	json_bool(a->json, "wakes_more", a->more);
	return ret;
}

static bool count_one(const struct sonde_interval *i, void *data)
{
	unsigned *left = data;

	(void)i;
	return --*left;
}

/* Whether the analysis would find more than can be drawn, without asking it. */
static bool too_many(struct arrows *a, const uint32_t *cpus, unsigned nr)
{
	unsigned left = a->walked_max;

	for (unsigned i = 0; i < nr && left; i++) {
		uint32_t attr = sonde_attr_of_cpu(a->call->history, cpus[i], "state");

		if (attr != SONDE_NO_ATTR &&
		    sonde_interval_walk(a->call->history, attr, a->begin, a->end, count_one, &left))
			break;
	}
	return !left;
}

static int by_row(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* @list is sorted. */
static bool among(int64_t row, const uint32_t *list, unsigned nr)
{
	uint32_t wanted = (uint32_t)row;

	return row >= 0 && row <= UINT32_MAX && nr &&
	       bsearch(&wanted, list, nr, sizeof(*list), by_row);
}

/* Columns of the analysis. */
enum { AT, LENGTH, VCPU, VICTIM, ON, MACHINE, CULPRIT, BEGIN, WHOLE, NR_COLUMNS };
static const char *const column_names[NR_COLUMNS] = {
	"at",
	"length",
	"vcpu",
	"victim",
	"on",
	"culprit_machine",
	"culprit",
	"preemption_begin",
	"preemption_length",
};

/* Those who ran in one preemption; who ran longest is to be named. */
#define TAKERS_MAX 16

struct taker {
	int64_t machine, thread; /* rows; -1 an interrupt, or unknown */
	int64_t time_ns;
};

struct preemption {
	int64_t cells[NR_COLUMNS]; /* of its first row */
	struct taker takers[TAKERS_MAX];
	unsigned nr;
};

static void add_taker(struct preemption *p, const int64_t *cells)
{
	for (unsigned i = 0; i < p->nr; i++) {
		if (p->takers[i].machine == cells[MACHINE] &&
		    p->takers[i].thread == cells[CULPRIT]) {
			p->takers[i].time_ns += cells[LENGTH];
			return;
		}
	}
	if (p->nr < TAKERS_MAX)
		p->takers[p->nr++] = (struct taker){cells[MACHINE], cells[CULPRIT], cells[LENGTH]};
}

/* [t, length, vcpu, victim, on, machine, thread, how long that one had it] */
static void write_preemption(struct arrows *a, const struct preemption *p)
{
	const struct taker *most = &p->takers[0];

	for (unsigned i = 1; i < p->nr; i++) {
		if (p->takers[i].time_ns > most->time_ns)
			most = &p->takers[i];
	}
	json_begin_array(a->json, NULL);
	json_int(a->json, NULL, p->cells[BEGIN] - a->call->begin);
	json_int(a->json, NULL, p->cells[WHOLE]);
	json_int(a->json, NULL, p->cells[VCPU]);
	json_int(a->json, NULL, p->cells[VICTIM]);
	json_int(a->json, NULL, p->cells[ON]);
	json_int(a->json, NULL, most->machine);
	json_int(a->json, NULL, most->thread);
	json_int(a->json, NULL, most->time_ns);
	json_end(a->json);
	a->more = ++a->nr >= a->max;
}

/* Rows of one preemption stand together. */
static void write_preemptions(struct arrows *a, const struct sonde_rows *f, const uint32_t *cpus,
			      unsigned nr)
{
	struct preemption p = {.nr = 0};
	int at[NR_COLUMNS];

	for (unsigned i = 0; i < NR_COLUMNS; i++) {
		at[i] = sonde_rows_column(f, column_names[i]);
		if (at[i] < 0)
			return;
	}
	for (size_t row = 0; row < sonde_rows_nr(f) && !a->more; row++) {
		int64_t cells[NR_COLUMNS];

		for (unsigned i = 0; i < NR_COLUMNS; i++)
			cells[i] = sonde_rows_cell(f, row, (unsigned)at[i]).i;
		if (!among(cells[VCPU], cpus, nr) || cells[BEGIN] < a->begin)
			continue;
		if (p.nr && (cells[VCPU] != p.cells[VCPU] || cells[BEGIN] != p.cells[BEGIN])) {
			write_preemption(a, &p);
			p.nr = 0;
		}
		if (!p.nr)
			memcpy(p.cells, cells, sizeof(cells));
		add_taker(&p, cells);
	}
	if (p.nr && !a->more)
		write_preemption(a, &p);
}

static int find_preemptions(struct arrows *a, uint32_t *cpus, unsigned nr, struct error *err)
{
	struct sonde_rows *f = NULL;
	struct sonde_error why = {0};
	int ret = 0;

	qsort(cpus, nr, sizeof(*cpus), by_row);
	a->nr = 0;
	a->more = too_many(a, cpus, nr);
	json_begin_array(a->json, "preemptions");
	if (nr && !a->more)
		ret = sonde_rows_get(&f, a->call->history, "preemption_list", a->begin, a->end,
				     &why);
	if (f)
		write_preemptions(a, f, cpus, nr);
	json_end(a->json);
	json_bool(a->json, "preemptions_more", a->more);
	sonde_rows_free(f);
	return ret ? fail(err, ret, "%s", why.text) : 0;
}

int answer_arrows(struct call *c, struct error *err)
{
	uint32_t threads[ARROW_ROWS_MAX], cpus[ARROW_ROWS_MAX];
	struct json j = {.out = c->reply->out, .flat = 2};
	struct arrows a = {.call = c, .json = &j};
	int nr_threads = 0, nr_cpus = 0;
	int64_t max;
	int ret = request_window(c->request, c->length, &a.begin, &a.end, err);

	if (!ret)
		ret = request_int(c->request, "max", 1, ARROWS_MAX, &max, err);
	if (!ret)
		nr_threads = request_list(c->request, "threads", threads, ARROW_ROWS_MAX, err);
	if (!ret && nr_threads >= 0)
		nr_cpus = request_list(c->request, "cpus", cpus, ARROW_ROWS_MAX, err);
	if (ret || nr_threads < 0 || nr_cpus < 0)
		return ret ? ret : nr_threads < 0 ? nr_threads : nr_cpus;
	a.begin = c->begin + (a.begin < 0 ? 0 : a.begin);
	a.end = c->begin + (a.end > c->length ? c->length : a.end);
	if (a.begin >= a.end)
		return fail(err, -EINVAL, "the window lies outside of the history");
	a.max = (unsigned)max;
	a.walked_max = a.max * ARROWS_WALKED_EACH;
	json_begin_object(&j, NULL);
	ret = write_wakes(&a, threads, (unsigned)nr_threads);
	if (!ret)
		ret = find_preemptions(&a, cpus, (unsigned)nr_cpus, err);
	json_end(&j);
	return ret && !err->code ? fail(err, ret, "cannot read the history: %s", error_reason(ret))
				 : ret;
}
