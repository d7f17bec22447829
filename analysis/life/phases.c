/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/life/phases.h"
#include "query/query.h"
#include "analysis/sched/vcpu_states.h"
#include "model/context.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* What a phase's time went into. */
struct account {
	ns_t total, own, hypervisor, vmm, lost, waits, rest;
	ns_t per_cause[8];
	const char *waits_for; /* the greatest part of @waits, "" none */
	ns_t waits_for_ns;
};

static const char *const wait_columns[] = {"wait_timer", "wait_disk",	"wait_network",
					   "wait_ipi",	 "wait_device", "wait_vmm",
					   "wait_host",	 "wait_unknown"};
static const char *const wait_names[] = {"timer",  "disk", "network", "another vCPU",
					 "device", "VMM",  "host",    "unknown"};
_Static_assert(ARRAY_SIZE(wait_columns) == ARRAY_SIZE(wait_names), "a name each");

static ns_t sum(const struct sonde_rows *f, size_t row, const char *const *columns, unsigned nr)
{
	ns_t total = 0;

	for (unsigned i = 0; i < nr; i++) {
		int at = sonde_rows_column(f, columns[i]);

		assert(at >= 0);
		total += sonde_rows_cell(f, row, (unsigned)at).i;
	}
	return total;
}

#define SUM(f, row, ...)                                                                           \
	sum(f, row, (const char *const[]){__VA_ARGS__},                                            \
	    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void account_vcpu(struct account *a, const struct sonde_rows *f, size_t row)
{
	ns_t own = SUM(f, row, "user", "kernel", "guest", "nested");
	ns_t hypervisor = SUM(f, row, "kvm", "halting", "nesting");
	ns_t vmm = SUM(f, row, "vmm");
	ns_t lost = SUM(f, row, "queued", "preempted", "throttled", "steal_unknown",
			"inherited_steal", "host_irq");
	ns_t waits = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(wait_columns); i++) {
		ns_t wait = SUM(f, row, wait_columns[i]);

		a->per_cause[i] += wait;
		waits += wait;
	}
	a->total += SUM(f, row, "total");
	a->own += own;
	a->hypervisor += hypervisor;
	a->vmm += vmm;
	a->lost += lost;
	a->waits += waits;
	a->rest += SUM(f, row, "total") - own - hypervisor - vmm - lost - waits;
}

static int account_vcpus(struct account *a, struct sonde_history *history, const struct phase *p,
			 struct error *err)
{
	struct sonde_rows *f;
	uint32_t nr;
	const uint32_t *vcpus = by_machine_rows(p->cpus, p->vm, &nr);
	int ret = vcpu_states_of(&f, history, vcpus, nr, p->begin, p->end, err);

	if (ret)
		return ret;
	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		account_vcpu(a, f, row);
	sonde_rows_free(f);
	a->waits_for = "";
	for (unsigned i = 0; i < ARRAY_SIZE(wait_columns); i++) {
		if (a->per_cause[i] > a->waits_for_ns) {
			a->waits_for_ns = a->per_cause[i];
			a->waits_for = wait_names[i];
		}
	}
	return 0;
}

/* Before there is a vCPU that runs, and after: the VMM's own thread. */
static int account_thread(struct account *a, struct sonde_history *history, const struct phase *p,
			  struct error *err)
{
	struct sonde_time_share *shares;
	unsigned nr;
	int ret;

	a->waits_for = "";
	a->total = p->end - p->begin;
	ret = sonde_interval_sum(history, sonde_attr_of_thread(history, p->thread, "state"),
				 p->begin, p->end, &shares, &nr);
	if (ret)
		return fail(err, ret, "cannot sum up a thread's states: %s", error_reason(ret));
	for (unsigned i = 0; i < nr; i++) {
		switch (shares[i].value) {
		case THREAD_RUNNING:
			a->vmm += shares[i].time_ns;
			break;
		case THREAD_RUNNABLE:
			a->lost += shares[i].time_ns;
			break;
		case THREAD_SLEEPING:
		case THREAD_BLOCKED:
		case THREAD_STOPPED:
			a->waits += shares[i].time_ns;
			break;
		default:
			a->rest += shares[i].time_ns;
			break;
		}
	}
	free(shares);
	return 0;
}

/* What ended it may have come unseen, in a gap of the VM's trace or of those of machines around
 * it. */
static ns_t doubt_of(const struct sonde_history *history, const struct phase *p)
{
	ns_t doubt_ns = p->doubt_ns;
	struct sonde_loss l;

	for (int64_t row = 0; !sonde_loss_get(history, row, &l); row++) {
		ns_t from = l.begin > p->begin ? l.begin : p->begin;

		if (from < p->end && l.end > p->begin && p->end - from > doubt_ns &&
		    query_is_inside(history, p->vm, l.machine))
			doubt_ns = p->end - from;
	}
	return doubt_ns;
}

int phase_add(struct sonde_rows *out, struct sonde_history *history, const struct phase *phase,
	      ns_t begin, ns_t end, struct error *err)
{
	struct account a = {0};
	struct phase p = *phase;
	int ret;

	p.begin = p.begin < begin ? begin : p.begin;
	p.end = p.end > end ? end : p.end;
	if (p.begin >= p.end)
		return 0;
	ret = p.thread >= 0 ? account_thread(&a, history, &p, err)
			    : account_vcpus(&a, history, &p, err);
	if (ret)
		return ret;
	rows_add(out, (union sonde_cell[]){
			      cell_int(p.vm),
			      cell_str(p.name),
			      cell_int(p.begin),
			      cell_int(p.end - p.begin),
			      cell_int(a.own),
			      cell_int(a.hypervisor),
			      cell_int(a.vmm),
			      cell_int(a.lost),
			      cell_int(a.waits),
			      cell_str(a.waits_for),
			      cell_int(a.waits_for_ns),
			      cell_int(a.rest),
			      cell_int(doubt_of(history, &p)),
			      cell_str(p.evidence),
		      });
	return 0;
}

const struct sonde_column phase_columns[PHASE_NR_COLUMNS] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose"},
	{"stage", "STAGE", SONDE_COL_STRING, "what it did"},
	{"begin", "FROM", SONDE_COL_TIME, "begin"},
	{"length", "FOR", SONDE_COL_NS, "how long"},
	{"guest_mode", "GUEST MODE", SONDE_COL_NS,
	 "the VM's code ran; with several vCPUs this and the following are all vCPUs' together"},
	{"kvm", "KVM", SONDE_COL_NS,
	 "KVM worked for it, for the vCPU that it was on, or for VMs in it"},
	{"vmm", "VMM", SONDE_COL_NS, "the VMM's user space worked for it"},
	{"host", "HOST", SONDE_COL_NS, "total steal, and hardirqs and softirqs of its hosts"},
	{"waits", "WAITS", SONDE_COL_NS, "it waited for something"},
	{"blocked_on", "BLOCKED ON", SONDE_COL_STRING, "what it waited for longest"},
	{"blocked_on_time", "MOST", SONDE_COL_NS, "how long for that"},
	{"unknown", "UNKNOWN", SONDE_COL_NS, "not known, or before or after the life of a vCPU"},
	{"doubt", "DOUBT", SONDE_COL_NS, "the end may have been this much earlier"},
	{"evidence", "UNTIL", SONDE_COL_STRING, "what ended it, and how that is known"},
};

int64_t vmm_thread(struct sonde_history *history, int64_t vm, ns_t t)
{
	struct sonde_machine m;

	if (sonde_machine_get(history, vm, &m) || m.parent < 0 || m.vm_pid < 0)
		return -1;
	return sonde_find_thread(history, (unsigned)m.parent, m.vm_pid, t);
}
