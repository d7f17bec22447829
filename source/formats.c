/* SPDX-License-Identifier: Apache-2.0 */
/* All formats of traces: which one a file is of, and opening it. */
#include "events/rows.h"
#include "source/trace.h"

#include <errno.h>
#include <stdlib.h>

static const struct trace_ops *const formats[] = {&dat_trace_ops, &ctf_trace_ops, &hyper_trace_ops,
						  &folded_trace_ops, &perf_trace_ops};

static const struct trace_ops *find_format(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (formats[i]->probe(path))
			return formats[i];
	}
	return NULL;
}

bool trace_probe(const char *path)
{
	return find_format(path) != NULL;
}

/* Where no tracer told it: the kernel's release, or events that only one's kernels have. */
static enum arch arch_of_trace(const struct trace *t)
{
	enum arch arch = arch_of_release(t->release);

	for (unsigned i = 0; i < t->nr_types && !arch; i++) {
		unsigned uses = event_rows[t->types[i].kind].uses;

		if (uses & EVENT_X86)
			arch = ARCH_X86_64;
		else if (uses & EVENT_ARM64)
			arch = ARCH_ARM64;
	}
	return arch;
}

static int open_as(struct trace **out, const struct trace_ops *ops, const char *const *paths,
		   unsigned nr, struct error *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return fail(err, -ENOMEM, "out of memory opening %s", paths[0]);
	t->ops = ops;
	ret = trace_set_paths(t, paths, nr);
	ret = ret ? fail(err, ret, "out of memory opening %s", paths[0]) : ops->open(t, err);
	if (!t->arch)
		t->arch = arch_of_trace(t);
	if (ret) {
		trace_release(t);
		return ret;
	}
	*out = t;
	return 0;
}

static int no_trace(const char *path, struct error *err)
{
	return fail(
		err, -EINVAL,
		"%s is not a trace: no trace.dat or perf.data file, and no directory with a CTF "
		"\"metadata\" file",
		path);
}

int trace_open(struct trace **out, const char *path, struct error *err)
{
	const struct trace_ops *ops = find_format(path);
	int ret;

	*out = NULL;
	if (!ops)
		return no_trace(path, err);
	ret = open_as(out, ops, &path, 1, err);
	if (!ret)
		ret = trace_has_streams(*out, err);
	if (ret) {
		trace_release(*out);
		*out = NULL;
	}
	return ret;
}

int trace_open_parts(struct trace **out, const char *const *paths, unsigned nr, struct error *err)
{
	const struct trace_ops *ops = find_format(paths[0]);

	*out = NULL;
	if (!ops)
		return no_trace(paths[0], err);
	if (nr > 1 && !ops->takes_parts)
		return fail(err, -EINVAL, "%s cannot be opened together with other parts",
			    paths[0]);
	return open_as(out, ops, paths, nr, err);
}
