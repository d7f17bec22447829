/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/declared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/model.h"
#include "clock/sample/sample.h"
#include "clock/fit/sort.h"
#include "source/span.h"
#include "source/ticks.h"

/* A block is looked for so far from the begin, and from the end of a trace ... */
#define LOOK_US 2000000
/* ... or so far from the begin, where another program than sonde record wrote it. */
#define GLANCE_US 100000
/* ... and in the end once more with twice that, up to so many times. */
#define LOOKS_MAX 5
/* Text that is kept of one trace.  Lines of threads, by far the most, are not. */
#define TEXT_MAX (8u << 20)
#define LINES_MAX 65536
/* VMs of one block: more would make a hostile trace's vCPUs slow to be told whose they are. */
#define BLOCK_VMS_MAX 4096

/* ---- finding the lines ------------------------------------------------------------------------
 */

static bool is_kept(enum state_kind kind)
{
	return kind == STATE_BEGIN || kind == STATE_CLOCK || kind == STATE_VM ||
	       kind == STATE_VCPU || kind == STATE_END;
}

static int keep_line(struct declared *d, const struct stream *s, const struct event *e)
{
	struct raw_line *raw;
	struct state_line l;
	const char *text;
	size_t len_bytes;
	char *copy;

	if (d->raw.nr >= LINES_MAX || !state_line_text(s, e, &text, &len_bytes) ||
	    !state_line_parse(&l, text, len_bytes) || !is_kept(l.kind))
		return 0;
	copy = arena_strndup(&d->arena, text, len_bytes);
	if (!copy)
		return d->arena.used_bytes + len_bytes > TEXT_MAX - 64 ? 0 : -ENOMEM;
	raw = sample_add(&d->raw);
	if (!raw)
		return -ENOMEM;
	*raw = (struct raw_line){e->time.v, (uint32_t)d->raw.nr, e->tid, (uint32_t)len_bytes, copy};
	return 0;
}

static int keep_write(struct declared *d, const struct event *e)
{
	struct offset_write *w = d->writes.nr < LINES_MAX ? sample_add(&d->writes) : NULL;

	if (w)
		*w = (struct offset_write){e->time.v, e->tid, e->arg[2]};
	return w || d->writes.nr >= LINES_MAX ? 0 : -ENOMEM;
}

static int read_packets(struct declared *d, struct stream *s, uint32_t first, uint32_t nr,
			kinds_t want)
{
	struct event events[64];
	struct cursor c;
	unsigned n;
	int ret = nr ? cursor_init(&c, s, first, nr, want, NULL) : -ENODATA;

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	while (ret == 0 && (n = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < n && ret == 0; i++) {
			if (events[i].kind == EV_STATE_LINE)
				ret = keep_line(d, s, &events[i]);
			else if (events[i].kind == EV_KVM_WRITE_TSC_OFFSET)
				ret = keep_write(d, &events[i]);
		}
	}
	cursor_release(&c);
	return ret;
}

/* Reads on, in every stream, up to the packets that begin after @until. */
static int read_heads(struct declared *d, uint64_t until)
{
	int ret = 0;

	for (unsigned i = 0; i < d->trace->nr_streams && ret == 0; i++) {
		struct stream *s = &d->trace->streams[i];
		uint32_t from = d->head[i], to = from;

		while (to < d->tail[i] && (!to || s->packets[to].begin <= until))
			to++;
		d->head[i] = to;
		ret = read_packets(d, s, from, to - from, WANT(STATE_LINE));
	}
	return ret;
}

/* Reads on, backwards, down to the packets that hold @from. */
static int read_tails(struct declared *d, uint64_t from)
{
	int ret = 0;

	for (unsigned i = 0; i < d->trace->nr_streams && ret == 0; i++) {
		struct stream *s = &d->trace->streams[i];
		uint32_t end = d->tail[i], at = end;

		while (at > d->head[i] && (at == s->nr_packets || s->packets[at].begin > from))
			at--;
		d->tail[i] = at;
		ret = read_packets(d, s, at, end - at, WANT(STATE_LINE));
	}
	return ret;
}

static bool all_read(const struct declared *d)
{
	for (unsigned i = 0; i < d->trace->nr_streams; i++) {
		if (d->head[i] < d->tail[i])
			return false;
	}
	return true;
}

/* ---- what they say ----------------------------------------------------------------------------
 */

static int by_time(const void *a, const void *b)
{
	const struct raw_line *p = a, *q = b;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	return (p->order > q->order) - (p->order < q->order);
}

static void identify(struct declared *d, const struct state_line *l)
{
	char hypervisor[32];

	if (!d->any) {
		d->hypervisor = state_text(l, "hypervisor", hypervisor, sizeof(hypervisor)) &&
				strcmp(hypervisor, "none") != 0;
		state_text(l, "hostname", d->hostname, sizeof(d->hostname));
		state_text(l, "boot_id", d->boot_id, sizeof(d->boot_id));
		d->has_uuid = state_uuid(l, "product_uuid", d->uuid);
		d->tsc_khz = state_uint(l, "tsc_khz", 0);
	}
	d->any = true;
	d->at_end |= state_cause(l) == STATE_CAUSE_END;
}

static int add_clock(struct declared *d, const struct state_line *l)
{
	struct declared_clock clock = {
		.tsc = state_uint(l, "tsc", 0),
		.width = state_uint(l, "width", UINT64_MAX),
		.mono = state_int(l, "mono", -1),
		.boot = state_int(l, "boot", -1),
		.real = state_int(l, "real", -1),
	};
	struct declared_clock *out;

	if (!clock.tsc || clock.tsc > INT64_MAX || clock.width > INT32_MAX)
		return 0;
	out = sample_add(&d->clocks);
	if (out)
		*out = clock;
	return out ? 0 : -ENOMEM;
}

/* A block's VMs stand together. */
static bool block_is_full(const struct declared *d, uint32_t block)
{
	return d->vms.nr >= BLOCK_VMS_MAX && d->vms.list[d->vms.nr - BLOCK_VMS_MAX].block == block;
}

static int add_vm(struct declared *d, const struct state_line *l, uint32_t block)
{
	struct declared_vm vm = {
		.block = block,
		.number = state_uint(l, "vm", UINT64_MAX),
		.pid = (int32_t)state_int(l, "pid", -1),
	};
	struct declared_vm *out;

	if (block_is_full(d, block))
		return 0;
	vm.has_uuid = state_uuid(l, "uuid", vm.uuid);
	state_text(l, "name", vm.name, sizeof(vm.name));
	out = sample_add(&d->vms);
	if (out)
		*out = vm;
	return out ? 0 : -ENOMEM;
}

/* Which of the block's VMs has this number: the newest ones are of this block. */
static const struct declared_vm *vm_of_block(const struct declared *d, uint32_t block,
					     uint64_t number)
{
	for (size_t i = d->vms.nr; i-- > 0 && d->vms.list[i].block == block;) {
		if (d->vms.list[i].number == number)
			return &d->vms.list[i];
	}
	return NULL;
}

static int add_vcpu(struct declared *d, const struct state_line *l, uint32_t block,
		    enum state_cause cause)
{
	const struct declared_vm *vm = vm_of_block(d, block, state_uint(l, "vm", UINT64_MAX));
	int64_t number = state_int(l, "vcpu", -1), tid = state_int(l, "tid", -1);
	uint64_t bits = state_uint(l, "tsc_ratio_bits", 0);
	struct declared_vcpu vcpu = {.cause = cause};
	struct declared_vcpu *out;

	if (!vm || number < 0 || number > INT16_MAX || tid > INT32_MAX)
		return 0;
	if (tid <= 0)
		tid = -1;
	vcpu.vm = (uint32_t)(vm - d->vms.list);
	vcpu.number = (int)number;
	vcpu.tid = (int32_t)tid;
	vcpu.relation.offset = state_int(l, "tsc_offset", INT64_MIN);
	vcpu.relation.ratio = state_uint(l, "tsc_ratio", 0);
	vcpu.has_relation = vcpu.relation.offset != INT64_MIN && bits <= TSC_BITS_MAX;
	vcpu.relation.bits = (unsigned)bits;
	if (vcpu.has_relation && vcpu.relation.ratio == UINT64_C(1) << bits)
		vcpu.relation.ratio = 0;
	if (!vcpu.relation.ratio)
		vcpu.relation.bits = 0;
	out = sample_add(&d->vcpus);
	if (out)
		*out = vcpu;
	return out ? 0 : -ENOMEM;
}

static int take(struct declared *d, const struct state_line *l, uint32_t *block,
		enum state_cause cause)
{
	switch (l->kind) {
	case STATE_BEGIN:
		++*block;
		identify(d, l);
		return 0;
	case STATE_CLOCK:
		return add_clock(d, l);
	case STATE_VM:
		return add_vm(d, l, *block);
	case STATE_VCPU:
		return add_vcpu(d, l, *block, cause);
	default:
		return 0;
	}
}

/* The guests that trace-cmd recorded along with this host: block 0. */
static int add_noted(struct declared *d)
{
	for (unsigned g = 0; g < d->trace->nr_guests; g++) {
		const struct trace_guest *guest = &d->trace->guests[g];
		struct declared_vm *vm = sample_add(&d->vms);

		if (!vm)
			return -ENOMEM;
		*vm = (struct declared_vm){.number = g, .pid = -1, .trace_id = guest->trace_id};
		snprintf(vm->name, sizeof(vm->name), "%s", guest->name ? guest->name : "");
		for (unsigned i = 0; i < guest->nr_vcpus; i++) {
			struct declared_vcpu *vcpu = sample_add(&d->vcpus);

			if (!vcpu)
				return -ENOMEM;
			*vcpu = (struct declared_vcpu){.vm = (uint32_t)d->vms.nr - 1,
						       .number = (int)i,
						       .tid = guest->vcpu_tid[i]};
		}
	}
	return 0;
}

/* Makes the lists anew from all lines that are there.  *@open: the last block has no end. */
static int settle(struct declared *d, bool *open)
{
	struct state_block block = {0};
	uint32_t nr_blocks = 0;
	int ret;

	d->any = d->at_end = false;
	d->clocks.nr = d->vms.nr = d->vcpus.nr = 0;
	ret = add_noted(d);
	sort_runs(d->raw.list, d->raw.nr, sizeof(*d->raw.list), by_time);
	for (size_t i = 0; i < d->raw.nr && ret == 0; i++) {
		const struct raw_line *raw = &d->raw.list[i];
		struct state_line l;

		if (state_line_parse(&l, raw->text, raw->len_bytes) &&
		    state_block_takes(&block, &l, raw->tid))
			ret = take(d, &l, &nr_blocks, block.cause);
	}
	*open = block.open;
	map_clear(&d->by_thread);
	for (size_t i = 0; i < d->vcpus.nr && ret == 0; i++) {
		if (d->vcpus.list[i].tid > 0)
			ret = map_put(&d->by_thread, (uint32_t)d->vcpus.list[i].tid, (uint32_t)i);
	}
	return ret;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool may_have_lines(const struct trace *t)
{
	for (unsigned i = 0; i < t->nr_types; i++) {
		if (t->types[i].kind == EV_STATE_LINE)
			return true;
	}
	return false;
}

/* The begin: as far as the block there goes. */
static int find_start(struct declared *d, uint64_t first, uint64_t look)
{
	bool open;
	int ret;

	do {
		ret = read_heads(d, clamp_tick((__int128)first + look));
		if (ret == 0)
			ret = settle(d, &open);
		look = look > UINT64_MAX / 2 ? UINT64_MAX : look * 2;
	} while (ret == 0 && open && !all_read(d));
	return ret;
}

/* ftrace has an event for text in every trace.  A CTF trace names what was recorded. */
static bool is_by_sonde(const struct trace *t)
{
	return t->format == TRACE_CTF || strstr(t->tracer, "sonde");
}

/* The end: until the begin of the block there is found.  Where the begin of the trace had none (it
 * was lost), a short look will do. */
static int find_end(struct declared *d, uint64_t last, uint64_t look)
{
	unsigned looks = d->any ? LOOKS_MAX : 1;
	int ret = 0;

	for (unsigned i = 0; i < looks && ret == 0 && !d->at_end && !all_read(d); i++) {
		bool open;

		ret = read_tails(d, clamp_tick((__int128)last - look));
		if (ret == 0)
			ret = settle(d, &open);
		look *= 2;
	}
	return ret;
}

static int init(struct declared *d, struct trace *t)
{
	memset(d, 0, sizeof(*d));
	d->trace = t;
	d->arena.limit_bytes = TEXT_MAX;
	d->head = calloc(t->nr_streams + 1, sizeof(*d->head));
	d->tail = calloc(t->nr_streams + 1, sizeof(*d->tail));
	if (!d->head || !d->tail)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nr_streams; i++)
		d->tail[i] = t->streams[i].nr_packets;
	return 0;
}

int declared_read(struct declared *d, struct trace *t, struct error *err)
{
	uint64_t look = (uint64_t)(LOOK_US * ticks_per_us(t));
	uint64_t glance = (uint64_t)(GLANCE_US * ticks_per_us(t));
	int ret = init(d, t);

	if (ret == 0)
		ret = add_noted(d);
	if (ret == 0 && may_have_lines(t)) {
		ret = find_start(d, trace_first_begin(t), is_by_sonde(t) ? look : glance);
		if (ret == 0 && (d->any || is_by_sonde(t)))
			ret = find_end(d, trace_last_end(t), look);
	}
	if (ret == 0)
		return 0;
	declared_release(d);
	return fail(err, ret, "out of memory reading what was recorded beside %s", t->path);
}

int declared_read_all(struct declared *d, struct error *err)
{
	int ret = 0;
	bool open;

	if (d->whole)
		return 0;
	d->whole = true;
	d->raw.nr = 0;
	arena_release(&d->arena); /* or the text would count twice against its limit */
	for (unsigned i = 0; i < d->trace->nr_streams && ret == 0; i++)
		ret = read_packets(d, &d->trace->streams[i], 0, d->trace->streams[i].nr_packets,
				   WANT(STATE_LINE) | WANT(KVM_WRITE_TSC_OFFSET));
	if (ret == 0)
		ret = settle(d, &open);
	return ret ? fail(err, ret, "out of memory reading what was recorded beside %s",
			  d->trace->path)
		   : 0;
}

void declared_release(struct declared *d)
{
	free(d->clocks.list);
	free(d->vms.list);
	free(d->vcpus.list);
	free(d->writes.list);
	free(d->raw.list);
	free(d->head);
	free(d->tail);
	map_release(&d->by_thread);
	arena_release(&d->arena);
	memset(d, 0, sizeof(*d));
}
