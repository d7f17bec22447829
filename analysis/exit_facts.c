/* SPDX-License-Identifier: Apache-2.0 */
/* Exits summed up: per reason, per guest thread that caused them, and what nesting multiplies. */
#include "analysis/exits.h"
#include "analysis/facts.h"
#include "analysis/keyed.h"
#include "analysis/strip.h"
#include "base/histogram.h"
#include "source/exits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned machine_of_cpu(const struct sonde_run *run, int64_t cpu)
{
	struct sonde_cpu c;

	/* A damaged file names machines that are not there. */
	if (sonde_cpu(run, cpu, &c) || c.machine >= sonde_nr_machines(run))
		return 0;
	return c.machine;
}

static int64_t parent_of(const struct sonde_run *run, int64_t machine)
{
	struct sonde_machine m;

	return sonde_machine(run, machine, &m) ? -1 : m.parent;
}

/* Calls exits_scan() for all vCPUs. */
static int scan_vcpus(struct sonde_run *run, ns_t begin, ns_t end,
		      bool (*each)(const struct exit_interval *e, void *data), void *data,
		      const bool *stop, struct error *err)
{
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(run) && !*stop; vcpu++) {
		int ret = exits_scan(run, vcpu, begin, end, each, data);

		if (ret)
			return fail(err, ret, "cannot read a vCPU's exits: %s", strerror(-ret));
	}
	return *stop ? fail(err, -ENOMEM, "out of memory") : 0;
}

/* ---- per reason ---------------------------------------------------------------------------- */

enum reason_key { REASON_VM, REASON_FROM, REASON_NR, REASON_ISA, REASON_NR_CELLS };

struct reason_sum {
	struct histogram *lengths; /* owned */
	uint64_t to_user;
	ns_t user_ns;
	ns_t longest_at;
};

struct reasons {
	struct sonde_run *run;
	struct keyed keys;
	struct reason_sum *list; /* owned, per key */
	size_t room;
	bool no_memory;
};

static bool add_reason(const struct exit_interval *e, void *data)
{
	struct reasons *r = data;
	int64_t key[REASON_NR_CELLS] = {machine_of_cpu(r->run, e->vcpu),
					machine_of_cpu(r->run, e->from), e->reason, e->isa};
	int64_t at = keyed_get(&r->keys, key);
	struct reason_sum *sum;

	if (at < 0 || !keyed_room(&r->keys, (void **)&r->list, &r->room, sizeof(*r->list)))
		goto no_memory;
	sum = &r->list[at];
	if (!sum->lengths)
		sum->lengths = calloc(1, sizeof(*sum->lengths));
	if (!sum->lengths)
		goto no_memory;
	if (e->end - e->begin > sum->lengths->greatest_ns || !sum->lengths->count)
		sum->longest_at = e->begin;
	histogram_add(sum->lengths, e->end - e->begin);
	sum->to_user += e->user_reason >= 0;
	sum->user_ns += e->end - e->user_begin;
	return true;
no_memory:
	r->no_memory = true;
	return false;
}

static void release_reasons(struct reasons *r)
{
	for (size_t i = 0; i < r->room; i++)
		free(r->list[i].lengths);
	free(r->list);
	keyed_release(&r->keys);
}

static int find_exits(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		      struct error *err)
{
	struct reasons r = {.run = run, .keys.nr_cells = REASON_NR_CELLS};
	int ret = scan_vcpus(run, begin, end, add_reason, &r, &r.no_memory, err);

	for (size_t i = 0; i < r.keys.nr && !ret; i++) {
		const int64_t *key = keyed_cells(&r.keys, i);
		const struct reason_sum *sum = &r.list[i];
		const struct histogram *h = sum->lengths;

		facts_add(out, (union sonde_cell[]){
				       cell_int(key[REASON_VM]),
				       cell_int(parent_of(run, key[REASON_VM])),
				       cell_int(key[REASON_FROM]),
				       cell_int(key[REASON_NR]),
				       cell_str(exit_name(run, key[REASON_ISA], key[REASON_NR])),
				       cell_int((int64_t)h->count),
				       cell_int(h->total_ns),
				       cell_int(h->total_ns / (ns_t)h->count),
				       cell_int(h->least_ns),
				       cell_int(histogram_quantile(h, 500000)),
				       cell_int(histogram_quantile(h, 990000)),
				       cell_int(h->greatest_ns),
				       cell_int(sum->longest_at),
				       cell_int((int64_t)sum->to_user),
				       cell_int(sum->user_ns),
			       });
	}
	release_reasons(&r);
	facts_sort(out, "total");
	return ret;
}

static const struct sonde_column exits_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose vCPU's thread left guest mode"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine whose KVM handled it"},
	{"from", "CODE OF", SONDE_COL_MACHINE,
	 "machine whose code ran until then: the VM, or one nested in it"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT, "how many, that were followed by an entry"},
	{"total", "TIME", SONDE_COL_NS,
	 "from exit to entry, be the thread on a CPU or not: a halt lasts as long as it sleeps"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit"},
	{"min", "MIN", SONDE_COL_NS, "shortest"},
	{"median", "MEDIAN", SONDE_COL_NS, "half of them are no longer; within 1%"},
	{"p99", "P99", SONDE_COL_NS, "99 of 100 are no longer; within 1%"},
	{"max", "MAX", SONDE_COL_NS, "longest"},
	{"max_at", "MAX AT", SONDE_COL_TIME, "when the longest began"},
	{"user_count", "TO VMM", SONDE_COL_INT, "how many went on to the VMM's user space"},
	{"user", "IN VMM", SONDE_COL_NS, "time from there to the entry"},
};

const struct analysis exits_analysis = {
	{"exits", "Exits by reason",
	 "real time from VM exit to VM entry, as `perf kvm stat` counts it, for exits that begin "
	 "in "
	 "the window",
	 exits_columns, ARRAY_SIZE(exits_columns)},
	find_exits,
};

/* ---- how they spread ----------------------------------------------------------------------- */

/* Rows of one reason: buckets of powers of two. */
static void add_spread(struct sonde_facts *out, const struct sonde_run *run, const int64_t *key,
		       const struct histogram *h)
{
	for (unsigned first = 0; first < HISTOGRAM_BUCKETS;) {
		ns_t from = histogram_bucket_begin(first);
		ns_t to = from < 1 ? 1 : from < NS_MAX / 2 ? from * 2 : NS_MAX;
		uint64_t count = 0;
		unsigned i = first;

		for (; i < HISTOGRAM_BUCKETS && histogram_bucket_begin(i) < to; i++)
			count += h->buckets[i];
		first = i;
		if (count)
			facts_add(out,
				  (union sonde_cell[]){
					  cell_int(key[REASON_VM]),
					  cell_int(key[REASON_FROM]),
					  cell_str(exit_name(run, key[REASON_ISA], key[REASON_NR])),
					  cell_int(from),
					  cell_int(to),
					  cell_int((int64_t)count),
				  });
	}
}

static int find_spread(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		       struct error *err)
{
	struct reasons r = {.run = run, .keys.nr_cells = REASON_NR_CELLS};
	int ret = scan_vcpus(run, begin, end, add_reason, &r, &r.no_memory, err);

	for (size_t i = 0; i < r.keys.nr && !ret; i++)
		add_spread(out, run, keyed_cells(&r.keys, i), r.list[i].lengths);
	release_reasons(&r);
	return ret;
}

static const struct sonde_column spread_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose vCPU's thread left guest mode"},
	{"code_of", "CODE OF", SONDE_COL_MACHINE, "machine whose code ran until then"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "why"},
	{"from", "FROM", SONDE_COL_NS, "they lasted so long or longer"},
	{"to", "TO", SONDE_COL_NS, "... and less than this"},
	{"count", "EXITS", SONDE_COL_INT, "how many there were"},
};

const struct analysis exit_histogram_analysis = {
	{"exit_histogram", "How exits spread", "exits by how long they lasted, in powers of 2",
	 spread_columns, ARRAY_SIZE(spread_columns)},
	find_spread,
};

/* ---- per guest thread ---------------------------------------------------------------------- */

enum cause_key { CAUSE_THREAD, CAUSE_FROM, CAUSE_NR, CAUSE_ISA, CAUSE_NR_CELLS };

struct cause_sum {
	uint64_t count;
	ns_t total_ns, longest_ns, longest_at, user_ns;
};

struct causes {
	struct sonde_run *run;
	struct strips strips;
	struct keyed keys;
	struct cause_sum *list; /* owned, per key */
	size_t room;
	bool no_memory;
};

/* Who ran in the guest: its kernel's current thread at the exit, when it has a trace. */
static int64_t guest_thread(struct causes *c, const struct exit_interval *e)
{
	struct sonde_interval task;

	if (strip_at(&c->strips, c->run->cpu_attrs[e->from][CPU_TASK], e->begin, &task))
		return -1;
	return (int64_t)task.value - 1;
}

static bool add_cause(const struct exit_interval *e, void *data)
{
	struct causes *c = data;
	int64_t key[CAUSE_NR_CELLS] = {guest_thread(c, e), machine_of_cpu(c->run, e->from),
				       e->reason, e->isa};
	int64_t at = keyed_get(&c->keys, key);
	struct cause_sum *sum;

	if (at < 0 || !keyed_room(&c->keys, (void **)&c->list, &c->room, sizeof(*c->list))) {
		c->no_memory = true;
		return false;
	}
	sum = &c->list[at];
	sum->count++;
	sum->total_ns += e->end - e->begin;
	sum->user_ns += e->end - e->user_begin;
	if (e->end - e->begin > sum->longest_ns || sum->count == 1) {
		sum->longest_ns = e->end - e->begin;
		sum->longest_at = e->begin;
	}
	return true;
}

static int find_causes(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		       struct error *err)
{
	struct causes c = {.run = run, .strips.run = run, .keys.nr_cells = CAUSE_NR_CELLS};
	int ret = scan_vcpus(run, begin, end, add_cause, &c, &c.no_memory, err);

	for (size_t i = 0; i < c.keys.nr && !ret; i++) {
		const int64_t *key = keyed_cells(&c.keys, i);
		const struct cause_sum *sum = &c.list[i];

		if (key[CAUSE_THREAD] < 0) /* a VM without a trace: "exits" says it all */
			continue;
		facts_add(out, (union sonde_cell[]){
				       cell_int(key[CAUSE_FROM]),
				       cell_int(key[CAUSE_THREAD]),
				       cell_int(key[CAUSE_NR]),
				       cell_str(exit_name(run, key[CAUSE_ISA], key[CAUSE_NR])),
				       cell_int((int64_t)sum->count),
				       cell_int(sum->total_ns),
				       cell_int(sum->total_ns / (ns_t)sum->count),
				       cell_int(sum->longest_ns),
				       cell_int(sum->longest_at),
				       cell_int(sum->user_ns),
			       });
	}
	free(c.list);
	keyed_release(&c.keys);
	strips_release(&c.strips);
	facts_sort(out, "total");
	return ret;
}

static const struct sonde_column cause_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "machine whose code ran"},
	{"thread", "THREAD", SONDE_COL_THREAD, "its thread that ran until the exit"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT,
	 "how many; with nesting, each hypervisor that records counts its own"},
	{"total", "TIME", SONDE_COL_NS, "from exit to entry"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit"},
	{"max", "MAX", SONDE_COL_NS, "longest"},
	{"max_at", "MAX AT", SONDE_COL_TIME, "when the longest began"},
	{"user", "IN VMM", SONDE_COL_NS, "of the time, in the VMM's user space"},
};

const struct analysis exit_cause_analysis = {
	{"exit_cause", "Exits by guest thread",
	 "the same exits, by the guest's thread that ran; a guest without a trace is left out",
	 cause_columns, ARRAY_SIZE(cause_columns)},
	find_causes,
};

/* ---- nesting ------------------------------------------------------------------------------- */

/*
 * A nested guest's exit comes to the host of its host.  That either handles it, or gives it to its
 * host, which executes a number of instructions that exit, too, before it enters its guest again
 * (VMRUN, VMRESUME): all these belong to that one exit.
 */
struct nest {
	int64_t inner;	 /* machine, -1: none yet */
	uint64_t nested; /* exits of the nested guest's code */
	uint64_t handed; /* of them, those that its own hypervisor had to handle */
	uint64_t follow; /* exits of its hypervisor meanwhile */
	ns_t nested_ns, follow_ns;
	ns_t handling_ns; /* from an exit that is handed on to the next entry of the nested guest */
};

struct nesting {
	struct sonde_run *run;
	struct nest *list; /* owned, per machine: as the inner one */
	bool stop;
	/* Of the vCPU at hand. */
	int64_t vcpu, inner; /* the nested machine that ran last; -1 none */
	ns_t since;	     /* when it exited last */
	uint64_t exits;	     /* of its hypervisor since then */
	ns_t exits_ns;
};

static bool add_nested(const struct exit_interval *e, void *data)
{
	struct nesting *n = data;
	unsigned vm = machine_of_cpu(n->run, e->vcpu);
	unsigned from = machine_of_cpu(n->run, e->from);
	struct nest *nest;

	if (n->vcpu != e->vcpu) {
		n->vcpu = e->vcpu;
		n->inner = -1;
	}
	if (from != vm) {
		n->list[from].nested++;
		n->list[from].nested_ns += e->end - e->begin;
		n->inner = from;
		n->since = e->begin;
		n->exits = 0;
		n->exits_ns = 0;
		return true;
	}
	if (n->inner < 0)
		return true;
	n->exits++;
	n->exits_ns += e->end - e->begin;
	if (!exit_starts_guest(e->reason, e->isa))
		return true;
	nest = &n->list[n->inner];
	nest->handed++;
	nest->follow += n->exits;
	nest->follow_ns += n->exits_ns;
	nest->handling_ns += e->end - n->since;
	n->inner = -1;
	return true;
}

static int find_nesting(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
			struct error *err)
{
	struct nesting n = {.run = run, .vcpu = -1};
	int ret;

	n.list = calloc((size_t)sonde_nr_machines(run) + 1, sizeof(*n.list));
	if (!n.list)
		return fail(err, -ENOMEM, "out of memory");
	ret = scan_vcpus(run, begin, end, add_nested, &n, &n.stop, err);
	for (int64_t inner = 0; inner < sonde_nr_machines(run) && !ret; inner++) {
		const struct nest *nest = &n.list[inner];
		int64_t host = parent_of(run, inner);

		if (!nest->nested)
			continue;
		facts_add(out,
			  (union sonde_cell[]){
				  cell_int(inner),
				  cell_int(host),
				  cell_int(parent_of(run, host)),
				  cell_int((int64_t)nest->nested),
				  cell_int((int64_t)nest->handed),
				  cell_int((int64_t)nest->follow),
				  cell_int(nest->handed ? (int64_t)((nest->nested + nest->follow) *
								    1000 / nest->handed)
							: -1),
				  cell_int(nest->handed ? nest->handling_ns / (ns_t)nest->handed
							: -1),
				  cell_int(nest->nested_ns + nest->follow_ns),
			  });
	}
	free(n.list);
	facts_sort(out, "total");
	return ret;
}

static const struct sonde_column nesting_columns[] = {
	{"vm", "NESTED VM", SONDE_COL_MACHINE, "machine inside a VM"},
	{"host", "IN", SONDE_COL_MACHINE, "the VM it runs in, whose hypervisor it sees"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine that the hardware exits to"},
	{"exits", "ITS EXITS", SONDE_COL_INT, "exits of the nested VM's code"},
	{"handed", "HANDED ON", SONDE_COL_INT,
	 "of them, those that its own host had to handle before it entered it again"},
	{"follow", "FOLLOW-UPS", SONDE_COL_INT, "exits of its host meanwhile"},
	{"per_thousand", "PER 1000 HANDED ON", SONDE_COL_INT,
	 "exits of all kinds to the hardware's hypervisor, per 1000 that its own host handled: "
	 "1000 "
	 "would be the price without nesting"},
	{"mean", "MEAN UNTIL BACK", SONDE_COL_NS,
	 "from an exit that is handed on until the nested VM's entry, its host's sleep included"},
	{"total", "TIME", SONDE_COL_NS, "of all these exits, from exit to entry"},
};

const struct analysis nesting_analysis = {
	{"nesting", "What nesting multiplies",
	 "each exit of a nested VM that its own host must handle costs exits of that host",
	 nesting_columns, ARRAY_SIZE(nesting_columns)},
	find_nesting,
};
