/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a trace's directory are which streams. */
#define _GNU_SOURCE
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

/* Names of files, as they are found. */
struct names {
	const char **list; /* owned; the names are the trace's arena's */
	unsigned nr, room;
	bool too_many;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A stream has the same name in each part of the trace. */
static int by_name(const void *a, const void *b)
{
	const char *path_a = *(const char *const *)a, *path_b = *(const char *const *)b;
	int order = strcmp(base_of(path_a), base_of(path_b));

	return order ? order : strcmp(path_a, path_b);
}

static int add_name(struct ctf_trace *ct, struct names *n, const char *path)
{
	if (n->nr == n->room) {
		const char **more = reallocarray(n->list, n->room + 64, sizeof(*more));

		if (!more)
			return -ENOMEM;
		n->list = more;
		n->room += 64;
	}
	n->list[n->nr] = arena_strdup(&ct->arena, path);
	if (!n->list[n->nr])
		return -ENOMEM;
	n->nr++;
	return 0;
}

/* Every regular file of the directory but the metadata and what begins with a dot. */
static int list_dir(struct trace *t, const char *folder, struct names *n, struct error *err)
{
	struct dirent *d;
	DIR *dir = opendir(folder);
	int ret = 0;

	if (!dir)
		return fail(err, -errno, "cannot open directory %s: %s", folder, strerror(errno));
	for (errno = 0; !ret && (d = readdir(dir)); errno = 0) {
		char path[4096];
		struct stat st;

		if (d->d_name[0] == '.' || !strcmp(d->d_name, "metadata"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
		if (stat(path, &st))
			continue;
		if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
			trace_problem(t, "%s is no regular file: it is left out", path);
		if (!S_ISREG(st.st_mode))
			continue;
		if (n->nr < MAX_FILES)
			ret = add_name(t->reader, n, path);
		else
			n->too_many = true;
	}
	if (!ret && errno)
		ret = fail(err, -errno, "cannot list directory %s: %s", folder, strerror(errno));
	closedir(dir);
	return ret == -ENOMEM ? fail(err, ret, "out of memory opening %s", folder) : ret;
}

static int list_names(struct trace *t, struct names *n, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_paths && !ret; i++)
		ret = list_dir(t, t->paths[i], n, err);
	if (n->too_many)
		trace_problem(t, "%s has more than %u stream files: the others are left out",
			      t->path, MAX_FILES);
	if (n->nr)
		qsort(n->list, n->nr, sizeof(*n->list), by_name);
	return ret;
}

/* What files of one stream have in common, beside its class. */
enum stream_key { KEY_NONE, KEY_INSTANCE, KEY_CPU };

/* One file of a data stream. */
struct candidate {
	struct ctf_file file;
	const struct ctf_stream_plan *plan;
	uint64_t begin, key;
	enum stream_key key_kind;
	bool taken;
};

/* Candidates [first, first + nr) are one stream, in the order of time; @leader has the first name. */
struct gathered {
	unsigned first, nr;
	const struct candidate *leader;
};

static bool is_of_metadata(const struct ctf_trace *ct, const struct ctf_packet_info *info)
{
	return !info->roles.uuid || !ct->meta.has_uuid ||
	       !memcmp(info->roles.uuid, ct->meta.uuid, sizeof(ct->meta.uuid));
}

/* Behind the packet the file ends, or the next one begins. */
static bool is_followed(const struct ctf_file *cf, const struct ctf_packet_info *info, uint64_t at,
			const uint8_t key[static CTF_KEY_BYTES])
{
	uint64_t len = info->packet_bits / 8, left = cf->map.len_bytes - at;

	return !info->truncated &&
	       (len == left || (left - len >= CTF_KEY_BYTES &&
				!memcmp(cf->map.data + at + len, key, CTF_KEY_BYTES)));
}

/* A packet of another trace, or what is none, stands in front of those that the metadata are of: what
 * the first of these says counts.  Events may hold what looks like the begin of one: it has none behind it. */
static bool look_further(struct ctf_trace *ct, struct ctf_file *cf, struct ctf_packet_info *info)
{
	const uint8_t *data = cf->map.data, *hit;
	struct ctf_file own = {.has_uuid = true};
	uint8_t key[CTF_KEY_BYTES];
	uint64_t regs[CTF_REGS] = {0};
	struct ctf_packet_info found;
	struct error why = {0};
	bool any = false;

	memcpy(own.uuid, ct->meta.uuid, sizeof(own.uuid));
	if (!ct->meta.has_uuid || ctf_packet_key(ct, &own, key) < CTF_KEY_BYTES)
		return false;
	for (uint64_t at = 0, len = cf->map.len_bytes;
	     (hit = memmem(data + at, len - at, key, sizeof(key))); at++) {
		at = (uint64_t)(hit - data);
		if (ctf_packet_read(ct, hit, len - at, regs, &found, &why))
			continue;
		if (!any || is_followed(cf, &found, at, key))
			*info = found;
		if (is_followed(cf, &found, at, key))
			return true;
		any = true;
	}
	return any;
}

static void leave_out(struct trace *t, const struct ctf_file *cf)
{
	t->loss.bytes_skipped += cf->map.len_bytes;
	t->loss.unknown++;
}

/* Files that are of another trace than the metadata. */
struct foreign {
	const char *first;
	unsigned nr;
};

static void tell_of_foreign(struct trace *t, const struct foreign *f)
{
	char more[48] = " is";

	if (!f->nr)
		return;
	if (f->nr > 1)
		snprintf(more, sizeof(more), " and %u more file%s are", f->nr - 1,
			 f->nr > 2 ? "s" : "");
	trace_problem(t,
		      "%s%s of another trace than %s metadata (the uuid differs) and left out; put "
		      "%s beside %s own metadata",
		      f->first, more, f->nr > 1 ? "their" : "its", f->nr > 1 ? "them" : "it",
		      f->nr > 1 ? "their" : "its");
}

/* LTTng has one stream class for each channel, and in it one stream for each CPU; before 2.8 its
 * packets do not number the streams. */
static void take_key(const struct trace *t, struct candidate *c, const struct ctf_roles *r)
{
	if (ctf_has_role(r, CTF_ROLE_STREAM_INSTANCE)) {
		c->key_kind = KEY_INSTANCE;
		c->key = r->value[CTF_ROLE_STREAM_INSTANCE];
	} else if (!strncmp(t->tracer, "lttng", 5) && ctf_has_role(r, CTF_ROLE_CPU)) {
		c->key_kind = KEY_CPU;
		c->key = r->value[CTF_ROLE_CPU];
	}
}

/* The first packet that can be read says what the file is. */
static bool look_at_file(struct trace *t, struct candidate *c, struct foreign *foreign)
{
	struct ctf_trace *ct = t->reader;
	uint64_t regs[CTF_REGS] = {0};
	struct ctf_packet_info info;
	struct error why = {0};

	if (mapfile_open(&c->file.map, c->file.path, &why)) {
		trace_problem(t, "%s; it is left out", why.text);
		return false;
	}
	/* LTTng makes the file before it has the first packet. */
	if (!c->file.map.len_bytes) {
		trace_note(t, "%s is empty", c->file.path);
		return false;
	}
	if (ctf_packet_read(ct, c->file.map.data, c->file.map.len_bytes, regs, &info, &why) &&
	    !look_further(ct, &c->file, &info)) {
		trace_problem(t, "%s at offset 0: %s; the file is left out", c->file.path,
			      why.text);
		leave_out(t, &c->file);
		return false;
	}
	if (!is_of_metadata(ct, &info))
		look_further(ct, &c->file, &info);
	if (!is_of_metadata(ct, &info)) {
		foreign->first = foreign->nr++ ? foreign->first : c->file.path;
		leave_out(t, &c->file);
		return false;
	}
	c->file.has_uuid = info.roles.uuid != NULL;
	if (info.roles.uuid)
		memcpy(c->file.uuid, info.roles.uuid, sizeof(c->file.uuid));
	c->plan = info.plan;
	c->begin = info.roles.value[CTF_ROLE_BEGIN];
	take_key(t, c, &info.roles);
	return true;
}

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_stream(const struct candidate *a, const struct candidate *b)
{
	int order = by_number((uintptr_t)a->plan, (uintptr_t)b->plan);

	order = order ? order : memcmp(a->file.uuid, b->file.uuid, sizeof(a->file.uuid));
	order = order ? order : by_number(a->key_kind, b->key_kind);
	order = order ? order : by_number(a->key, b->key);
	if (order || a->key_kind)
		return order;
	return by_number((uintptr_t)a, (uintptr_t)b); /* each is a stream of its own */
}

static int by_stream_and_begin(const void *a, const void *b)
{
	const struct candidate *file_a = *(struct candidate *const *)a;
	const struct candidate *file_b = *(struct candidate *const *)b;
	int order = by_stream(file_a, file_b);

	order = order ? order : by_number(file_a->begin, file_b->begin);
	return order ? order : by_number((uintptr_t)file_a, (uintptr_t)file_b);
}

static int by_leader(const void *a, const void *b)
{
	const struct gathered *x = a, *y = b;

	return by_number((uintptr_t)x->leader, (uintptr_t)y->leader);
}

/* Sorts @files by stream; fills @out, streams in the order of names.  Returns how many there are. */
static unsigned gather_files(struct candidate **files, unsigned nr, struct gathered *out)
{
	unsigned nr_out = 0;

	qsort(files, nr, sizeof(struct candidate *), by_stream_and_begin);
	for (unsigned i = 0; i < nr; i++) {
		struct gathered *g = &out[nr_out];

		if (!i || by_stream(files[i - 1], files[i]))
			*g = (struct gathered){.first = i, .leader = files[i]};
		if (files[i] < g->leader)
			g->leader = files[i];
		g->nr++;
		nr_out += i + 1 == nr || by_stream(files[i], files[i + 1]);
	}
	qsort(out, nr_out, sizeof(*out), by_leader);
	return nr_out;
}

static int make_stream(struct trace *t, struct candidate **files, const struct gathered *g,
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
	cs->plan = g->leader->plan;
	cs->has_instance = g->leader->key_kind == KEY_INSTANCE;
	cs->instance = cs->has_instance ? g->leader->key : 0;
	cs->files = arena_alloc(&ct->arena, g->nr * sizeof(*cs->files));
	if (!cs->files)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	for (unsigned i = 0; i < g->nr; i++) {
		files[g->first + i]->taken = true;
		cs->files[cs->nr_files++] = files[g->first + i]->file;
	}
	s->path = cs->files[0].path;
	return ctf_index_stream(t, s, err);
}

/* "ch0_3": the number behind the last underscore is the CPU's, for traces whose packets do not
 * say it. */
static int cpu_of_name(const char *path)
{
	const char *underscore = strrchr(base_of(path), '_');
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

/* Length of "ch0" in "ch0_3"; 0 when the name has no such number, or two: "ch0_3_17" is a part
 * of CPU 3's stream, and old parts may be gone on purpose. */
static size_t channel_len(const char *name)
{
	size_t len = cpu_of_name(name) >= 0 ? (size_t)(strrchr(name, '_') - name) : 0;
	size_t digits = 0;

	while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
		digits++;
	return digits && digits < len && name[len - 1 - digits] == '_' ? 0 : len;
}

/* LTTng makes a file for every CPU of a channel: one that is missing while a higher one is there
 * was lost.  (Names come sorted, so a channel's files are neighbours.) */
static void look_for_gaps(struct trace *t, const struct names *n)
{
	for (unsigned i = 0; i < n->nr;) {
		const char *name = base_of(n->list[i]);
		size_t len = channel_len(name);
		uint64_t there = 0;
		int top = -1;

		for (; i < n->nr && len && channel_len(base_of(n->list[i])) == len &&
		       !strncmp(base_of(n->list[i]), name, len);
		     i++) {
			int cpu = cpu_of_name(n->list[i]);

			if (cpu < 64)
				there |= UINT64_C(1) << cpu;
			top = cpu > top ? cpu : top;
		}
		i += !len;
		for (int cpu = 0; cpu < top && cpu < 64; cpu++) {
			if (!(there >> cpu & 1))
				trace_problem(t,
					      "%s/%.*s_%d is missing: nothing is known of that "
					      "CPU",
					      t->path, (int)len, name, cpu);
		}
	}
}

static int make_streams(struct trace *t, struct candidate *list, unsigned nr, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	struct candidate **files = calloc(nr + 1, sizeof(*files));
	struct gathered *gathered = calloc(nr + 1, sizeof(*gathered));
	unsigned nr_streams;
	int ret = 0;

	t->streams = arena_alloc(&ct->arena, (nr + 1) * sizeof(*t->streams));
	ct->streams = arena_alloc(&ct->arena, (nr + 1) * sizeof(*ct->streams));
	if (!files || !gathered || !t->streams || !ct->streams) {
		free(files);
		free(gathered);
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	}
	for (unsigned i = 0; i < nr; i++)
		files[i] = &list[i];
	nr_streams = gather_files(files, nr, gathered);
	for (unsigned i = 0; !ret && i < nr_streams; i++)
		ret = make_stream(t, files, &gathered[i], err);
	free(files);
	free(gathered);
	return ret;
}

/* Those that can be used; @list has room for all.  Returns how many. */
static unsigned look_at_files(struct trace *t, const struct names *n, struct candidate *list)
{
	struct foreign foreign = {0};
	unsigned used = 0;

	for (unsigned i = 0; i < n->nr; i++) {
		list[used].file.path = n->list[i];
		if (look_at_file(t, &list[used], &foreign)) {
			t->len_bytes += list[used++].file.map.len_bytes;
		} else {
			mapfile_release(&list[used].file.map);
			memset(&list[used], 0, sizeof(*list));
		}
	}
	tell_of_foreign(t, &foreign);
	return used;
}

static int open_files(struct trace *t, const struct names *n, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	struct candidate *list = calloc(n->nr + 1, sizeof(*list));
	unsigned used;
	int ret;

	if (!list)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	used = look_at_files(t, n, list);
	ct->forget = t->len_bytes > FORGET_ABOVE_BYTES;
	ret = make_streams(t, list, used, err);
	for (unsigned i = 0; i < used; i++) {
		if (!list[i].taken)
			mapfile_release(&list[i].file.map);
	}
	free(list);
	return ret;
}

static void tell_of_cuts(struct trace *t, const struct ctf_cut *cut)
{
	if (cut->nr == 1)
		trace_problem(t,
			      "%s ends at offset %llu, inside the packet that begins at %llu: the "
			      "part that is there is used",
			      cut->path, (unsigned long long)cut->end_bytes,
			      (unsigned long long)cut->packet_bytes);
	else if (cut->nr)
		trace_problem(t,
			      "%u stream files of %s end inside a packet, first %s at offset %llu: "
			      "the parts that are there are used",
			      cut->nr, t->path, base_of(cut->path),
			      (unsigned long long)cut->end_bytes);
}

int ctf_open_streams(struct trace *t, struct error *err)
{
	struct names n = {0};
	int ret = list_names(t, &n, err);

	if (!ret && !strncmp(t->tracer, "lttng", 5))
		look_for_gaps(t, &n);
	if (!ret)
		ret = open_files(t, &n, err);
	if (!ret && !strncmp(t->tracer, "lttng", 5))
		ret = ctf_settle_claims(t, err);
	if (!ret) {
		count_cpus(t);
		tell_of_cuts(t, &((struct ctf_trace *)t->reader)->cut);
	}
	free(n.list);
	return ret;
}
