/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each vCPU's time went into: every moment of the window is in one column of its row.
 */
#include "analysis/sched/vcpu_states.h"
#include "query/counts.h"
#include "analysis/host_notes.h"
#include "analysis/sched/cpu_users.h"
#include "query/exits.h"
#include "analysis/sched/preemption.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define SHARES(X)                                                                                  \
	X(USER, "user", "USER", "its user space ran")                                              \
	X(KERNEL, "kernel", "KERNEL", "its kernel ran")                                            \
	X(GUEST, "guest", "GUEST", "its code ran, user or kernel not known")                       \
	X(NESTED, "nested", "NESTED", "code of VMs in it ran, or their hypervisor in it")          \
	X(KVM, "kvm", "KVM", "its hypervisor worked for it")                                       \
	X(VMM, "vmm", "VMM", "its VMM's user space handled an exit")                               \
	X(HALTING, "halting", "HALTING", "KVM polled after a halt, put it to sleep or woke it up")   \
	X(NESTING, "nesting", "NESTING", "hypervisors worked for the vCPU it was on, or for one in it") \
	X(OUTER_IRQ, "host_irq", "HOST IRQ", "hardirqs and softirqs of its hosts") \
	X(INHERITED, "inherited_steal", "INHERITED", "the vCPU that it was on did not run itself")        \
	X(READY, "queued", "QUEUED", "steal: it had been woken, and waited for a CPU")                      \
	X(PREEMPTED, "preempted", "PREEMPTED", "steal: something else took its CPU") \
	X(THROTTLED, "throttled", "THROTTLED", "steal: its cgroup was throttled (cpu.max)")                \
	X(OFF, "steal_unknown", "STEAL UNKNOWN", "steal: queued or preempted, which is not known")  \
	X(TIMER, "wait_timer", "TIMER", "it waited for a timer")                                   \
	X(DISK, "wait_disk", "DISK", "it waited for a disk")                                       \
	X(NETWORK, "wait_network", "NETWORK", "it waited for the network")                         \
	X(IPI, "wait_ipi", "IPI", "it waited for another vCPU of its VM")                          \
	X(DEVICE, "wait_device", "DEVICE", "it waited for another device")                         \
	X(WOKEN, "wait_vmm", "FOR VMM", "it slept until its VMM woke it")                          \
	X(HOST, "wait_host", "IN HOST", "its thread slept inside the host")                        \
	X(WAIT, "wait_unknown", "WAIT", "it waited; for what is not known")                        \
	X(GONE, "gone", "GONE", "after its end")                                                   \
	X(UNKNOWN, "unknown", "UNKNOWN", "not known")
/* clang-format on */

enum share {
#define X(name, column, title, help) SHARE_##name,
	SHARES(X)
#undef X
		NR_SHARES
};

#define NR_OFF (SHARE_OFF - SHARE_READY + 1)

/* What of a context is not the time's share alone: from KIND_ASK on. */
enum { KIND_ASK = NR_SHARES, KIND_KVM }; /* it was not looked at yet; is it KVM or HALTING? */

struct scan {
	struct sonde_history *history;
	struct cpu_users *users;
	struct host_notes notes;
	ns_t begin, end;
	const struct sonde_context *contexts;
	uint32_t nr_contexts;
	struct off {
		ns_t shares[NR_OFF]; /* from SHARE_READY on */
	} * off; /* owned, per CPU row: how long it was ready but not running; NULL: each is asked
		    for */
	uint8_t *kinds;	 /* owned: per context + 1, enum share for this vCPU, or KIND_* */
	uint32_t *known; /* owned: of which contexts that is known */
	uint32_t nr_known;
	int64_t *parents; /* owned, per machine */
	int64_t vcpu;
	struct sonde_cpu cpu;
	struct sonde_interval rest; /* of the vCPU's `woken`, asked for last */
	enum share kvm;		    /* what KVM's work is then */
	ns_t shares[NR_SHARES];
	int ret;
};

/* Whether @machine is @outer or inside it. */
static bool is_inside(const struct scan *s, int64_t machine, int64_t outer)
{
	while (machine >= 0 && machine != outer)
		machine = s->parents[machine];
	return machine == outer;
}

/* The vCPU's own line: itself, those that it is on, those inside it. */
static bool is_related(const struct scan *s, int64_t cpu)
{
	struct sonde_cpu c;

	if (cpu < 0 || sonde_cpu_get(s->history, cpu, &c) ||
	    c.machine >= sonde_nr_machines(s->history))
		return false;
	if (c.machine == s->cpu.machine)
		return cpu == s->vcpu;
	return is_inside(s, c.machine, s->cpu.machine) || is_inside(s, s->cpu.machine, c.machine);
}

static enum share own_code(const struct sonde_context *c)
{
	switch (c->mode) {
	case SONDE_MODE_USER:
		return SHARE_USER;
	case SONDE_MODE_HYPERVISOR:
		return SHARE_NESTED;
	case SONDE_MODE_GUEST:
	case SONDE_MODE_TASK:
	case SONDE_MODE_UNKNOWN:
		return SHARE_GUEST;
	default:
		return SHARE_KERNEL;
	}
}

/* A machine around it runs: for it, or for something else. */
static enum share outer_code(const struct scan *s, const struct sonde_context *c)
{
	struct sonde_thread th;
	bool for_it = !sonde_thread_get(s->history, c->thread, &th) && is_related(s, th.vcpu);

	switch (c->mode) {
	case SONDE_MODE_HYPERVISOR:
		if (c->serves < 0 && for_it && th.vcpu != s->vcpu)
			return SHARE_UNKNOWN;
		if (c->serves < 0)
			return for_it ? SHARE_NESTING : SHARE_INHERITED;
		if (c->serves != s->vcpu)
			return is_related(s, c->serves) ? SHARE_NESTING : SHARE_INHERITED;
		if (c->vmm >= 0)
			return SHARE_VMM;
		return exit_is_halt(s->history, 0, c->detail) ? SHARE_HALTING : SHARE_KVM;
	case SONDE_MODE_IRQ:
	case SONDE_MODE_SOFTIRQ:
		return for_it ? SHARE_OUTER_IRQ : SHARE_INHERITED;
	case SONDE_MODE_UNKNOWN:
	case SONDE_MODE_GUEST:
		return SHARE_UNKNOWN;
	default:
		/* Its thread, but nothing tells since events were lost what its hypervisor is
		 * at. */
		return !for_it		    ? SHARE_INHERITED
		       : th.vcpu == s->vcpu ? SHARE_UNKNOWN
					    : SHARE_NESTING;
	}
}

static enum share share_of(const struct scan *s, const struct sonde_context *c)
{
	if (c->machine >= sonde_nr_machines(s->history))
		return SHARE_UNKNOWN;
	if (c->machine == s->cpu.machine)
		return c->cpu == s->cpu.number ? own_code(c) : SHARE_INHERITED;
	if (is_inside(s, c->machine, s->cpu.machine))
		return SHARE_NESTED;
	if (is_inside(s, s->cpu.machine, c->machine))
		return outer_code(s, c);
	return SHARE_INHERITED;
}

/* From the exit by which it halts to the next entry, the hypervisor's work is for the halt, also
 * where the exit is not named. */
static enum share share_of_kvm(struct scan *s, ns_t t)
{
	attr_t woken = s->history->cpu_attrs[s->vcpu][CPU_WOKEN];
	bool rests;

	if (t >= s->rest.begin && t < s->rest.end)
		return s->kvm;
	rests = !interval_cache_at(&s->users->cache, woken, t, &s->rest) && !s->rest.value &&
		s->rest.begin > sonde_history_begin(s->history);
	s->kvm = rests ? SHARE_HALTING : SHARE_KVM;
	return s->kvm;
}

static enum share share_of_context(struct scan *s, uint32_t value)
{
	enum share share = value && value <= s->nr_contexts ? share_of(s, &s->contexts[value - 1])
							    : SHARE_UNKNOWN;

	if (value <= s->nr_contexts) {
		s->kinds[value] = (uint8_t)(share == SHARE_KVM ? KIND_KVM : share);
		s->known[s->nr_known++] = value;
	}
	return share;
}

/* What is not found by the context alone: KVM works on from what it was called for to the halt,
 * too. */
static __attribute__((noinline)) void add_time(struct scan *s, uint32_t value, unsigned kind,
					       ns_t from, ns_t to)
{
	enum share share = kind == KIND_ASK ? share_of_context(s, value) : SHARE_KVM;

	while (share == SHARE_KVM && from < to) {
		enum share of_halt = share_of_kvm(s, from);
		ns_t end = s->rest.end > from && s->rest.end < to ? s->rest.end : to;

		s->shares[of_halt] += end - from;
		from = end;
	}
	s->shares[share] += to - from;
}

static bool each_run(const struct cpu_run *r, void *data)
{
	struct scan *s = data;
	const uint32_t *const values = r->list.values;
	const ns_t *const ends = r->list.begins + 1;
	const uint8_t *const kinds = s->kinds;
	const uint32_t nr_contexts = s->nr_contexts;
	const unsigned nr = r->list.nr;
	ns_t from = r->from;

	for (unsigned i = 0; i < nr; i++) {
		const uint32_t value = values[i];
		const ns_t to = ends[i] < r->to ? ends[i] : r->to; /* the last may stick out */
		const unsigned kind = likely(value <= nr_contexts) ? kinds[value] : KIND_ASK;

		if (unlikely(kind >= KIND_ASK))
			add_time(s, value, kind, from, to);
		else
			s->shares[kind] += to - from;
		from = to;
	}
	return true;
}

static enum share share_of_wait(struct scan *s, ns_t t)
{
	static const enum share shares[QUERY_NR_CAUSES] = {
		[SONDE_CAUSE_UNKNOWN] = SHARE_WAIT, [SONDE_CAUSE_TIMER] = SHARE_TIMER,
		[SONDE_CAUSE_DISK] = SHARE_DISK,    [SONDE_CAUSE_NETWORK] = SHARE_NETWORK,
		[SONDE_CAUSE_IPI] = SHARE_IPI,	    [SONDE_CAUSE_DEVICE] = SHARE_DEVICE,
		[SONDE_CAUSE_VMM] = SHARE_WOKEN,    [SONDE_CAUSE_HOST] = SHARE_HOST,
		[SONDE_CAUSE_NONE] = SHARE_WAIT,
	};
	attr_t woken = s->history->cpu_attrs[s->vcpu][CPU_WOKEN];
	struct sonde_interval i;
	struct sonde_wake wake;

	if (interval_cache_at(&s->users->cache, woken, t, &i) || i.value ||
	    interval_cache_at(&s->users->cache, woken, i.end, &i) ||
	    sonde_wake_get(s->history, (int64_t)i.value - 1, &wake))
		return SHARE_WAIT;
	return shares[wake.cause];
}

static enum share share_of_off(const struct preemption *p)
{
	if (p->unseen)
		return SHARE_OFF;
	switch (p->why) {
	case SONDE_OFF_READY:
		return SHARE_READY;
	case SONDE_OFF_QUOTA:
		return SHARE_THROTTLED;
	default:
		return SHARE_PREEMPTED;
	}
}

static bool note_preemption(const struct preemption *p, void *data)
{
	struct scan *s = data;

	s->off[p->vcpu].shares[share_of_off(p) - SHARE_READY] += p->to - p->from;
	return true;
}

/* Of all vCPUs at once. */
static int read_preemptions(struct scan *s, struct error *err)
{
	s->off = calloc((size_t)sonde_nr_cpus(s->history) + 1, sizeof(*s->off));
	return s->off ? preemption_parts(s->history, s->begin, s->end, note_preemption, s, err)
		      : -ENOMEM;
}

static bool add_preemption(const struct preemption *p, void *data)
{
	struct scan *s = data;

	s->shares[share_of_off(p)] += p->to - p->from;
	return true;
}

static int add_preemptions(struct scan *s)
{
	if (!s->off)
		return preemption_parts_of(s->history, s->vcpu, s->begin, s->end, add_preemption,
					   s);
	for (unsigned i = 0; i < NR_OFF; i++)
		s->shares[SHARE_READY + i] += s->off[s->vcpu].shares[i];
	return 0;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	ns_t from = i->begin > s->begin ? i->begin : s->begin;
	ns_t to = i->end < s->end ? i->end : s->end;

	switch (i->value) {
	case VCPU_ON_CPU:
		s->ret = cpu_users_runs(s->users, s->cpu.machine, s->cpu.number, from, to, each_run,
					s);
		break;
	case VCPU_WAITING:
		s->shares[share_of_wait(s, from)] += to - from;
		break;
	case VCPU_PREEMPTED: /* why it did not run is known from all preemptions together */
		break;
	case VCPU_GONE:
		s->shares[SHARE_GONE] += to - from;
		break;
	default:
		s->shares[SHARE_UNKNOWN] += to - from;
		break;
	}
	return !s->ret;
}

/* For the next vCPU.  It met few of all contexts, when there are very many vCPUs. */
static void forget_kinds(struct scan *s)
{
	while (s->nr_known)
		s->kinds[s->known[--s->nr_known]] = KIND_ASK;
}

static int add_vcpu(struct sonde_rows *out, struct scan *s, int64_t vcpu)
{
	union sonde_cell row[NR_SHARES + 3] = {cell_int(vcpu), cell_int(s->end - s->begin)};
	attr_t state = s->history->cpu_attrs[vcpu][CPU_STATE];
	int ret;

	if (state == ATTR_NONE || sonde_cpu_get(s->history, vcpu, &s->cpu) ||
	    s->cpu.machine >= sonde_nr_machines(s->history))
		return 0;
	s->vcpu = vcpu;
	s->rest = (struct sonde_interval){0};
	memset(s->shares, 0, sizeof(s->shares));
	forget_kinds(s);
	ret = add_preemptions(s);
	if (!ret)
		ret = interval_cache_scan(&s->users->cache, state, s->begin, s->end, each_state, s);
	for (unsigned i = 0; i < NR_SHARES; i++)
		row[i + 2] = cell_int(s->shares[i]);
	row[NR_SHARES + 2] =
		cell_str(host_notes_of_steal(&s->notes, s->cpu.machine, s->shares[SHARE_UNKNOWN]));
	rows_add(out, row);
	return ret ? ret : s->ret;
}

static bool read_tables(struct scan *s)
{
	size_t nr_contexts = (size_t)sonde_nr_contexts(s->history);
	size_t nr_machines = (size_t)sonde_nr_machines(s->history);

	s->nr_contexts = (uint32_t)nr_contexts;
	s->contexts = query_contexts(s->history);
	s->kinds = malloc(nr_contexts + 1);
	s->known = malloc((nr_contexts + 1) * sizeof(*s->known));
	s->parents = calloc(nr_machines + 1, sizeof(*s->parents));
	if (!s->contexts || !s->kinds || !s->known || !s->parents)
		return false;
	memset(s->kinds, KIND_ASK, nr_contexts + 1);
	for (size_t i = 0; i < nr_machines; i++) {
		struct sonde_machine m;

		sonde_machine_get(s->history, (int64_t)i, &m);
		s->parents[i] = m.parent;
	}
	return true;
}

/* @vcpus: NULL all of them. */
static int find_some(struct sonde_rows *out, struct sonde_history *history, const uint32_t *vcpus,
		     int64_t nr, ns_t begin, ns_t end, struct error *err)
{
	struct scan s = {.history = history, .begin = begin, .end = end};
	int ret = host_notes_make(&s.notes, history, out, begin, end);

	if (!ret)
		ret = cpu_users_get(&s.users, history);
	if (!ret && !read_tables(&s))
		ret = -ENOMEM;
	if (!ret && !vcpus)
		ret = read_preemptions(&s, err);
	for (int64_t i = 0; i < nr && !ret; i++)
		ret = add_vcpu(out, &s, vcpus ? vcpus[i] : i);
	host_notes_release(&s.notes);
	free(s.kinds);
	free(s.known);
	free(s.parents);
	free(s.off);
	return ret ? fail(err, ret, "cannot follow a vCPU's states: %s", error_reason(ret)) : 0;
}

static int find_vcpu_states(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			    ns_t end, struct error *err)
{
	return find_some(out, history, NULL, sonde_nr_cpus(history), begin, end, err);
}

int vcpu_states_of(struct sonde_rows **out, struct sonde_history *history, const uint32_t *vcpus,
		   uint32_t nr, ns_t begin, ns_t end, struct error *err)
{
	struct sonde_rows *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->table = &vcpu_state_table.public;
	ret = find_some(f, history, vcpus, nr, begin, end, err);
	if (!ret && f->no_memory)
		ret = fail(err, -ENOMEM, "out of memory");
	if (ret)
		sonde_rows_free(f);
	else
		*out = f;
	return ret;
}

static const struct sonde_column vcpu_columns[] = {
	{"vcpu", "VCPU", SONDE_COL_CPU, "vCPU"},
	{"total", "TIME", SONDE_COL_NS, "the window's length: all that follows adds up to it"},
#define X(name, column, title, help) {column, title, SONDE_COL_NS, help},
	SHARES(X)
#undef X
		{"note", "NOTE", SONDE_COL_STRING,
		 "\"at least\": a part of its time, or of what a host around it ran, is not known, as in "
		 "table vcpu_time"},
};

const struct table_def vcpu_state_table = {
	.public =
		{"vcpu_state", "Time of vCPUs, by what they did",
		 "own code; hypervisor overhead (KVM, VMM, halting) and what nesting adds; steal time "
		 "(queued, preempted, throttled, unknown) and inherited steal; what it was blocked on. "
		 "Adds up to the window's length",
		 vcpu_columns, ARRAY_SIZE(vcpu_columns)},
	.find = find_vcpu_states,
};
