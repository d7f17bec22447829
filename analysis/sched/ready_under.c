/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/ready_under.h"
#include "base/grow.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>

struct walk {
	struct cpu_users *users;
	struct ready_list *out;
	int64_t vcpu;	 /* row, whose states are being followed */
	unsigned parent; /* machine that it runs in */
	ns_t from, to;
	int ret;
};

/* Stretches of one vCPU that touch are one. */
static int add(struct ready_list *r, int64_t vcpu, ns_t from, ns_t to)
{
	if (to <= from)
		return 0;
	if (r->nr && r->list[r->nr - 1].vcpu == vcpu && r->list[r->nr - 1].to == from) {
		r->list[r->nr - 1].to = to;
		return 0;
	}
	if (!room_for_one(&r->list, r->nr, &r->room))
		return -ENOMEM;
	r->list[r->nr++] = (struct ready_stretch){vcpu, from, to};
	return 0;
}

static int follow(const struct walk *inner, unsigned machine, int number, ns_t from, ns_t to);

/* An interval of its `on`: it runs on a CPU of its parent, which may be a vCPU itself. */
static bool step_out(const struct sonde_interval *i, void *data)
{
	struct walk *w = data;
	ns_t from = i->begin > w->from ? i->begin : w->from;
	ns_t to = i->end < w->to ? i->end : w->to;

	w->ret = i->value ? follow(w, w->parent, (int)i->value - 1, from, to)
			  : add(w->out, -1, from, to);
	return !w->ret;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct walk *w = data;
	struct walk one = *w;

	one.from = i->begin > w->from ? i->begin : w->from;
	one.to = i->end < w->to ? i->end : w->to;
	if (i->value == VCPU_ON_CPU && w->parent)
		w->ret = interval_cache_walk(&w->users->cache,
					     w->users->history->cpu_attrs[w->vcpu][CPU_ON],
					     one.from, one.to, step_out, &one);
	else
		w->ret = add(w->out, i->value == VCPU_PREEMPTED ? w->vcpu : -1, one.from, one.to);
	if (!w->ret)
		w->ret = one.ret;
	return !w->ret;
}

static int follow(const struct walk *inner, unsigned machine, int number, ns_t from, ns_t to)
{
	struct sonde_history *history = inner->users->history;
	struct walk w = *inner;
	int ret;

	w.from = from;
	w.to = to;
	w.ret = 0;
	w.vcpu = machine ? sonde_find_cpu(history, machine, number) : -1;
	if (w.vcpu < 0 || machine >= sonde_nr_machines(history) ||
	    history->cpu_attrs[w.vcpu][CPU_STATE] == ATTR_NONE)
		return add(w.out, -1, from, to);
	w.parent = (unsigned)w.users->parents[machine];
	ret = interval_cache_walk(&w.users->cache, history->cpu_attrs[w.vcpu][CPU_STATE], from, to,
				  each_state, &w);
	return ret ? ret : w.ret;
}

int ready_under_find(struct ready_list *out, struct cpu_users *users, unsigned machine, int number,
		     ns_t from, ns_t to)
{
	const struct walk w = {.users = users, .out = out};

	*out = (struct ready_list){0};
	return follow(&w, machine, number, from, to);
}

void ready_under_release(struct ready_list *r)
{
	free(r->list);
	*r = (struct ready_list){0};
}
