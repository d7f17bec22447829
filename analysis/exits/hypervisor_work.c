/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exits/hypervisor.h"
#include "analysis/sched/cpu_users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Exits that ended with one context of a hypervisor. */
struct ended {
	uint64_t count, maybe_more;
	ns_t time_ns, longest_ns;
	bool met;
};

/* A vCPU outside guest mode, as one hypervisor sees it. */
struct open_exit {
	struct ended *as;     /* what it counts for if it ends now; NULL: it is not outside */
	struct ended *before; /* what it was counted as before nobody knew what ran there: the same
				 exit, perhaps */
	ns_t time_ns;	      /* spent in it so far */
	uint32_t blind;	      /* scan->blind when it was worked on last */
};

/* Which of these it is: that of a vCPU (a CPU row) and a level of hypervisors. */
#define OPEN_EXIT(cpu, level) ((int64_t)(cpu)*SONDE_LAYERS_MAX + (level))
_Static_assert(SONDE_LAYERS_MAX <= 8, "struct worker has a bit for each");
/* Of very many vCPUs a physical CPU serves few: so many exits next to each other share a note that
 * one of them was worked on. */
#define OPEN_GROUP 64

/* What is asked of every interval's context, by its row + 1, next to each other. */
struct worker {
	uint8_t around; /* levels around its machine, a bit each; 0 too where there is no such
			   machine */
	uint8_t level;	/* of its machine */
	uint8_t works;	/* a hypervisor's: the bit of that level */
	bool is_blind;	/* whether exits in its machine have ended meanwhile is not known */
	uint32_t group; /* that .open is in */
	struct open_exit *open; /* a hypervisor's: the exit that it works on; else NULL */
	struct ended *as;	/* what that counts for if it ends now */
	struct open_exit *ends; /* a guest's: the exit found last that is over when its code runs;
				   NULL none yet */
};

/* A machine and those around it: at[level] is the machine of that level. */
struct lineage {
	unsigned level;
	bool works; /* it, or one in it, as a hypervisor */
	int64_t at[SONDE_LAYERS_MAX];
};

struct scan {
	struct sonde_history *history;
	struct cpu_users *users;
	ns_t begin, end;
	uint32_t nr_contexts;
	int64_t nr_machines, nr_cpus;
	/* Looked at for every interval: the history's tables, read once. */
	const struct sonde_context *contexts;
	struct worker *workers;	  /* owned, by context + 1 */
	struct sonde_cpu *cpus;	  /* owned */
	struct lineage *machines; /* owned */
	struct open_exit *open;	  /* owned, by OPEN_EXIT() */
	bool *touched;		  /* owned, by group of these: on this physical CPU */
	struct ended *ended;	  /* owned, by context + 1 */
	uint32_t *met; /* owned: contexts + 1, in the order in which each ended an exit first */
	uint32_t nr_met;
	uint32_t blind;	  /* so many intervals were blind */
	uint32_t *blinds; /* owned, by machine: the last of these in it; 0 none yet */
	/* The exit that each level's hypervisor worked on last on this physical CPU, and for which
	 * levels there is one. */
	struct open_exit *served[SONDE_LAYERS_MAX];
	uint32_t serving;
};

/* For one reason, whoever's thread it was then known to be. */
static bool is_alike(const struct scan *s, const struct ended *a, const struct ended *b)
{
	const struct sonde_context *one = &s->contexts[a - s->ended - 1];
	const struct sonde_context *other = &s->contexts[b - s->ended - 1];

	return one->detail == other->detail && one->machine == other->machine &&
	       one->serves == other->serves;
}

/* The time of @o is that of exits which end with @e. */
static inline void add_time(struct scan *s, const struct open_exit *o, struct ended *e)
{
	if (unlikely(!e->met)) {
		e->met = true;
		s->met[s->nr_met++] = (uint32_t)(e - s->ended);
	}
	e->time_ns += o->time_ns;
	if (o->time_ns > e->longest_ns)
		e->longest_ns = o->time_ns;
}

static inline void close_exit(struct scan *s, struct open_exit *o)
{
	struct ended *e = o->as;

	add_time(s, o, e);
	if (unlikely(o->before) && is_alike(s, o->before, e))
		e->maybe_more++;
	else
		e->count++;
	*o = (struct open_exit){0};
}

/* An exit has one reason: where another one follows, the vCPU went on elsewhere, and there its exit
 * ended and counts. */
static __attribute__((noinline)) void leave_if_another(struct scan *s, struct open_exit *o,
						       const struct ended *next)
{
	int64_t reason = s->contexts[o->as - s->ended - 1].detail;
	int64_t other = s->contexts[next - s->ended - 1].detail;

	if (reason < 0 || other < 0 || reason == other)
		return;
	add_time(s, o, o->as);
	*o = (struct open_exit){.blind = o->blind};
}

/* Whether an exit that a hypervisor of @level works on is over when code of a guest's context runs:
 * that is of the vCPU, or of one inside. */
static __attribute__((noinline)) bool ends_exit(const struct scan *s, const struct worker *w,
						const struct open_exit *o, unsigned level)
{
	const struct sonde_context *c = &s->contexts[w - s->workers - 1];
	const struct sonde_cpu *served = &s->cpus[(o - s->open) / SONDE_LAYERS_MAX];

	if (s->machines[served->machine].at[level + 1] != s->machines[c->machine].at[level + 1])
		return false;
	return served->machine != c->machine || served->number == c->cpu;
}

/* Code of a guest runs: the hypervisors around it are done with the exits of the vCPUs that it
 * runs in, and with those of vCPUs inside these. */
static __attribute__((noinline)) void code_runs(struct scan *s, struct worker *w)
{
	uint32_t left = s->serving & w->around, bit;

	for (; left; left -= bit) {
		unsigned level = (unsigned)__builtin_ctz(left);
		struct open_exit *o = s->served[level];

		bit = left & -left;
		if (unlikely(o != w->ends) && !ends_exit(s, w, o, level))
			continue;
		w->ends = o;
		if (o->as)
			close_exit(s, o);
		s->serving -= bit;
	}
}

static struct worker *worker_at(const struct scan *s, uint32_t value)
{
	return &s->workers[value <= s->nr_contexts ? value : 0];
}

/* An interval of a hypervisor is not as long as it looks: what was not asked for of it counts for
 * nothing. */
static void take_off(struct scan *s, uint32_t value, ns_t time_ns)
{
	const struct worker *w = worker_at(s, value);

	if (w->open)
		w->open->time_ns -= time_ns;
}

/* What was open before nobody knew what ran there may be another exit, or the same: two times,
 * counted once where nothing tells them apart. */
static __attribute__((noinline)) void end_if_blind(struct scan *s, const struct worker *w,
						   struct open_exit *o)
{
	const struct lineage *l = &s->machines[s->contexts[w - s->workers - 1].machine];
	struct ended *before = o->as;
	bool blind = false;

	for (unsigned level = 0; level <= l->level && o->as; level++)
		blind |= l->at[level] >= 0 && s->blinds[l->at[level]] > o->blind;
	if (blind) {
		close_exit(s, o);
		o->before = before;
	}
	o->blind = s->blind;
}

static bool scan_list(const struct cpu_run *run, void *data)
{
	struct scan *s = data;
	struct worker *const workers = s->workers;
	const uint32_t nr_contexts = s->nr_contexts;
	const ns_t *begin = run->list.begins;
	const uint32_t *value = run->list.values, *const end = value + run->list.nr;

	take_off(s, value[0], run->from - begin[0]);
	for (; value < end; value++, begin++) {
		struct worker *w = &workers[*value <= nr_contexts ? *value : 0];

		if (s->serving & w->around)
			code_runs(s, w);
		if (unlikely(w->is_blind))
			s->blinds[s->contexts[*value - 1].machine] = ++s->blind;
		if (w->open) {
			struct open_exit *o = w->open;

			if (unlikely(o->blind != s->blind))
				end_if_blind(s, w, o);
			if (o->as != w->as && o->as)
				leave_if_another(s, o, w->as);
			o->as = w->as;
			o->time_ns += begin[1] - begin[0];
			s->touched[w->group] = true;
			s->served[w->level] = o;
			s->serving |= w->works;
		}
	}
	take_off(s, end[-1], begin[0] - run->to);
	return true;
}

/* A vCPU may go on elsewhere; what is open on one physical CPU has been counted there. */
static void close_all(struct scan *s)
{
	const int64_t nr = OPEN_EXIT(s->nr_cpus, 0);

	for (int64_t group = 0; group * OPEN_GROUP < nr; group++) {
		if (!s->touched[group])
			continue;
		s->touched[group] = false;
		for (int64_t i = group * OPEN_GROUP; i < nr && i < (group + 1) * OPEN_GROUP; i++) {
			if (s->open[i].as)
				close_exit(s, &s->open[i]);
		}
	}
}

static int scan_run(struct scan *s, struct error *err)
{
	int held = cpu_users_hold(s->users, s->begin, s->end);

	for (int64_t row = 0; row < sonde_nr_cpus(s->history); row++) {
		struct sonde_cpu cpu;
		int ret = held;

		sonde_cpu_get(s->history, row, &cpu);
		if (!cpu_is_physical(&cpu))
			continue;
		s->serving = 0;
		if (!ret)
			ret = cpu_users_runs(s->users, 0, cpu.number, s->begin, s->end, scan_list,
					     s);
		if (ret)
			return fail(err, ret, "cannot read what ran on CPU %d: %s", cpu.number,
				    error_reason(ret));
		close_all(s);
	}
	return 0;
}

static void find_lineage(struct scan *s, int64_t machine)
{
	struct lineage *l = &s->machines[machine];
	struct sonde_machine m;

	memset(l->at, -1, sizeof(l->at));
	sonde_machine_get(s->history, machine, &m);
	l->level = m.level < SONDE_LAYERS_MAX ? m.level : SONDE_LAYERS_MAX - 1;
	while (machine >= 0 && !sonde_machine_get(s->history, machine, &m)) {
		if (m.level < SONDE_LAYERS_MAX)
			l->at[m.level] = machine;
		machine = m.parent;
	}
}

static void note_work(struct scan *s, const struct sonde_context *c)
{
	const struct lineage *l;

	if (c->mode != SONDE_MODE_HYPERVISOR || c->machine >= s->nr_machines)
		return;
	l = &s->machines[c->machine];
	for (unsigned level = 0; level <= l->level; level++) {
		if (l->at[level] >= 0)
			s->machines[l->at[level]].works = true;
	}
}

/* A guest of which nothing is known may be one of those in which hypervisors work.  So may a VMM's
 * thread do anything of which it is not known that it works for an exit. */
static bool is_blind(const struct scan *s, const struct sonde_context *c)
{
	struct sonde_thread th;

	switch (c->mode) {
	case SONDE_MODE_UNKNOWN:
		return true;
	case SONDE_MODE_GUEST:
		return !c->machine || s->machines[c->machine].works;
	case SONDE_MODE_TASK:
		return !sonde_thread_get(s->history, c->thread, &th) && th.vcpu >= 0;
	default:
		return false;
	}
}

static struct worker worker_of(const struct scan *s, uint32_t value)
{
	const struct sonde_context *c = &s->contexts[value - 1];
	struct worker w = {0};
	int64_t vcpu;

	if (c->machine >= s->nr_machines)
		return w;
	w.level = (uint8_t)s->machines[c->machine].level;
	w.works = (uint8_t)(1u << w.level);
	w.around = (uint8_t)(w.works - 1);
	w.is_blind = is_blind(s, c);
	vcpu = c->mode == SONDE_MODE_HYPERVISOR ? query_vcpu_served(s->history, c) : -1;
	if (vcpu >= 0) {
		w.open = &s->open[OPEN_EXIT(vcpu, w.level)];
		w.group = (uint32_t)(OPEN_EXIT(vcpu, w.level) / OPEN_GROUP);
		w.as = &s->ended[value];
	}
	return w;
}

static bool read_tables(struct scan *s)
{
	size_t nr_machines = (size_t)s->nr_machines;
	size_t nr_cpus = (size_t)s->nr_cpus;

	s->open = calloc(nr_cpus * SONDE_LAYERS_MAX + 1, sizeof(*s->open));
	s->touched = calloc(nr_cpus * SONDE_LAYERS_MAX / OPEN_GROUP + 1, sizeof(*s->touched));
	s->contexts = query_contexts(s->history);
	s->cpus = calloc(nr_cpus + 1, sizeof(*s->cpus));
	s->machines = calloc(nr_machines + 1, sizeof(*s->machines));
	s->workers = calloc((size_t)s->nr_contexts + 1, sizeof(*s->workers));
	s->ended = calloc((size_t)s->nr_contexts + 1, sizeof(*s->ended));
	s->met = calloc((size_t)s->nr_contexts + 1, sizeof(*s->met));
	s->blinds = calloc(nr_machines + 1, sizeof(*s->blinds));
	if (!s->open || !s->touched || !s->contexts || !s->cpus || !s->machines || !s->workers ||
	    !s->ended || !s->met || !s->blinds)
		return false;
	for (size_t i = 0; i < nr_machines; i++)
		find_lineage(s, (int64_t)i);
	for (size_t i = 0; i < nr_cpus; i++) {
		sonde_cpu_get(s->history, (int64_t)i, &s->cpus[i]);
		if (s->cpus[i].machine >= (int64_t)nr_machines) /* a damaged file */
			s->cpus[i].machine = 0;
	}
	for (uint32_t value = 1; value <= s->nr_contexts; value++)
		note_work(s, &s->contexts[value - 1]);
	for (uint32_t value = 1; value <= s->nr_contexts; value++)
		s->workers[value] = worker_of(s, value);
	return true;
}

static void scan_release(struct scan *s)
{
	free(s->open);
	free(s->touched);
	free(s->cpus);
	free(s->machines);
	free(s->workers);
	free(s->ended);
	free(s->met);
	free(s->blinds);
}

/* -1: a guest of the vCPU whose thread works, not known which. */
static int64_t machine_served(const struct scan *s, const struct sonde_context *c)
{
	return c->serves < 0 ? -1 : (int64_t)s->cpus[c->serves].machine;
}

/* By VM, hypervisor and reason, what was found by context. */
static void release(struct kept *kept)
{
	struct hypervisor_work *w = (struct hypervisor_work *)kept;

	keyed_release(&w->exits);
	free(w);
}

static const struct kept_kind kind = {release};

static struct hypervisor_work *sum_up(const struct scan *s)
{
	struct hypervisor_work *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct hypervisor_work){.begin = s->begin,
				      .end = s->end,
				      .exits = {.nr_cells = HYPERVISOR_NR_CELLS,
						.sum_bytes = sizeof(struct hypervisor_exits)}};
	for (uint32_t i = 0; i < s->nr_met; i++) {
		const struct ended *ended = &s->ended[s->met[i]];
		const struct sonde_context *c = &s->contexts[s->met[i] - 1];
		struct hypervisor_exits *e =
			keyed_sum(&w->exits, (int64_t[HYPERVISOR_NR_CELLS]){machine_served(s, c),
									    c->machine, c->detail});

		if (!e) {
			release(&w->kept);
			return NULL;
		}
		e->name = c->detail_text;
		e->count += ended->count;
		e->maybe_more += ended->maybe_more;
		e->time_ns += ended->time_ns;
		if (ended->longest_ns > e->longest_ns)
			e->longest_ns = ended->longest_ns;
	}
	return w;
}

int hypervisor_work_get(const struct hypervisor_work **out, struct sonde_history *history,
			ns_t begin, ns_t end, struct error *err)
{
	struct scan s = {.history = history,
			 .begin = begin,
			 .end = end,
			 .nr_contexts = (uint32_t)sonde_nr_contexts(history),
			 .nr_machines = sonde_nr_machines(history),
			 .nr_cpus = sonde_nr_cpus(history)};
	struct hypervisor_work *w = kept_find(history, &kind);
	int ret;

	*out = w;
	if (w && w->begin == begin && w->end == end)
		return 0;
	kept_drop(history, &kind);
	ret = !cpu_users_get(&s.users, history) && read_tables(&s)
		      ? scan_run(&s, err)
		      : fail(err, -ENOMEM, "out of memory");
	w = ret ? NULL : sum_up(&s);
	if (!ret && !w)
		ret = fail(err, -ENOMEM, "out of memory");
	scan_release(&s);
	if (w)
		kept_set(history, &kind, &w->kept);
	*out = w;
	return ret;
}
