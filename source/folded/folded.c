/* SPDX-License-Identifier: Apache-2.0 */
#include "source/folded/folded.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/text.h"
#include "arch/exits.h"
#include "source/folded/host_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKET_REFS 4096

enum what { WHAT_LOST, WHAT_EXIT, WHAT_CALL, WHAT_ENTRY, WHAT_SPACE, WHATS };

/* An event, by the record that it is from. */
struct ref {
	uint64_t tick; /* of a loss, when it begins */
	uint32_t record;
	uint16_t cpu;
	uint8_t what;
};

struct folded {
	struct folded_records records;
	struct host_clock clock;
	struct arena arena;
	struct ref *refs; /* owned; by CPU, then time */
	size_t nr_refs, room;
	int type[WHATS];   /* of the host's trace; -1 it has none */
	uint64_t from;	   /* ticks: what is earlier is not in the trace, either */
	uint64_t unplaced; /* records without a time */
	uint64_t late;	   /* changes of address space that were told at a later exit */
};

static bool folded_probe(const char *path)
{
	struct hc_header head;
	struct stat st;
	bool is_it;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	is_it = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		read(fd, &head, sizeof(head)) == sizeof(head) &&
		!memcmp(head.magic, HC_MAGIC, sizeof(head.magic));
	close(fd);
	return is_it;
}

static void folded_release(struct trace *t)
{
	struct folded *f = t->reader;

	if (!f)
		return;
	mapfile_release(&f->records.file);
	arena_release(&f->arena);
	free(f->refs);
	free(f);
}

static int folded_open(struct trace *t, struct error *err)
{
	struct folded *f = calloc(1, sizeof(*f));
	struct hc_header head;
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	t->format = TRACE_FOLDED;
	t->reader = f;
	snprintf(t->tracer, sizeof(t->tracer), "folded hypercalls");
	ret = mapfile_open(&f->records.file, t->path, err);
	if (ret)
		return ret;
	if (f->records.file.len_bytes < sizeof(head))
		return fail(err, -EINVAL, "%s is too short for its header", t->path);
	memcpy(&head, f->records.file.data, sizeof(head));
	if (head.version != HC_VERSION || head.record_bytes < HC_RECORD_BYTES ||
	    head.record_bytes > 65536)
		return fail(err, -EINVAL,
			    "%s is of version %u with records of %u bytes; this program reads "
			    "version %d",
			    t->path, head.version, head.record_bytes, HC_VERSION);
	f->records.record_bytes = head.record_bytes;
	f->records.nr = (f->records.file.len_bytes - sizeof(head)) / f->records.record_bytes;
	if (f->records.nr >= UINT32_MAX)
		return fail(err, -EFBIG, "%s has more records than can be read", t->path);
	return 0;
}

/* Calls are taken a little before tracing begins. */
static uint64_t begin_of(const struct trace *host)
{
	uint64_t begin = UINT64_MAX;

	for (unsigned i = 0; i < host->nr_streams; i++) {
		if (host->streams[i].nr_packets && host->streams[i].packets->begin < begin)
			begin = host->streams[i].packets->begin;
	}
	return begin == UINT64_MAX ? 0 : begin;
}

/* ---- events ------------------------------------------------------------------------------------
 */

static int add(struct folded *f, uint64_t tick, size_t record, uint32_t cpu, enum what what)
{
	if (cpu >= TRACE_CPUS_MAX || (what != WHAT_LOST && f->type[what] < 0))
		return 0;
	if (tick < f->from) {
		/* An address space stays until another is told. */
		if (what != WHAT_SPACE)
			return 0;
		tick = f->from;
	}
	if (!room_for_one(&f->refs, f->nr_refs, &f->room))
		return -ENOMEM;
	f->refs[f->nr_refs++] = (struct ref){tick, (uint32_t)record, (uint16_t)cpu, (uint8_t)what};
	return 0;
}

/* What of the call is not in the trace.  An exit whose entry has no time would keep the vCPU out of
 * its guest. */
static int add_call(struct folded *f, const struct hc_record *r, size_t i, uint64_t exit,
		    uint64_t entry)
{
	int ret = 0;

	if (r->flags & HC_NO_EXIT && (entry || !(r->flags & HC_NO_ENTRY)))
		ret = add(f, exit, i, r->cpu, WHAT_EXIT);
	if (!ret)
		ret = add(f, exit, i, r->cpu, WHAT_CALL);
	if (!ret && r->flags & HC_NO_ENTRY && entry)
		ret = add(f, entry, i, r->entry_cpu, WHAT_ENTRY);
	return ret;
}

/*
 * An exit shows what its guest came to since its exit before.  That is when the event is: as a rule
 * it is what ends an exit, an interrupt above all, that lets the guest's kernel switch.
 */
static int add_space(struct folded *f, const struct hc_record *r, size_t i, uint64_t tick)
{
	uint64_t before;

	f->late += !!(r->flags & HC_LATE);
	if (r->args[1] && r->args[1] < r->time_ns) {
		before = r->args[1];
		if (f->clock.ticks_are_ns || host_clock_tick(&f->clock, r->args[1], &before))
			tick = before;
	}
	return add(f, tick, i, r->cpu, WHAT_SPACE);
}

/* When the record of the same thread before was made; without one, when recording began. */
static uint64_t tick_before(const struct folded *f, const struct map *last, uint32_t tid)
{
	const uint32_t *i = map_get(last, tid);
	uint64_t exit = f->from, entry = 0;
	struct hc_record r;

	if (!i)
		return f->from;
	folded_record_at(&f->records, *i, &r);
	host_clock_of(&f->clock, &r, &exit, &entry);
	return entry > exit ? entry : exit;
}

/* Calls of the record's thread are missing before it.  @last: each thread's last record. */
static int add_loss(struct folded *f, struct map *last, const struct hc_record *r, size_t i,
		    uint64_t end)
{
	uint64_t begin;

	if (!r->lost)
		return map_put(last, r->tid, (uint32_t)i);
	begin = tick_before(f, last, r->tid);
	if (add(f, begin < end ? begin : end, i, r->cpu, WHAT_LOST))
		return -ENOMEM;
	return map_put(last, r->tid, (uint32_t)i);
}

static int add_record(struct folded *f, struct map *last, const struct hc_record *r, size_t i)
{
	uint64_t begin, entry;
	int ret;

	if ((r->kind < HC_CALL || r->kind > HC_ENTRY) && r->kind != HC_SPACE)
		return 0;
	if (!host_clock_of(&f->clock, r, &begin, &entry)) {
		f->unplaced++;
		return 0;
	}
	if (r->kind == HC_SPACE)
		return add_space(f, r, i, begin);
	ret = add_loss(f, last, r, i, begin);
	if (ret)
		return ret;
	if (r->kind == HC_CALL)
		return add_call(f, r, i, begin, entry);
	return add(f, begin, i, r->cpu, r->kind == HC_EXIT ? WHAT_EXIT : WHAT_ENTRY);
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct ref *p = a, *q = b;

	if (p->cpu != q->cpu)
		return p->cpu < q->cpu ? -1 : 1;
	if (p->tick != q->tick)
		return p->tick < q->tick ? -1 : 1;
	if (p->record != q->record)
		return p->record < q->record ? -1 : 1;
	return p->what - q->what;
}

static int list_events(struct trace *t)
{
	struct folded *f = t->reader;
	struct map last = {0};
	struct hc_record r;
	uint64_t lost = 0;
	int ret = 0;

	for (size_t i = 0; i < f->records.nr && !ret; i++) {
		folded_record_at(&f->records, i, &r);
		if (r.kind == HC_LOST && r.tsc > lost)
			lost = r.tsc;
		ret = add_record(f, &last, &r, i);
	}
	map_release(&last);
	if (f->nr_refs)
		qsort(f->refs, f->nr_refs, sizeof(*f->refs), by_cpu_and_time);
	t->loss.events = lost;
	if (lost)
		trace_problem(t, "%s: %llu hypertrace calls were lost by the recorder", t->path,
			      (unsigned long long)lost);
	if (f->late)
		trace_problem(t,
			      "%s: %llu times a vCPU went to another address space before the "
			      "exit that showed it: the recorder had no room",
			      t->path, (unsigned long long)f->late);
	if (f->unplaced)
		trace_problem(t, "%s: %llu records have no time on the trace's clock", t->path,
			      (unsigned long long)f->unplaced);
	mapfile_forget(&f->records.file, 0, f->records.file.len_bytes);
	return ret;
}

static int make_stream(struct trace *t, size_t first, size_t nr)
{
	struct folded *f = t->reader;
	struct stream *s = &t->streams[t->nr_streams++];
	uint32_t packets = (uint32_t)((nr + PACKET_REFS - 1) / PACKET_REFS);

	*s = (struct stream){.trace = t,
			     .path = t->path,
			     .buffer = "folded",
			     .cpu = f->refs[first].cpu,
			     .nr_packets = packets,
			     .reader = &f->refs[first]};
	s->packets = arena_alloc(&f->arena, packets * sizeof(*s->packets));
	if (!s->packets)
		return -ENOMEM;
	for (uint32_t p = 0; p < packets; p++) {
		size_t from = first + (size_t)p * PACKET_REFS;
		size_t refs = first + nr - from < PACKET_REFS ? first + nr - from : PACKET_REFS;

		s->packets[p] = (struct packet){.begin = f->refs[from].tick,
						.end = f->refs[from + refs - 1].tick,
						.offset_bytes = from,
						.len_bytes = refs};
		t->len_bytes += refs * HC_RECORD_BYTES / 3;
	}
	if (s->cpu >= (int)t->nr_cpus)
		t->nr_cpus = (unsigned)s->cpu + 1;
	return 0;
}

static int make_streams(struct trace *t)
{
	struct folded *f = t->reader;
	size_t nr = 0, first = 0;
	int ret = 0;

	for (size_t i = 0; i < f->nr_refs; i++)
		nr += !i || f->refs[i].cpu != f->refs[i - 1].cpu;
	t->streams = arena_alloc(&f->arena, (nr + 1) * sizeof(*t->streams));
	if (!t->streams)
		return -ENOMEM;
	for (size_t i = 1; i <= f->nr_refs && !ret; i++) {
		if (i < f->nr_refs && f->refs[i].cpu == f->refs[first].cpu)
			continue;
		ret = make_stream(t, first, i - first);
		first = i;
	}
	return ret;
}

static int type_of_kind(const struct trace *t, uint16_t kind)
{
	for (unsigned i = 0; i < t->nr_types; i++) {
		if (t->types[i].kind == kind)
			return (int)i;
	}
	return -1;
}

static const struct field_desc space_fields[] = {
	{"cr3", FIELD_UINT},	{"tid", FIELD_UINT}, {"tgid", FIELD_UINT},
	{"vmcb12", FIELD_UINT}, {"rip", FIELD_UINT},
};

static bool has_spaces(const struct folded *f)
{
	struct hc_record r;

	for (size_t i = 0; i < f->records.nr; i++) {
		folded_record_at(&f->records, i, &r);
		if (r.kind == HC_SPACE)
			return true;
	}
	return false;
}

/* No tracer has such events: the host's trace gets a type for them. */
static int add_space_type(struct trace *host, struct folded *f)
{
	static const struct event_type type = {
		.name = "guest_cr3",
		.id = UINT64_MAX,
		.kind = EV_GUEST_CR3,
		.syscall = -1,
		.system = "sonde",
		.fields = space_fields,
		.nr_fields = ARRAY_SIZE(space_fields),
	};
	int ret = 0;

	if (has_spaces(f) && type_of_kind(host, EV_GUEST_CR3) < 0)
		ret = trace_add_type(host, &type);
	f->type[WHAT_SPACE] = type_of_kind(host, EV_GUEST_CR3);
	return ret == -EFBIG ? 0 : ret;
}

int folded_attach(struct trace *host, struct trace *part, struct error *err)
{
	struct folded *f = part->reader;
	int ret;

	f->clock.ticks_are_ns = host->clock.kind == CLOCK_MONO;
	if (!f->clock.ticks_are_ns && host->clock.kind != CLOCK_TSC)
		return fail(err, -EINVAL, "%s: the clock of %s is neither x86-tsc nor mono",
			    part->path, host->path);
	f->type[WHAT_EXIT] = type_of_kind(host, EV_KVM_EXIT);
	f->type[WHAT_CALL] = type_of_kind(host, EV_KVM_HYPERCALL);
	f->type[WHAT_ENTRY] = type_of_kind(host, EV_KVM_ENTRY);
	ret = add_space_type(host, f);
	if (f->type[WHAT_CALL] < 0 && f->type[WHAT_SPACE] < 0)
		return fail(err, -EINVAL, "%s: %s does not know kvm_hypercall", part->path,
			    host->path);
	f->from = begin_of(host);
	if (!ret)
		ret = host_clock_find(&f->clock, &f->records, &f->arena);
	if (!ret)
		ret = list_events(part);
	if (!ret)
		ret = make_streams(part);
	part->clock = host->clock;
	part->lttng = host->lttng;
	part->types = host->types;
	part->nr_types = host->nr_types;
	part->trace_id = host->trace_id;
	memcpy(part->hostname, host->hostname, sizeof(part->hostname));
	memcpy(part->release, host->release, sizeof(part->release));
	part->arch = host->arch;
	return ret ? fail(err, ret, "out of memory opening %s", part->path)
		   : trace_take(host, part, err);
}

/* ---- the cursor ---------------------------------------------------------------------------------
 */

static int folded_cursor_init(struct cursor *c, struct error *err)
{
	(void)err;
	c->buffer = (void *)(uintptr_t)0; /* how many of the packet's are done */
	return 0;
}

static void fill(const struct folded *f, const struct ref *ref, struct event *e)
{
	uint64_t exit, entry;
	struct hc_record r;
	enum exit_isa isa;

	folded_record_at(&f->records, ref->record, &r);
	isa = exit_isa_of_x86(r.flags & HC_VMX);
	*e = (struct event){.time.v = ref->tick,
			    .tid = (int32_t)r.tid,
			    .type = (uint16_t)(ref->what == WHAT_LOST ? 0 : f->type[ref->what])};
	switch (ref->what) {
	case WHAT_LOST:
		e->kind = EV_LOST;
		e->arg[0] = r.lost == HC_UNKNOWN ? 0 : r.lost;
		host_clock_of(&f->clock, &r, &exit, &entry);
		e->arg[1] = (int64_t)ref->tick;
		e->arg[2] = (int64_t)(exit > ref->tick ? exit : ref->tick);
		break;
	case WHAT_EXIT:
		e->kind = EV_KVM_EXIT;
		e->arg[0] = exit_of_hypercall(isa);
		e->arg[1] = r.vcpu_id;
		e->arg[2] = (int64_t)r.rip;
		e->arg[3] = isa;
		break;
	case WHAT_CALL:
		e->kind = EV_KVM_HYPERCALL;
		e->record = folded_record(&f->records, ref->record);
		e->arg[0] = (int64_t)r.nr;
		for (unsigned i = 0; i < 4; i++)
			e->arg[1 + i] = (int64_t)r.args[i];
		break;
	case WHAT_SPACE:
		/* Who runs on the CPU is the trace's word: it has the better clock. */
		e->tid = -1;
		e->kind = EV_GUEST_CR3;
		e->arg[0] = (int64_t)r.nr;
		e->arg[1] = (int32_t)r.tid;
		e->arg[2] = (int32_t)r.tgid;
		e->arg[3] = (int64_t)r.args[0];
		e->arg[4] = (int64_t)r.rip;
		break;
	default:
		e->kind = EV_KVM_ENTRY;
		e->arg[0] = r.vcpu_id;
		/* That of a call is behind its instruction. */
		e->arg[1] = (int64_t)(r.rip + (r.kind == HC_CALL ? HC_CALL_BYTES : 0));
		break;
	}
}

static bool is_wanted(const struct cursor *c, const struct ref *ref)
{
	static const uint16_t kinds[WHATS] = {
		[WHAT_EXIT] = EV_KVM_EXIT,
		[WHAT_CALL] = EV_KVM_HYPERCALL,
		[WHAT_ENTRY] = EV_KVM_ENTRY,
		[WHAT_SPACE] = EV_GUEST_CR3,
	};

	if (ref->what == WHAT_LOST)
		return true;
	return ref->tick >= c->from && c->wants[kinds[ref->what]];
}

static unsigned folded_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	const struct folded *f = c->stream->trace->reader;
	const struct ref *refs = f->refs;
	uintptr_t done = (uintptr_t)c->buffer;
	unsigned n = 0;

	while (n < room && c->packet < c->packet_end && c->records_left) {
		const struct packet *p = &c->stream->packets[c->packet];

		if (done == p->len_bytes) {
			done = 0;
			c->packet++;
			continue;
		}
		c->records_left--;
		if (is_wanted(c, &refs[p->offset_bytes + done]))
			fill(f, &refs[p->offset_bytes + done], &events[n++]);
		done++;
	}
	c->buffer = (void *)done;
	return n;
}

static void folded_cursor_release(struct cursor *c)
{
	(void)c;
}

/* What fill() gives, by the names that ftrace has. */
static const char *const field_names[WHATS][EVENT_ARGS] = {
	[WHAT_EXIT] = {"exit_reason", "vcpu_id", "guest_rip", "isa"},
	[WHAT_CALL] = {"nr", "a0", "a1", "a2", "a3"},
	[WHAT_ENTRY] = {"vcpu_id", "rip"},
	[WHAT_SPACE] = {"cr3", "tid", "tgid", "vmcb12", "rip"},
};

static enum what what_of(const struct event *e)
{
	return e->kind == EV_KVM_EXIT	     ? WHAT_EXIT
	       : e->kind == EV_KVM_HYPERCALL ? WHAT_CALL
	       : e->kind == EV_KVM_ENTRY     ? WHAT_ENTRY
	       : e->kind == EV_GUEST_CR3     ? WHAT_SPACE
					     : WHAT_LOST;
}

/* Of a call also who made it (source/origin.h), and of which VM, which have no place among its
 * arguments. */
static int call_field(const struct event *e, const char *name, struct field_value *out)
{
	struct hc_record r;

	memcpy(&r, e->record, sizeof(r));
	if (!strcmp(name, "rip"))
		*out = (struct field_value){.cls = FIELD_UINT, .u = r.rip};
	else if (!strcmp(name, "tgid"))
		*out = (struct field_value){.cls = FIELD_UINT, .u = r.tgid};
	else if (!strcmp(name, "skipped"))
		*out = (struct field_value){.cls = FIELD_UINT, .u = r.skipped};
	else if (!strcmp(name, "cpl") && r.flags & (HC_CPL_0 | HC_CPL_USER))
		*out = (struct field_value){.cls = FIELD_UINT, .u = r.flags & HC_CPL_0 ? 0 : 3};
	else
		return -ENOENT;
	return 0;
}

static int folded_event_field(const struct stream *s, const struct event *e, const char *name,
			      struct field_value *out)
{
	const char *const *names = field_names[what_of(e)];

	(void)s;
	if (what_of(e) == WHAT_CALL && !call_field(e, name, out))
		return 0;
	for (unsigned i = 0; i < EVENT_ARGS && names[i]; i++) {
		if (strcmp(names[i], name))
			continue;
		*out = (struct field_value){.cls = FIELD_UINT, .i = e->arg[i]};
		return 0;
	}
	return -ENOENT;
}

static size_t folded_event_print(const struct stream *s, const struct event *e, char *buf,
				 size_t room)
{
	const char *const *names = field_names[what_of(e)];
	struct text t = text_in(buf, room);

	(void)s;
	for (unsigned i = 0; i < EVENT_ARGS && names[i]; i++) {
		text_str(&t, i ? " " : "");
		text_str(&t, names[i]);
		text_char(&t, '=');
		text_u64(&t, (uint64_t)e->arg[i]);
	}
	return text_end(&t, room);
}

const struct trace_ops folded_trace_ops = {
	.probe = folded_probe,
	.open = folded_open,
	.release = folded_release,
	.cursor_init = folded_cursor_init,
	.cursor_next = folded_cursor_next,
	.cursor_release = folded_cursor_release,
	.event_field = folded_event_field,
	.event_print = folded_event_print,
};
