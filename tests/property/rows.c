/* SPDX-License-Identifier: Apache-2.0 */
/* What there is: machines and where they run, threads and what they belong to. */
#include "less_specific.h"

#include <inttypes.h>
#include <stdio.h>

static void compare_machine(struct pair *p, int64_t row)
{
	const struct sonde_machine *c = &p->cut.machines[row], *w;
	int64_t at = p->machines[row].row;
	char parent[32];

	if (at < 0 || p->machines[row].within)
		return;
	w = &p->whole.machines[at];
	snprintf(parent, sizeof(parent), "%" PRId64, c->parent);
	if (!machine_fits(p, c->parent, w->parent))
		say_wrong(p, "parent", c->name, 0, 0, parent, "%" PRId64, w->parent);
	if (!text_fits(c->hostname, w->hostname))
		say_wrong(p, "hostname", c->name, 0, 0, c->hostname, "%s", w->hostname);
	if (!text_fits(c->release, w->release))
		say_wrong(p, "release", c->name, 0, 0, c->release, "%s", w->release);
	if (c->pid_known && c->vm_pid >= 0 && c->vm_pid != w->vm_pid)
		say_wrong(p, "VM's process", c->name, 0, 0, "another", "%lld",
			  (long long)w->vm_pid);
}

bool namespace_fits(const struct pair *p, int64_t cut, int64_t whole)
{
	struct sonde_pid_ns c, w;

	if (cut < 0)
		return true;
	if (whole < 0)
		return false;
	sonde_pid_ns_get(p->cut.history, cut, &c);
	sonde_pid_ns_get(p->whole.history, whole, &w);
	return c.inum == w.inum && text_fits(c.name, w.name) && c.level <= w.level;
}

/* One row of the whole history says all that this one does. */
static bool thread_row_fits(const struct pair *p, const struct sonde_thread *c,
			    const struct sonde_thread *w)
{
	return (c->pid < 0 || c->pid == w->pid) && (c->ppid < 0 || c->ppid == w->ppid) &&
	       cpu_fits(p, c->vcpu, w->vcpu) && namespace_fits(p, c->pid_ns, w->pid_ns);
}

static void compare_thread_row(struct pair *p, int64_t row)
{
	const struct sonde_thread *c = &p->cut.threads[row];
	const struct sonde_thread *like = NULL;
	char label[96], said[96];

	for (int64_t i = 0; i < p->whole.nr_threads; i++) {
		const struct sonde_thread *w = &p->whole.threads[i];

		if (w->tid != c->tid || !machine_fits(p, c->machine, w->machine))
			continue;
		if (thread_row_fits(p, c, w))
			return;
		like = w;
	}
	sonde_thread_label(p->cut.history, row, label, sizeof(label));
	snprintf(said, sizeof(said), "pid %lld ppid %lld ns %lld vcpu %lld", (long long)c->pid,
		 (long long)c->ppid, (long long)c->pid_ns, (long long)c->vcpu);
	if (like)
		say_wrong(p, "thread row", label, 0, 0, said,
			  "pid %lld ppid %lld ns %lld vcpu %lld", (long long)like->pid,
			  (long long)like->ppid, (long long)like->pid_ns, (long long)like->vcpu);
	else
		say_wrong(p, "thread row", label, 0, 0, said, "no such thread");
}

void compare_rows(struct pair *p)
{
	for (int64_t i = 0; i < p->cut.nr_machines; i++)
		compare_machine(p, i);
	for (int64_t i = 0; i < p->cut.nr_threads; i++) {
		if (p->cut.threads[i].tid >= 0 && p->machines[p->cut.threads[i].machine].row >= 0)
			compare_thread_row(p, i);
	}
}
