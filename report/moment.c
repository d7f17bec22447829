/* SPDX-License-Identifier: Apache-2.0 */
#include "report/moment.h"
#include "query/counts.h"
#include "sonde/tables.h"

#include <stdio.h>
#include <string.h>

void stack_does_text(const struct sonde_history *history, const struct sonde_stack *s,
		     unsigned layer, char *buf, size_t room)
{
	char label[80];
	int n;

	if (layer + 1 < s->nr) {
		const struct sonde_frame *in = &s->frames[layer + 1];

		sonde_cpu_label(history, sonde_find_cpu(history, in->machine, in->cpu), label,
				sizeof(label));
		snprintf(buf, room, "runs %s", label);
		return;
	}
	n = snprintf(buf, room, "%s%s%s", sonde_mode_name(s->mode), *s->detail_text ? " " : "",
		     s->detail_text);
	if (s->mode != SONDE_MODE_HYPERVISOR || n < 0 || (size_t)n >= room)
		return;
	if (s->serves >= 0)
		sonde_cpu_label(history, s->serves, label, sizeof(label));
	snprintf(buf + n, room - (size_t)n, " for %s",
		 s->serves >= 0 ? label : "a nested guest, not known which");
}

bool stack_is_uncertain(const struct sonde_stack *s, int64_t at)
{
	return s->bound_ns < 0 || at - s->begin < s->bound_ns || s->end - at <= s->bound_ns;
}

void outermost_cpus_text(const struct sonde_history *history, char *buf, size_t room)
{
	enum outermost is = outermost_of(history);
	struct sonde_machine m = {.name = ""};

	sonde_machine_get(history, 0, &m);
	if (is == OUTERMOST_PHYSICAL)
		snprintf(buf, room, "Physical CPUs");
	else
		snprintf(buf, room, "%s of %s", is == OUTERMOST_VM ? "vCPUs" : "CPUs", m.name);
}

static bool has_vms(const struct sonde_history *history, int64_t machine)
{
	struct sonde_machine m;

	for (int64_t row = 0; !sonde_machine_get(history, row, &m); row++) {
		if (m.parent == machine)
			return true;
	}
	return false;
}

static const char *outermost_text(const struct sonde_history *history)
{
	if (outermost_of(history) == OUTERMOST_PHYSICAL)
		return "physical machine";
	return has_vms(history, 0) ? "host" : "machine";
}

void machine_kind_text(const struct sonde_history *history, int64_t machine, bool brief, char *buf,
		       size_t room)
{
	const char *hypervisor = sonde_identity_of(history, machine, "hypervisor");
	struct sonde_machine m;

	if (sonde_machine_get(history, machine, &m))
		snprintf(buf, room, "%s", "");
	else if (m.parent >= 0)
		snprintf(buf, room, "%s", m.level > 1 ? "nested VM" : "VM");
	else if (outermost_of(history) == OUTERMOST_VM)
		snprintf(buf, room, "%sitself a VM (%.20s)",
			 brief ? "" : "outermost machine with a trace, ",
			 strcmp(hypervisor, "unknown") ? hypervisor : "host unknown");
	else
		snprintf(buf, room, "%s", outermost_text(history));
}

/* A machine's row is below its VMs'. */
void list_vms(const struct sonde_history *history, struct members *vms)
{
	for (int64_t row = vms->nr; row-- > 0;) {
		struct sonde_machine m;

		if (!sonde_machine_get(history, row, &m) && m.parent < row)
			members_add(vms, m.parent, row);
	}
}

bool is_container(const struct sonde_history *history, int64_t pid_ns)
{
	struct sonde_pid_ns ns;

	return !sonde_pid_ns_get(history, pid_ns, &ns) && ns.level;
}

void container_text(const struct sonde_history *history, int64_t thread, char *buf, size_t room)
{
	struct sonde_thread t;

	*buf = '\0';
	if (!sonde_thread_get(history, thread, &t) && is_container(history, t.pid_ns))
		sonde_pid_ns_label(history, t.pid_ns, buf, room);
}

/* "h-burn[519] on host0", or for interrupts "irq on host0". */
static void culprit_text(struct sonde_history *history, const struct sonde_rows *f, size_t row,
			 char *buf, size_t room)
{
	int who = sonde_rows_column(f, "culprit");
	int where = sonde_rows_column(f, "culprit_machine");
	int mode = sonde_rows_column(f, "mode");
	int64_t thread = who < 0 ? -1 : sonde_rows_cell(f, row, (unsigned)who).i;
	struct sonde_machine m = {.name = ""};
	char label[160];

	if (thread >= 0)
		sonde_thread_label(history, thread, label, sizeof(label));
	else
		snprintf(label, sizeof(label), "%s",
			 mode < 0 ? "unknown"
				  : sonde_mode_name(
					    (enum sonde_mode)sonde_rows_cell(f, row, (unsigned)mode)
						    .i));
	if (where >= 0 &&
	    !sonde_machine_get(history, sonde_rows_cell(f, row, (unsigned)where).i, &m))
		snprintf(buf, room, "%s on %s", label, m.name);
	else
		snprintf(buf, room, "%s", label);
}

void vcpu_off_text(struct sonde_history *history, int64_t vcpu, int64_t at, char *buf, size_t room)
{
	struct sonde_interval off;
	struct sonde_rows *f;
	struct sonde_error err;
	char who[200] = "";
	const char *why = "";
	int column;

	*buf = '\0';
	if (sonde_rows_get(&f, history, "preemption_list", at, at + 1, &err))
		return;
	column = sonde_rows_column(f, "vcpu");
	for (size_t i = 0; column >= 0 && i < sonde_rows_nr(f) && !*who; i++) {
		if (sonde_rows_cell(f, i, (unsigned)column).i == vcpu)
			culprit_text(history, f, i, who, sizeof(who));
	}
	sonde_rows_free(f);
	if (!sonde_interval_at(history, sonde_attr_of_cpu(history, vcpu, "why_off"), at, &off) &&
	    off.value > SONDE_OFF_UNKNOWN && off.value < QUERY_NR_OFFS)
		why = sonde_off_name((enum sonde_off)off.value);
	if (*who)
		snprintf(buf, room, "instead of it %s%s%s", who, *why ? "; why: " : "", why);
}

void vcpu_wait_text(struct sonde_history *history, int64_t vcpu, int64_t at, char *buf, size_t room)
{
	uint32_t attr = sonde_attr_of_cpu(history, vcpu, "woken");
	struct sonde_interval now;
	struct sonde_wake wake;
	int64_t next;

	*buf = '\0';
	if (sonde_interval_at(history, attr, at, &now))
		return;
	/* What ended the wait is known from the VM entry behind it. */
	if (!now.value && (sonde_attr_next_change(history, attr, at, &next) ||
			   next == SONDE_TIME_MAX || sonde_interval_at(history, attr, next, &now)))
		return;
	if (!sonde_wake_get(history, (int64_t)now.value - 1, &wake))
		snprintf(buf, room, "for %s%s%s: %s", sonde_cause_name(wake.cause),
			 *wake.irq ? " " : "", wake.irq, wake.evidence);
}
