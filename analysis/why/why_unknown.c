/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be known of the window, and what to record next time. */
#include "analysis/by_machine.h"
#include "analysis/why/why.h"
#include "base/figure.h"
#include "base/units.h"
#include "query/milestone.h"
#include "query/outermost.h"

#include <string.h>

/* An unknown part of a vCPU's time that is worth a word: one in a hundred. */
#define UNKNOWN_PPM 10000
/* Order of events is no longer sure when a clock may be this wrong. */
#define BOUND_WORTH_NS 1000000

/* When a VM's vCPUs were ready nobody can tell where what it is in has no trace. */
static bool is_in_dark(const struct why *w, const struct sonde_machine *m)
{
	struct sonde_machine parent;

	return m->level > 1 && !sonde_machine_get(w->history, m->parent, &parent) && !parent.traced;
}

/* ... nor has it itself one: no_trace() says so of all of them. */
static bool is_dark(const struct why *w, const struct sonde_machine *m)
{
	return !m->traced && is_in_dark(w, m);
}

static void unknown_vcpu(struct why *w, int64_t vcpu, ns_t time, ns_t total)
{
	struct verdict v = why_not_known(w, "vcpus", -1);
	struct sonde_machine m;
	struct sonde_cpu cpu;
	char share[UNIT_TEXT];

	if (share_ppm(time, total) < UNKNOWN_PPM || sonde_cpu_get(w->history, vcpu, &cpu) ||
	    sonde_machine_get(w->history, cpu.machine, &m) || is_dark(w, &m))
		return;
	v.machine = cpu.machine;
	v.vcpu = vcpu;
	v.by_ns = time;
	say(&v.says, "What ");
	say_cpu(&v.says, vcpu);
	say(&v.says, " did is not known for ");
	say_length(&v.says, time);
	say(&v.says, " of its time (%s): ", unit_share(share, share_ppm(time, total)));
	if (is_in_dark(w, &m) && !sonde_machine_get(w->history, m.parent, &m))
		say(&v.says,
		    "%s, which it is in, has no trace. Only where it was seen to run, or to wait, "
		    "is known. Next time run sonde-agent in %s, too.",
		    m.name, m.name);
	else
		say(&v.says,
		    "its events, or its hosts', are missing. A trace had not begun, had ended, or "
		    "has a gap there (sonde report -t gap).");
	why_add(w, &v);
}

static int unknown_vcpu_time(struct why *w, struct error *err)
{
	struct sonde_rows *f;
	int ret = why_rows(w, &vcpu_state_table, &f, err);

	for (size_t row = 0; !ret && row < sonde_rows_nr(f); row++)
		unknown_vcpu(w, rows_named(f, row, "vcpu").i, rows_named(f, row, "unknown").i,
			     rows_named(f, row, "total").i);
	if (!ret)
		sonde_rows_free(f);
	return ret;
}

/* What stands in tables of one machine, for all machines at once. */
struct tables {
	struct by_machine threads, clocks, contexts, milestones;
};

/* Whether processes of a machine without a trace were told apart, by their page tables. */
static bool has_processes(const struct tables *t, int64_t machine)
{
	uint32_t nr;

	by_machine_rows(&t->threads, machine, &nr);
	return nr;
}

static void no_trace(struct why *w, const struct tables *t, int64_t machine,
		     const struct sonde_machine *m)
{
	struct verdict v = why_not_known(w, "trace", machine);
	struct sonde_machine parent;

	if (m->traced)
		return;
	if (is_dark(w, m)) {
		sonde_machine_get(w->history, m->parent, &parent);
		say(&v.says,
		    "Neither %s nor %s, which it is in, has a trace: only the kernel of %s knows "
		    "when its vCPUs were runnable. What they waited for is known only where the VM "
		    "entries that ended it show that. Next time run sonde-agent in both, and "
		    "record with --guest all.",
		    m->name, parent.name, parent.name);
		why_add(w, &v);
		return;
	}
	say(&v.says, "%s has no trace of its own: ", m->name);
	if (has_processes(t, machine))
		say(&v.says,
		    "its processes are told apart by their page tables. Their numbers are no "
		    "PIDs: they count in the order in which they were seen. Names, threads, and "
		    "what these waited for are not known.");
	else
		say(&v.says, "which of its threads ran, waited or was hit is not known.");
	say(&v.says, " Next time run sonde-agent in it, and record with --guest all.");
	why_add(w, &v);
}

static void loose_clock(struct why *w, const struct tables *t, int64_t machine,
			const struct sonde_machine *m)
{
	struct verdict v = why_not_known(w, "clock", machine);
	struct sonde_clock c;
	ns_t worst = 0;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&t->clocks, machine, &nr);

	if (!m->traced)
		return;
	for (uint32_t i = 0; i < nr && !sonde_clock_get(w->history, rows[i], &c); i++) {
		if (c.from >= w->end || c.to <= w->begin)
			continue;
		if (c.bound_ns < 0)
			worst = NS_MAX;
		else if (c.bound_ns > worst)
			worst = c.bound_ns;
	}
	if (worst < BOUND_WORTH_NS)
		return;
	v.by_ns = worst < NS_MAX ? worst : 0;
	say(&v.says, "%s's clock is ", m->name);
	if (worst == NS_MAX) {
		say(&v.says, "not tied to its host's");
	} else {
		say(&v.says, "known to ");
		say_length(&v.says, worst);
		say(&v.says, " only");
	}
	say(&v.says, worst == NS_MAX ? ": nothing bounds how wrong the times of its threads are. "
				     : ": the times of its threads may be wrong by that much. ");
	say(&v.says, "Recording all machines with sonde record and the TSC clock makes it exact.");
	why_add(w, &v);
}

/* Traces without system calls tell no more of a thread than that it ran. */
static void no_syscalls(struct why *w, const struct tables *t, int64_t machine,
			const struct sonde_machine *m)
{
	struct verdict v = why_not_known(w, "syscalls", machine);
	struct sonde_context c;
	bool threads = false;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&t->contexts, machine, &nr);

	for (uint32_t i = 0; i < nr && !sonde_context_get(w->history, rows[i], &c); i++) {
		if (c.mode == SONDE_MODE_SYSCALL)
			return;
		threads |= c.mode == SONDE_MODE_TASK;
	}
	if (!m->traced || !threads)
		return;
	say(&v.says,
	    "%s's trace has no system calls: what its threads asked for when they began to "
	    "wait is not known. Record raw_syscalls, too (sonde record --for io).",
	    m->name);
	why_add(w, &v);
}

/* Of a boot that is told afterwards. */
static void lost_boot(struct why *w, const struct tables *t, int64_t machine,
		      const struct sonde_machine *m)
{
	struct verdict v = why_not_known(w, "boot", machine);
	struct milestone ms;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&t->milestones, machine, &nr);

	for (uint32_t i = 0; i < nr && !query_milestone(w->history, rows[i], &ms); i++) {
		if (strcmp(ms.kind, "lost"))
			continue;
		say(&v.says,
		    "Of what %s's kernel recorded of its boot %s had been overwritten, or was not "
		    "read: levels and initcalls are missing. Record it sooner after the boot, or "
		    "with a larger trace_buf_size=.",
		    m->name, ms.text);
		why_add(w, &v);
		return;
	}
}

static int read_tables(struct tables *t, const struct sonde_history *history)
{
	int ret = by_machine_init(&t->threads, history, QUERY_THREAD);

	if (!ret)
		ret = by_machine_init(&t->clocks, history, QUERY_CLOCK);
	if (!ret)
		ret = by_machine_init(&t->contexts, history, QUERY_CONTEXT);
	return ret ? ret : by_machine_init(&t->milestones, history, QUERY_MILESTONE);
}

static void tables_release(struct tables *t)
{
	by_machine_release(&t->threads);
	by_machine_release(&t->clocks);
	by_machine_release(&t->contexts);
	by_machine_release(&t->milestones);
}

static int unknown_machines(struct why *w, struct error *err)
{
	struct tables t = {0};
	int ret = read_tables(&t, w->history);

	for (int64_t machine = 0; machine < sonde_nr_machines(w->history) && !ret; machine++) {
		struct sonde_machine m;

		sonde_machine_get(w->history, machine, &m);
		lost_boot(w, &t, machine, &m);
		no_trace(w, &t, machine, &m);
		loose_clock(w, &t, machine, &m);
		no_syscalls(w, &t, machine, &m);
	}
	tables_release(&t);
	return ret ? fail(err, ret, "out of memory") : 0;
}

/* The first of what was wrong with the input tells most: what is wrong with a recording as a whole
 * comes before what is with its parts. */
static void problems(struct why *w)
{
	struct verdict v = why_not_known(w, "problems", 0);
	struct sonde_problem p, first = {.text = "this history was not written to its end"};
	int64_t others = sonde_history_complete(w->history) ? -1 : 0;

	for (int64_t row = 0; !sonde_problem_get(w->history, row, &p); row++) {
		if (p.note)
			continue;
		if (++others == 0)
			first = p;
	}
	if (others < 0)
		return;
	v.count = others + 1;
	say(&v.says, "What is said here may lack something, for Sonde met ");
	if (others)
		say(&v.says,
		    "%lld problems with the input (sonde report -t problem lists them). "
		    "The first: ",
		    (long long)others + 1);
	else
		say(&v.says, "a problem with the input. It is: ");
	say(&v.says, "%s.", first.text);
	why_add(w, &v);
}

/* Most tracers do not write whether the machine that they record is one of another's. */
static void outermost(struct why *w)
{
	struct verdict v = why_not_known(w, "outermost", 0);
	struct sonde_machine m;

	if (outermost_of(w->history) != OUTERMOST_UNKNOWN || sonde_nr_machines(w->history) < 2 ||
	    sonde_machine_get(w->history, 0, &m))
		return;
	say(&v.says,
	    "Whether %s is a VM itself is not known. If it is, all times hold what its host ran, "
	    "too. sonde record writes down what a machine is.",
	    m.name);
	why_add(w, &v);
}

int why_unknown(struct why *w, struct error *err)
{
	int ret = why_gaps(w, err);

	problems(w);
	outermost(w);
	if (!ret)
		ret = unknown_machines(w, err);
	return ret ? ret : unknown_vcpu_time(w, err);
}
