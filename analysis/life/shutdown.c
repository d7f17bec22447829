/* SPDX-License-Identifier: Apache-2.0 */
/* How VMs ended: from the command in the guest to the end of the VMM's process. */
#include "query/exits.h"
#include "analysis/life/phases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Programs that stop a machine, as their threads are called. */
static const char *const commands[] = {"poweroff", "shutdown", "halt", "reboot", "systemd-shutdow"};

/* The last thread of the VM that is such a program, if it began before @before; -1. */
static int64_t command_thread(const struct sonde_history *history, int64_t vm, ns_t before,
			      ns_t *begin)
{
	int64_t found = -1;

	for (int64_t row = 0; row < sonde_nr_threads(history); row++) {
		struct sonde_thread t;

		sonde_thread_get(history, row, &t);
		if (t.machine != vm || t.begin >= before)
			continue;
		for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
			/* The first: it may start others of these. */
			if (strcmp(t.comm, commands[i]) || (found >= 0 && t.begin >= *begin))
				continue;
			found = row;
			*begin = t.begin;
		}
	}
	return found;
}

struct last_exit {
	const struct sonde_history *history;
	ns_t at;
};

static bool note_exit(const struct sonde_interval *i, void *data)
{
	struct last_exit *last = data;

	if (i->value && query_exit_kind(last->history, (int64_t)i->value - 1) &&
	    i->begin > last->at)
		last->at = i->begin;
	return true;
}

/* When its vCPUs left guest mode for the last time; NS_MIN unknown. */
static int last_code(struct sonde_history *history, const uint32_t *vcpus, uint32_t nr, ns_t *out)
{
	struct last_exit last = {.history = history, .at = NS_MIN};

	for (uint32_t i = 0; i < nr; i++) {
		attr_t exit = history->cpu_attrs[vcpus[i]][CPU_EXIT];
		int ret =
			exit == ATTR_NONE
				? 0
				: sonde_interval_walk(history, exit, sonde_history_begin(history),
						      sonde_history_end(history), note_exit, &last);

		if (ret)
			return ret;
	}
	*out = last.at;
	return 0;
}

/* When the last of its vCPUs' threads ended; -1: one of them did not. */
static ns_t threads_end(struct sonde_history *history, const uint32_t *vcpus, uint32_t nr)
{
	ns_t last = -1;

	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_thread t;
		struct sonde_cpu cpu;

		sonde_cpu_get(history, vcpus[i], &cpu);
		if (sonde_thread_get(history, cpu.host_thread, &t))
			continue;
		if (t.end < 0)
			return -1;
		last = t.end > last ? t.end : last;
	}
	return last;
}

static int one_vm(struct sonde_rows *out, struct sonde_history *history,
		  const struct by_machine *cpus, int64_t vm, ns_t begin, ns_t end,
		  struct error *err)
{
	struct phase p = {.vm = vm, .cpus = cpus, .thread = -1};
	uint32_t nr;
	const uint32_t *vcpus = by_machine_rows(cpus, vm, &nr);
	ns_t gone = threads_end(history, vcpus, nr);
	ns_t code, command = NS_MAX;
	struct sonde_thread t;
	int ret;

	if (gone < 0)
		return 0;
	ret = last_code(history, vcpus, nr, &code);
	if (ret)
		return fail(err, ret, "cannot read a vCPU's exits: %s", error_reason(ret));
	if (code > NS_MIN && command_thread(history, vm, code, &command) >= 0) {
		p.name = "guest stops";
		p.evidence = "the last VM exit; it began with its own command's first thread";
		p.begin = command;
		p.end = code;
		ret = phase_add(out, history, &p, begin, end, err);
	}
	if (code > NS_MIN && !ret) {
		p.name = "vCPUs end";
		p.evidence = "the last vCPU's thread ended";
		p.begin = code;
		p.end = gone;
		p.thread = vmm_thread(history, vm, gone);
		ret = phase_add(out, history, &p, begin, end, err);
	}
	p.thread = vmm_thread(history, vm, gone);
	if (ret || sonde_thread_get(history, p.thread, &t) || t.end < gone)
		return ret;
	p.name = "VMM ends";
	p.evidence = "its process ended";
	p.begin = gone;
	p.end = t.end;
	return phase_add(out, history, &p, begin, end, err);
}

static int find_shutdown(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			 ns_t end, struct error *err)
{
	struct by_machine cpus = {0};
	int ret = by_machine_init(&cpus, history, QUERY_CPU);

	if (ret)
		fail(err, ret, "out of memory");
	for (int64_t vm = 1; vm < sonde_nr_machines(history) && !ret; vm++)
		ret = one_vm(out, history, &cpus, vm, begin, end, err);
	by_machine_release(&cpus);
	return ret;
}

const struct table_def shutdown_table = {
	.public =
		{"shutdown", "How VMs ended",
		 "stages of each VM whose vCPUs ended during the recording, and what their time went into; "
		 "a "
		 "guest's own part is known when its trace names the command that stopped it",
		 phase_columns, PHASE_NR_COLUMNS},
	.find = find_shutdown,
};
