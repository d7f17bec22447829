/* SPDX-License-Identifier: Apache-2.0 */
/* What vCPUs were blocked on besides timers, and how long it took until their guests went on. */
#include "analysis/why/why.h"
#include "base/units.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A part of the waits that is worth a word when nobody knows their causes: one in a hundred. */
#define UNSEEN_PPM 10000

/* A sleep until a timer is what was wanted; what nobody knows is told by unseen_interrupts(). */
static const struct {
	const char *cause;
	const char *words; /* "it waited ..." */
	const char *by;	   /* "it was woken by ..." */
} causes[] = {
	{"disk", "for a disk", "a disk"},
	{"network", "for the network", "the network"},
	{"ipi", "for another of its vCPUs", "another vCPU"},
	{"device", "for a device", "a device"},
	{"vmm", "until its VMM woke it", "its VMM"},
	{"host", "inside its host, for a page, a lock or its VMM", "its host"},
};

static int find_cause(const char *cause)
{
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (!strcmp(causes[i].cause, cause))
			return (int)i;
	}
	return -1;
}

/* Ways to find a cause that are no more than a guess: what happened just before, and what most
 * interrupts of a vector turned out to be. */
static bool is_guess(const char *evidence)
{
	return !strncmp(evidence, "the interrupt followed ", 23) ||
	       !strncmp(evidence, "what a thread of the VMM's pool did", 35) ||
	       !strncmp(evidence, "what came before ", 17);
}

static void wait_verdict(struct why *w, const struct sonde_rows *waits, size_t row)
{
	int cause = find_cause(rows_named(waits, row, "cause").s);
	const char *irq = rows_named(waits, row, "irq").s;
	const char *evidence = rows_named(waits, row, "evidence").s;
	const char *probably = is_guess(evidence) ? "probably " : "";
	int64_t count = rows_named(waits, row, "count").i;
	struct sonde_cpu cpu;
	struct verdict v;
	char text[UNIT_TEXT];

	if (cause < 0 || sonde_cpu_get(w->history, rows_named(waits, row, "vcpu").i, &cpu))
		return;
	v = why_verdict(w, "wait", cpu.machine);
	v.vcpu = rows_named(waits, row, "vcpu").i;
	v.cost_ns = rows_named(waits, row, "total").i;
	v.begin = rows_named(waits, row, "longest_at").i;
	v.end = v.begin + rows_named(waits, row, "longest").i;
	v.by.vcpu = rows_named(waits, row, "from").i;
	v.by_ns = v.by.vcpu >= 0 ? v.cost_ns : 0;
	v.count = count;
	v.cause = causes[cause].cause;
	say_cpu(&v.says, v.vcpu);
	say(&v.says, " waited ");
	say_length(&v.says, v.cost_ns);
	say(&v.says, " of ");
	say_length(&v.says, w->end - w->begin);
	say(&v.says, *probably ? ", " : " ");
	if (v.by.vcpu >= 0) {
		say(&v.says, "%sfor ", probably);
		say_cpu(&v.says, v.by.vcpu);
	} else {
		say(&v.says, "%s%s", probably, causes[cause].words);
	}
	if (*irq)
		say(&v.says, " (%s)", irq);
	if (count > 1) {
		say(&v.says, ", %s times. It took ", unit_count(text, count));
		say_length(&v.says, rows_named(waits, row, "mean").i);
		say(&v.says, " on average; the longest took ");
		say_length(&v.says, v.end - v.begin);
	}
	say(&v.says, ", from ");
	say_time(&v.says, v.begin);
	say(&v.says, ".");
	if (*probably)
		say(&v.says, " That is inferred: %s.", evidence);
	why_add(w, &v);
}

/* How long the vCPUs of one VM waited, and how much of that ended by what was not recorded. */
struct waited {
	ns_t all, unseen;
};

/* @vms: per machine. */
static void add_waited(struct waited *vms, const struct why *w, const struct sonde_rows *waits,
		       size_t row)
{
	ns_t time = rows_named(waits, row, "total").i;
	struct sonde_cpu cpu;

	if (sonde_cpu_get(w->history, rows_named(waits, row, "vcpu").i, &cpu) ||
	    cpu.machine >= sonde_nr_machines(w->history))
		return;
	vms[cpu.machine].all += time;
	if (!strcmp(rows_named(waits, row, "evidence").s, WAKE_UNSEEN_TEXT))
		vms[cpu.machine].unseen += time;
}

static void unseen_of_vm(struct why *w, struct waited of, int64_t vm)
{
	struct verdict v = why_verdict(w, "unknown", vm);
	struct sonde_machine m, parent;
	char share[UNIT_TEXT];

	if (share_ppm(of.unseen, of.all) < UNSEEN_PPM || sonde_machine_get(w->history, vm, &m) ||
	    sonde_machine_get(w->history, m.parent, &parent))
		return;
	v.cause = "waits";
	v.by_ns = of.unseen;
	say(&v.says, "What %s's vCPUs waited for is not known for ", m.name);
	say_length(&v.says, of.unseen);
	say(&v.says,
	    " (%s of their waits): %s's trace does not show its guests' interrupts. "
	    "Record kvm_inj_virq and kvm_apic_accept_irq, too (sonde record --for wait).",
	    unit_share(share, share_ppm(of.unseen, of.all)), parent.name);
	why_add(w, &v);
}

static int unseen_interrupts(struct why *w, const struct sonde_rows *waits, struct error *err)
{
	int64_t nr = sonde_nr_machines(w->history);
	struct waited *vms = calloc((size_t)nr + 1, sizeof(*vms));

	if (!vms)
		return fail(err, -ENOMEM, "out of memory");
	for (size_t row = 0; row < sonde_rows_nr(waits); row++)
		add_waited(vms, w, waits, row);
	for (int64_t vm = 0; vm < nr; vm++)
		unseen_of_vm(w, vms[vm], vm);
	free(vms);
	return 0;
}

/* The greatest of the steps that a wake-up consists of. */
static void say_slowest_step(struct sentence *s, const struct sonde_rows *wakeups, size_t row)
{
	static const struct {
		const char *column, *words;
	} steps[] = {
		{"host_wakeup", "its host had to be woken"},
		{"run_delay", "its vCPU's thread waited for a CPU"},
		{"entry", "KVM had to enter the guest"},
		{"guest", "its kernel had to make a thread runnable"},
		{"guest_run_delay", "that thread waited for a vCPU"},
	};
	size_t greatest = 0;
	int64_t length;

	for (size_t i = 1; i < ARRAY_SIZE(steps); i++) {
		if (rows_named(wakeups, row, steps[i].column).i >
		    rows_named(wakeups, row, steps[greatest].column).i)
			greatest = i;
	}
	length = rows_named(wakeups, row, steps[greatest].column).i;
	say(s, " %s of that, ",
	    2 * length > rows_named(wakeups, row, "mean").i ? "Most" : "The largest part");
	say_length(s, length);
	say(s, ", passed because %s.", steps[greatest].words);
}

static void say_spread(struct verdict *v, ns_t median)
{
	say(&v->says, " Half of them took ");
	say_length(&v->says, median);
	say(&v->says, " or less. The slowest took ");
	say_length(&v->says, v->end - v->begin);
	say(&v->says, ", from ");
	say_time(&v->says, v->begin);
	say(&v->says, ".");
}

static void wakeup_verdict(struct why *w, const struct sonde_rows *wakeups, size_t row)
{
	struct verdict v = why_verdict(w, "wakeup", rows_named(wakeups, row, "vm").i);
	int64_t count = rows_named(wakeups, row, "count").i;
	int64_t mean = rows_named(wakeups, row, "mean").i;
	const char *name = rows_named(wakeups, row, "cause").s;
	int cause = find_cause(name);
	char text[UNIT_TEXT];

	v.cost_ns = mean * count;
	v.count = count;
	v.cause = name;
	v.begin = rows_named(wakeups, row, "longest_at").i;
	v.end = v.begin + rows_named(wakeups, row, "longest").i;
	say_machine(&v.says, v.machine);
	say(&v.says, "'s %s wake-up%s by %s took ", unit_count(text, count), count == 1 ? "" : "s",
	    cause < 0 ? strcmp(name, "timer") ? "something unknown" : "a timer" : causes[cause].by);
	say_length(&v.says, mean);
	say(&v.says, "%s until its thread ran", count == 1 ? "" : " on average");
	if (count == 1) {
		say(&v.says, ", from ");
		say_time(&v.says, v.begin);
	}
	say(&v.says, ".");
	say_slowest_step(&v.says, wakeups, row);
	if (count > 1)
		say_spread(&v, rows_named(wakeups, row, "median").i);
	why_add(w, &v);
}

int why_waits(struct why *w, struct error *err)
{
	struct sonde_rows *waits = NULL, *wakeups = NULL;
	int ret = why_rows(w, &wait_table, &waits, err);

	if (!ret)
		ret = why_rows(w, &wakeup_table, &wakeups, err);
	for (size_t row = 0; !ret && row < sonde_rows_nr(waits); row++)
		wait_verdict(w, waits, row);
	for (size_t row = 0; !ret && row < sonde_rows_nr(wakeups); row++)
		wakeup_verdict(w, wakeups, row);
	if (!ret)
		ret = unseen_interrupts(w, waits, err);
	sonde_rows_free(waits);
	sonde_rows_free(wakeups);
	return ret;
}
