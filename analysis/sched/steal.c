/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a guest's "steal" counter lumps together.
 *
 * KVM reports as stolen all the time in which a vCPU's thread was ready to run and did not: its
 * state "preempted".  Where the guest's /proc/stat was read twice within the window, its own count
 * stands beside what the parent's trace shows of the time between.
 */
#include "analysis/by_machine.h"
#include "query/counts.h"
#include "analysis/sched/preemption.h"
#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>

/* Of one vCPU. */
struct steal {
	bool asked; /* its thread is known */
	ns_t begin, end;
	ns_t by_why[QUERY_NR_OFFS];
	ns_t found_ns;
	ns_t guest_ns; /* by the guest's own count, -1 not known */
	ns_t unit_ns;  /* of that count */
};

/* Of the window, what of it lies between the vCPU's readings counts. */
static bool add_preemption(const struct preemption *p, void *data)
{
	struct steal *s = (struct steal *)data + p->vcpu;
	ns_t time_ns = preemption_within(p, s->begin, s->end);

	s->by_why[p->why] += time_ns;
	s->found_ns += time_ns;
	return true;
}

/* The first and the last reading within the window narrow it down to the time between. */
static void find_readings(struct steal *s, const struct sonde_history *history,
			  const struct by_machine *readings, ns_t begin, ns_t end,
			  const struct sonde_cpu *cpu)
{
	struct sonde_cpu_times first = {0}, last = {0}, t;
	unsigned nr = 0;
	uint32_t nr_rows = 0;
	const uint32_t *rows = cpu->machine < sonde_nr_machines(history)
				       ? by_machine_rows(readings, cpu->machine, &nr_rows)
				       : NULL;

	for (uint32_t i = 0; i < nr_rows; i++) {
		sonde_cpu_times_get(history, rows[i], &t);
		if (t.cpu != cpu->number || t.t < begin || t.t >= end || t.steal < 0 || t.hz <= 0)
			continue;
		first = nr++ ? first : t;
		last = t;
	}
	s->begin = nr > 1 ? first.t : begin;
	s->end = nr > 1 ? last.t : end;
	s->guest_ns = -1;
	s->unit_ns = -1;
	if (nr < 2 || last.steal < first.steal || last.hz > NS_PER_SEC ||
	    ns_since(last.steal, first.steal) > INT64_MAX / NS_PER_SEC)
		return;
	s->unit_ns = NS_PER_SEC / last.hz;
	s->guest_ns = ns_since(last.steal, first.steal) * s->unit_ns;
}

static void begin_vcpu(struct steal *s, const struct sonde_history *history,
		       const struct by_machine *readings, int64_t vcpu, ns_t begin, ns_t end)
{
	struct sonde_cpu cpu;

	if (history->cpu_attrs[vcpu][CPU_STATE] == ATTR_NONE ||
	    sonde_cpu_get(history, vcpu, &cpu) ||
	    cpu.host_thread < 0) /* a thread that nobody saw */
		return;
	s->asked = true;
	find_readings(s, history, readings, begin, end, &cpu);
}

static void add_vcpu(struct sonde_rows *out, const struct steal *s, int64_t vcpu)
{
	rows_add(out, (union sonde_cell[]){
			      cell_int(vcpu),
			      cell_int(s->begin),
			      cell_int(s->end - s->begin),
			      cell_int(s->guest_ns),
			      cell_int(s->unit_ns),
			      cell_int(s->found_ns),
			      cell_int(s->by_why[SONDE_OFF_READY]),
			      cell_int(s->by_why[SONDE_OFF_SLICE]),
			      cell_int(s->by_why[SONDE_OFF_WAKEUP]),
			      cell_int(s->by_why[SONDE_OFF_CLASS]),
			      cell_int(s->by_why[SONDE_OFF_MOVED]),
			      cell_int(s->by_why[SONDE_OFF_QUOTA]),
			      cell_int(s->by_why[SONDE_OFF_UNKNOWN]),
		      });
}

static int find_steal(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	const int64_t nr_cpus = sonde_nr_cpus(history);
	struct steal *vcpus = calloc((size_t)nr_cpus + 1, sizeof(*vcpus));
	struct by_machine readings = {0};
	int ret = vcpus ? by_machine_init(&readings, history, QUERY_STAT) : -ENOMEM;

	if (ret)
		fail(err, ret, "out of memory");
	for (int64_t vcpu = 0; vcpu < nr_cpus && !ret; vcpu++)
		begin_vcpu(&vcpus[vcpu], history, &readings, vcpu, begin, end);
	if (!ret)
		ret = preemption_parts(history, begin, end, add_preemption, vcpus, err);
	for (int64_t vcpu = 0; vcpu < nr_cpus && !ret; vcpu++) {
		if (vcpus[vcpu].asked)
			add_vcpu(out, &vcpus[vcpu], vcpu);
	}
	by_machine_release(&readings);
	free(vcpus);
	rows_sort(out, "steal");
	return ret;
}

static const struct sonde_column steal_columns[] = {
	{"vcpu", "VCPU", SONDE_COL_CPU, "vCPU"},
	{"from", "FROM", SONDE_COL_TIME,
	 "first reading of its guest's count; else the start of the window"},
	{"length", "FOR", SONDE_COL_NS, "until the last reading, or the window's end"},
	{"guest", "GUEST COUNTS", SONDE_COL_NS,
	 "steal time of that period, by its guest's /proc/stat"},
	{"unit", "+-", SONDE_COL_NS, "unit of that count"},
	{"steal", "STEAL", SONDE_COL_NS,
	 "its thread was runnable and did not run; the sum of what follows"},
	{"queued", "QUEUED", SONDE_COL_NS, "it had been woken, and waited for its turn"},
	{"slice", "SLICE", SONDE_COL_NS, "its time slice expired"},
	{"wakeup", "WAKEUP", SONDE_COL_NS, "a thread was woken that was due before it"},
	{"class", "CLASS", SONDE_COL_NS, "a thread of a real-time or deadline class had to run"},
	{"migrated", "MIGRATED", SONDE_COL_NS, "it was being migrated to another CPU"},
	{"throttled", "THROTTLED", SONDE_COL_NS, "its cgroup was throttled (cpu.max)"},
	{"unknown", "UNKNOWN", SONDE_COL_NS, "not known why"},
};

const struct table_def steal_table = {
	.public =
		{"steal", "Steal, split",
		 "what a guest counts as stolen, by why its vCPU did not run; beside it the guest's own "
		 "count, "
		 "where it was read",
		 steal_columns, ARRAY_SIZE(steal_columns)},
	.find = find_steal,
};
