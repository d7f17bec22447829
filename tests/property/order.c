/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "less specific" means.  One value is less specific than another when it is true wherever the
 * other one is, and says less:
 *
 *	machine   "some guest of M" than each guest in M, at whatever depth
 *	vCPU      one without a number, or one that holds others, than these
 *	thread    unknown than each; rows are incarnations, a TID and its machine are compared
 *	text      "" or "unknown" than each
 *	context   unknown than all
 *	          "guest of M" than all that M and machines in it do
 *	          "task" than user space, system call, kernel or hypervisor of that thread
 *	          user space, a call or "kernel" of a thread that is not known to be a vCPU's than
 *	          the hypervisor's work of that thread
 *	          "kernel" than a system call
 *	          a handler, a call, an exit without a name or reason than the one with it
 *	          the work for a vCPU than that for one inside it
 *	time      equal, within the sum of both stated bounds of the machine's clock; what only the
 *	          host's own trace tells is equal to the nanosecond
 */
#include "less_specific.h"

#include <string.h>

#define NO_BOUND UINT32_MAX
#define ROUNDING_NS 3 /* of L0's ticks, where they are not ns */

static bool is_within(const struct side *s, int64_t machine, int64_t outer)
{
	for (; machine >= 0; machine = s->machines[machine].parent) {
		if (machine == outer)
			return true;
	}
	return false;
}

bool machine_fits(const struct pair *p, int64_t cut, int64_t whole)
{
	struct twin twin;

	if (cut < 0)
		return true;
	twin = p->machines[cut];
	if (whole < 0 || twin.row < 0)
		return false;
	if (twin.row == whole && !twin.within)
		return true;
	return twin.within && whole != twin.row && is_within(&p->whole, whole, twin.row);
}

bool machine_holds(const struct pair *p, int64_t cut, int64_t whole)
{
	return cut < 0 || p->machines[cut].row < 0 ||
	       is_within(&p->whole, whole, p->machines[cut].row);
}

bool cpu_fits(const struct pair *p, int64_t cut, int64_t whole)
{
	if (cut < 0)
		return true;
	if (whole < 0)
		return false;
	if (p->cpus[cut] >= 0)
		return p->cpus[cut] == whole;
	return machine_fits(p, p->cut.cpus[cut].machine, p->whole.cpus[whole].machine);
}

bool thread_fits(const struct pair *p, int64_t cut, int64_t whole)
{
	const struct sonde_thread *c, *w;

	if (cut < 0)
		return true;
	if (whole < 0)
		return false;
	c = &p->cut.threads[cut];
	w = &p->whole.threads[whole];
	return c->tid == w->tid && machine_fits(p, c->machine, w->machine);
}

bool text_fits(const char *cut, const char *whole)
{
	return !*cut || !strcmp(cut, "unknown") || !strcmp(cut, "-") || !strcmp(cut, whole);
}

/* By number: contexts name a machine's CPU so. */
static bool place_fits(const struct pair *p, const struct sonde_context *c,
		       const struct sonde_context *w)
{
	int64_t cut = sonde_find_cpu(p->cut.history, c->machine, c->cpu);
	int64_t whole = sonde_find_cpu(p->whole.history, w->machine, w->cpu);

	if (!machine_fits(p, c->machine, w->machine))
		return false;
	if (c->cpu < 0 || cut < 0 || p->cpus[cut] < 0)
		return true;
	return p->cpus[cut] == whole;
}

/* Code of a guest, or of one in it.  "guest" of L0: nobody knows whose. */
static bool guest_fits(const struct pair *p, const struct sonde_context *c,
		       const struct sonde_context *w)
{
	struct twin twin = p->machines[c->machine];

	if (place_fits(p, c, w))
		return p->whole.machines[w->machine].level > 0 || w->mode == SONDE_MODE_GUEST;
	return twin.row >= 0 && w->machine != twin.row &&
	       is_within(&p->whole, w->machine, twin.row);
}

/* A vCPU stands for those inside of it. */
static bool serves_fits(const struct pair *p, int64_t cut, int64_t whole)
{
	int64_t vcpu = cut < 0 ? -1 : p->cpus[cut];

	if (cpu_fits(p, cut, whole))
		return true;
	if (whole < 0)
		return false;
	if (vcpu < 0)
		return p->machines[p->cut.cpus[cut].machine].row < 0 ||
		       is_within(&p->whole, p->whole.cpus[whole].machine,
				 p->machines[p->cut.cpus[cut].machine].row);
	return p->whole.cpus[whole].machine != p->whole.cpus[vcpu].machine &&
	       is_within(&p->whole, p->whole.cpus[whole].machine, p->whole.cpus[vcpu].machine);
}

/* The work for a guest inside the vCPU of that thread, not known which: the work for the vCPU says
 * less. */
static bool serves_an_inner(const struct pair *p, const struct sonde_context *c,
			    const struct sonde_context *w)
{
	return w->serves < 0 && w->thread >= 0 && c->serves >= 0 && p->cpus[c->serves] >= 0 &&
	       p->whole.threads[w->thread].vcpu == p->cpus[c->serves];
}

static bool exit_fits(const struct pair *p, const struct sonde_context *c,
		      const struct sonde_context *w)
{
	if (w->mode != SONDE_MODE_HYPERVISOR ||
	    (!serves_fits(p, c->serves, w->serves) && !serves_an_inner(p, c, w)))
		return false;
	return c->detail < 0 || (c->detail == w->detail && c->vmm == w->vmm);
}

/* The hypervisor's work, of a thread that is not known to be a vCPU's, or not yet. */
static bool hides_hypervisor(const struct pair *p, const struct sonde_context *c,
			     const struct sonde_context *w, int64_t t)
{
	return w->mode == SONDE_MODE_HYPERVISOR &&
	       (c->thread < 0 || p->cut.threads[c->thread].vcpu < 0 ||
		t < p->serve_since[c->thread]);
}

static bool mode_fits(const struct pair *p, const struct sonde_context *c,
		      const struct sonde_context *w, int64_t t)
{
	switch (c->mode) {
	case SONDE_MODE_TASK:
		return w->mode == SONDE_MODE_USER || w->mode == SONDE_MODE_SYSCALL ||
		       w->mode == SONDE_MODE_KERNEL || w->mode == SONDE_MODE_TASK ||
		       w->mode == SONDE_MODE_HYPERVISOR;
	case SONDE_MODE_KERNEL:
		return w->mode == SONDE_MODE_SYSCALL || w->mode == SONDE_MODE_KERNEL ||
		       hides_hypervisor(p, c, w, t);
	case SONDE_MODE_USER:
		return w->mode == c->mode || hides_hypervisor(p, c, w, t);
	case SONDE_MODE_HYPERVISOR:
		return exit_fits(p, c, w);
	case SONDE_MODE_SYSCALL:
		return (w->mode == c->mode && text_fits(c->detail_text, w->detail_text)) ||
		       hides_hypervisor(p, c, w, t);
	case SONDE_MODE_IRQ:
	case SONDE_MODE_SOFTIRQ:
		return w->mode == c->mode && c->detail == w->detail;
	default:
		return w->mode == c->mode;
	}
}

bool context_fits(const struct pair *p, const struct sonde_context *c,
		  const struct sonde_context *w, int64_t t)
{
	if (c->mode == SONDE_MODE_UNKNOWN)
		return true;
	if (c->mode == SONDE_MODE_GUEST)
		return guest_fits(p, c, w);
	return place_fits(p, c, w) && mode_fits(p, c, w, t) && thread_fits(p, c->thread, w->thread);
}

bool context_says_more(const struct pair *p, const struct sonde_context *c,
		       const struct sonde_context *w)
{
	struct twin twin = p->machines[c->machine];

	if (w->mode == SONDE_MODE_TASK)
		return place_fits(p, c, w) && thread_fits(p, c->thread, w->thread);
	if (w->mode == SONDE_MODE_GUEST)
		return twin.row >= 0 && is_within(&p->whole, twin.row, w->machine);
	return w->mode == SONDE_MODE_HYPERVISOR && c->mode == w->mode && c->detail == w->detail &&
	       c->vmm == w->vmm && place_fits(p, c, w) && thread_fits(p, c->thread, w->thread) &&
	       c->serves >= 0 && is_within(&p->cut, p->cut.cpus[c->serves].machine, c->machine);
}

/* ---- time ---------------------------------------------------------------------------------- */

static int64_t bound_of(const struct side *s, int64_t machine, int64_t t)
{
	struct sonde_interval i;

	if (machine < 0 || s->bounds[machine] == SONDE_NO_ATTR ||
	    sonde_interval_at(s->history, s->bounds[machine], t, &i))
		return 0;
	return i.value == NO_BOUND ? SONDE_TIME_MAX / 4 : i.value;
}

int64_t slack_of(const struct pair *p, int64_t cut_machine, int64_t whole_machine, int64_t t)
{
	int64_t rounding =
		p->whole.nr_lines && p->whole.lines[0].mult != 1ull << 32 ? ROUNDING_NS : 0;
	int64_t at = time_in_cut(p, t), cut = bound_of(&p->cut, cut_machine, at);
	int64_t rounded = bound_of(&p->cut, cut_machine, at + rounding); /* it may begin there */

	return (cut > rounded ? cut : rounded) + bound_of(&p->whole, whole_machine, t) +
	       (p->root ? bound_of(&p->whole, p->root, t) : 0) + rounding;
}

/* The machine right in L0 that holds it, in the whole history's rows; 0 L0 itself, -1 not known. */
static int64_t outer_of(const struct pair *p, int64_t machine, bool of_cut)
{
	if (of_cut) {
		while (p->cut.machines[machine].level > 1)
			machine = p->cut.machines[machine].parent;
		return p->machines[machine].within ? -1 : p->machines[machine].row;
	}
	while (p->whole.machines[machine].level > 1)
		machine = p->whole.machines[machine].parent;
	return machine;
}

int64_t slack_of_contexts(const struct pair *p, const struct sonde_context *c,
			  const struct sonde_context *w, int64_t t)
{
	int64_t cut = outer_of(p, c->machine, true), whole = outer_of(p, w->machine, false);

	if (cut >= 0 && (cut != whole || !cut))
		return slack_of(p, 0, 0, t);
	return slack_of(p, c->machine, w->machine, t);
}
