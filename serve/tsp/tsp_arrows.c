/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrows between the rows of a time graph.
 *
 *   fused    a vCPU that goes on on another physical CPU
 *   vcpus    one that woke another (an interrupt that it sent), one that ran in another's place
 *   threads  one that woke another, one that ran in place of a vCPU's thread
 *
 * When there are more in the window than a picture can hold, none is drawn and the answer says so:
 * some of many would show what is not there.
 */
#include "serve/api/wakers.h"
#include "serve/tsp/tsp_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 5000
#define LOOKED_AT_MAX 300000 /* changes, for one answer */

struct arrow {
	int64_t source, target; /* entries */
	int64_t start, end;
	const char *style;
};

struct arrows {
	struct tsp_call *call;
	struct arrow *list; /* owned: room for SHOWN_MAX */
	const struct tsp_part *part;
	int64_t begin, end; /* of the window, in the history's time */
	unsigned nr;
	unsigned looked_at;
	/* Of the attribute that is walked: what was before, and whose it is. */
	struct sonde_interval before;
	int64_t row;
	uint32_t waker;
};

static bool is_full(const struct arrows *a)
{
	return a->nr > SHOWN_MAX || a->looked_at > LOOKED_AT_MAX;
}

/* Idle tasks have none: an interrupt while a CPU idles comes from nowhere. */
static bool has_row(const struct arrows *a, enum tsp_entry_kind kind, int64_t row)
{
	struct tsp_entry e = {a->part, kind, row};

	return row >= 0 && tsp_entry_attr(a->call->output.kind, &e) != SONDE_NO_ATTR;
}

static void add_arrow(struct arrows *a, enum tsp_entry_kind kind, int64_t from, int64_t to,
		      int64_t begin, int64_t end, const char *style)
{
	if (from == to || !has_row(a, kind, from) || !has_row(a, kind, to) || a->nr++ >= SHOWN_MAX)
		return;
	a->list[a->nr - 1] = (struct arrow){
		.source = tsp_entry_id(a->part, kind, from),
		.target = tsp_entry_id(a->part, kind, to),
		.start = tsp_time(a->part, begin),
		.end = tsp_time(a->part, end),
		.style = style,
	};
}

/* ---- vCPUs that move ----------------------------------------------------------------------- */

/* Intervals of a vCPU's `on`: its parent's CPU + 1. */
static bool follow_on(const struct sonde_interval *i, void *data)
{
	struct arrows *a = data;

	if (i->value) {
		if (a->before.value && a->before.value != i->value)
			add_arrow(a, TSP_CPU,
				  sonde_find_cpu(a->part->history, 0, (int)a->before.value - 1),
				  sonde_find_cpu(a->part->history, 0, (int)i->value - 1),
				  a->before.end, i->begin, "migration");
		a->before = *i;
	}
	a->looked_at++;
	return !is_full(a);
}

static int add_migrations(struct arrows *a)
{
	struct sonde_history *history = a->part->history;
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret && !is_full(a); row++) {
		uint32_t attr = sonde_attr_of_cpu(history, row, "on");
		struct sonde_machine m;
		struct sonde_cpu cpu;

		if (attr == SONDE_NO_ATTR || sonde_cpu_get(history, row, &cpu) ||
		    sonde_machine_get(history, cpu.machine, &m) || m.parent)
			continue;
		a->before = (struct sonde_interval){0};
		ret = sonde_interval_walk(history, attr, a->begin, a->end, follow_on, a);
	}
	return ret;
}

/* ---- threads that are woken ---------------------------------------------------------------- */

/* Intervals of a thread's `state`. */
static bool follow_state(const struct sonde_interval *i, void *data)
{
	struct arrows *a = data;
	struct sonde_context x;

	if (thread_sleeps(a->before.value) &&
	    (i->value == THREAD_RUNNABLE || i->value == THREAD_RUNNING) && i->begin >= a->begin &&
	    thread_woken_by(a->part->history, a->waker, i->value, i->begin, &x))
		add_arrow(a, TSP_THREAD, x.thread, a->row, i->begin, i->begin, "wakeup");
	a->before = *i;
	a->looked_at++;
	return !is_full(a);
}

static int add_thread_wakes(struct arrows *a)
{
	struct sonde_history *history = a->part->history;
	int ret = 0;

	for (a->row = 0; a->row < sonde_nr_threads(history) && !ret && !is_full(a); a->row++) {
		uint32_t state = sonde_attr_of_thread(history, a->row, "state");

		a->waker = sonde_attr_of_thread(history, a->row, "waker");
		if (state == SONDE_NO_ATTR || a->waker == SONDE_NO_ATTR)
			continue;
		a->before = (struct sonde_interval){0};
		ret = sonde_interval_walk(history, state, a->begin, a->end, follow_state, a);
	}
	return ret;
}

/* ---- what analyses tell -------------------------------------------------------------------- */

/* From who lost the CPU to who had it. */
static void add_preemption(struct arrows *a, const struct sonde_rows *f, size_t row)
{
	int64_t at = tsp_cell(f, row, "at").i, vcpu = tsp_cell(f, row, "vcpu").i;
	int64_t culprit = tsp_cell(f, row, "culprit").i;
	struct sonde_thread t;
	struct sonde_cpu cpu;

	if (sonde_thread_get(a->part->history, culprit, &t) ||
	    sonde_cpu_get(a->part->history, vcpu, &cpu))
		return;
	if (a->call->output.kind == TSP_VCPUS)
		add_arrow(a, TSP_CPU, vcpu, t.vcpu, at, at, "preemption");
	else
		add_arrow(a, TSP_THREAD, cpu.host_thread, culprit, at, at, "preemption");
}

/* From the vCPU that sent the interrupt. */
static void add_vcpu_wake(struct arrows *a, const struct sonde_rows *f, size_t row)
{
	int64_t until = tsp_cell(f, row, "until").i;

	if (until >= a->begin && until < a->end)
		add_arrow(a, TSP_CPU, tsp_cell(f, row, "from").i, tsp_cell(f, row, "vcpu").i, until,
			  until, "wakeup");
}

static int add_table_rows(struct arrows *a, const char *name,
			  void (*add)(struct arrows *a, const struct sonde_rows *f, size_t row),
			  struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_rows *f;
	int ret = sonde_rows_get(&f, a->part->history, name, a->begin, a->end, &why);

	if (ret)
		return fail(err, ret, "%s", why.text);
	for (size_t row = 0; row < sonde_rows_nr(f) && !is_full(a); row++)
		add(a, f, row);
	sonde_rows_free(f);
	return 0;
}

static int add_part(struct arrows *a, struct error *err)
{
	int ret = 0;

	if (a->call->output.kind == TSP_FUSED)
		ret = add_migrations(a);
	if (a->call->output.kind == TSP_THREADS)
		ret = add_thread_wakes(a);
	if (ret)
		return fail(err, ret, "cannot read the history: %s", error_reason(ret));
	if (a->call->output.kind == TSP_VCPUS && !is_full(a))
		ret = add_table_rows(a, "wait_list", add_vcpu_wake, err);
	if (a->call->output.kind != TSP_FUSED && !ret && !is_full(a))
		ret = add_table_rows(a, "preemption_list", add_preemption, err);
	return ret;
}

static void put_arrows(struct tsp_call *c, const struct arrows *a)
{
	struct json *j = &c->json;

	json_begin_array(j, "model");
	for (unsigned i = 0; i < a->nr && !is_full(a); i++) {
		json_begin_object(j, NULL);
		json_int(j, "sourceId", a->list[i].source);
		json_int(j, "targetId", a->list[i].target);
		json_int(j, "start", a->list[i].start);
		json_int(j, "end", a->list[i].end);
		tsp_put_style(j, a->list[i].style);
		json_end(j);
	}
	json_end(j);
	if (is_full(a))
		snprintf(c->message, sizeof(c->message),
			 "there are too many arrows in this window to draw: zoom in");
}

int tsp_arrows(struct tsp_call *c, struct error *err)
{
	struct arrows a = {.call = c};
	struct tsp_range range;
	int ret = tsp_get_range(c, &range, err);

	if (c->output.kind > TSP_THREADS)
		return fail(err, -EINVAL, "%s is no time graph", c->output.id);
	if (ret)
		return ret;
	a.list = calloc(SHOWN_MAX, sizeof(*a.list));
	if (!a.list)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < c->view.nr && !ret && !is_full(&a); i++) {
		a.part = &c->view.parts[i];
		if (tsp_clip(a.part, range.start, range.end, &a.begin, &a.end))
			ret = add_part(&a, err);
	}
	if (!ret)
		put_arrows(c, &a);
	free(a.list);
	return ret;
}
