/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths while a thread wants to run: see critpath_walk.h. */
#include "analysis/critpath/critpath_walk.h"
#include "analysis/sched/ready_under.h"

static int cpu_at(const struct path_walker *w, ns_t t)
{
	struct sonde_interval i;

	if (w->cpu == ATTR_NONE || sonde_interval_at(w->f->history, w->cpu, t, &i) || !i.value)
		return w->first_cpu;
	return (int)i.value - 1;
}

static bool is_inside_served(const struct path_walker *w, const struct sonde_context *c)
{
	struct sonde_cpu served;

	return !sonde_cpu_get(w->f->history, query_vcpu_served(w->f->history, c), &served) &&
	       query_is_inside(w->f->history, w->machine, served.machine) &&
	       (c->serves >= 0 || w->machine != served.machine);
}

static bool is_served(const struct path_walker *w, const struct sonde_context *c)
{
	return c->thread == w->thread || is_inside_served(w, c);
}

/* A hypervisor works for a guest, not known which. */
static bool may_be_served(const struct path_walker *w, const struct sonde_context *c)
{
	return c->mode == SONDE_MODE_HYPERVISOR && c->serves < 0 && c->thread != w->thread &&
	       is_inside_served(w, c);
}

static enum path_kind kind_of(const struct path_walker *w, const struct sonde_context *c)
{
	struct sonde_thread own;
	struct sonde_cpu vcpu;

	sonde_thread_get(w->f->history, w->thread, &own);
	if (c->mode == SONDE_MODE_UNKNOWN || may_be_served(w, c))
		return PATH_UNKNOWN;
	if (c->mode == SONDE_MODE_HYPERVISOR && is_served(w, c))
		return PATH_HYPERVISOR;
	if (c->machine == w->machine && c->mode != SONDE_MODE_IDLE &&
	    (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ))
		return PATH_INTERRUPTED;
	if (c->thread == w->thread)
		return PATH_RUNS;
	/* A vCPU's thread runs when code of its VM, or of one inside it, does. */
	if (own.vcpu >= 0 && !sonde_cpu_get(w->f->history, own.vcpu, &vcpu) &&
	    query_is_inside(w->f->history, c->machine, vcpu.machine))
		return PATH_RUNS;
	/* A guest of which nothing more is known may be running it; not in another's page table. */
	if (c->mode == SONDE_MODE_GUEST && c->machine == w->machine && c->thread < 0)
		return PATH_RUNS;
	return PATH_OFF_CPU;
}

static bool add_piece(const struct cpu_user *ran, void *data)
{
	const struct path_walker *w = data;
	struct path_step step = {.begin = ran->from,
				 .end = ran->to,
				 .depth = w->depth,
				 .thread = w->thread,
				 .context = ran->context,
				 .on = ran->on,
				 .ready = w->ready,
				 .instead = -1};
	struct sonde_context c;

	if (w->waits != PATH_NO_WAIT) {
		step.kind = PATH_WAITS;
		step.context = w->waits;
		step.instead = ran->context;
		return path_add_step(w->f, &step);
	}
	if (sonde_context_get(w->f->history, ran->context, &c))
		step.kind = PATH_UNKNOWN;
	else
		step.kind = kind_of(w, &c);
	if (w->queued && step.kind != PATH_UNKNOWN)
		step.kind = PATH_QUEUED;
	return path_add_step(w->f, &step);
}

/* A step for each that had the CPU under @number of @machine. */
static void add_users(struct path_walker *w, unsigned machine, int number, ns_t begin, ns_t end)
{
	int ret = cpu_users_walk(w->f->users, machine, number, begin, end, add_piece, w);

	if (ret && !w->f->ret)
		w->f->ret = ret;
}

void path_wants_to_run(struct path_walker *w, bool queued, ns_t begin, ns_t end, ns_t runs_at)
{
	int cpu = cpu_at(w, runs_at < sonde_history_end(w->f->history) ? runs_at : end - 1);
	struct ready_list ready;
	int ret;

	w->queued = queued;
	if (cpu < 0) {
		path_add(w, queued ? PATH_QUEUED : PATH_UNKNOWN, -1, begin, end);
		return;
	}
	ret = ready_under_find(&ready, w->f->users, w->machine, cpu, begin, end);
	for (size_t i = 0; i < ready.nr && !ret; i++) {
		w->ready = ready.list[i].vcpu;
		add_users(w, w->machine, cpu, ready.list[i].from, ready.list[i].to);
	}
	w->ready = -1;
	ready_under_release(&ready);
	if (ret && !w->f->ret)
		w->f->ret = ret;
}

void path_add_wait(struct path_walker *w, int64_t context, const struct sonde_context *c,
		   ns_t begin, ns_t end)
{
	struct ready_list ready;
	int ret = ready_under_find(&ready, w->f->users, c->machine, c->cpu, begin, end);

	for (size_t i = 0; i < ready.nr && !ret; i++) {
		const struct ready_stretch *r = &ready.list[i];

		if (r->vcpu < 0) {
			path_add(w, PATH_WAITS, context, r->from, r->to);
			continue;
		}
		w->ready = r->vcpu;
		w->waits = context;
		add_users(w, c->machine, c->cpu, r->from, r->to);
		w->waits = PATH_NO_WAIT;
		w->ready = -1;
	}
	ready_under_release(&ready);
	if (ret && !w->f->ret)
		w->f->ret = ret;
}
