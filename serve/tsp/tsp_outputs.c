/* SPDX-License-Identifier: Apache-2.0 */
/* The views that there are of an experiment. */
#include "serve/tsp/tsp_call.h"

#include <errno.h>
#include <string.h>

#define FACTS "table."
#define STATISTICS "statistics."

static const struct tsp_output fixed[] = {
	{"fused", TSP_FUSED, "TIME_GRAPH", "Fused physical CPUs",
	 "What really runs on each physical CPU: the innermost machine, thread and state", NULL},
	{"vcpus", TSP_VCPUS, "TIME_GRAPH", "vCPUs",
	 "What each vCPU does as its host sees it: on a CPU, preempted, waiting", NULL},
	{"threads", TSP_THREADS, "TIME_GRAPH", "Threads",
	 "What each thread does as its own kernel sees it, with wake-ups", NULL},
	{"cpu-use", TSP_CPU_USE, "TREE_TIME_XY", "CPU use by machine",
	 "Time of physical CPUs that each machine's own code used, in percent of one CPU", NULL},
	{"exit-rate", TSP_EXIT_RATE, "TREE_TIME_XY", "VM exits",
	 "How often each vCPU left its guest, per second", NULL},
	{"events", TSP_EVENTS, "TABLE", "Events",
	 "The events of all machines in the order of the physical machine's time", NULL},
};

/* Analyses that count time by machine, or by parts of machines: shown as trees, too. */
static const char *const statistics[] = {"machine_time", "vcpu_time", "container_time",
					 "process_time"};

/* "table.NAME" or "statistics.NAME". */
static void make_output(struct tsp_output *out, enum tsp_output_kind kind,
			const struct sonde_table *a)
{
	*out = (struct tsp_output){
		.kind = kind,
		.type = kind == TSP_ROWS ? "TABLE" : "DATA_TREE",
		.name = a->title,
		.help = a->help,
		.table = a,
	};
	snprintf(out->id, sizeof(out->id), "%s%s", kind == TSP_ROWS ? FACTS : STATISTICS, a->name);
}

static const struct sonde_table *find_table(const char *name)
{
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	for (unsigned i = 0; i < nr; i++) {
		if (!strcmp(list[i]->name, name))
			return list[i];
	}
	return NULL;
}

static bool has_statistics(const char *name)
{
	for (unsigned i = 0; i < sizeof(statistics) / sizeof(*statistics); i++) {
		if (!strcmp(statistics[i], name))
			return true;
	}
	return false;
}

int tsp_find_output(const char *id, struct tsp_output *out)
{
	const struct sonde_table *a = NULL;
	enum tsp_output_kind kind = TSP_ROWS;

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (!strcmp(fixed[i].id, id)) {
			*out = fixed[i];
			return 0;
		}
	}
	if (!strncmp(id, FACTS, strlen(FACTS))) {
		a = find_table(id + strlen(FACTS));
	} else if (!strncmp(id, STATISTICS, strlen(STATISTICS)) &&
		   has_statistics(id + strlen(STATISTICS))) {
		a = find_table(id + strlen(STATISTICS));
		kind = TSP_STATISTICS;
	}
	if (!a)
		return -ENOENT;
	make_output(out, kind, a);
	return 0;
}

static void put_output(struct json *j, const struct tsp_output *o)
{
	json_begin_object(j, NULL);
	json_str(j, "id", o->id);
	json_str(j, "name", o->name);
	json_str(j, "description", o->help);
	json_str(j, "type", o->type);
	json_end(j);
}

int tsp_outputs(struct tsp_call *c, struct error *err)
{
	struct json *j = &c->json;
	struct tsp_output o;
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	(void)err;
	json_begin_array(j, NULL);
	for (unsigned i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		put_output(j, &fixed[i]);
	for (unsigned i = 0; i < sizeof(statistics) / sizeof(*statistics); i++) {
		make_output(&o, TSP_STATISTICS, find_table(statistics[i]));
		put_output(j, &o);
	}
	for (unsigned i = 0; i < nr; i++) {
		make_output(&o, TSP_ROWS, list[i]);
		put_output(j, &o);
	}
	json_end(j);
	return 0;
}

int tsp_one_output(struct tsp_call *c, struct error *err)
{
	(void)err;
	put_output(&c->json, &c->output);
	return 0;
}
