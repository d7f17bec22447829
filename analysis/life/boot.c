/* SPDX-License-Identifier: Apache-2.0 */
/* How VMs started: from the VMM's first moment to a user space that has settled, as far as the
 * traces tell. */
#include "analysis/life/levels.h"
#include "analysis/life/phases.h"
#include "query/losses.h"
#include "query/milestone.h"
#include "base/figure.h"
#include "model/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A vCPU that first sleeps this long has nothing more to do for now. */
#define SETTLED_NS 100000000

struct start {
	struct sonde_rows *out;
	struct sonde_history *history;
	const struct by_machine *cpus, *milestones;
	ns_t begin, end; /* window */
	int64_t vm;
	int64_t vmm; /* its thread, -1 unknown */
	ns_t at;     /* end of the last phase */
	int ret;
	struct error *err;
};

static void next_phase(struct start *s, const char *name, int64_t thread, ns_t end, ns_t doubt_ns,
		       const char *evidence)
{
	const struct phase p = {.vm = s->vm,
				.cpus = s->cpus,
				.name = name,
				.evidence = evidence,
				.begin = s->at,
				.end = end,
				.doubt_ns = doubt_ns,
				.thread = thread};

	if (!s->ret && end > s->at)
		s->ret = phase_add(s->out, s->history, &p, s->begin, s->end, s->err);
	s->at = end > s->at ? end : s->at;
}

/* The first milestone of that kind after @after. */
static bool first_milestone(const struct start *s, const char *kind, ns_t after,
			    struct milestone *out)
{
	struct milestone ms;
	bool found = false;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(s->milestones, s->vm, &nr);

	for (uint32_t i = 0; i < nr && !query_milestone(s->history, rows[i], &ms); i++) {
		if (strcmp(ms.kind, kind) || ms.at < after || (found && ms.at >= out->at))
			continue;
		*out = ms;
		found = true;
	}
	return found;
}

static ns_t first_vcpu_thread(const struct start *s)
{
	ns_t first = NS_MAX;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(s->cpus, s->vm, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_thread t;
		struct sonde_cpu cpu;

		sonde_cpu_get(s->history, rows[i], &cpu);
		if (!sonde_thread_get(s->history, cpu.host_thread, &t) && t.begin < first)
			first = t.begin;
	}
	return first;
}

static char *text_of(struct start *s, const char *format, const char *text)
{
	char line[160];
	char *kept;

	snprintf(line, sizeof(line), format, text);
	kept = arena_strdup(&s->out->arena, line);
	s->out->no_memory |= !kept;
	return kept ? kept : "";
}

/* ---- the kernel's own levels --------------------------------------------------------------- */

/* What is missing of what it recorded itself, for the evidence; "" nothing. */
static const char *missing(struct start *s)
{
	struct milestone lost;

	return first_milestone(s, "lost", NS_MIN, &lost)
		       ? text_of(s, "; %s of its record of the boot are missing", lost.text)
		       : "";
}

/* Before the first level that is seen; others may have come before it, unless it is the first there
 * is. */
static const char *before_levels(const struct start *s, ns_t until)
{
	struct milestone ms;

	if (!first_milestone(s, "level", s->at, &ms) || ms.at >= until)
		return "kernel";
	return level_is_first(ms.text) ? "kernel: start" : "kernel";
}

/* Its own trace has a gap there. */
static bool has_gap(const struct start *s, ns_t begin, ns_t end)
{
	struct sonde_loss l;

	for (int64_t row = 0; !sonde_loss_get(s->history, row, &l); row++) {
		if (l.machine == s->vm && loss_is_in(s->history, &l, begin, end))
			return true;
	}
	return false;
}

/* From the begin of @level to that of @next, "" to the end of the last: a gap may hide others. */
static const char *level_phase(struct start *s, const char *level, const char *next, ns_t end)
{
	bool is_whole = level_is_next(level, next) || !has_gap(s, s->at, end);

	return text_of(s, is_whole ? "kernel: %s" : "kernel: %s, and what followed", level);
}

/* "kernel: early" ... from the machine's own trace, up to the first after @until. */
static void kernel_levels(struct start *s, ns_t until)
{
	const char *phase = before_levels(s, until), *lost = missing(s), *level = "";
	struct milestone ms;
	ns_t after = s->at;

	while (first_milestone(s, "level", after, &ms) && ms.at < until) {
		if (*level)
			phase = level_phase(s, level, ms.text, ms.at);
		next_phase(s, phase, -1, ms.at, 0,
			   text_of(s, "its own trace: initcalls of level %s begin", ms.text));
		level = ms.text;
		after = ms.at + 1;
	}
	if (*level)
		phase = level_phase(s, level, "", until);
	next_phase(s, phase, -1, until, 0,
		   text_of(s, "its own trace: process 1 executes a file%s", lost));
}

/* ---- until it has settled ------------------------------------------------------------------ */

struct settled {
	ns_t after, at;
};

static bool first_long_sleep(const struct sonde_interval *i, void *data)
{
	struct settled *s = data;

	if (i->value != VCPU_WAITING || i->begin < s->after || i->end - i->begin < SETTLED_NS)
		return true;
	s->at = i->begin;
	return false;
}

/* When the last of its vCPUs first slept long; NS_MAX: one of them never did. */
static ns_t settled_at(struct start *s)
{
	ns_t last = NS_MIN;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(s->cpus, s->vm, &nr);

	for (uint32_t i = 0; i < nr && !s->ret; i++) {
		struct settled one = {.after = s->at, .at = NS_MAX};
		attr_t state = s->history->cpu_attrs[rows[i]][CPU_STATE];

		if (state == ATTR_NONE)
			continue;
		s->ret = sonde_interval_walk(s->history, state, s->at,
					     sonde_history_end(s->history), first_long_sleep, &one);
		last = one.at > last ? one.at : last;
	}
	return last == NS_MIN ? NS_MAX : last;
}

/* ---- one VM -------------------------------------------------------------------------------- */

static void kernel_phase(struct start *s)
{
	struct milestone init, user;

	if (first_milestone(s, "init", s->at, &init))
		kernel_levels(s, init.at);
	else if (first_milestone(s, "user", s->at, &user))
		next_phase(s, "kernel", -1, user.at, ns_since(user.at, user.since),
			   "the first exit at an address of user space: of init, or a helper of "
			   "the kernel before it");
	else
		next_phase(s, "kernel, and what followed", -1, sonde_history_end(s->history), 0,
			   "the end of the recording");
}

static void started(struct start *s, const struct milestone *entry)
{
	struct milestone kernel;
	ns_t vcpu = first_vcpu_thread(s);
	ns_t settled;

	if (s->vmm >= 0)
		next_phase(s, "VMM starts", s->vmm, vcpu, 0, "its first vCPU's thread was made");
	s->at = vcpu;
	next_phase(s, "VM is set up", s->vmm, entry->at, 0, "the first VM entry");
	if (first_milestone(s, "kernel", s->at, &kernel)) {
		next_phase(s, "firmware", -1, kernel.at, ns_since(kernel.at, kernel.since),
			   "the first exit at an address of Linux's kernel");
		kernel_phase(s);
	} else {
		next_phase(s, "firmware, and what followed", -1, sonde_history_end(s->history), 0,
			   "no exit at an address of an x86-64 Linux kernel was seen");
	}
	settled = settled_at(s);
	if (settled != NS_MAX)
		next_phase(s, "user space", -1, settled, 0, "each vCPU had slept for 100 ms once");
	else
		next_phase(s, "user space, and what followed", -1, sonde_history_end(s->history), 0,
			   "the end of the recording");
}

static int one_vm(struct start *s)
{
	struct milestone entry;
	struct sonde_thread t;

	if (!first_milestone(s, "entry", NS_MIN, &entry))
		return 0;
	s->vmm = vmm_thread(s->history, s->vm, entry.at);
	if (sonde_thread_get(s->history, s->vmm, &t)) /* none, or a damaged file */
		s->vmm = -1;
	s->at = s->vmm < 0 ? entry.at : t.begin;
	/* A VMM that was there before has begun before what is known of it. */
	if (s->vmm >= 0 && t.begin <= sonde_history_begin(s->history))
		s->vmm = -1;
	started(s, &entry);
	return s->ret;
}

static int find_boot(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct by_machine cpus = {0}, milestones = {0};
	int ret = by_machine_init(&cpus, history, QUERY_CPU);

	if (!ret)
		ret = by_machine_init(&milestones, history, QUERY_MILESTONE);
	if (ret)
		fail(err, ret, "out of memory");
	for (int64_t vm = 1; vm < sonde_nr_machines(history) && !ret; vm++) {
		struct start s = {.out = out,
				  .history = history,
				  .cpus = &cpus,
				  .milestones = &milestones,
				  .begin = begin,
				  .end = end,
				  .vm = vm,
				  .err = err};

		ret = one_vm(&s);
	}
	by_machine_release(&cpus);
	by_machine_release(&milestones);
	return ret;
}

const struct table_def boot_table = {
	.public =
		{"boot", "How VMs started",
		 "stages of each VM whose vCPUs were made during the recording, and what their time went "
		 "into",
		 phase_columns, PHASE_NR_COLUMNS},
	.find = find_boot,
};
