/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exit_sums.h"
#include "analysis/strip.h"
#include "source/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was found for the last exit of its kind, by a hash of that: most need no search. */
#define RECENT_SLOTS 256

struct recent {
	int64_t vcpu, from, reason, isa, thread; /* vcpu -1: none yet */
	size_t reason_at, cause_at;
};

struct pass {
	struct exit_sums *sums;
	struct recent recent[RECENT_SLOTS];
	struct sonde_run *run;
	struct strips strips;
	unsigned *machines;	      /* owned, per CPU row */
	struct sonde_interval *tasks; /* owned, the same: of its `task`, asked for last */
	int64_t *idle;		      /* owned, per machine: thread that stands for its idle ones, + 1 */
	/* Nested exits of the vCPU at hand. */
	int64_t vcpu, inner; /* the nested machine that ran last; -1 none */
	ns_t since;	     /* when it exited last */
	uint64_t exits;	     /* of its hypervisor since then */
	ns_t exits_ns;
	bool no_memory;
};

/* Who ran in the guest: its kernel's current thread at the exit, when it has a trace. */
static int64_t guest_thread(struct pass *p, const struct exit_interval *e)
{
	struct sonde_interval *task = &p->tasks[e->from];

	if ((e->begin < task->begin || e->begin >= task->end) &&
	    strip_at(&p->strips, p->run->cpu_attrs[e->from][CPU_TASK], e->begin, task))
		return -1;
	return (int64_t)task->value - 1;
}

/* Every CPU has an idle thread, and all have the same name: those of a machine count as one. */
static int64_t idle_as_one(struct pass *p, unsigned machine, int64_t thread)
{
	struct sonde_thread t;

	if (sonde_thread(p->run, thread, &t) || t.tid)
		return thread;
	if (!p->idle[machine])
		p->idle[machine] = thread + 1;
	return p->idle[machine] - 1;
}

static bool is_recent(const struct recent *r, const struct exit_interval *e, int64_t thread)
{
	return r->vcpu == e->vcpu && r->from == e->from && r->reason == e->reason &&
	       r->isa == e->isa && r->thread == thread;
}

/* Numbers of the two sums that the exit is part of; NULL: no memory. */
static const struct recent *find_sums(struct pass *p, const struct exit_interval *e)
{
	int64_t thread = guest_thread(p, e);
	struct recent *r = &p->recent[(uint64_t)(e->reason * 7 + e->from + thread * 31) %
				      RECENT_SLOTS];
	int64_t reason, cause;

	if (is_recent(r, e, thread))
		return r;
	reason = keyed_get(&p->sums->reasons,
			   (int64_t[REASON_NR_CELLS]){p->machines[e->vcpu], p->machines[e->from],
						      e->reason, e->isa});
	cause = keyed_get(&p->sums->causes,
			  (int64_t[CAUSE_NR_CELLS]){idle_as_one(p, p->machines[e->from], thread),
						    p->machines[e->from], e->reason, e->isa});
	if (reason < 0 || cause < 0)
		return NULL;
	*r = (struct recent){e->vcpu, e->from,	      e->reason,    e->isa,
			     thread,  (size_t)reason, (size_t)cause};
	return r;
}

static bool add_reason(struct exit_reason *sum, const struct exit_interval *e)
{
	if (!sum->lengths)
		sum->lengths = calloc(1, sizeof(*sum->lengths));
	if (!sum->lengths)
		return false;
	if (e->end - e->begin > sum->lengths->greatest_ns || !sum->lengths->count)
		sum->longest_at = e->begin;
	histogram_add(sum->lengths, e->end - e->begin);
	sum->to_user += e->user_reason >= 0;
	sum->user_ns += e->end - e->user_begin;
	return true;
}

static void add_cause(struct exit_cause *sum, const struct exit_interval *e)
{
	sum->count++;
	sum->total_ns += e->end - e->begin;
	sum->user_ns += e->end - e->user_begin;
	if (e->end - e->begin > sum->longest_ns || sum->count == 1) {
		sum->longest_ns = e->end - e->begin;
		sum->longest_at = e->begin;
	}
}

static void add_nested(struct pass *p, const struct exit_interval *e)
{
	unsigned vm = p->machines[e->vcpu], from = p->machines[e->from];
	struct exit_nest *nest;

	if (p->vcpu != e->vcpu) {
		p->vcpu = e->vcpu;
		p->inner = -1;
	}
	if (from != vm) {
		p->sums->nests[from].nested++;
		p->sums->nests[from].nested_ns += e->end - e->begin;
		p->inner = from;
		p->since = e->begin;
		p->exits = 0;
		p->exits_ns = 0;
		return;
	}
	if (p->inner < 0)
		return;
	p->exits++;
	p->exits_ns += e->end - e->begin;
	if (!exit_starts_guest(e->reason, e->isa))
		return;
	nest = &p->sums->nests[p->inner];
	nest->handed++;
	nest->follow += p->exits;
	nest->follow_ns += p->exits_ns;
	nest->handling_ns += e->end - p->since;
	p->inner = -1;
}

static void keep_exit(struct exit_sums *s, const struct sonde_run *run,
		      const struct exit_interval *e)
{
	ns_t length = e->end - e->begin;

	if (length <= longest_least(&s->longest) ||
	    exit_is_halt(run, e->isa, e->reason))
		return;
	longest_add(&s->longest, length);
	if (s->all_kept && s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		struct exit_interval *grown =
			room <= EXITS_KEPT ? reallocarray(s->list, room, sizeof(*grown)) : NULL;

		s->all_kept = grown != NULL;
		s->list = grown ? grown : s->list;
		s->room = room;
	}
	if (s->all_kept)
		s->list[s->nr++] = *e;
}

static bool add_exit(const struct exit_interval *e, void *data)
{
	struct pass *p = data;

	const struct recent *r = find_sums(p, e);

	p->no_memory = !r || !add_reason(keyed_sum_at(&p->sums->reasons, r->reason_at), e);
	if (p->no_memory)
		return false;
	add_cause(keyed_sum_at(&p->sums->causes, r->cause_at), e);
	add_nested(p, e);
	keep_exit(p->sums, p->run, e);
	return true;
}

/* A damaged file names machines that are not there. */
static void read_machines(struct pass *p)
{
	for (int64_t row = 0; row < sonde_nr_cpus(p->run); row++) {
		struct sonde_cpu c;

		if (!sonde_cpu(p->run, row, &c) && c.machine < sonde_nr_machines(p->run))
			p->machines[row] = c.machine;
	}
}

static int sum_up(struct exit_sums *s, struct sonde_run *run, struct error *err)
{
	struct pass p = {.sums = s, .run = run, .strips.run = run, .vcpu = -1};
	int ret = 0;

	for (unsigned i = 0; i < RECENT_SLOTS; i++)
		p.recent[i].vcpu = -1;
	s->reasons.nr_cells = REASON_NR_CELLS;
	s->reasons.sum_bytes = sizeof(struct exit_reason);
	s->causes.nr_cells = CAUSE_NR_CELLS;
	s->causes.sum_bytes = sizeof(struct exit_cause);
	s->nests = calloc((size_t)sonde_nr_machines(run) + 1, sizeof(*s->nests));
	p.machines = calloc((size_t)sonde_nr_cpus(run) + 1, sizeof(*p.machines));
	p.tasks = calloc((size_t)sonde_nr_cpus(run) + 1, sizeof(*p.tasks));
	p.idle = calloc((size_t)sonde_nr_machines(run) + 1, sizeof(*p.idle));
	p.no_memory = !s->nests || !p.machines || !p.tasks || !p.idle;
	if (!p.no_memory)
		read_machines(&p);
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(run) && !p.no_memory && !ret; vcpu++)
		ret = exits_scan(run, vcpu, s->begin, s->end, add_exit, &p);
	strips_release(&p.strips);
	free(p.machines);
	free(p.tasks);
	free(p.idle);
	if (p.no_memory)
		return fail(err, -ENOMEM, "out of memory");
	return ret ? fail(err, ret, "cannot read a vCPU's exits: %s", strerror(-ret)) : 0;
}

int exit_sums_get(const struct exit_sums **out, struct sonde_run *run, ns_t begin, ns_t end,
		  struct error *err)
{
	struct exit_sums *s = run->exit_sums;
	int ret;

	*out = s;
	if (s && s->begin == begin && s->end == end)
		return 0;
	exit_sums_free(s);
	run->exit_sums = NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->begin = begin;
	s->end = end;
	s->all_kept = true;
	ret = sum_up(s, run, err);
	if (ret) {
		exit_sums_free(s);
		return ret;
	}
	*out = run->exit_sums = s;
	return 0;
}

int exit_sums_longest(const struct exit_sums *s, struct sonde_run *run,
		      bool (*each)(const struct exit_interval *e, void *data), void *data)
{
	int ret = 0;

	if (!s->all_kept) {
		for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(run) && !ret; vcpu++)
			ret = exits_scan(run, vcpu, s->begin, s->end, each, data);
		return ret;
	}
	for (size_t i = 0; i < s->nr && each(&s->list[i], data); i++)
		continue;
	return 0;
}

void exit_sums_free(struct exit_sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->reasons.nr; i++)
		free(((struct exit_reason *)keyed_sum_at(&s->reasons, i))->lengths);
	free(s->nests);
	free(s->list);
	keyed_release(&s->reasons);
	keyed_release(&s->causes);
	free(s);
}
