/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/moment.h"
#include "sonde/facts.h"

#include <errno.h>

bool moment_wake(struct sonde_run *run, int64_t row, int64_t t, struct sonde_wake *out)
{
	uint32_t attr = sonde_attr_of_cpu(run, row, "woken");
	struct sonde_interval now;
	int64_t next;

	if (sonde_at(run, attr, t, &now))
		return false;
	if (!now.value &&
	    (sonde_next_change(run, attr, t, &next) || sonde_at(run, attr, next, &now)))
		return false;
	return !sonde_wake(run, (int64_t)now.value - 1, out);
}

enum sonde_off moment_off(struct sonde_run *run, int64_t row, int64_t t)
{
	struct sonde_interval off;

	if (sonde_at(run, sonde_attr_of_cpu(run, row, "why_off"), t, &off) ||
	    off.value <= SONDE_OFF_UNKNOWN || off.value >= SONDE_NR_OFFS)
		return SONDE_OFF_UNKNOWN;
	return (enum sonde_off)off.value;
}

int moment_culprit(struct sonde_run *run, int64_t row, int64_t t, int64_t *thread, int64_t *machine)
{
	struct sonde_error why;
	struct sonde_facts *f;
	int ret = sonde_facts_get(&f, run, "preemption_list", t, t + 1, &why);
	int who, by, on;
	bool found = false;

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	who = sonde_facts_column(f, "vcpu");
	by = sonde_facts_column(f, "culprit");
	on = sonde_facts_column(f, "culprit_machine");
	for (size_t i = 0; who >= 0 && by >= 0 && i < sonde_facts_nr_rows(f) && !found; i++) {
		found = sonde_facts_cell(f, i, (unsigned)who).i == row;
		*thread = sonde_facts_cell(f, i, (unsigned)by).i;
		*machine = on < 0 ? -1 : sonde_facts_cell(f, i, (unsigned)on).i;
	}
	sonde_facts_free(f);
	return found;
}

int64_t moment_task(struct sonde_run *run, int64_t row, int64_t t)
{
	struct sonde_interval task;

	if (sonde_at(run, sonde_attr_of_cpu(run, row, "task"), t, &task))
		return -1;
	return (int64_t)task.value - 1;
}

int64_t moment_container(struct sonde_run *run, int64_t thread, int64_t inside)
{
	struct sonde_thread t;
	struct sonde_pid_ns ns;
	int64_t row;

	if (inside < 0)
		row = sonde_thread(run, thread, &t) ? -1 : t.pid_ns;
	else
		row = sonde_pid_ns(run, inside, &ns) ? -1 : ns.parent;
	/* A machine's first namespace is no container. */
	return sonde_pid_ns(run, row, &ns) || ns.parent < 0 ? -1 : row;
}
