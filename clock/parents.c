/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/parents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock/exact.h"
#include "clock/names.h"
#include "clock/bounds/rates.h"
#include "clock/readings.h"
#include "clock/bounds/tsc.h"

/* Fewer shared calls than this may be chance: payloads can be small numbers. */
#define PAIRS_MIN 3

/* How many of @i's calls @k recorded.  The recorder, or a UUID, may say which VM of @k it is. */
static uint64_t pairs_of(const struct candidate *list, unsigned i, unsigned k)
{
	const struct candidate *c = &list[i], *parent = &list[k];
	struct pair_guest guest = {c->sample, parent->declared, NULL};

	if (c->vm && c->parent == (int)k)
		guest.vm = c->vm;
	else if (c->in->vm_pid > 0)
		guest.vm = declared_vm_of_process(parent->declared, c->in->vm_pid);
	return pairs_count(parent->calls, &guest);
}

static int no_parent(const struct candidate *list, unsigned nr, unsigned child, struct error *err)
{
	char names[300] = "";
	size_t used = 0;

	for (unsigned k = 0; k < nr && used < sizeof(names); k++) {
		if (k != child)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", list[k].name);
	}
	return fail(
		err, -EINVAL,
		"no trace is named \"%.60s\", which --parent says %s runs in: its machine needs a "
		"trace of its own; there are %s",
		list[child].in->parent, list[child].name, *names ? names : "no others");
}

/* Whose word it is that it runs there. */
static void say_told(struct candidate *c)
{
	snprintf(c->evidence, sizeof(c->evidence), "%s",
		 c->in->because	   ? c->in->because
		 : c->in->recorded ? "recorded through that machine"
				   : "given by the user");
}

static bool is_told_parent(const struct topology_input *child, const struct candidate *parent)
{
	return child->host ? parent->in->trace == child->host
			   : !strcmp(parent->name, child->parent);
}

static int told_parent(struct candidate *list, unsigned nr, unsigned i, struct error *err)
{
	const char *wanted = list[i].in->parent;

	if (!wanted)
		return 0;
	list[i].told = true;
	say_told(&list[i]);
	if (!strcmp(wanted, "-")) {
		list[i].parent = PARENT_NONE;
		return 0;
	}
	for (unsigned k = 0; k < nr; k++) {
		if (k != i && is_told_parent(list[i].in, &list[k])) {
			list[i].parent = (int)k;
			return 0;
		}
	}
	if (!list[i].in->recorded && !strcmp(list[i].name, wanted))
		return fail(err, -EINVAL, "--parent says that %s runs in itself", list[i].name);
	if (!list[i].in->recorded)
		return no_parent(list, nr, i, err);
	list[i].missing = true;
	list[i].told = false;
	list[i].evidence[0] = '\0';
	return 0;
}

/* Its calls are in the trace of another machine than the one that it is said to run in: the user is
 * asked again, a manifest is not believed. */
static int doubt_told(struct candidate *list, unsigned nr, unsigned i, struct problems *problems,
		      struct error *err)
{
	struct candidate *c = &list[i];
	const char *said = c->parent >= 0 ? list[c->parent].name : "no other";

	if (!c->told || c->in->because ||
	    (c->parent >= 0 && pairs_of(list, i, (unsigned)c->parent)))
		return 0;
	for (unsigned k = 0; k < nr; k++) {
		uint64_t pairs = k == i ? 0 : pairs_of(list, i, k);

		if (pairs < PAIRS_MIN)
			continue;
		if (!c->in->recorded)
			return fail(err, -EINVAL,
				    "--parent says that %s runs in %s, but at least %" PRIu64
				    " of its hypercalls are in the trace of %s, and none elsewhere",
				    c->name, said, pairs, list[k].name);
		problems_add(
			problems,
			"%.60s: the manifest of the recording says that it runs in %.60s, but its hypercalls "
			"are in the trace of %.60s; they count",
			c->name, said, list[k].name);
		c->told = false;
		c->parent = PARENT_UNKNOWN;
		c->evidence[0] = '\0';
		return 0;
	}
	return 0;
}

/* What it lists of a VM with that UUID, and how many machines do. */
static unsigned who_lists(const struct candidate *list, unsigned nr, unsigned i, int *parent,
			  const struct declared_vm **vm)
{
	unsigned found = 0;

	for (unsigned k = 0; k < nr && list[i].declared->has_uuid; k++) {
		const struct declared_vm *one =
			k == i ? NULL
			       : declared_vm_with_uuid(list[k].declared, list[i].declared->uuid);

		if (!one)
			continue;
		found++;
		*parent = (int)k;
		*vm = one;
	}
	return found;
}

static bool uuid_is_of_one(const struct candidate *list, unsigned nr, unsigned i)
{
	for (unsigned k = 0; k < nr; k++) {
		if (k != i && list[k].declared->has_uuid &&
		    !memcmp(list[k].declared->uuid, list[i].declared->uuid, 16))
			return false;
	}
	return true;
}

static bool must_be(const struct candidate *c, unsigned parent)
{
	return (!c->told && !c->proven) || c->parent == (int)parent;
}

/* Its recorder knows of those that it recorded that they do not run it. */
static bool may_run(const struct candidate *c, unsigned k, const struct candidate *parent)
{
	bool recorded = c->missing && c->in->recording == parent->in->recording;

	return !recorded && must_be(c, k);
}

/* Its UUID is its own word.  Where the recorder knows the process that it is, by the link that
 * leads there, another VM's UUID is a mistake, or a lie. */
static bool is_recorded_as_other(const struct candidate *list, unsigned i, int parent,
				 const struct declared_vm *vm, struct problems *problems)
{
	const struct candidate *c = &list[i];
	const struct declared_vm *known =
		c->in->vm_pid > 0 && c->parent == parent
			? declared_vm_of_process(list[parent].declared, c->in->vm_pid)
			: NULL;

	if (!known || declared_same_vm(known, vm))
		return false;
	problems_add(problems,
		     "%s: its UUID is that of a VM of %s, process %d, but it was recorded as "
		     "process %d; that counts",
		     c->name, list[parent].name, vm->pid, known->pid);
	return true;
}

/* Who made its calls is the host's word.  pairs_thread() asks no list. */
static bool are_calls_of_other(const struct candidate *list, unsigned i, int parent,
			       const struct declared_vm *vm, struct problems *problems)
{
	const struct candidate *c = &list[i], *host = &list[parent];
	const struct pair_guest any = {.sample = c->sample}, as = {c->sample, host->declared, vm};
	int32_t tid = pairs_thread(host->calls, &any);
	const struct declared_vm *made =
		tid >= 0 ? declared_vm_of_thread(host->declared, tid) : NULL;

	if (!made || declared_same_vm(made, vm) || pairs_count(host->calls, &as) ||
	    pairs_count(host->calls, &any) < PAIRS_MIN)
		return false;
	problems_add(problems,
		     "%s: its UUID is that of a VM of %s, process %d, but process %d made its "
		     "hypercalls; they count",
		     c->name, host->name, vm->pid, made->pid);
	return true;
}

/* The machine's own system UUID is that of a VM which another one lists. */
static void parent_by_uuid(struct candidate *list, unsigned nr, unsigned i,
			   struct problems *problems)
{
	const struct declared_vm *vm = NULL;
	int parent = PARENT_UNKNOWN;

	if (who_lists(list, nr, i, &parent, &vm) != 1 || !uuid_is_of_one(list, nr, i) ||
	    list[i].declared->of_another_time)
		return;
	if (is_recorded_as_other(list, i, parent, vm, problems) ||
	    are_calls_of_other(list, i, parent, vm, problems))
		return;
	for (unsigned k = 0; k < nr; k++) {
		if (k == i || k == (unsigned)parent || pairs_of(list, i, k) < PAIRS_MIN ||
		    pairs_of(list, i, (unsigned)parent))
			continue;
		problems_add(problems,
			     "%s: its UUID is that of a VM of %s, but its hypercalls are in the "
			     "trace of %s; they count",
			     list[i].name, list[parent].name, list[k].name);
		return;
	}
	if (list[i].told && list[i].parent != parent) {
		problems_add(problems,
			     "%s: its UUID is that of a VM of %s, but %s that it runs in %s; that "
			     "counts",
			     list[i].name, list[parent].name,
			     list[i].in->recorded ? "the manifest of the recording says"
						  : "the user says",
			     list[i].parent < 0 ? "no other" : list[list[i].parent].name);
		return;
	}
	list[i].parent = parent;
	list[i].proven = true;
	list[i].vm = vm;
	snprintf(list[i].evidence, sizeof(list[i].evidence),
		 "its system UUID is that of %.40s's VM %.40s, process %d", list[parent].name,
		 *vm->name ? vm->name : "(no name)", vm->pid);
}

/* trace-cmd recorded both, and noted it on either side. */
static void parent_by_recorder(struct candidate *list, unsigned nr, unsigned i)
{
	for (unsigned k = 0; k < nr; k++) {
		const struct trace *t = list[i].sample->trace;
		const struct declared_vm *vm =
			k == i ? NULL : declared_vm_of_trace(list[k].declared, t->trace_id);

		if (!vm || !must_be(&list[i], k))
			continue;
		list[i].parent = (int)k;
		list[i].proven = true;
		list[i].vm = vm;
		if (!list[i].told)
			snprintf(list[i].evidence, sizeof(list[i].evidence),
				 "trace-cmd recorded it as guest %.40s of %.40s", vm->name,
				 list[k].name);
		return;
	}
}

static void parent_by_pairs(struct candidate *list, unsigned nr, unsigned i)
{
	for (unsigned k = 0; k < nr; k++) {
		uint64_t pairs = k == i ? 0 : pairs_of(list, i, k);

		if (pairs < PAIRS_MIN || pairs <= list[i].nr_pairs)
			continue;
		if (!may_run(&list[i], k, &list[k]))
			continue;
		list[i].nr_pairs = pairs;
		list[i].parent = (int)k;
		if (!list[i].told && !list[i].proven)
			snprintf(list[i].evidence, sizeof(list[i].evidence),
				 "at least %" PRIu64 " of its hypercalls are in the trace of %s",
				 pairs, list[k].name);
	}
}

static bool is_below(const struct candidate *list, unsigned nr, unsigned i, unsigned top)
{
	int at = (int)i;

	for (unsigned steps = 0; at >= 0 && steps <= nr; steps++, at = list[at].parent) {
		if (at == (int)top)
			return true;
	}
	return false;
}

/* A machine that is known as a VM of @k is not that one's kernel, whatever its trace says. */
static bool is_same_kernel(const struct candidate *list, unsigned i, unsigned k)
{
	const struct candidate *c = &list[i];
	bool is_its_vm = c->parent == (int)k && (c->vm || c->nr_pairs || c->in->vm_pid > 0);

	return !is_its_vm && kin_share_clock(c->kin, i, k);
}

/* What nothing bears out waits until it is known that no host ran the trace's machine. */
static bool may_wait(const struct candidate *list, unsigned nr, unsigned i, unsigned k)
{
	for (unsigned h = 0; h < nr && !kin_borne_out(list[i].kin, i, k); h++) {
		const struct trace *t = list[h].sample->trace;

		for (unsigned n = 0; h != i && n < t->nr_types; n++) {
			if (t->types[n].kind == EV_KVM_ENTRY)
				return true;
		}
	}
	return false;
}

/* They have one clock UUID or boot ID, and do different things. */
static void tell_refuted(const struct candidate *list, unsigned i, struct problems *problems)
{
	const struct kinship *k = &list[i].kin->list[i];

	if (k->refuted)
		problems_add(
			problems,
			"%.60s and %.60s claim to be one kernel (clock UUID, boot ID), but %" PRIu64
			" of %" PRIu64 " thread switches contradict that: the claim does not count",
			list[k->not_of].name, list[i].name, k->against, k->tested);
}

/* Two traces of one kernel have one clock; the later one given hangs on the first. */
static void parent_by_clock(struct candidate *list, unsigned nr, unsigned i, bool wait)
{
	const struct trace_clock *c = &list[i].sample->trace->clock;

	for (unsigned k = 0; k < i; k++) {
		if (!kin_one_clock(c, &list[k].sample->trace->clock) || !is_same_kernel(list, i, k))
			continue;
		if (!must_be(&list[i], k) || is_below(list, nr, k, i) ||
		    (wait && may_wait(list, nr, i, k)))
			continue;
		list[i].parent = (int)k;
		list[i].same_clock = true;
		if (!list[i].told)
			snprintf(list[i].evidence, sizeof(list[i].evidence),
				 "it has the same clock as %s (clock uuid)", list[k].name);
		return;
	}
}

static unsigned depth_of(const struct candidate *list, unsigned nr, unsigned i)
{
	unsigned depth = 0;

	for (int p = list[i].parent; p >= 0 && depth < nr; p = list[p].parent)
		depth++;
	return depth;
}

/* What led to its VM, where no thread did. */
static const char *how_known(const struct candidate *c)
{
	if (c->vm->trace_id)
		return "trace-cmd recorded it as";
	if (c->proven)
		return "its UUID is that of";
	return c->in->vm_pid > 0 ? "it was recorded as" : "its name is that of";
}

/* What its UUID, or its name, said does not count against the thread that it was found in. */
static void doubt_vm(struct candidate *c, const struct candidate *parent, struct problems *problems)
{
	const struct declared_vm *vm = declared_vm_of_thread(parent->declared, c->fit.tid);

	if (!c->vm || !vm || declared_same_vm(c->vm, vm))
		return;
	problems_add(problems,
		     "%s: %s a VM of %s, process %d, but it is active only while process %d runs a "
		     "guest; that counts",
		     c->name, how_known(c), parent->name, c->vm->pid, vm->pid);
	c->vm = vm;
	c->proven = false;
	c->exact = false;
	if (c->told)
		say_told(c);
}

static bool runs_nested(const struct sample *s)
{
	return stays_show_nested(s->stays.list, s->stays.nr);
}

/* What fits the stays of a thread's guest by an offset that was searched for may fit those of a
 * guest of the guest as well, by another: then the offset by which more of the events are where
 * the host recorded anything is the right one.  1: that is the other. */
static int is_rather_nested(const struct coincidence *fit, const struct sample *guest,
			    const struct sample *host, const struct fit_options *opt)
{
	struct coincidence other;
	int ret = runs_nested(host) ? coincide_find(&other, guest, host, true, opt) : COINCIDE_NONE;

	if (ret != COINCIDE_FOUND)
		return ret < 0 ? ret : 0;
	clock_model_release(&other.model);
	return other.events > fit->events;
}

/* Where @guest's activity lies inside that of one vCPU's thread of @host.  As coincide_find(). */
static int find_inside(struct coincidence *fit, const struct sample *guest,
		       const struct sample *host, const struct fit_options *opt)
{
	int ret = tsc_find(fit, guest, host), nested;

	if (ret != COINCIDE_NONE)
		return ret;
	ret = coincide_find(fit, guest, host, false, opt);
	if (ret != COINCIDE_FOUND)
		return ret;
	nested = is_rather_nested(fit, guest, host, opt);
	if (!nested)
		return COINCIDE_FOUND;
	clock_model_release(&fit->model);
	return nested < 0 ? nested : COINCIDE_NONE;
}

/* Whose hypercalls the thread made is known: its guest is that kernel, and no other that happens to fit. */
static bool runs_another(const struct candidate *list, unsigned nr, unsigned i, unsigned k,
			 int32_t tid)
{
	for (unsigned j = 0; j < nr; j++) {
		const struct pair_guest other = {.sample = list[j].sample};

		if (j != i && list[j].parent == (int)k && list[j].nr_pairs &&
		    !kin_share_clock(list[i].kin, i, j) &&
		    pairs_thread(list[k].calls, &other) == tid)
			return true;
	}
	return false;
}

/* Tries whether @i's activity lies inside that of a vCPU of @k. */
static int try_inside(struct candidate *list, unsigned nr, unsigned i, unsigned k,
		      struct problems *problems, struct stop *stop)
{
	struct fit_options o = rates_options(list[i].sample, list[k].sample, 0, 0);
	struct coincidence fit;
	int ret, deeper = 1;

	if (k == i || is_below(list, nr, k, i) || !list[k].sample->stays.nr ||
	    !rates_known(list[i].sample, list[k].sample, 0) || !may_run(&list[i], k, &list[k]))
		return 0;
	o.stop = stop;
	ret = find_inside(&fit, list[i].sample, list[k].sample, &o);
	if (ret != COINCIDE_FOUND)
		return ret < 0 ? ret : 0;
	if (runs_another(list, nr, i, k, fit.tid)) {
		clock_model_release(&fit.model);
		return 0;
	}
	/* An L2's activity lies inside L0's stays too: the deepest host is the parent. */
	if (list[i].parent >= 0 && !list[i].told && !list[i].proven) {
		deeper = (int)depth_of(list, nr, k) -
			 (int)depth_of(list, nr, (unsigned)list[i].parent);
		if (!deeper) {
			list[i].tied = true;
			list[i].either[0] = (unsigned)list[i].parent;
			list[i].either[1] = k;
		}
	}
	if (deeper <= 0) {
		clock_model_release(&fit.model);
		return 0;
	}
	clock_model_release(&list[i].fit.model);
	list[i].fit = fit;
	list[i].parent = (int)k;
	list[i].tied = false;
	doubt_vm(&list[i], &list[k], problems);
	if (!list[i].told && !list[i].proven)
		snprintf(list[i].evidence, sizeof(list[i].evidence),
			 "its CPU %d is active only while thread %d of %s runs a guest (%" PRIu64
			 " events)",
			 fit.cpu, fit.tid, list[k].name, fit.events);
	return 0;
}

/* For those without pairs.  With a single trace there is nothing to find. */
static int parent_by_containment(struct candidate *list, unsigned nr, unsigned i,
				 struct problems *problems, struct stop *stop)
{
	int ret = 0;

	if (list[i].nr_pairs || list[i].same_clock || list[i].parent == PARENT_NONE)
		return 0;
	for (unsigned k = 0; k < nr && ret == 0; k++)
		ret = try_inside(list, nr, i, k, problems, stop);
	return ret;
}

/* Now it is known how deep all hosts are: of two of one depth nothing says whose guest it is. */
static int settle_tie(struct candidate *list, unsigned nr, unsigned i, struct problems *problems,
		      struct stop *stop)
{
	struct candidate *c = &list[i];

	clock_model_release(&c->fit.model);
	c->fit = (struct coincidence){0};
	c->parent = PARENT_UNKNOWN;
	c->evidence[0] = '\0';
	if (depth_of(list, nr, c->either[0]) == depth_of(list, nr, c->either[1]))
		return 0;
	c->tied = false;
	return parent_by_containment(list, nr, i, problems, stop);
}

/* Nobody's guest, as it seems: maybe one of a VM that has no trace, in a host that saw it run. */
static int find_between(struct candidate *list, unsigned nr, unsigned i, struct stop *stop)
{
	int ret = COINCIDE_NONE;

	for (unsigned k = 0; k < nr && ret >= 0; k++) {
		struct fit_options o = rates_options(list[i].sample, list[k].sample, 0, 0);
		struct coincidence fit;

		if (k == i || list[i].parent != PARENT_UNKNOWN || list[i].told ||
		    is_below(list, nr, k, i) || !runs_nested(list[k].sample) ||
		    !rates_known(list[i].sample, list[k].sample, 0))
			continue;
		o.stop = stop;
		ret = coincide_find(&fit, list[i].sample, list[k].sample, true, &o);
		if (ret != COINCIDE_FOUND)
			continue;
		clock_model_release(&list[i].fit.model);
		list[i].fit = fit;
		if (list[i].around >= 0) { /* of two hosts nothing says which */
			clock_model_release(&list[i].fit.model);
			list[i].fit = (struct coincidence){0};
			list[i].around = PARENT_UNKNOWN;
			return 0;
		}
		list[i].around = (int)k;
	}
	return ret < 0 ? ret : 0;
}

/* The VM that the parent's list means by this machine, where no UUID told: by the threads that
 * made its calls, else by name. */
static const struct declared_vm *vm_listed(const struct candidate *c,
					   const struct candidate *parent)
{
	const char *name = c->in->name && *c->in->name ? c->in->name : c->name;
	const char *last = strrchr(name, '.');
	const struct declared_vm *vm;
	const struct pair_guest guest = {.sample = c->sample};
	int32_t tid = pairs_thread(parent->calls, &guest);

	vm = tid >= 0 ? declared_vm_of_thread(parent->declared, tid) : NULL;
	if (!vm && c->in->vm_pid > 0)
		vm = declared_vm_of_process(parent->declared, c->in->vm_pid);
	if (!vm)
		vm = declared_vm_named(parent->declared, name);
	if (!vm && last)
		vm = declared_vm_named(parent->declared, last + 1);
	return vm ? vm : declared_vm_named(parent->declared, c->declared->hostname);
}

/* Whether the parent's list and readings of clocks relate this machine's clock to the parent's. */
static bool clocks_are_related(const struct candidate *c, const struct candidate *parent)
{
	struct tsc_relation r;
	struct constraints readings = {0};
	bool related;

	if (!c->vm)
		return false;
	if (exact_listed(c, parent, &r))
		return true;
	if (!declared_relation(parent->declared, c->vm, &r))
		return false;
	related = !readings_constraints(&readings, c->declared, parent->declared, &r) &&
		  readings.nr > 0;
	constraints_release(&readings);
	return related;
}

/* Recorded through that machine, but not in a VM: in a container, say. */
static void kernel_by_boot_id(struct candidate *list, unsigned nr, unsigned i, bool wait)
{
	unsigned k = (unsigned)list[i].parent;

	if (!*list[i].declared->boot_id ||
	    strcmp(list[i].declared->boot_id, list[k].declared->boot_id) ||
	    !is_same_kernel(list, i, k) || (wait && may_wait(list, nr, i, k)))
		return;
	list[i].same_clock = true;
	snprintf(list[i].evidence, sizeof(list[i].evidence),
		 "recorded through %.40s, and the same kernel (boot_id)", list[k].name);
}

static void find_vm(struct candidate *list, unsigned nr, unsigned i)
{
	const struct candidate *parent;

	if (list[i].parent < 0 || list[i].same_clock)
		return;
	kernel_by_boot_id(list, nr, i, true);
	if (list[i].same_clock)
		return;
	parent = &list[list[i].parent];
	if (!list[i].vm)
		list[i].vm = vm_listed(&list[i], parent);
	list[i].exact = !list[i].declared->misled && clocks_are_related(&list[i], parent);
}

int parents_find(struct candidate *list, const struct topology_input *in, struct sample *samples,
		 const struct declared *declared, const struct kin *kin, unsigned nr,
		 struct problems *problems, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < nr; i++) {
		list[i].in = &in[i];
		list[i].sample = &samples[i];
		list[i].declared = &declared[i];
		list[i].kin = kin;
		list[i].index = i;
		list[i].parent = list[i].around = PARENT_UNKNOWN;
		if (call_index_make(&list[i].calls, &samples[i]))
			return fail(err, -ENOMEM, "out of memory");
	}
	if (names_choose(list, nr))
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = told_parent(list, nr, i, err);
	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = doubt_told(list, nr, i, problems, err);
	for (unsigned i = 0; i < nr && ret == 0; i++) {
		tell_refuted(list, i, problems);
		if (list[i].parent == PARENT_NONE)
			continue;
		parent_by_uuid(list, nr, i, problems);
		if (!list[i].proven)
			parent_by_recorder(list, nr, i);
		parent_by_pairs(list, nr, i);
		if (!list[i].nr_pairs && !list[i].proven)
			parent_by_clock(list, nr, i, true);
		find_vm(list, nr, i);
	}
	return ret;
}

bool parents_complete(const struct candidate *list, unsigned nr)
{
	unsigned roots = 0;

	for (unsigned i = 0; i < nr; i++) {
		roots += list[i].parent < 0;
		if (list[i].parent >= 0 && !list[i].nr_pairs && !list[i].same_clock &&
		    !list[i].exact)
			return false;
	}
	return roots == 1;
}

static int search_for(struct candidate *list, unsigned nr, unsigned i, struct problems *problems,
		      struct stop *stop)
{
	struct candidate *c = &list[i];
	int ret = parent_by_containment(list, nr, i, problems, stop);

	if (ret || c->same_clock || c->nr_pairs || c->proven || c->exact || c->fit.events)
		return ret ? ret : find_between(list, nr, i, stop);
	if (c->parent >= 0)
		kernel_by_boot_id(list, nr, i, false);
	if (c->parent == PARENT_UNKNOWN)
		parent_by_clock(list, nr, i, false);
	return find_between(list, nr, i, stop);
}

/* The machine above @i that nothing is known to be above; -1: it is in a circle. */
static int top_of(const struct candidate *list, unsigned nr, int i)
{
	for (unsigned steps = 0; i >= 0 && list[i].parent >= 0; i = list[i].parent) {
		if (++steps > nr)
			return -1;
	}
	return i;
}

/* The user says that @i runs in @said: is what that one is, or runs in, found inside @i? */
static int doubt_order(struct candidate *list, unsigned nr, unsigned i, int said,
		       struct problems *problems, struct stop *stop, struct error *err)
{
	int at = top_of(list, nr, said), parent, ret;
	bool told;

	if (at < 0 || at == (int)i || list[at].fit.agreeing)
		return 0;
	parent = list[at].parent;
	told = list[at].told;
	list[at].told = false;
	list[at].parent = PARENT_UNKNOWN;
	ret = parent_by_containment(list, nr, (unsigned)at, problems, stop);
	if (ret == 0 && list[at].parent >= 0 && is_below(list, nr, (unsigned)at, i))
		return fail(
			err, -EINVAL,
			"--parent says that %s runs in %s, but CPU %d of %s is active only while "
			"thread %d of %s runs a guest (%" PRIu64 " events)",
			list[i].name, list[said].name, list[at].fit.cpu, list[at].name,
			list[at].fit.tid, list[list[at].parent].name, list[at].fit.events);
	clock_model_release(&list[at].fit.model);
	list[at].fit = (struct coincidence){0};
	list[at].told = told;
	list[at].parent = parent;
	return ret;
}

/* Nothing was found that bears out what the user says of it: is it found elsewhere without that? */
static int doubt_user(struct candidate *list, unsigned nr, unsigned i, struct problems *problems,
		      struct stop *stop, struct error *err)
{
	struct candidate *c = &list[i];
	const char *said = c->parent >= 0 ? list[c->parent].name : "no other";
	int told = c->parent, ret;

	if (!c->told || c->in->because || c->in->recorded || c->nr_pairs || c->same_clock ||
	    c->proven || c->exact || c->fit.events)
		return 0;
	c->told = false;
	c->parent = PARENT_UNKNOWN;
	ret = search_for(list, nr, i, problems, stop);
	if (ret)
		return ret;
	if (c->parent >= 0)
		return fail(err, -EINVAL,
			    "--parent says that %s runs in %s, but its CPU %d is active only while "
			    "thread %d of %s runs a guest (%" PRIu64 " events)",
			    c->name, said, c->fit.cpu, c->fit.tid, list[c->parent].name,
			    c->fit.events);
	if (c->around >= 0)
		return fail(
			err, -EINVAL,
			"--parent says that %s runs in %s, but it is active only while %s runs a "
			"guest of a VM that has no trace",
			c->name, said, list[c->around].name);
	ret = doubt_order(list, nr, i, told, problems, stop, err);
	c->told = true;
	c->parent = told;
	if (told >= 0)
		snprintf(c->evidence, sizeof(c->evidence),
			 "given by the user; nothing in the traces bears it out");
	return ret;
}

int parents_search(struct candidate *list, unsigned nr, struct problems *problems,
		   struct stop *stop, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = search_for(list, nr, i, problems, stop);
	for (unsigned i = 0; i < nr && ret == 0; i++) {
		if (list[i].tied)
			ret = settle_tie(list, nr, i, problems, stop);
	}
	/* Only now is it known who is found where. */
	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = doubt_user(list, nr, i, problems, stop, err);
	return ret == 0 || ret == -EINVAL ? ret : fail(err, ret, "out of memory");
}

void parents_tell_unused(const struct candidate *list, unsigned nr, struct problems *problems)
{
	for (unsigned i = 0; i < nr; i++) {
		const struct kinship *k = &list[i].kin->list[i];

		if (!k->claims || k->kernel == i || k->refuted || k->borne_out ||
		    list[i].same_clock)
			continue;
		problems_note(
			problems,
			"%.60s and %.60s claim to be one kernel (clock UUID, boot ID), which no thread "
			"switch bears out: the claim does not count",
			list[k->kernel].name, list[i].name);
	}
}

void parents_release(struct candidate *list, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		call_index_release(list[i].calls);
		clock_model_release(&list[i].fit.model);
	}
}
