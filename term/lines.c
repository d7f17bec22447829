/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strcasestr */
#include "term/lines.h"
#include "base/grow.h"
#include "report/moment.h"
#include "sonde/tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_SHOWN 12
#define DEPTH_MAX 16 /* of machines in machines */
#define NS_DEPTH_MAX 32

/* What a line is about; with a row and, in groups of CPUs, a CPU's row it makes its id. */
enum topic {
	TOPIC_PHYSICAL = 1,
	TOPIC_MACHINE,
	TOPIC_OWN,
	TOPIC_VCPU,
	TOPIC_TASK,
	TOPIC_CONTAINER,
	TOPIC_THREADS,
	TOPIC_ALL_THREADS,
	TOPIC_THREAD,
	TOPIC_EXITS,
};

static uint64_t id_of(enum topic topic, int64_t row, int64_t cpu)
{
	return (uint64_t)topic << 56 | ((uint64_t)(cpu + 1) & 0xffffff) << 32 |
	       ((uint64_t)row & 0xffffffff);
}

static enum topic topic_of(const struct line *line)
{
	return (enum topic)(line->id >> 56);
}

void lines_init(struct lines *l, struct sonde_history *history)
{
	*l = (struct lines){.history = history};
}

void lines_release(struct lines *l)
{
	free(l->list);
	free(l->busy);
	members_release(&l->busy_of);
	members_release(&l->vms);
	members_release(&l->containers);
	members_release(&l->threads);
	map_release(&l->open);
	map_release(&l->extra);
	*l = (struct lines){0};
}

/* ---- what is in which machine -------------------------------------------------------------- */

static bool has_line(const struct sonde_history *history, int64_t thread)
{
	return sonde_attr_of_thread(history, thread, "state") != SONDE_NO_ATTR;
}

static void list_rows(struct lines *l)
{
	list_vms(l->history, &l->vms);
	for (int64_t row = l->containers.nr; row-- > 0;) {
		struct sonde_pid_ns ns;

		if (!sonde_pid_ns_get(l->history, row, &ns) && is_container(l->history, row))
			members_add(&l->containers, ns.machine, row);
	}
	for (int64_t row = l->threads.nr; row-- > 0;) {
		struct sonde_thread t;

		if (!sonde_thread_get(l->history, row, &t) && has_line(l->history, row))
			members_add(&l->threads, t.machine, row);
	}
}

/* False: no memory. */
static bool know_rows(struct lines *l)
{
	int64_t nr = sonde_nr_machines(l->history);

	if (l->vms.first)
		return true;
	if (members_init(&l->threads, nr, sonde_nr_threads(l->history)) ||
	    members_init(&l->containers, nr, sonde_nr_pid_ns(l->history)) ||
	    members_init(&l->vms, nr, nr)) {
		members_release(&l->threads);
		members_release(&l->containers);
		return false;
	}
	list_rows(l);
	return true;
}

/* ---- the tree ------------------------------------------------------------------------------ */

static struct line *add(struct lines *l, enum line_kind kind, uint64_t id, unsigned depth,
			int64_t machine)
{
	struct line *line;

	if (!room_for_one(&l->list, l->nr, &l->room)) {
		l->no_memory = true;
		return NULL;
	}
	line = &l->list[l->nr++];
	*line = (struct line){
		.kind = kind,
		.id = id,
		.depth = depth,
		.attr = SONDE_NO_ATTR,
		.machine = machine,
		.cpu = -1,
		.thread = -1,
		.only_machine = -1,
		.only_pid_ns = -1,
	};
	return line;
}

/* A heading; whether what is below it is to be shown. */
static bool add_group(struct lines *l, uint64_t id, unsigned depth, int64_t machine,
		      const char *label, const char *note, bool by_default)
{
	struct line *line = add(l, LINE_GROUP, id, depth, machine);
	const uint32_t *open = map_get(&l->open, id);

	if (!line)
		return false;
	line->open = open ? *open : by_default;
	snprintf(line->label, sizeof(line->label), "%s", label);
	snprintf(line->note, sizeof(line->note), "%s", note);
	return line->open;
}

/* A line for each physical CPU; @only_machine, @only_pid_ns: what it is limited to. */
static void add_physical(struct lines *l, enum topic topic, int64_t row, unsigned depth,
			 int64_t machine, int64_t only_machine, int64_t only_pid_ns)
{
	int number = INT_MIN;
	int64_t cpu;

	while ((cpu = sonde_next_cpu(l->history, 0, number)) >= 0) {
		uint32_t attr = sonde_attr_of_cpu(l->history, cpu, "runs");
		struct sonde_cpu c;
		struct line *line;

		sonde_cpu_get(l->history, cpu, &c);
		number = c.number;
		if (attr == SONDE_NO_ATTR)
			continue;
		line = add(l, LINE_CPU, id_of(topic, row, cpu), depth, machine);
		if (!line)
			return;
		snprintf(line->label, sizeof(line->label), "CPU %d", c.number);
		line->attr = attr;
		line->cpu = cpu;
		line->only_machine = only_machine;
		line->only_pid_ns = only_pid_ns;
	}
}

/* What there is to be seen of a vCPU. */
static const struct vcpu_line {
	enum line_kind kind;
	enum topic topic;
	const char *attr, *note;
} vcpu_lines[] = {
	{LINE_VCPU, TOPIC_VCPU, "state", "state"},
	{LINE_EXITS, TOPIC_EXITS, "exit", "exits"},
	{LINE_TASK, TOPIC_TASK, "task", "thread"},
};

static void add_vcpu_line(struct lines *l, int64_t cpu, const struct sonde_cpu *c, unsigned depth,
			  const struct vcpu_line *what)
{
	uint32_t attr = sonde_attr_of_cpu(l->history, cpu, what->attr);
	struct line *line;

	if (attr == SONDE_NO_ATTR)
		return;
	line = add(l, what->kind, id_of(what->topic, cpu, -1), depth, c->machine);
	if (!line)
		return;
	if (c->number < 0)
		snprintf(line->label, sizeof(line->label), "vCPUs");
	else
		snprintf(line->label, sizeof(line->label), "vCPU %d", c->number);
	snprintf(line->note, sizeof(line->note), "%s", what->note);
	if (what->kind != LINE_EXITS)
		line->attr = attr;
	line->cpu = cpu;
}

static void add_vcpus(struct lines *l, int64_t machine, unsigned depth)
{
	int number = INT_MIN;
	int64_t cpu;

	while ((cpu = sonde_next_cpu(l->history, (unsigned)machine, number)) >= 0) {
		struct sonde_cpu c;

		sonde_cpu_get(l->history, cpu, &c);
		number = c.number;
		for (unsigned i = 0; i < ARRAY_SIZE(vcpu_lines); i++)
			add_vcpu_line(l, cpu, &c, depth, &vcpu_lines[i]);
	}
}

static void add_containers(struct lines *l, int64_t machine, unsigned depth)
{
	for (int64_t row = members_first(&l->containers, machine); row >= 0;
	     row = members_next(&l->containers, row)) {
		uint64_t id = id_of(TOPIC_CONTAINER, row, -1);
		char label[96];

		sonde_pid_ns_label(l->history, row, label, sizeof(label));
		if (add_group(l, id, depth, machine, label, "container", false))
			add_physical(l, TOPIC_CONTAINER, row, depth + 1, machine, -1, row);
	}
}

static void add_thread(struct lines *l, int64_t row, unsigned depth)
{
	uint32_t attr = sonde_attr_of_thread(l->history, row, "state");
	struct sonde_thread t;
	struct line *line;

	if (attr == SONDE_NO_ATTR || sonde_thread_get(l->history, row, &t))
		return;
	line = add(l, LINE_THREAD, id_of(TOPIC_THREAD, row, -1), depth, t.machine);
	if (!line)
		return;
	snprintf(line->label, sizeof(line->label), "%s", *t.comm ? t.comm : "?");
	snprintf(line->note, sizeof(line->note), "%lld", (long long)t.tid);
	line->attr = attr;
	line->thread = row;
}

/* The busiest, in their order, then those that were asked for, or all. */
static void list_threads(struct lines *l, int64_t machine, unsigned depth, bool every)
{
	struct map shown = {0};
	unsigned nr = 0;

	for (int64_t i = members_first(&l->busy_of, machine);
	     i >= 0 && (every || nr < THREADS_SHOWN); i = members_next(&l->busy_of, i)) {
		add_thread(l, l->busy[i], depth);
		l->no_memory |= map_put(&shown, (uint64_t)l->busy[i], 1) != 0;
		nr++;
	}
	for (int64_t row = members_first(&l->threads, machine); row >= 0;
	     row = members_next(&l->threads, row)) {
		if (!(every || map_get(&l->extra, (uint64_t)row) ||
		      (!l->nr_busy && nr < THREADS_SHOWN)) ||
		    map_get(&shown, (uint64_t)row))
			continue;
		add_thread(l, row, depth);
		nr++;
	}
	map_release(&shown);
}

static void add_threads(struct lines *l, int64_t machine, unsigned depth)
{
	uint64_t all_id = id_of(TOPIC_ALL_THREADS, machine, -1);
	const uint32_t *open = map_get(&l->open, all_id);
	bool every = open && *open;
	char text[48];
	unsigned nr = 0;

	for (int64_t row = members_first(&l->threads, machine); row >= 0;
	     row = members_next(&l->threads, row))
		nr++;
	if (!nr)
		return;
	snprintf(text, sizeof(text), "%u", nr);
	if (!add_group(l, id_of(TOPIC_THREADS, machine, -1), depth, machine, "Threads", text,
		       false))
		return;
	list_threads(l, machine, depth + 1, every);
	if (nr <= THREADS_SHOWN)
		return;
	snprintf(text, sizeof(text), "all %u threads", nr);
	add_group(l, all_id, depth + 1, machine, every ? "only the busiest" : text, "", false);
}

static void add_machine(struct lines *l, int64_t row, unsigned depth, unsigned nested)
{
	struct sonde_machine m;
	char note[48], kind[32], cpus[128];

	if (nested > DEPTH_MAX || sonde_machine_get(l->history, row, &m))
		return;
	if (!row)
		outermost_cpus_text(l->history, cpus, sizeof(cpus));
	if (!row &&
	    add_group(l, id_of(TOPIC_PHYSICAL, 0, -1), depth, 0, cpus, "what really ran", true))
		add_physical(l, TOPIC_PHYSICAL, 0, depth + 1, 0, -1, -1);
	machine_kind_text(l->history, row, true, kind, sizeof(kind));
	snprintf(note, sizeof(note), "%s%s", kind, m.traced ? "" : ", no trace");
	if (!add_group(l, id_of(TOPIC_MACHINE, row, -1), depth, row, m.name, note, true))
		return;
	if (add_group(l, id_of(TOPIC_OWN, row, -1), depth + 1, row, "On CPUs", "its own code",
		      true))
		add_physical(l, TOPIC_OWN, row, depth + 2, row, row, -1);
	add_vcpus(l, row, depth + 1);
	add_containers(l, row, depth + 1);
	add_threads(l, row, depth + 1);
	for (int64_t vm = members_first(&l->vms, row); vm >= 0; vm = members_next(&l->vms, vm))
		add_machine(l, vm, depth + 1, nested + 1);
}

int lines_build(struct lines *l)
{
	l->nr = 0;
	l->no_memory = !know_rows(l);
	if (!l->no_memory)
		add_machine(l, 0, 0, 0);
	return l->no_memory ? -ENOMEM : 0;
}

static bool list_busy(struct lines *l)
{
	members_release(&l->busy_of);
	if (members_init(&l->busy_of, sonde_nr_machines(l->history), (int64_t)l->nr_busy))
		return false;
	for (int64_t i = l->busy_of.nr; i-- > 0;) {
		struct sonde_thread t;

		if (!sonde_thread_get(l->history, l->busy[i], &t) &&
		    has_line(l->history, l->busy[i]))
			members_add(&l->busy_of, t.machine, i);
	}
	return true;
}

int lines_busy(struct lines *l, int64_t begin, int64_t end)
{
	struct sonde_rows *f;
	struct sonde_error err;
	int ret = sonde_rows_get(&f, l->history, "thread_time", begin, end, &err);
	int column;

	if (ret)
		return ret;
	free(l->busy);
	l->nr_busy = 0;
	l->busy = calloc(sonde_rows_nr(f) + 1, sizeof(*l->busy));
	column = sonde_rows_column(f, "thread");
	for (size_t i = 0; l->busy && column >= 0 && i < sonde_rows_nr(f); i++) {
		int64_t row = sonde_rows_cell(f, i, (unsigned)column).i;

		if (row >= 0)
			l->busy[l->nr_busy++] = row;
	}
	sonde_rows_free(f);
	return l->busy && list_busy(l) ? 0 : -ENOMEM;
}

/* ---- opening and finding ------------------------------------------------------------------- */

void lines_toggle(struct lines *l, const struct line *line)
{
	if (line->kind == LINE_GROUP)
		l->no_memory |= map_put(&l->open, line->id, !line->open) != 0;
}

void lines_open_all(struct lines *l, bool open)
{
	for (unsigned i = 0; i < l->nr; i++) {
		const struct line *line = &l->list[i];

		if (line->kind == LINE_GROUP && topic_of(line) != TOPIC_ALL_THREADS)
			l->no_memory |= map_put(&l->open, line->id, open) != 0;
	}
}

int lines_find(const struct lines *l, uint64_t id)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (l->list[i].id == id)
			return (int)i;
	}
	return -1;
}

/* What a thing is called where it is looked for. */
static void search_name(const struct lines *l, const struct line *line, char *buf, size_t room)
{
	*buf = '\0';
	if (line->kind == LINE_THREAD)
		sonde_thread_label(l->history, line->thread, buf, room);
	else if (line->kind == LINE_VCPU)
		sonde_cpu_label(l->history, line->cpu, buf, room);
	else if (topic_of(line) == TOPIC_MACHINE || topic_of(line) == TOPIC_CONTAINER ||
		 topic_of(line) == TOPIC_PHYSICAL)
		snprintf(buf, room, "%s", line->label);
}

/* Opens the groups around line @index of @all. */
static void open_around(struct lines *l, const struct lines *all, unsigned index)
{
	unsigned depth = all->list[index].depth;

	for (unsigned i = index; i-- > 0 && depth;) {
		const struct line *line = &all->list[i];

		if (line->kind != LINE_GROUP || line->depth >= depth)
			continue;
		depth = line->depth;
		l->no_memory |= map_put(&l->open, line->id, 1) != 0;
	}
}

/* The list as it would be with everything open. */
static int build_all(const struct lines *l, struct lines *all)
{
	int64_t machines = sonde_nr_machines(l->history);
	int ret;

	lines_init(all, l->history);
	for (int64_t m = 0; m < machines; m++) {
		all->no_memory |= map_put(&all->open, id_of(TOPIC_THREADS, m, -1), 1) ||
				  map_put(&all->open, id_of(TOPIC_ALL_THREADS, m, -1), 1);
	}
	ret = all->no_memory ? -ENOMEM : lines_build(all);
	if (ret)
		lines_release(all);
	return ret;
}

/* Where line @after of @l is in @all, or would be. */
static int place_in(const struct lines *l, int after, const struct lines *all)
{
	for (int i = after; i >= 0; i--) {
		int place = (unsigned)i < l->nr ? lines_find(all, l->list[i].id) : -1;

		if (place >= 0)
			return place;
	}
	return -1;
}

/* The next one after @from, round about; @whole: of just that name. */
static int next_named(const struct lines *all, const char *text, bool whole, int from)
{
	for (unsigned n = 1; n <= all->nr; n++) {
		unsigned i = (unsigned)(from + (int)n) % all->nr;
		char name[160];

		search_name(all, &all->list[i], name, sizeof(name));
		if (whole ? !strcasecmp(name, text) : strcasestr(name, text) != NULL)
			return (int)i;
	}
	return -1;
}

int lines_search(struct lines *l, const char *text, int after, bool again)
{
	struct lines all;
	uint64_t id = 0;
	int from, found;

	if (build_all(l, &all))
		return -1;
	from = place_in(l, after, &all);
	found = again ? -1 : next_named(&all, text, true, from);
	if (found < 0)
		found = next_named(&all, text, false, from);
	if (found >= 0) {
		const struct line *line = &all.list[found];

		id = line->id;
		open_around(l, &all, (unsigned)found);
		if (line->kind == LINE_THREAD)
			l->no_memory |= map_put(&l->extra, (uint64_t)line->thread, 1) != 0;
	}
	lines_release(&all);
	if (found < 0 || lines_build(l))
		return -1;
	return lines_find(l, id);
}

/* ---- values -------------------------------------------------------------------------------- */

static bool is_in_pid_ns(const struct sonde_history *history, int64_t thread, int64_t pid_ns)
{
	struct sonde_thread t;
	struct sonde_pid_ns ns;
	int64_t row;

	if (sonde_thread_get(history, thread, &t))
		return false;
	row = t.pid_ns;
	for (unsigned i = 0; i < NS_DEPTH_MAX && row != pid_ns; i++) {
		if (sonde_pid_ns_get(history, row, &ns))
			return false;
		row = ns.parent;
	}
	return row == pid_ns;
}

uint32_t line_value(struct sonde_history *history, const struct line *line, uint32_t value)
{
	struct sonde_context c;

	if (line->kind != LINE_CPU || (line->only_machine < 0 && line->only_pid_ns < 0))
		return value;
	/* Time of which nothing is known belongs to the physical machine. */
	if (sonde_context_get(history, (int64_t)value - 1, &c))
		return line->only_machine == 0 ? value : 0;
	if (line->only_machine >= 0)
		return c.machine == line->only_machine ? value : 0;
	return is_in_pid_ns(history, c.thread, line->only_pid_ns) ? value : 0;
}
