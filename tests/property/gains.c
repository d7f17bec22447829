/* SPDX-License-Identifier: Apache-2.0 */
/* Where less evidence may tell more: docs/fusion.md §11 has the cases. */
#include "less_specific.h"

#include "query/query.h"
#include "model/context.h"

/* Or of a part of it, which then counts as another machine. */
static bool lacks_trace_of(const struct pair *p, int64_t whole)
{
	bool traced = false;

	if (!p->whole.machines[whole].traced)
		return false;
	for (int64_t m = 0; m < p->cut.nr_machines; m++) {
		if (p->machines[m].row != whole || p->machines[m].within)
			continue;
		if (!p->cut.machines[m].traced)
			return true;
		traced = true;
	}
	return !traced;
}

bool lacks_host_trace(const struct pair *p, int64_t cut)
{
	int64_t host = cut < 0 ? -1 : p->cut.machines[cut].parent;

	return host > 0 && !p->cut.machines[host].traced && p->machines[host].row > 0 &&
	       p->whole.machines[p->machines[host].row].traced;
}

/* @of is in that machine of the first history, or is that. */
static bool is_of(const struct pair *p, const struct subject *of, int64_t whole)
{
	for (int64_t m = of->machine; m >= 0; m = p->cut.machines[m].parent) {
		if (p->machines[m].row == whole)
			return true;
	}
	return of->machine < 0;
}

int64_t machine_of_context(const struct side *s, const struct sonde_context *c)
{
	return c->mode == SONDE_MODE_HYPERVISOR && c->serves >= 0 ? s->cpus[c->serves].machine
								  : c->machine;
}

/* Only another machine's events show that a CPU's are missing (model/sched/uncounted_gap.h): where
 * these are missing, too, nothing does.  Behind it the whole history knows nothing until the next
 * event. */
static bool is_hidden_gap(const struct pair *p, const struct subject *of, int64_t from)
{
	struct sonde_loss l;

	for (int64_t i = 0; i < sonde_nr_losses(p->whole.history); i++) {
		sonde_loss_get(p->whole.history, i, &l);
		if (l.events < 0 && l.begin <= from && from <= l.end + 1 && is_of(p, of, l.machine))
			return true;
	}
	return false;
}

/* When the trace of @cpu's machine begins to tell what it runs. */
static int64_t told_since(const struct side *s, int64_t cpu)
{
	uint32_t attr = sonde_attr_of_cpu(s->history, cpu, "task");
	int64_t t = sonde_history_begin(s->history);
	struct sonde_interval i;

	while (!sonde_interval_at(s->history, attr, t, &i) && !i.value && i.end > t &&
	       i.end < sonde_history_end(s->history))
		t = i.end;
	return t;
}

/* ... and when that trace is over. */
static int64_t told_until(const struct side *s, int64_t cpu)
{
	int64_t end = s->machines[s->cpus[cpu].machine].end;

	return end < 0 ? INT64_MAX : end;
}

/* What a VM ran is its own trace's to tell.  Before that begins, and after its end, less is said
 * than where there is none, and its host's nested entries are all there is. */
static bool is_beside_trace_of(const struct pair *p, int64_t machine, int64_t from, int64_t to)
{
	if (!machine || !lacks_trace_of(p, machine))
		return false;
	for (int64_t cpu = 0; cpu < p->whole.nr_cpus; cpu++) {
		if (p->whole.cpus[cpu].machine == machine &&
		    (to <= told_since(&p->whole, cpu) || from >= told_until(&p->whole, cpu)))
			return true;
	}
	return false;
}

bool is_beside_a_trace(const struct pair *p, const struct subject *of, int64_t from, int64_t to)
{
	for (int64_t m = 0; m < p->whole.nr_machines; m++) {
		if (is_of(p, of, m) && is_beside_trace_of(p, m, from, to))
			return true;
	}
	return false;
}

bool is_beside_host_trace(const struct pair *p, int64_t cut, int64_t from, int64_t to)
{
	return lacks_host_trace(p, cut) &&
	       is_beside_trace_of(p, p->machines[p->cut.machines[cut].parent].row, from, to);
}

bool host_trace_tells(const struct pair *p, int64_t cut, int64_t *since, int64_t *until)
{
	int64_t host = lacks_host_trace(p, cut) ? p->machines[p->cut.machines[cut].parent].row : -1;

	*since = sonde_history_begin(p->whole.history);
	*until = sonde_history_end(p->whole.history);
	for (int64_t cpu = 0; host >= 0 && cpu < p->whole.nr_cpus; cpu++) {
		int64_t begin, end;

		if (p->whole.cpus[cpu].machine != host)
			continue;
		begin = told_since(&p->whole, cpu);
		end = told_until(&p->whole, cpu);
		*since = begin > *since ? begin : *since;
		*until = end < *until ? end : *until;
	}
	return host >= 0;
}

/* ---- without the outermost machine's trace, a guest counts as that -------------------------- */

/* A number of a CPU plus 1, as an attribute has it at @t, or had it last. */
static uint32_t last_number(struct sonde_history *history, uint32_t attr, int64_t t)
{
	struct sonde_interval i;

	if (attr == SONDE_NO_ATTR || sonde_interval_at(history, attr, t, &i))
		return 0;
	if (!i.value && i.begin > sonde_history_begin(history) &&
	    sonde_interval_at(history, attr, i.begin - 1, &i))
		return 0;
	return i.value;
}

/* The CPU of the second history that @of is on, or was on last, by what its machine's own trace (of
 * a vCPU: its parent's) says; -1 not known. */
static int64_t place_of(const struct side *s, const struct subject *of, int64_t t)
{
	int64_t machine = of->vcpu >= 0 ? s->machines[of->machine].parent : of->machine;
	uint32_t number = 0;

	if (of->vcpu >= 0)
		number = last_number(s->history, sonde_attr_of_cpu(s->history, of->vcpu, "on"), t);
	if (of->thread >= 0)
		number = last_number(s->history,
				     sonde_attr_of_thread(s->history, of->thread, "cpu"), t);
	if (of->thread >= 0 && !number)
		number = (uint32_t)query_first_cpu(s->history, of->thread) + 1;
	return number ? sonde_find_cpu(s->history, (unsigned)machine, (int)number - 1) : -1;
}

/* The vCPU of the whole history that is a CPU of the outermost machine of the second history, and
 * that
 * @of was on; -1 it was elsewhere.  It did not move: where that begins and ends, times are rounded.
 */
static int64_t root_cpu_of(const struct pair *p, const struct subject *of, int64_t from, int64_t to)
{
	int64_t middle = time_in_cut(p, from + (to - from) / 2);
	int64_t cpu = p->root > 0 ? place_of(&p->cut, of, middle) : -1;

	return cpu >= 0 && !p->cut.cpus[cpu].machine ? p->cpus[cpu] : -1;
}

/* Its CPUs' first switches tell who ran before. */
static bool is_before_first_switch(const struct pair *p, const struct subject *of, int64_t from,
				   int64_t to)
{
	int64_t cpu = root_cpu_of(p, of, from, to);

	return cpu >= 0 && to <= told_since(&p->whole, cpu);
}

/* A nested vCPU is on a CPU, or waits for one, where its own host says so, though that one's did
 * not know whether it had the CPU. */
static bool is_beyond_host(const struct pair *p, const struct subject *of, int64_t from, int64_t to)
{
	int64_t cpu = of->vcpu >= 0 ? root_cpu_of(p, of, from, to) : -1;
	uint32_t state =
		cpu >= 0 ? sonde_attr_of_cpu(p->whole.history, cpu, "state") : SONDE_NO_ATTR;
	struct sonde_interval i;

	return state != SONDE_NO_ATTR && !sonde_interval_at(p->whole.history, state, from, &i) &&
	       i.value == VCPU_UNKNOWN && i.end >= to;
}

bool is_gain(const struct pair *p, const struct subject *of, int64_t from, int64_t to)
{
	return is_before_first_switch(p, of, from, to) || is_beyond_host(p, of, from, to) ||
	       is_hidden_gap(p, of, from) || is_beside_a_trace(p, of, from, to);
}

bool is_gain_of_any(const struct pair *p, int64_t from, int64_t to)
{
	struct subject of = {-1, -1, -1};

	if (is_gain(p, &of, from, to))
		return true;
	for (of.vcpu = 0; p->root > 0 && of.vcpu < p->cut.nr_cpus; of.vcpu++) {
		of.machine = p->cut.cpus[of.vcpu].machine;
		if (of.machine && is_gain(p, &of, from, to))
			return true;
	}
	return false;
}
