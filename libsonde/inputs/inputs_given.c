/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_given.h"
#include "libsonde/inputs/inputs_within.h"
#include "base/number.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* "KEY=value": true when the part before '=' is @key. */
static const char *value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(text, key, len) && text[len] == '=' ? text + len + 1 : NULL;
}

static bool is_under(const char *path, const char *dir)
{
	char real_path[PATH_MAX];
	char real_dir[PATH_MAX];
	size_t len;

	if (!realpath(path, real_path) || !realpath(dir, real_dir))
		return false;
	len = strlen(real_dir);
	return !strncmp(real_path, real_dir, len) && (!real_path[len] || real_path[len] == '/');
}

static void apply_machine(struct topology_input *input, const struct rundir_machine *machine,
			  unsigned recording, bool alone)
{
	input->recording = recording;
	input->name = machine->name;
	input->vm_pid = machine->vm_pid;
	/* The machine on which a recorder ran is the outermost of its own run; beside others it may
	 * well be inside one: what a guest recorded by itself. */
	if (!machine->parent && !alone)
		return;
	input->parent = machine->parent ? machine->parent : "-";
	input->recorded = true;
}

/* What manifests say of the traces.  What the user says comes later, and counts more. */
static void apply_runs(struct topology_input *list, unsigned nr, const struct inputs *in)
{
	for (unsigned r = 0; r < in->nr_runs; r++) {
		bool alone = in->nr_runs == 1 && in->runs[r].nr >= nr;

		for (unsigned m = 0; m < in->runs[r].nr; m++) {
			const struct rundir_machine *machine = &in->runs[r].machines[m];

			for (unsigned i = 0; i < nr; i++) {
				if (is_under(list[i].trace->path, machine->folder))
					apply_machine(&list[i], machine, r + 1, alone);
			}
		}
	}
}

/* Manifests know a machine by the name that they gave it. */
static void rename_parent(struct topology_input *list, unsigned nr, const char *old,
			  const char *name)
{
	for (unsigned i = 0; i < nr && old; i++) {
		if (list[i].recorded && !strcmp(list[i].parent, old))
			list[i].parent = name;
	}
}

/* Which trace the user called so before; NULL: none. */
static const struct topology_input *named_before(const struct topology_input *list, unsigned nr,
						 const char *name)
{
	for (unsigned i = 0; i < nr; i++) {
		if (list[i].named && !strcmp(list[i].name, name))
			return &list[i];
	}
	return NULL;
}

/* What is under @path is called @name: one trace, for a name is one machine's. */
static int apply_name(struct topology_input *list, unsigned nr, const char *name, const char *path,
		      struct error *err)
{
	const struct topology_input *before = named_before(list, nr, name), *first = NULL;

	for (unsigned i = 0; i < nr; i++) {
		const char *old = list[i].name;

		if (!is_under(list[i].trace->path, path))
			continue;
		if (before && before != &list[i])
			return fail(err, -EINVAL,
				    "--guest %.60s=%.200s: %.200s was given that name before; each "
				    "machine needs one of its own",
				    name, path, before->trace->path);
		if (first)
			return fail(err, -EINVAL,
				    "--guest %.60s=%.120s: %.120s and %.120s are both there; each "
				    "machine needs a name of its own",
				    name, path, first->trace->path, list[i].trace->path);
		first = &list[i];
		list[i].name = name;
		list[i].named = true;
		rename_parent(list, nr, old, name);
	}
	return 0;
}

/* A name the user gave needs its '=' to be cut off, and lives as long as the inputs: it is copied
 * into @names. */
static int apply_names(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
		       struct arena *names, struct error *err)
{
	for (unsigned g = 0; g < told->nr_guests; g++) {
		const char *equals = strchr(told->guests[g], '=');
		const char *name =
			arena_strndup(names, told->guests[g], (size_t)(equals - told->guests[g]));
		int ret = name ? apply_name(list, nr, name, equals + 1, err)
			       : fail(err, -ENOMEM, "out of memory");

		if (ret)
			return ret;
	}
	return 0;
}

/* The trace that a user calls @name: by --guest, else by its host name. */
static struct topology_input *find_named(struct topology_input *list, unsigned nr,
					 const char *option)
{
	struct topology_input *found = NULL;

	for (unsigned i = 0; i < nr; i++) {
		const char *name = list[i].name ? list[i].name : list[i].trace->hostname;

		if (value_of(option, name) && (!found || (list[i].named && !found->named)))
			found = &list[i];
	}
	return found;
}

static int no_such_machine(const char *what, const char *option, struct error *err)
{
	return fail(err, -EINVAL,
		    "%s %s: no trace has that name; host names are used, or --guest NAME=PATH "
		    "gives a name",
		    what, option);
}

static int apply_parents(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
			 struct error *err)
{
	for (unsigned p = 0; p < told->nr_parents; p++) {
		struct topology_input *child = find_named(list, nr, told->parents[p]);
		const char *parent;

		if (!child)
			return no_such_machine("--parent", told->parents[p], err);
		parent = strchr(told->parents[p], '=') + 1;
		if (child->parent && !child->recorded && !child->because &&
		    strcmp(child->parent, parent))
			return fail(err, -EINVAL, "--parent %s: %s was given before",
				    told->parents[p], child->parent);
		child->parent = parent;
		child->recorded = false;
	}
	return 0;
}

static int apply_offsets(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
			 struct error *err)
{
	for (unsigned p = 0; p < told->nr_tsc_offsets; p++) {
		struct topology_input *machine = find_named(list, nr, told->tsc_offsets[p]);
		int64_t offset;

		if (!machine)
			return no_such_machine("--tsc-offset", told->tsc_offsets[p], err);
		if (!number_parse(strchr(told->tsc_offsets[p], '=') + 1, &offset))
			return fail(err, -EINVAL, "--tsc-offset %s: NAME=CYCLES is expected",
				    told->tsc_offsets[p]);
		if (machine->has_tsc_offset && machine->tsc_offset != offset)
			return fail(err, -EINVAL, "--tsc-offset %s: %lld was given before",
				    told->tsc_offsets[p], (long long)machine->tsc_offset);
		machine->tsc_offset = offset;
		machine->has_tsc_offset = true;
	}
	return 0;
}

int inputs_apply_told(const struct inputs *in, const struct sonde_inputs *told,
		      struct topology_input *list, struct arena *names, struct error *err)
{
	unsigned nr = in->nr_traces;
	int ret;

	apply_runs(list, nr, in);
	inputs_apply_origins(list, nr, in);
	ret = apply_names(list, nr, told, names, err);
	if (!ret)
		ret = apply_parents(list, nr, told, err);
	return ret ? ret : apply_offsets(list, nr, told, err);
}
