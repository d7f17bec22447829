/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the tables of docs/formats/schema.md. */
#include "model/tables/tables.h"

/* clang-format off */
static const struct column machine_columns[] = {
	{"name", COL_STRING}, {"parent", COL_INT}, {"level", COL_INT}, {"traced", COL_BOOL},
	{"hostname", COL_STRING}, {"release", COL_STRING}, {"tracer", COL_STRING},
	{"trace_path", COL_STRING}, {"evidence", COL_STRING}, {"vm_pid", COL_INT},
	{"pid_known", COL_BOOL}, {"violations", COL_INT}, {"sees", COL_INT},
	{"begin", COL_NS}, {"end", COL_NS}, {"arch", COL_INT},
};
static const struct column cpu_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"host_tid", COL_INT}, {"nested_id", COL_INT},
	{"host_thread", COL_INT}, {"path", COL_STRING},
};
static const struct column thread_columns[] = {
	{"machine", COL_INT}, {"tid", COL_INT}, {"pid", COL_INT}, {"ppid", COL_INT},
	{"comm", COL_STRING}, {"pid_ns", COL_INT}, {"begin", COL_NS}, {"end", COL_NS},
	{"is_vcpu", COL_INT}, {"first_comm", COL_STRING}, {"first_cpu", COL_INT},
	{"cgroup", COL_INT},
};
static const struct column pid_ns_columns[] = {
	{"machine", COL_INT}, {"inum", COL_INT}, {"parent", COL_INT}, {"level", COL_INT},
	{"name", COL_STRING},
};
static const struct column vtid_columns[] = {
	{"thread", COL_INT}, {"level", COL_INT}, {"pid_ns", COL_INT}, {"vtid", COL_INT},
};
static const struct column context_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT}, {"mode", COL_INT},
	{"detail", COL_INT}, {"serves", COL_INT}, {"vmm", COL_INT},
};
static const struct column clock_columns[] = {
	{"machine", COL_INT}, {"from", COL_NS}, {"to", COL_NS}, {"bound", COL_NS},
	{"method", COL_STRING}, {"pairs", COL_INT}, {"violations", COL_INT},
	{"worst_violation", COL_NS}, {"rate_ppb", COL_INT}, {"readings", COL_INT},
	{"contained", COL_INT}, {"timers", COL_INT},
};
static const struct column loss_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"begin", COL_NS}, {"end", COL_NS},
	{"events", COL_INT},
};
static const struct column problem_columns[] = {
	{"machine", COL_INT}, {"text", COL_STRING}, {"count", COL_INT}, {"note", COL_BOOL},
};
static const struct column meta_columns[] = {{"key", COL_STRING}, {"value", COL_STRING}};
static const struct column cgroup_columns[] = {
	{"machine", COL_INT}, {"id", COL_INT}, {"path", COL_STRING},
};
static const struct column identity_columns[] = {
	{"machine", COL_INT}, {"key", COL_STRING}, {"value", COL_STRING},
};
static const struct column mark_columns[] = {
	{"at", COL_NS}, {"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT},
	{"kind", COL_INT}, {"id", COL_INT}, {"text", COL_STRING}, {"by_host", COL_BOOL},
};
static const struct column stat_columns[] = {
	{"machine", COL_INT}, {"at", COL_NS}, {"cause", COL_STRING}, {"cpu", COL_INT},
	{"hz", COL_INT}, {"user", COL_INT}, {"nice", COL_INT}, {"system", COL_INT},
	{"idle", COL_INT}, {"iowait", COL_INT}, {"irq", COL_INT}, {"softirq", COL_INT},
	{"steal", COL_INT}, {"guest", COL_INT}, {"guest_nice", COL_INT},
};
static const struct column wake_columns[] = {
	{"cpu", COL_INT}, {"cause", COL_INT}, {"vector", COL_INT}, {"from_cpu", COL_INT},
	{"by", COL_INT}, {"evidence", COL_STRING}, {"lost", COL_BOOL},
};
static const struct column vector_columns[] = {
	{"cpu", COL_INT}, {"vector", COL_INT}, {"cause", COL_INT}, {"irq", COL_STRING},
	{"times", COL_INT}, {"agree", COL_INT}, {"evidence", COL_STRING},
};
static const struct column irq_columns[] = {
	{"machine", COL_INT}, {"irq", COL_INT}, {"name", COL_STRING},
};
static const struct column exit_columns[] = {
	{"reason", COL_INT}, {"isa", COL_INT}, {"serves", COL_INT}, {"user_reason", COL_INT},
};
static const struct column milestone_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"since", COL_NS}, {"at", COL_NS},
	{"kind", COL_STRING}, {"text", COL_STRING},
};
static const struct column address_space_columns[] = {
	{"thread", COL_INT}, {"cr3", COL_INT}, {"times", COL_INT}, {"doubt", COL_NS},
};
static const struct column kept_event_columns[] = {
	{"at", COL_NS}, {"event", COL_STRING}, {"machine", COL_INT}, {"cpu", COL_INT},
	{"thread", COL_INT}, {"arg0", COL_INT}, {"arg1", COL_INT}, {"arg2", COL_INT},
	{"arg3", COL_INT}, {"arg4", COL_INT},
};
static const struct column refused_columns[] = {
	{"machine", COL_INT}, {"thread", COL_INT}, {"what", COL_INT}, {"origin", COL_INT},
	{"count", COL_INT}, {"first", COL_NS}, {"last", COL_NS},
};
static const struct column initcall_columns[] = {
	{"machine", COL_INT}, {"thread", COL_INT}, {"name", COL_STRING}, {"level", COL_STRING},
	{"begin", COL_NS}, {"end", COL_NS}, {"result", COL_INT},
};
static const struct column request_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT}, {"kind", COL_INT},
	{"dev", COL_INT}, {"sector", COL_INT}, {"bytes", COL_INT}, {"depth", COL_INT},
	{"queued", COL_NS}, {"issued", COL_NS}, {"kicked", COL_NS}, {"picked", COL_NS},
	{"disk_begin", COL_NS}, {"disk_end", COL_NS}, {"sent", COL_NS}, {"injected", COL_NS},
	{"handled", COL_NS}, {"done", COL_NS}, {"worker", COL_INT}, {"sender", COL_INT},
	{"irq_cpu", COL_INT}, {"vector", COL_INT}, {"covered", COL_BOOL},
	{"disputed", COL_BOOL},
};
/* clang-format on */

#define TABLE(name)                                                                                \
	{                                                                                          \
#name, name##_columns, ARRAY_SIZE(name##_columns)                                  \
	}

const struct table_schema table_schemas[NR_TABLES] = {
	[TABLE_MACHINE] = TABLE(machine),     [TABLE_CPU] = TABLE(cpu),
	[TABLE_THREAD] = TABLE(thread),	      [TABLE_PID_NS] = TABLE(pid_ns),
	[TABLE_VTID] = TABLE(vtid),	      [TABLE_CONTEXT] = TABLE(context),
	[TABLE_CLOCK] = TABLE(clock),	      [TABLE_LOSS] = TABLE(loss),
	[TABLE_PROBLEM] = TABLE(problem),     [TABLE_META] = TABLE(meta),
	[TABLE_CGROUP] = TABLE(cgroup),	      [TABLE_IDENTITY] = TABLE(identity),
	[TABLE_MARK] = TABLE(mark),	      [TABLE_WAKE] = TABLE(wake),
	[TABLE_VECTOR] = TABLE(vector),	      [TABLE_IRQ] = TABLE(irq),
	[TABLE_STAT] = TABLE(stat),	      [TABLE_EXIT] = TABLE(exit),
	[TABLE_MILESTONE] = TABLE(milestone), [TABLE_REQUEST] = TABLE(request),
	[TABLE_INITCALL] = TABLE(initcall),   [TABLE_ADDRESS_SPACE] = TABLE(address_space),
	[TABLE_REFUSED] = TABLE(refused),     [TABLE_KEPT_EVENT] = TABLE(kept_event),
};
