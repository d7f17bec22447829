/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/report_topics.h"

#include <stdio.h>
#include <string.h>

/* What the phases of a start or an end leave to JSON. */
/* clang-format off */
#define PHASE_HIDE {"begin", "blocked_on_time", "evidence"}
/* ... and which of them a line explains. */
#define PHASE_EXPLAIN {"guest_mode", "kvm", "vmm", "host", "waits", "blocked_on", "doubt"}
/* clang-format on */

const struct topic topics[] = {
	{.name = "wait",
	 .about = "what vCPUs waited for",
	 .nothing = "no vCPU waited",
	 .sections = {{.name = "vcpu_state",
		       .explain = {"kernel", "guest", "nested", "kvm", "vmm", "halting", "nesting",
				   "host_irq", "inherited_steal", "queued", "preempted",
				   "throttled", "steal_unknown"}},
		      {.name = "wait", .hide = {"evidence"}, .explain = {"cause", "polled"}}}},
	{.name = "wakeup",
	 .about = "how long it took from a wake-up until the guest's thread ran",
	 .nothing = "no vCPU was woken",
	 .sections = {{.name = "wakeup",
		       .explain = {"host_wakeup", "run_delay", "entry", "guest",
				   "guest_run_delay"}},
		      {.name = "wakeup_list"},
		      {.name = "wakeup_awake", .explain = {"guest", "guest_run_delay"}},
		      {.name = "wakeup_awake_list"},
		      {.name = "wakeup_histogram"}},
	 .drawn = "wakeup_histogram"},
	{.name = "preempt",
	 .about = "who took whose CPU",
	 .nothing = "nothing was preempted",
	 .sections = {{.name = "vcpu_time",
		       .hide = {"parent"},
		       .explain = {"on_cpu", "steal", "inherited_steal", "total_steal"}},
		      {.name = "steal",
		       .explain = {"guest", "unit", "steal", "queued", "slice", "wakeup", "class",
				   "migrated", "throttled"}},
		      {.name = "preemption", .explain = {"mode"}},
		      {.name = "preemption_victim", .hide = {"share"}},
		      {.name = "thread_delay", .hide = {"share"}, .explain = {"in_guest"}}}},
	{.name = "exits",
	 .about = "why vCPUs left guest mode, and what that cost",
	 .nothing = "no vCPU left guest mode",
	 .sections = {{.name = "hypervisor", .explain = {"guest", "hypervisor", "share", "note"}},
		      {.name = "exits",
		       .hide = {"reason", "max_at"},
		       .explain = {"from", "total", "user_count", "user"}},
		      {.name = "exit_cause", .hide = {"reason", "max_at"}},
		      {.name = "nesting",
		       .explain = {"reflected", "follow", "per_thousand", "mean"}}},
	 .drawn = "exit_histogram"},
	{.name = "io",
	 .about =
		 "what requests to disks and networks waited for, from the guest to the device and back",
	 .nothing = "no request to a device was seen",
	 .record = "; sonde record --for io records them",
	 .sections = {{.name = "io",
		       .explain = {"kind", "depth", "queue", "submit", "wake", "vmm", "disk",
				   "inject", "deliver", "finish", "undivided"}},
		      {.name = "io_stage", .whole = true},
		      {.name = "io_list", .hide = {"cpu", "sector", "worker", "sender"}},
		      {.name = "io_step", .hide = {"machine", "thread"}, .whole = true}},
	 .drawn = "io_histogram"},
	{.name = "boot",
	 .about = "how VMs started",
	 .nothing = "no VM was started",
	 .sections = {{.name = "boot", .hide = PHASE_HIDE, .explain = PHASE_EXPLAIN, .whole = true},
		      {.name = "initcall", .hide = {"thread"}, .explain = {"share", "note"}}},
	 .drawn = "boot",
	 .is_phases = true},
	{.name = "shutdown",
	 .about = "how VMs ended",
	 .nothing = "no VM ended",
	 .sections = {{.name = "shutdown",
		       .hide = PHASE_HIDE,
		       .explain = PHASE_EXPLAIN,
		       .whole = true}},
	 .drawn = "shutdown",
	 .is_phases = true},
	{.name = "vms",
	 .about = "what VMs are like, and which are alike",
	 .nothing = "there was no VM",
	 .sections = {{.name = "vms",
		       .explain = {"group", "silhouette", "guest_mode", "kvm", "vmm", "halting",
				   "nesting", "host_irq", "total_steal", "exits", "waits",
				   "wait_length"},
		       .whole = true}}},
};
const unsigned nr_topics = ARRAY_SIZE(topics);

const struct topic *topic_find(const char *name)
{
	for (unsigned i = 0; i < nr_topics; i++) {
		if (!strcmp(topics[i].name, name))
			return &topics[i];
	}
	return NULL;
}

const char *topic_names(char *out, size_t room, bool drawn)
{
	const char *last = NULL;
	size_t n = 0;

	*out = '\0';
	for (unsigned i = 0; i < nr_topics; i++) {
		if (drawn && !topics[i].drawn)
			continue;
		if (last && n < room)
			n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ", " : "", last);
		last = topics[i].name;
	}
	if (last && n < room)
		snprintf(out + n, room - n, "%s%s", n ? " and " : "", last);
	return out;
}
