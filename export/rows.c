/* SPDX-License-Identifier: Apache-2.0 */
#include "export/rows.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool rows_has_machine(const struct rows *r, int64_t machine)
{
	return machine >= 0 && machine < sonde_nr_machines(r->history) &&
	       (!r->options->machines || r->options->machines[machine]);
}

static bool has_cpu(const struct rows *r, int64_t row, bool physical)
{
	struct sonde_cpu cpu;

	return !sonde_cpu_get(r->history, row, &cpu) && cpu_is_physical(&cpu) == physical &&
	       rows_has_machine(r, cpu.machine);
}

bool rows_has_cpu(const struct rows *r, int64_t cpu)
{
	return r->options->rows & EXPORT_CPUS && has_cpu(r, cpu, true);
}

bool rows_has_vcpu(const struct rows *r, int64_t cpu)
{
	return r->options->rows & EXPORT_VCPUS && has_cpu(r, cpu, false);
}

/* ---- threads ------------------------------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool wants_thread(const struct rows *r, const struct sonde_thread *t)
{
	return rows_has_machine(r, t->machine) && t->tid && t->begin < r->options->end &&
	       (t->end < 0 || t->end > r->options->begin);
}

int rows_init(struct rows *r, struct sonde_history *history, const struct export_options *o)
{
	int64_t nr = o->rows & EXPORT_THREADS ? sonde_nr_threads(history) : 0;

	*r = (struct rows){.history = history, .options = o};
	r->threads = calloc((size_t)nr + 1, sizeof(*r->threads));
	if (!r->threads)
		return -ENOMEM;
	for (int64_t row = 0; row < nr; row++) {
		attr_t state = sonde_attr_of_thread(history, row, "state");
		struct sonde_thread t;

		if (sonde_thread_get(history, row, &t) || state == ATTR_NONE ||
		    !wants_thread(r, &t))
			continue;
		r->threads[r->nr_threads++] =
			(struct thread_row){.thread = row,
					    .machine = t.machine,
					    .pid = t.pid,
					    .tid = t.tid,
					    .begin = t.begin,
					    .end = t.end < 0 ? NS_MAX : t.end,
					    .state = state,
					    .waker = sonde_attr_of_thread(history, row, "waker")};
	}
	qsort(r->threads, r->nr_threads, sizeof(*r->threads), by_process);
	return 0;
}

void rows_release(struct rows *r)
{
	free(r->threads);
	r->threads = NULL;
}

int64_t rows_find_thread(const struct rows *r, int64_t thread)
{
	struct thread_row key = {.thread = thread};
	const struct thread_row *found;
	struct sonde_thread t;

	if (sonde_thread_get(r->history, thread, &t))
		return -1;
	key.machine = t.machine;
	key.pid = t.pid;
	key.tid = t.tid;
	found = bsearch(&key, r->threads, r->nr_threads, sizeof(key), by_process);
	return found ? found - r->threads : -1;
}

/* ---- states -------------------------------------------------------------------------------- */

const char *vcpu_state_name(uint32_t state)
{
	static const char *const names[] = {[VCPU_UNKNOWN] = "unknown",
					    [VCPU_ON_CPU] = "on_cpu",
					    [VCPU_PREEMPTED] = "preempted",
					    [VCPU_WAITING] = "waiting"};

	return state < ARRAY_SIZE(names) ? names[state] : NULL;
}

const char *thread_state_name(uint32_t state)
{
	static const char *const names[] = {
		[THREAD_UNKNOWN] = "unknown",	[THREAD_RUNNING] = "running",
		[THREAD_RUNNABLE] = "runnable", [THREAD_SLEEPING] = "sleeping",
		[THREAD_BLOCKED] = "blocked",	[THREAD_STOPPED] = "stopped"};

	return state < ARRAY_SIZE(names) ? names[state] : NULL;
}

/* ---- losses -------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct sonde_loss *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Returns how many are left. */
static size_t clip_losses(const struct rows *r, struct sonde_loss *losses, size_t nr)
{
	const struct export_options *o = r->options;
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		struct sonde_loss l = losses[i];
		const struct sonde_loss *last = kept ? &losses[kept - 1] : NULL;
		bool again = last && last->machine == l.machine && last->cpu == l.cpu;
		ns_t from = again ? last->end : o->begin;

		l.begin = l.begin < from ? from : l.begin;
		l.end = l.end > o->end ? o->end : l.end;
		if (l.begin <= l.end && l.begin < o->end)
			losses[kept++] = l;
	}
	return kept;
}

int rows_losses(const struct rows *r, struct sonde_loss **out, size_t *nr)
{
	struct sonde_loss *losses =
		calloc((size_t)sonde_nr_losses(r->history) + 1, sizeof(*losses));
	size_t found = 0;

	if (!losses)
		return -ENOMEM;
	for (int64_t row = 0; row < sonde_nr_losses(r->history); row++) {
		sonde_loss_get(r->history, row, &losses[found]);
		found += rows_has_machine(r, losses[found].machine);
	}
	qsort(losses, found, sizeof(*losses), by_place);
	*nr = clip_losses(r, losses, found);
	*out = losses;
	return 0;
}

/* ---- time ---------------------------------------------------------------------------------- */

bool piece_has(const struct piece *p, ns_t begin)
{
	return begin < p->end && (p->first || begin >= p->begin);
}

bool rows_lives_in(const struct thread_row *t, const struct piece *p)
{
	return t->begin <= p->end && t->end >= p->begin;
}

int rows_pieces(const struct rows *r, int (*each)(const struct piece *p, void *data), void *data)
{
	const struct export_options *o = r->options;
	struct piece p = {.begin = o->begin, .first = true};
	int ret = 0;

	for (; p.begin < o->end && !ret; p.begin = p.end, p.first = false) {
		p.end = history_piece_end(r->history->file, p.begin);
		if (p.end > o->end)
			p.end = o->end;
		if (o->stop)
			o->stop->done = (double)(p.begin - o->begin) / (double)(o->end - o->begin);
		ret = stop_asked(o->stop) ? -EINTR : each(&p, data);
	}
	return ret;
}

struct clip {
	const struct piece *piece;
	ns_t begin, end; /* of the window */
	bool (*each)(const struct sonde_interval *i, void *data);
	void *data;
};

static bool clip_each(const struct sonde_interval *i, void *data)
{
	const struct clip *c = data;
	struct sonde_interval part = *i;

	if (!piece_has(c->piece, i->begin))
		return true;
	part.begin = i->begin < c->begin ? c->begin : i->begin;
	part.end = i->end > c->end ? c->end : i->end;
	return part.end <= part.begin || c->each(&part, c->data);
}

int rows_walk(const struct rows *r, const struct piece *p, attr_t attr,
	      bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	struct clip c = {p, r->options->begin, r->options->end, each, data};

	if (attr == ATTR_NONE)
		return 0;
	if (stop_asked(r->options->stop))
		return -EINTR;
	return sonde_interval_walk(r->history, attr, p->begin, p->end, clip_each, &c);
}

/* ---- output -------------------------------------------------------------------------------- */

/* Only that a write failed is known by now; trying again tells why.  A signal that asks to stop may
 * make a write fail, too. */
int rows_output(const struct rows *r, FILE *out)
{
	if (!ferror(out))
		return 0;
	if (stop_asked(r->options->stop))
		return -EINTR;
	errno = 0;
	return fflush(out) && errno ? -errno : -EIO;
}

int rows_fail(struct error *err, int ret, FILE *out)
{
	if (!ret)
		return 0;
	if (ret == -EINTR)
		return fail(err, ret, "interrupted");
	if (ferror(out))
		return fail(err, ret, "%s", strerror(-ret));
	return fail(err, ret, "cannot read the history: %s", error_reason(ret));
}
