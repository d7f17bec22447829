/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a trace's directory are which streams. */
#include "source/ctf/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FORGET_ABOVE_BYTES (64u << 20)
#define MAX_FILES 65535

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every regular file of the directory but the metadata and what begins with a dot. */
static int list_names(struct trace *t, const char ***out, unsigned *nr, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	const char **names = NULL;
	unsigned room = 0;
	struct dirent *d;
	DIR *dir = opendir(t->path);

	if (!dir)
		return fail(err, -errno, "cannot open directory %s: %s", t->path, strerror(errno));
	*nr = 0;
	while ((d = readdir(dir)) && *nr < MAX_FILES) {
		char path[4096];
		struct stat st;

		if (d->d_name[0] == '.' || !strcmp(d->d_name, "metadata"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", t->path, d->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		if (*nr == room) {
			const char **more = realloc(names, (room + 64) * sizeof(*names));

			if (!more)
				goto oom;
			names = more;
			room += 64;
		}
		names[*nr] = arena_strdup(&ct->arena, path);
		if (!names[(*nr)++])
			goto oom;
	}
	closedir(dir);
	if (names)
		qsort(names, *nr, sizeof(*names), by_name);
	*out = names;
	return 0;
oom:
	closedir(dir);
	free(names);
	return fail(err, -ENOMEM, "out of memory opening %s", t->path);
}

/* One file of a data stream. */
struct candidate {
	struct ctf_file file;
	const struct ctf_stream_plan *plan;
	uint64_t begin, instance;
	bool has_instance;
	bool taken;
};

/* The first packet that can be read says what the file is. */
static bool look_at_file(struct trace *t, struct candidate *c)
{
	struct ctf_trace *ct = t->reader;
	uint64_t regs[CTF_REGS] = {0};
	struct ctf_packet_info info;
	struct error why = {0};

	if (mapfile_open(&c->file.map, c->file.path, &why)) {
		trace_problem(t, "%s; it is left out", why.text);
		return false;
	}
	if (!c->file.map.len_bytes) {
		trace_problem(t, "%s is empty", c->file.path);
		return false;
	}
	if (ctf_packet_read(ct, c->file.map.data, c->file.map.len_bytes, regs, &info, &why)) {
		trace_problem(t, "%s at offset 0: %s; the file is left out", c->file.path,
			      why.text);
		t->loss.bytes_skipped += c->file.map.len_bytes;
		t->loss.unknown++;
		return false;
	}
	c->plan = info.plan;
	c->begin = info.roles.value[CTF_ROLE_BEGIN];
	c->instance = info.roles.value[CTF_ROLE_STREAM_INSTANCE];
	c->has_instance = ctf_has_role(&info.roles, CTF_ROLE_STREAM_INSTANCE);
	return true;
}

static bool same_stream(const struct candidate *a, const struct candidate *b)
{
	return a->has_instance && b->has_instance && a->plan == b->plan &&
	       a->instance == b->instance;
}

/* Moves the files of candidate @first's stream into @cs, in the order of time. */
static int gather_files(struct trace *t, struct ctf_stream *cs, struct candidate *list,
			unsigned nr, unsigned first)
{
	struct ctf_trace *ct = t->reader;
	unsigned nr_files = 0;

	for (unsigned i = first; i < nr; i++)
		nr_files += !list[i].taken && (i == first || same_stream(&list[first], &list[i]));
	cs->files = arena_alloc(&ct->arena, nr_files * sizeof(*cs->files));
	if (!cs->files)
		return -ENOMEM;
	for (unsigned k = 0; k < nr_files; k++) {
		struct candidate *next = NULL;

		for (unsigned i = first; i < nr; i++) {
			struct candidate *c = &list[i];

			if (!c->taken && (i == first || same_stream(&list[first], c)) &&
			    (!next || c->begin < next->begin))
				next = c;
		}
		next->taken = true;
		cs->files[cs->nr_files++] = next->file;
	}
	return 0;
}

static int make_stream(struct trace *t, struct candidate *list, unsigned nr, unsigned first,
		       struct error *err)
{
	struct ctf_trace *ct = t->reader;
	struct stream *s = &t->streams[t->nr_streams];
	struct ctf_stream *cs = &ct->streams[t->nr_streams];

	t->nr_streams++;
	s->trace = t;
	s->buffer = "";
	s->reader = cs;
	s->cpu = -1;
	cs->trace = ct;
	cs->plan = list[first].plan;
	cs->instance = list[first].instance;
	cs->has_instance = list[first].has_instance;
	if (gather_files(t, cs, list, nr, first))
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	s->path = cs->files[0].path;
	return ctf_index_stream(t, s, err);
}

/* "ch0_3": the number behind the last underscore is the CPU's, for traces whose packets do not
 * say it. */
static int cpu_of_name(const char *path)
{
	const char *underscore = strrchr(path, '_');
	char *end;
	long cpu;

	if (!underscore || !underscore[1])
		return -1;
	cpu = strtol(underscore + 1, &end, 10);
	return *end || cpu < 0 || cpu > INT16_MAX ? -1 : (int)cpu;
}

static void count_cpus(struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct stream *s = &t->streams[i];

		if (s->cpu < 0)
			s->cpu = cpu_of_name(s->path);
		if (s->cpu >= 0 && (unsigned)s->cpu + 1 > t->nr_cpus)
			t->nr_cpus = (unsigned)s->cpu + 1;
	}
}

/* Length of "ch0" in "DIR/ch0_3"; 0 when the name has no such number, or two: "ch0_3_17" is a part
 * of CPU 3's stream, and old parts may be gone on purpose. */
static size_t channel_len(const char *path)
{
	size_t len = cpu_of_name(path) >= 0 ? (size_t)(strrchr(path, '_') - path) : 0;
	size_t digits = 0;

	while (digits < len && isdigit((unsigned char)path[len - 1 - digits]))
		digits++;
	return digits && digits < len && path[len - 1 - digits] == '_' ? 0 : len;
}

/* LTTng makes a file for every CPU of a channel: one that is missing while a higher one is there
 * was lost.  (Names come sorted, so a channel's files are neighbours.) */
static void look_for_gaps(struct trace *t, const char **names, unsigned nr)
{
	for (unsigned i = 0; i < nr;) {
		size_t len = channel_len(names[i]);
		uint64_t there = 0;
		int top = -1;

		for (; i < nr && len && channel_len(names[i]) == len &&
		       !strncmp(names[i], names[i - (top >= 0)], len); i++) {
			int cpu = cpu_of_name(names[i]);

			if (cpu < 64)
				there |= UINT64_C(1) << cpu;
			top = cpu > top ? cpu : top;
		}
		i += !len;
		for (int cpu = 0; cpu < top && cpu < 64; cpu++) {
			if (!(there >> cpu & 1))
				trace_problem(t, "%.*s_%d is missing: nothing is known of that CPU",
					      (int)len, names[i - 1], cpu);
		}
	}
}

static int make_streams(struct trace *t, struct candidate *list, unsigned nr, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	int ret = 0;

	t->streams = arena_alloc(&ct->arena, (nr + 1) * sizeof(*t->streams));
	ct->streams = arena_alloc(&ct->arena, (nr + 1) * sizeof(*ct->streams));
	if (!t->streams || !ct->streams)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	for (unsigned i = 0; !ret && i < nr; i++) {
		if (!list[i].taken)
			ret = make_stream(t, list, nr, i, err);
	}
	return ret;
}

int ctf_open_streams(struct trace *t, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	struct candidate *list;
	const char **names;
	unsigned nr, used = 0;
	int ret = list_names(t, &names, &nr, err);

	if (ret)
		return ret;
	if (!strncmp(t->tracer, "lttng", 5))
		look_for_gaps(t, names, nr);
	list = calloc(nr + 1, sizeof(*list));
	if (!list) {
		free(names);
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	}
	for (unsigned i = 0; i < nr; i++) {
		list[used].file.path = names[i];
		if (look_at_file(t, &list[used])) {
			t->len_bytes += list[used++].file.map.len_bytes;
		} else {
			mapfile_release(&list[used].file.map);
			memset(&list[used], 0, sizeof(*list));
		}
	}
	ct->forget = t->len_bytes > FORGET_ABOVE_BYTES;
	ret = make_streams(t, list, used, err);
	for (unsigned i = 0; i < used; i++) {
		if (!list[i].taken)
			mapfile_release(&list[i].file.map);
	}
	if (!ret && !t->nr_streams)
		ret = fail(err, -ENODATA, "%s has metadata but no stream file that can be used%s%s",
			   t->path, t->problems.nr ? ": " : "",
			   t->problems.nr ? t->problems.list[0].text : "");
	free(names);
	free(list);
	count_cpus(t);
	return ret;
}
