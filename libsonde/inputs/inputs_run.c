/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_run.h"
#include "libsonde/inputs/trace_mark.h"
#include "query/query.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns of table "tick". */
enum { TICK_MACHINE, TICK_FROM, TICK_AT, TICK_MULT, TICK_BOUND };

static int count_ticks(const struct history *h, int table, int64_t machine)
{
	int nr = 0;

	for (int64_t row = 0; row < history_nr_rows(h, table); row++)
		nr += history_cell(h, table, row, TICK_MACHINE) == machine;
	return nr;
}

int clock_of_run(struct clock_model *out, const struct sonde_history *history, int64_t machine)
{
	const struct history *h = history->file;
	int table = history_table(h, "tick");
	int nr = table < 0 ? 0 : count_ticks(h, table, machine);

	*out = (struct clock_model){.method = CLOCK_METHOD_TOLD};
	if (!nr)
		return 0;
	out->pieces = calloc((size_t)nr, sizeof(*out->pieces));
	if (!out->pieces)
		return -ENOMEM;
	for (int64_t row = 0; row < history_nr_rows(h, table); row++) {
		int64_t bound = history_cell(h, table, row, TICK_BOUND);

		if (history_cell(h, table, row, TICK_MACHINE) != machine)
			continue;
		out->pieces[out->nr_pieces++] = (struct clock_piece){
			.from = (uint64_t)history_cell(h, table, row, TICK_FROM),
			.at_ns = history_cell(h, table, row, TICK_AT),
			.mult = (uint64_t)history_cell(h, table, row, TICK_MULT),
			.bound_ns = bound < 0 ? CLOCK_NO_BOUND : bound,
		};
	}
	return 0;
}

/* ---- where the traces are -------------------------------------------------------------------- */

/* Where to look first for what has a relative path; then in the others. */
enum place { WHERE_IT_RAN, BESIDE_HISTORY, FROM_HERE, NR_PLACES };

struct finding {
	const struct sonde_history *history;
	enum place first;
};

static bool join(char out[static PATH_MAX], const char *folder, size_t len, const char *path)
{
	return len && snprintf(out, PATH_MAX, "%.*s/%s", (int)len, folder, path) < PATH_MAX &&
	       !access(out, R_OK);
}

static const char *meta_of(const struct sonde_history *history, const char *key)
{
	struct sonde_meta meta;

	for (int64_t i = 0; i < sonde_nr_meta(history); i++) {
		if (!sonde_meta_get(history, i, &meta) && !strcmp(meta.key, key))
			return meta.value;
	}
	return "";
}

static bool locate_in(const struct finding *f, enum place place, const char *path,
		      char out[static PATH_MAX])
{
	const char *ran_in = meta_of(f->history, "directory");
	const char *slash = strrchr(f->history->path, '/');

	if (place == WHERE_IT_RAN)
		return join(out, ran_in, strlen(ran_in), path);
	if (place == BESIDE_HISTORY && slash)
		return join(out, f->history->path, (size_t)(slash - f->history->path), path);
	return join(out, ".", 1, path);
}

/* A path that analyze was given, as it is reached from here.  False, and the path as it is, when
 * nothing is there. */
static bool locate(const struct finding *f, const char *path, char out[static PATH_MAX])
{
	for (unsigned i = 0; *path != '/' && i < NR_PLACES; i++) {
		if (locate_in(f, (f->first + i) % NR_PLACES, path, out))
			return true;
	}
	snprintf(out, PATH_MAX, "%s", path);
	return !access(out, R_OK);
}

/* A machine of the history whose trace is a file, or was one. */
static bool has_file(const struct finding *f, int64_t row, struct sonde_machine *m)
{
	struct sonde_machine host;
	char path[PATH_MAX];

	if (sonde_machine_get(f->history, row, m) || !m->traced)
		return false;
	if (locate(f, m->trace_path, path) || sonde_machine_get(f->history, m->parent, &host))
		return true;
	/* "HOST'S TRACE: hypercalls of ..." */
	return strncmp(m->trace_path, host.trace_path, strlen(host.trace_path)) != 0 ||
	       m->trace_path[strlen(host.trace_path)] != ':';
}

static int keep_file(struct sonde_inputs *told, char **paths, const struct finding *f,
		     const char *given, const char *of, struct error *err)
{
	char path[PATH_MAX];

	if (!locate(f, given, path))
		return fail(err, -ENOENT,
			    "the trace of %s is not at %s any more: events are read from the "
			    "traces, the history has what became of them",
			    of, given);
	paths[told->nr_paths] = strdup(path);
	if (!paths[told->nr_paths])
		return fail(err, -ENOMEM, "out of memory");
	told->nr_paths++;
	return 0;
}

/* Files that were joined to those of the machines. */
static int keep_parts(struct sonde_inputs *told, char **paths, const struct finding *f,
		      struct error *err)
{
	struct sonde_meta meta;
	int ret = 0;

	for (int64_t i = 0; i < sonde_nr_meta(f->history) && !ret; i++) {
		if (!sonde_meta_get(f->history, i, &meta) && !strncmp(meta.key, "part", 4))
			ret = keep_file(told, paths, f, meta.value, "a machine", err);
	}
	return ret;
}

static int open_files(struct inputs *in, const struct finding *f, struct error *err)
{
	int64_t nr = sonde_nr_machines(f->history);
	char **paths = calloc((size_t)(nr + sonde_nr_meta(f->history)) + 1, sizeof(*paths));
	struct sonde_inputs told = {.paths = (const char **)paths, .threads = 1};
	struct sonde_machine m;
	int ret = paths ? 0 : fail(err, -ENOMEM, "out of memory");

	for (int64_t row = 0; row < nr && !ret; row++) {
		if (has_file(f, row, &m))
			ret = keep_file(&told, paths, f, m.trace_path, m.name, err);
	}
	if (!ret)
		ret = keep_parts(&told, paths, f, err);
	if (!ret)
		ret = inputs_open_traces(in, &told, NULL, err);
	for (unsigned i = 0; i < told.nr_paths; i++)
		free(paths[i]);
	free(paths);
	return ret;
}

static struct trace *find_trace(const struct inputs *in, const char *path)
{
	char wanted[PATH_MAX], real[PATH_MAX];

	for (unsigned i = 0; i < in->nr_traces && realpath(path, wanted); i++) {
		if (realpath(in->traces[i]->path, real) && !strcmp(real, wanted))
			return in->traces[i];
	}
	return NULL;
}

static int add_vcpus(struct machine *m, const struct sonde_history *history, int64_t row)
{
	struct sonde_cpu cpu;

	m->vcpus = calloc((size_t)sonde_nr_cpus(history) + 1, sizeof(*m->vcpus));
	if (!m->vcpus)
		return -ENOMEM;
	for (int64_t i = 0; !sonde_cpu_get(history, i, &cpu); i++) {
		if (cpu.machine == row && cpu.host_tid >= 0 && cpu.host_tid <= INT32_MAX)
			m->vcpus[m->nr_vcpus++] = (struct vcpu_hint){
				.vcpu = cpu.number,
				.host_tid = (int32_t)cpu.host_tid,
			};
	}
	return 0;
}

/* Machine @row of the history becomes the topology's next; @index says where others stand. */
static int add_machine(struct inputs *in, const struct finding *f, int64_t row, int *index,
		       struct error *err)
{
	struct topology *t = &in->topology;
	struct machine *m = &t->machines[t->nr_machines];
	struct sonde_machine known;
	char path[PATH_MAX];
	int ret;

	if (!has_file(f, row, &known))
		return 0;
	locate(f, known.trace_path, path);
	m->trace = find_trace(in, path);
	if (!m->trace)
		return fail(err, -EINVAL, "the trace of %s at %s cannot be opened", known.name,
			    known.trace_path);
	snprintf(m->name, sizeof(m->name), "%s", known.name);
	m->parent = known.parent < 0 || known.parent >= row ? -1 : index[known.parent];
	m->level = known.level;
	index[row] = (int)t->nr_machines++;
	ret = clock_of_run(&m->clock, f->history, row);
	if (!ret && !m->clock.nr_pieces)
		return fail(err, -ENODATA, "the history does not have the clock of %s", m->name);
	if (!ret)
		ret = add_vcpus(m, f->history, row);
	return ret ? fail(err, ret, "out of memory") : 0;
}

static int make_topology(struct inputs *in, const struct finding *f, struct error *err)
{
	struct topology *t = &in->topology;
	int64_t nr = sonde_nr_machines(f->history);
	int *index = malloc((size_t)(nr + 1) * sizeof(*index));
	int ret = 0;

	t->machines = calloc((size_t)nr + 1, sizeof(*t->machines));
	t->ticks_are_ns = sonde_history_ticks_are_ns(f->history);
	t->wall_known = sonde_history_wall_offset(f->history, &t->wall_offset_ns);
	if (!index || !t->machines)
		ret = fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr && !ret; row++) {
		index[row] = -1;
		ret = add_machine(in, f, row, index, err);
	}
	free(index);
	return ret;
}

/* Another trace may stand there by now: its events are not what the history was made of. */
static int expect_mark(const struct machine *m, const struct sonde_history *history,
		       struct error *err)
{
	char key[TRACE_MARK_KEY], text[TRACE_MARK_TEXT];
	const char *known;

	trace_mark_key(m, key);
	known = meta_of(history, key);
	trace_mark(m->trace, text);
	if (!*known || !strcmp(known, text))
		return 0;
	return fail(err, -ESTALE,
		    "%s is not the trace of %s that was analysed: it has changed since; analyse it "
		    "again",
		    m->trace->path, m->name);
}

/* With all that belongs to a machine's trace: its user space is attached last. */
static int expect_marks(const struct inputs *in, const struct sonde_history *history,
			struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < in->topology.nr_machines && !ret; i++)
		ret = expect_mark(&in->topology.machines[i], history, err);
	return ret;
}

static int open_run(struct inputs *in, const struct finding *f, struct error *err)
{
	int ret;

	memset(in, 0, sizeof(*in));
	ret = open_files(in, f, err);
	if (!ret)
		ret = make_topology(in, f, err);
	if (!ret)
		ret = inputs_list_streams(in, NULL, err);
	if (!ret)
		ret = expect_marks(in, f->history, err);
	if (ret)
		inputs_release(in);
	return ret;
}

/* Other traces may stand at the old paths while those that were analysed moved with the history. */
int inputs_open_run(struct inputs *in, const struct sonde_history *history, struct error *err)
{
	struct finding f = {.history = history};
	int ret = open_run(in, &f, err);

	while (ret && ret != -ENOMEM && ++f.first < NR_PLACES) {
		if (!open_run(in, &f, NULL))
			return 0;
	}
	return ret;
}
