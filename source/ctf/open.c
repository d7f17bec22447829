/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "events/dialect.h"

#define MAX_TYPES 65000

static bool probe(const char *path)
{
	char metadata[4096];
	struct stat st;
	int len = snprintf(metadata, sizeof(metadata), "%s/metadata", path);

	return len > 0 && (size_t)len < sizeof(metadata) && !stat(metadata, &st) &&
	       S_ISREG(st.st_mode);
}

/* Metadata */

/* perf calls a tracepoint's event "sched:sched_switch", and keeps its common_type among the
 * fields. */
static int perf_names(struct ctf_metadata *m)
{
	const char *tracer = ctf_env_text(m, "tracer_name");

	m->is_perf = tracer && !strcmp(tracer, "perf");
	for (struct ctf_event_class *e = m->events; m->is_perf && e; e = e->next) {
		const char *colon = strchr(e->name, ':');

		if (!colon || !e->payload || !ctf_member_find(e->payload, "common_type"))
			continue;
		e->system = arena_strndup(&m->arena, e->name, (size_t)(colon - e->name));
		if (!e->system)
			return -ENOMEM;
		e->name = colon + 1;
	}
	return 0;
}

static int read_metadata(struct trace *t, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	struct mapfile map;
	struct stat st;
	char path[4096];
	int ret;

	snprintf(path, sizeof(path), "%s/metadata", t->path);
	/* Looked at before: there may be no room to map what claims to be a terabyte. */
	if (!stat(path, &st) && st.st_size > CTF_METADATA_LIMIT)
		return fail(err, -EFBIG, "cannot read the metadata %s: it is larger than %u bytes",
			    path, CTF_METADATA_LIMIT);
	ret = mapfile_open(&map, path, err);
	if (ret)
		return ret;
	ret = ctf_metadata_parse(&ct->meta, map.data, map.len_bytes, &t->problems, err);
	mapfile_release(&map);
	if (ret)
		return fail_prefix(err, ret, "cannot read the metadata %s", path);
	return perf_names(&ct->meta) ? fail(err, -ENOMEM, "out of memory opening %s", t->path) : 0;
}

static void copy_env(const struct ctf_metadata *m, const char *name, char *out, size_t room)
{
	const char *text = ctf_env_text(m, name);

	if (text && !out[0])
		snprintf(out, room, "%s", text);
}

static const char *perf_version(const struct ctf_metadata *m)
{
	const char *version = ctf_env_text(m, "version");

	return version ? version : "";
}

static void fill_names(struct trace *t, const struct ctf_metadata *m)
{
	const char *tracer = ctf_env_text(m, "tracer_name");
	int64_t major, minor, patch;

	copy_env(m, "hostname", t->hostname, sizeof(t->hostname));
	copy_env(m, "nodename", t->hostname, sizeof(t->hostname));
	copy_env(m, "host", t->hostname, sizeof(t->hostname));
	copy_env(m, "kernel_release", t->release, sizeof(t->release));
	copy_env(m, "release", t->release, sizeof(t->release));
	if (tracer && ctf_env_number(m, "tracer_major", &major) &&
	    ctf_env_number(m, "tracer_minor", &minor)) {
		if (!ctf_env_number(m, "tracer_patchlevel", &patch) &&
		    !ctf_env_number(m, "tracer_patch", &patch))
			patch = 0;
		snprintf(t->tracer, sizeof(t->tracer), "%.15s %u.%u.%u", tracer, (unsigned)major,
			 (unsigned)minor, (unsigned)patch);
	} else if (tracer) {
		snprintf(t->tracer, sizeof(t->tracer), "%s", tracer);
	}
	if (m->is_perf)
		snprintf(t->tracer, sizeof(t->tracer), "perf %.24s", perf_version(m));
	t->lttng = !m->is_perf;
	t->user_space = ctf_is_user_space(m);
	if (m->has_uuid)
		memcpy(t->uuid, m->uuid, sizeof(t->uuid));
}

/* Name of the clock that the times of this record belong to. */
static const char *clock_of(const struct ctf_fc *fc)
{
	const char *name = NULL;

	for (unsigned i = 0; fc && !name && i < fc->nr_members; i++) {
		const struct ctf_fc *member = fc->members[i].fc;

		name = member->clock ? member->clock : clock_of(member);
	}
	return name;
}

static const struct ctf_clock *choose_clock(const struct ctf_metadata *m)
{
	const char *name = NULL;

	for (const struct ctf_stream_class *s = m->streams; s && !name; s = s->next) {
		name = s->clock ? s->clock : clock_of(s->event_header);
		if (!name)
			name = clock_of(s->packet_context);
	}
	for (const struct ctf_clock *c = m->clocks; name && c; c = c->next) {
		if (!strcmp(c->id, name))
			return c;
	}
	return m->clocks;
}

static enum clock_kind kind_of_clock(const char *name)
{
	static const struct {
		const char *name;
		enum clock_kind kind;
	} names[] = {{"monotonic", CLOCK_MONO}, {"mono", CLOCK_MONO},	  {"boottime", CLOCK_BOOT},
		     {"boot", CLOCK_BOOT},	{"realtime", CLOCK_REAL}, {"tsc", CLOCK_TSC},
		     {"x86-tsc", CLOCK_TSC},	{"x86_tsc", CLOCK_TSC}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i].name, name))
			return names[i].kind;
	}
	return CLOCK_UNKNOWN;
}

static void fill_clock(struct trace *t, const struct ctf_metadata *m)
{
	const struct ctf_clock *c = choose_clock(m);
	__int128 ns;

	if (!c) {
		t->clock.kind = CLOCK_UNKNOWN;
		return;
	}
	snprintf(t->clock.name, sizeof(t->clock.name), "%s", c->name);
	t->clock.kind = kind_of_clock(c->name);
	if (m->is_perf && c->description) /* perf record -k; told with perf data convert --tod */
		t->clock.kind = kind_of_clock(c->description);
	t->clock.freq_hz = c->freq_hz;
	memcpy(t->clock.uuid, c->uuid, sizeof(t->clock.uuid));
	if (!c->has_offset || !c->freq_hz)
		return;
	ns = (__int128)c->offset_s * NS_PER_SEC +
	     (__int128)c->offset_cycles * NS_PER_SEC / (__int128)c->freq_hz;
	t->clock.offset_known = ns >= INT64_MIN && ns <= INT64_MAX;
	if (t->clock.offset_known)
		t->clock.offset_ns = (int64_t)ns;
	else
		trace_problem(t,
			      "the offset of clock \"%s\" does not fit into 64 bits of ns: wall "
			      "clock times are unknown",
			      c->name);
}

/* Event types */

struct syscalls {
	const char **names;
	struct strings table; /* id - 1 is the index */
};

/* -1: it is none; -ENOMEM. */
static int32_t syscall_index(struct syscalls *sc, const char *event)
{
	const char *name = dialect_syscall_name(event);
	uint32_t id = name && *name ? strings_put(&sc->table, name, strlen(name)) : 0;

	if (id == UINT32_MAX)
		return -ENOMEM;
	if (!id)
		return -1;
	sc->names[id - 1] = name;
	return (int32_t)(id - 1);
}

static int fill_fields(struct ctf_trace *ct, struct event_type *type, const struct ctf_fc *payload)
{
	unsigned nr = payload ? payload->nr_members : 0;
	struct field_desc *fields = arena_alloc(&ct->arena, (nr + 1) * sizeof(*fields));

	if (!fields)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++) {
		fields[i].name = payload->members[i].name;
		fields[i].cls = ctf_field_class(payload->members[i].fc);
	}
	type->fields = fields;
	type->nr_fields = nr;
	return 0;
}

static int fill_type(struct ctf_trace *ct, struct event_type *type, const struct ctf_plan *plan,
		     struct syscalls *sc)
{
	type->name = plan->cls->name;
	type->id = plan->cls->id;
	type->kind = plan->kind;
	type->system = plan->cls->system ? plan->cls->system : "";
	type->reader = plan;
	type->syscall = -1;
	if (!plan->cls->system && (plan->kind == EV_SYSCALL_ENTRY || plan->kind == EV_SYSCALL_EXIT))
		type->syscall = syscall_index(sc, plan->cls->name);
	if (type->syscall == -ENOMEM)
		return -ENOMEM;
	return fill_fields(ct, type, plan->cls->payload);
}

static int fill_types(struct trace *t)
{
	struct ctf_trace *ct = t->reader;
	struct syscalls sc = {.names = NULL};
	int ret = 0;

	t->types = arena_alloc(&ct->arena, (t->nr_types + 1) * sizeof(*t->types));
	sc.names = arena_alloc(&ct->arena, (t->nr_types + 1) * sizeof(*sc.names));
	if (!t->types || !sc.names)
		return -ENOMEM;
	for (unsigned i = 0; i < ct->nr_plans; i++) {
		for (unsigned k = 0; k < ct->plans[i].nr_plans; k++) {
			const struct ctf_plan *plan = &ct->plans[i].plans[k];

			ret = ret ? ret : fill_type(ct, &t->types[plan->type], plan, &sc);
		}
	}
	/* The type of the EV_LOST events that we make. */
	t->types[t->nr_types] =
		(struct event_type){.name = "lost", .kind = EV_LOST, .syscall = -1, .system = ""};
	t->nr_types++;
	if (t->lttng) {
		t->syscall_names = sc.names;
		t->nr_syscall_names = sc.table.nr ? sc.table.nr - 1 : 0;
	}
	strings_release(&sc.table);
	return ret;
}

static int make_plans(struct trace *t, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	unsigned nr_classes = 0, nr_events = 0;

	for (const struct ctf_stream_class *s = ct->meta.streams; s; s = s->next)
		nr_classes++;
	for (const struct ctf_event_class *e = ct->meta.events; e; e = e->next)
		nr_events++;
	if (nr_events > MAX_TYPES)
		return fail(err, -E2BIG, "%s describes %u kinds of events, more than %u", t->path,
			    nr_events, MAX_TYPES);
	ct->plans = arena_alloc(&ct->arena, nr_classes * sizeof(*ct->plans));
	if (!ct->plans)
		goto oom;
	for (const struct ctf_stream_class *s = ct->meta.streams; s; s = s->next) {
		struct ctf_stream_plan *plan = &ct->plans[ct->nr_plans++];

		if (ctf_plan_stream(plan, &ct->meta, s, t->nr_types, &ct->arena, &t->problems))
			goto oom;
		t->nr_types += plan->nr_plans;
	}
	if (!fill_types(t))
		return 0;
oom:
	return fail(err, -ENOMEM, "out of memory opening %s", t->path);
}

/*
 * kvm_x86_entry.vcpu_id.  lttng-modules 2.13.9 built for a kernel whose tracepoint passes a struct
 * kvm_vcpu * records part of that pointer.  The metadata does not tell, the values do: look at the
 * first entries of every stream.
 */
#define LOOK_ENTRIES 64
#define LOOK_PACKETS 8
#define LOOK_BYTES (4u << 20)

static int look_at_entries(struct stream *s, struct error *err)
{
	struct event events[LOOK_ENTRIES];
	struct cursor c;
	uint64_t bytes = 0;
	uint32_t nr = 0;
	int ret;

	while (nr < s->nr_packets && nr < LOOK_PACKETS && bytes < LOOK_BYTES)
		bytes += s->packets[nr++].len_bytes;
	ret = cursor_init(&c, s, 0, nr, WANT(KVM_ENTRY), err);
	if (ret)
		return ret;
	cursor_next(&c, events, ARRAY_SIZE(events));
	cursor_release(&c);
	return 0;
}

static int settle_vcpu_ids(struct trace *t, struct error *err)
{
	struct ctf_trace *ct = t->reader;
	bool has_entry = false;
	int ret = 0;

	for (unsigned i = 0; i < t->nr_types; i++)
		has_entry |= t->types[i].kind == EV_KVM_ENTRY;
	for (unsigned i = 0; has_entry && !ret && i < t->nr_streams; i++)
		ret = look_at_entries(&t->streams[i], err);
	if (ret || !ct->vcpu_id_seen_unsound)
		return ret;
	t->vcpu_id_unsound = true;
	trace_note(t,
		   "%s: kvm_entry's vcpu_id and all of kvm_nested_vmexit are not what they say "
		   "(lttng-modules does not fit this kernel): they count as unknown",
		   t->path);
	for (unsigned i = 0; i < ct->nr_plans; i++) {
		for (unsigned k = 0; k < ct->plans[i].nr_plans; k++) {
			struct ctf_plan *plan = &ct->plans[i].plans[k];

			if (plan->kind == EV_KVM_ENTRY) {
				ctf_plan_drop_slot(plan, 0, -1);
			} else if (plan->kind == EV_KVM_NESTED_VMEXIT) {
				ctf_plan_drop_slot(plan, 0, -1);
				ctf_plan_drop_slot(plan, 1, -1);
				ctf_plan_drop_slot(plan, 2, 0);
			}
		}
	}
	return 0;
}

static int ctf_open(struct trace *t, struct error *err)
{
	struct ctf_trace *ct = calloc(1, sizeof(*ct));
	int ret;

	t->format = TRACE_CTF;
	t->reader = ct;
	if (!ct)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	ret = read_metadata(t, err);
	if (ret)
		return ret;
	fill_names(t, &ct->meta);
	if (ct->meta.is_perf)
		trace_note(
			t,
			"%s: perf's CTF does not tell which events were lost; the perf.data that "
			"it was made of does",
			t->path);
	fill_clock(t, &ct->meta);
	ret = make_plans(t, err);
	if (!ret)
		ret = ctf_open_streams(t, err);
	if (!ret)
		ret = settle_vcpu_ids(t, err);
	ct->open = true;
	return arena_blame(&ct->meta.arena, ret, t->path, err);
}

static void ctf_release(struct trace *t)
{
	struct ctf_trace *ct = t->reader;

	if (!ct)
		return;
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct ctf_stream *cs = &ct->streams[i];

		for (unsigned k = 0; k < cs->nr_files; k++)
			mapfile_release(&cs->files[k].map);
		free(cs->packets);
		free(t->streams[i].packets);
	}
	for (unsigned i = 0; i < ct->nr_plans; i++)
		ctf_plan_release(&ct->plans[i]);
	ctf_metadata_release(&ct->meta);
	arena_release(&ct->arena);
	free(ct);
}

const struct trace_ops ctf_trace_ops = {
	.probe = probe,
	.open = ctf_open,
	.takes_parts = true,
	.covers = ctf_covers,
	.release = ctf_release,
	.cursor_init = ctf_cursor_init,
	.cursor_next = ctf_cursor_next,
	.cursor_release = ctf_cursor_release,
	.event_field = ctf_event_field,
	.event_print = ctf_event_print,
};
