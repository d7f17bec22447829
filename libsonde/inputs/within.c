/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/within.h"
#include "base/grow.h"
#include "base/map.h"
#include "channel/reader.h"
#include "libsonde/inputs/callers.h"
#include "merge/merge.h"
#include "source/origin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one host, those that send anything; each takes some 20 KB.  A guest has no more threads than
 * its host gives it, but names as many nested vCPUs as it likes: those take no place of a thread,
 * and no VM's those of all others. */
#define THREADS_MAX 4096u
#define NESTED_MAX 4096u
#define NESTED_OF_VM 512u
#define RUNS_PER_REPORT 256

struct search {
	struct trace *host;
	const struct within_options *opt;
	struct spool spool;
	struct caller **callers; /* owned, each owned */
	unsigned nr, room;
	unsigned nr_nested;   /* of them */
	struct map by_vcpu;   /* caller_key() -> index into callers + 1 */
	struct map nested_of; /* caller_key() without VMCB -> how many nested vCPUs */
	struct declared declared;
	int32_t *tids;	    /* owned; by stream: the thread that runs, where events do not say */
	uint64_t *losses;   /* owned; by stream: gaps in which HT_CALL_NUMBERS calls may be */
	uint64_t nr_losses; /* ... of all */
	struct call_origins origins;
	uint64_t nameless; /* calls of unknown threads */
	uint64_t unknown;  /* calls of which nothing tells who made them */
	uint64_t too_many; /* calls of threads and nested vCPUs that found no place */
};

/* ---- from calls to blocks ---------------------------------------------------------------------
 */

#define TID_BITS 22 /* Linux has no more */

/* A VMCB is a page of less than 52 bits of address, so that page and thread fit. */
static uint64_t caller_key(int32_t tid, int32_t process, uint64_t vmcb)
{
	uint64_t who = (uint64_t)(uint32_t)(process >= 0 ? process : tid);

	return vmcb >> 12 << TID_BITS ^ who ^ (process >= 0 ? UINT64_C(1) << 63 : 0);
}

/* Takes a place for one more; @vm: of a nested vCPU, the VM that it runs in.  -ENOSPC: there is
 * none. */
static int take_place(struct search *s, bool nested, uint64_t vm)
{
	const uint32_t *of_vm = nested ? map_get(&s->nested_of, vm) : NULL;
	uint32_t nr = of_vm ? *of_vm : 0;

	if (!nested)
		return s->nr - s->nr_nested < THREADS_MAX ? 0 : -ENOSPC;
	if (nr == NESTED_OF_VM || s->nr_nested == NESTED_MAX)
		return -ENOSPC;
	s->nr_nested++;
	return map_put(&s->nested_of, vm, nr + 1);
}

/* -ENOSPC: it is one too many. */
static int caller_add(struct search *s, int32_t tid, int32_t process, uint64_t vmcb)
{
	struct caller *c;
	int ret;

	if (!room_for_one(&s->callers, s->nr, &s->room))
		return -ENOMEM;
	ret = take_place(s, vmcb, caller_key(tid, process, 0));
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c || map_put(&s->by_vcpu, caller_key(tid, process, vmcb), s->nr + 1)) {
		free(c);
		return -ENOMEM;
	}
	c->tid = tid;
	c->process = process;
	c->vcpu = -1;
	c->vmcb = vmcb;
	s->callers[s->nr++] = c;
	return 0;
}

static int caller_get(struct search *s, int32_t tid, uint64_t vmcb, struct caller **out)
{
	const struct declared_vm *vm = vmcb ? declared_vm_of_thread(&s->declared, tid) : NULL;
	int32_t process = vm ? vm->pid : -1;
	const uint32_t *at = map_get(&s->by_vcpu, caller_key(tid, process, vmcb));
	int ret = at ? 0 : caller_add(s, tid, process, vmcb);

	if (!ret)
		*out = s->callers[at ? *at - 1 : s->nr - 1];
	return ret;
}

static void copy_text(char to[65], const struct ht_text *text)
{
	size_t len = text->len < 64 ? text->len : 64;

	memcpy(to, text->at, len);
	to[len] = '\0';
}

/* Who it says that it is; once is enough. */
static void learn_machine(struct caller *c, const uint8_t *block, uint32_t len)
{
	struct ht_reader r;
	struct ht_item item;

	if (c->hostname[0])
		return;
	ht_reader_init(&r);
	if (ht_block_open(&r, block, len))
		return;
	while (ht_block_next(&r, &item)) {
		if (item.opcode != HT_MACHINE)
			continue;
		copy_text(c->hostname, &item.text[0]);
		copy_text(c->release, &item.text[1]);
		return;
	}
}

/* The nested vCPU that the event names; 0 when it is not of one. */
static uint64_t vmcb_of(const struct search *s, unsigned input, const struct event *e)
{
	struct field_value vmcb;

	if (e->kind != EV_KVM_NESTED_HYPERCALL ||
	    trace_event_field(&s->host->streams[input], e, "vmcb", &vmcb) || vmcb.cls != FIELD_UINT)
		return 0;
	return vmcb.u;
}

/* What the host knows of the thread that makes this call. */
static void learn_thread(struct search *s, unsigned input, const struct event *e, struct caller *c,
			 int32_t vcpu)
{
	struct field_value process;

	if (c->vmcb)
		return;
	if (c->vcpu < 0)
		c->vcpu = vcpu;
	if (c->process < 0 && !trace_event_field(&s->host->streams[input], e, "tgid", &process) &&
	    process.cls == FIELD_UINT)
		c->process = (int32_t)process.u;
}

/* A vCPU stays where it is, mostly: then only what is missing there can be of its calls. */
static void heed_losses(const struct search *s, unsigned input, struct caller *c)
{
	bool moved = c->input != input;

	if (c->losses[moved] != (moved ? s->nr_losses : s->losses[input]))
		ht_call_drop(&c->assembler);
	c->input = input;
	c->losses[0] = s->losses[input];
	c->losses[1] = s->nr_losses;
}

static int take_call(struct search *s, unsigned input, const struct event *e, int32_t tid)
{
	enum ht_origin origin;
	uint64_t vmcb;
	struct caller *c;
	int32_t vcpu;
	unsigned cpu;
	uint32_t len;
	int ret;

	if (!ht_is_call((uint64_t)e->arg[0]))
		return 0;
	if (tid < 0) {
		s->nameless++;
		return 0;
	}
	vcpu = call_origins_vcpu(&s->origins, tid);
	origin = call_origins_of(&s->origins, &s->host->streams[input], e, tid);
	if (origin != HT_ORIGIN_KERNEL) {
		s->unknown += origin == HT_ORIGIN_UNKNOWN;
		return 0;
	}
	vmcb = vmcb_of(s, input, e);
	if (e->kind == EV_KVM_NESTED_HYPERCALL && !vmcb) {
		s->nameless++;
		return 0;
	}
	ret = caller_get(s, tid, vmcb, &c);
	s->too_many += ret == -ENOSPC;
	if (ret)
		return ret == -ENOSPC ? 0 : ret;
	learn_thread(s, input, e, c, vcpu);
	heed_losses(s, input, c);
	len = ht_call_take(&c->assembler, (uint64_t)e->arg[0], (uint64_t)e->arg[1],
			   (uint64_t)e->arg[2], (uint64_t)e->arg[3], (uint64_t)e->arg[4]);
	if (!len)
		return 0;
	cpu = c->assembler.block[6] | c->assembler.block[7] << 8;
	/* In panic the CPU that is left sends the others' blocks, too. */
	if (cpu < TRACE_CPUS_MAX && !(c->assembler.block[3] & HT_FLAG_PANIC))
		c->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	c->blocks++;
	learn_machine(c, c->assembler.block, len);
	return spool_put(&s->spool, &c->out, c->assembler.block, len);
}

/* What came of a block that never ended: up to its last whole record.  It is what the guest did
 * last. */
static int take_rest(struct search *s, struct caller *c)
{
	uint8_t *block = c->assembler.block;
	uint32_t len = c->assembler.next ? c->assembler.used : 0, whole = HT_HEADER_BYTES;
	struct ht_reader r;
	struct ht_item item;

	if (len <= HT_HEADER_BYTES)
		return 0;
	block[4] = (uint8_t)len;
	block[5] = (uint8_t)(len >> 8);
	ht_reader_init(&r);
	if (ht_block_open(&r, block, len))
		return 0;
	while (ht_block_next(&r, &item))
		whole = r.at;
	if (whole == HT_HEADER_BYTES)
		return 0;
	block[4] = (uint8_t)whole;
	block[5] = (uint8_t)(whole >> 8);
	c->blocks++;
	return spool_put(&s->spool, &c->out, block, whole);
}

static void count_loss(struct search *s, unsigned input, const struct event *e)
{
	bool many = !e->arg[0] || e->arg[0] >= HT_CALL_NUMBERS;

	s->losses[input] += many;
	s->nr_losses += many;
}

static int take_run(struct search *s, const struct run *run)
{
	int32_t *tid = &s->tids[run->input];
	int ret = 0;

	for (unsigned i = 0; i < run->nr && !ret; i++) {
		const struct event *e = &run->events[i];

		if (e->tid >= 0)
			*tid = e->tid;
		call_origins_follow(&s->origins, e, *tid);
		if (e->kind == EV_LOST) {
			*tid = -1;
			count_loss(s, run->input, e);
		} else if (e->kind == EV_SCHED_SWITCH) {
			*tid = (int32_t)e->arg[1];
		} else {
			ret = take_call(s, run->input, e, *tid);
		}
	}
	return ret;
}

/* In the order of the host's own clock: a vCPU may move between CPUs in the middle of a block. */
static int read_calls(struct search *s, struct error *err)
{
	struct clock_piece same = {.mult = UINT64_C(1) << CLOCK_SHIFT};
	struct clock_model clock = {.pieces = &same, .nr_pieces = 1};
	struct merge_input *inputs = calloc(s->host->nr_streams + 1, sizeof(*inputs));
	kinds_t want = WANT(KVM_HYPERCALL) | WANT(KVM_NESTED_HYPERCALL) | CALL_ORIGIN_KINDS;
	struct merge *merge = NULL;
	unsigned runs = 0;
	struct run run;
	int ret;

	s->tids = malloc((s->host->nr_streams + 1) * sizeof(*s->tids));
	s->losses = calloc(s->host->nr_streams + 1, sizeof(*s->losses));
	if (!inputs || !s->tids || !s->losses) {
		free(inputs);
		return fail(err, -ENOMEM, "out of memory");
	}
	memset(s->tids, 0xff, (s->host->nr_streams + 1) * sizeof(*s->tids));
	for (unsigned i = 0; i < s->host->nr_streams; i++)
		inputs[i] = (struct merge_input){.stream = &s->host->streams[i], .clock = &clock};
	ret = merge_open(&merge, inputs, s->host->nr_streams, want, s->opt->workers, err);
	while (!ret && merge_next(merge, &run)) {
		ret = take_run(s, &run);
		if (ret)
			fail(err, ret, "cannot keep what the guests of %s sent: %s", s->host->path,
			     strerror(-ret));
		else if (++runs % RUNS_PER_REPORT == 0 && s->opt->progress &&
			 !s->opt->progress(merge_progress(merge), s->opt->progress_data))
			ret = -EINTR;
	}
	merge_close(merge);
	free(inputs);
	for (unsigned i = 0; i < s->nr && !ret; i++) {
		ret = take_rest(s, s->callers[i]);
		if (!ret)
			ret = spool_flush(&s->spool, &s->callers[i]->out);
		if (ret)
			fail(err, ret, "cannot keep what the guests of %s sent: %s", s->host->path,
			     strerror(-ret));
	}
	return ret;
}

/* ---- from guests to traces ---------------------------------------------------------------------
 */

static struct hyper_extent *gather_extents(const struct caller_guest *g, size_t *nr)
{
	struct hyper_extent *list;
	size_t at = 0;

	*nr = 0;
	for (unsigned i = 0; i < g->nr; i++)
		*nr += g->callers[i]->out.nr;
	list = calloc(*nr + 1, sizeof(*list));
	for (unsigned i = 0; list && i < g->nr; i++) {
		const struct spool_writer *out = &g->callers[i]->out;

		memcpy(list + at, out->list, out->nr * sizeof(*list));
		at += out->nr;
	}
	return list;
}

static void tell_broken(const struct caller_guest *g, struct trace *t)
{
	uint64_t broken = 0;

	for (unsigned i = 0; i < g->nr; i++)
		broken += g->callers[i]->assembler.broken;
	if (broken)
		trace_problem(
			t, "%s: blocks of which not all hypercalls are in the host's trace: %llu",
			t->path, (unsigned long long)broken);
}

static int open_guest(struct search *s, const struct caller_guest *g, struct within_guest *to,
		      struct error *err)
{
	struct hyper_extent *list;
	char path[64], label[600];
	size_t nr;
	int ret;

	list = gather_extents(g, &nr);
	if (!list)
		return fail(err, -ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->spool.fd);
	snprintf(label, sizeof(label), "%.400s: hypercalls of %.63s", s->host->path,
		 *to->name ? to->name : "a guest");
	ret = hyper_open(&to->trace, path, list, nr, label, err);
	free(list);
	if (!ret)
		tell_broken(g, to->trace);
	return ret;
}

static bool has_own_trace(const struct search *s, const struct caller_guest *g)
{
	for (unsigned i = 0; i < g->nr && s->opt->has_own; i++) {
		if (!g->callers[i]->vmcb && s->opt->has_own(g->callers[i]->tid, s->opt->own_data))
			return true;
	}
	return false;
}

static uint64_t blocks_of(const struct caller_guest *g)
{
	uint64_t blocks = 0;

	for (unsigned i = 0; i < g->nr; i++)
		blocks += g->callers[i]->blocks;
	return blocks;
}

static void describe(const struct caller_guest *g, struct within_guest *to)
{
	const struct caller *c = g->callers[0];

	to->tid = c->tid;
	to->nested = c->vmcb;
	snprintf(to->name, sizeof(to->name), "%.63s", g->listed ? g->listed->name : c->hostname);
	if (g->listed)
		snprintf(to->because, sizeof(to->because),
			 "it sent its events by hypercall: from the VM that is process %d of its "
			 "host",
			 g->listed->pid);
	else if (c->contested && c->process < 0)
		snprintf(to->because, sizeof(to->because),
			 "it sent its events by hypercall: thread %d of its host; two VMs or more "
			 "call themselves so, and nothing tells whose other threads are",
			 c->tid);
	else if (c->vmcb)
		snprintf(to->because, sizeof(to->because),
			 "it sent its events by hypercall past its host: its VMCB 0x%llx was of "
			 "the VM that thread %d runs",
			 (unsigned long long)c->vmcb, c->tid);
	else
		snprintf(to->because, sizeof(to->because),
			 "it sent its events by hypercall: thread %d of its host, and those that "
			 "name the same machine",
			 c->tid);
}

static int open_guests(struct search *s, const struct caller_guests *guests, struct within *out,
		       struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < guests->nr && !ret; i++) {
		const struct caller_guest *g = &guests->list[i];
		struct within_guest *to = &out->list[out->nr];

		describe(g, to);
		if (has_own_trace(s, g)) {
			trace_note(
				s->host,
				"%.40s has a trace of its own; what it sent by hypercall is left "
				"out (blocks: %llu)",
				to->name, (unsigned long long)blocks_of(g));
			memset(to, 0, sizeof(*to));
			continue;
		}
		ret = open_guest(s, g, to, err);
		out->nr += !ret;
	}
	return ret;
}

static int make_guests(struct search *s, struct within *out, struct error *err)
{
	struct caller_guests guests;
	int ret = callers_group(&guests, s->callers, s->nr, &s->declared);

	out->list = calloc(s->nr + 1, sizeof(*out->list));
	if (ret || !out->list)
		ret = fail(err, -ENOMEM, "out of memory");
	else
		ret = open_guests(s, &guests, out, err);
	caller_guests_release(&guests);
	return ret;
}

static void tell(const struct search *s)
{
	if (s->nameless)
		trace_problem(s->host,
			      "%llu hypercall%s with events of guests, made by an unknown thread",
			      (unsigned long long)s->nameless, s->nameless == 1 ? "" : "s");
	if (s->unknown)
		trace_problem(
			s->host,
			"%llu hypercall%s left out: no kvm_exit with guest_rip before tells whether "
			"a kernel or a process made it",
			(unsigned long long)s->unknown,
			s->unknown == 1 ? " with events of guests is"
					: "s with events of guests are");
	if (s->too_many)
		trace_problem(
			s->host,
			"%llu hypercall%s left out: more than %u threads send any, or more than "
			"%u nested vCPUs, or %u of one VM",
			(unsigned long long)s->too_many,
			s->too_many == 1 ? " with events of guests is"
					 : "s with events of guests are",
			THREADS_MAX, NESTED_MAX, NESTED_OF_VM);
}

int within_find(struct within *out, struct trace *host, const struct within_options *opt,
		struct error *err)
{
	struct search s = {.host = host, .opt = opt};
	int ret = spool_open(&s.spool, err);

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret;
	ret = declared_read(&s.declared, host, err);
	if (!ret)
		ret = read_calls(&s, err);
	if (!ret) {
		tell(&s);
		ret = make_guests(&s, out, err);
	}
	for (unsigned i = 0; i < s.nr; i++) {
		spool_writer_release(&s.callers[i]->out);
		free(s.callers[i]);
	}
	free(s.callers);
	free(s.tids);
	free(s.losses);
	map_release(&s.by_vcpu);
	map_release(&s.nested_of);
	declared_release(&s.declared);
	spool_close(&s.spool);
	if (ret)
		within_release(out);
	return ret;
}

void within_release(struct within *w)
{
	for (unsigned i = 0; i < w->nr; i++)
		trace_release(w->list[i].trace);
	free(w->list);
	memset(w, 0, sizeof(*w));
}
