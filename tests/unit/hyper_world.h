/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_HYPER_WORLD_H
#define TESTS_UNIT_HYPER_WORLD_H

/*
 * A host with two CPUs and a VM with two vCPUs, whose guest sends its context switches by
 * hypercall, as the host's trace.dat has it.  The vCPUs' threads change CPUs in the midst of blocks.
 *
 *	world_run(&w, rounds);
 *	world_write(&w, path);
 *	... compare with w.sent[vcpu]
 *	world_release(&w);
 */
#include <limits.h>

#include "channel/hypertrace.h"
#include "channel/hypercalls.h"
#include "channel/writer.h"
#include "tests/unit/dat_build.h"

#define WORLD_CPUS 2
#define WORLD_OFFSET INT64_C(-40000000000) /* guest's TSC less the host's */
#define WORLD_BEGIN UINT64_C(90000000000)
#define WORLD_US 3000 /* ticks */
#define WORLD_ROUND (1000 * WORLD_US)
#define WORLD_TID(vcpu) (101 + (int32_t)(vcpu))
#define WORLD_TWIN 3 /* a neighbour's thread */
#define WORLD_BLOCK 400

#define ID_ENTRY 500
#define ID_EXIT 501
#define ID_HYPERCALL 502
#define ID_NESTED_HYPERCALL 503
#define WORLD_KERNEL UINT64_C(0xffffffffc0401000) /* where it calls from: its module */
#define WORLD_USER UINT64_C(0x401000)
#define WORLD_VMCB(vcpu) (UINT64_C(0x4e5a000) + 0x1000 * (vcpu))

static const char *const world_formats[] = {
	"name: kvm_entry\nID: 500\n" FORMAT_COMMON
	"\tfield:unsigned int vcpu_id;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n",
	"name: kvm_exit\nID: 501\n" FORMAT_COMMON
	"\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int vcpu_id;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 isa;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long guest_rip;\toffset:24;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n",
	"name: kvm_hypercall\nID: 502\n" FORMAT_COMMON
	"\tfield:unsigned long nr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a0;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a1;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a2;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a3;\toffset:40;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n",
	"name: kvm_nested_hypercall\nID: 503\n" FORMAT_COMMON
	"\tfield:unsigned long nr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a0;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a1;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a2;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long a3;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__u64 rip;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:__u64 vmcb;\toffset:56;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n",
	NULL,
};

struct world_switch {
	uint64_t tsc;
	int32_t prev, next;
};

struct world_vcpu {
	struct ht_writer w;
	uint8_t block[HT_CALL_BLOCK_MAX];
	uint32_t sending_len, sending_seq, fragment;
	int32_t running;
	struct world_switch *recorded; /* of all blocks */
	unsigned nr, room;
	unsigned nr_sent; /* of them, those in blocks that were sent whole */
};

struct world_mark {
	int32_t tid;
	unsigned vcpu;
	uint64_t t; /* of the host */
	enum ht_mark kind;
};

#define WORLD_MARKS 64

struct world {
	struct dat_form form;
	struct pages cpus[WORLD_CPUS];
	uint64_t last[WORLD_CPUS];
	struct world_vcpu vcpus[WORLD_CPUS];
	/* A hypercall that the host's tracer loses: number of calls until then; 0 none. */
	unsigned lose_call, nr_calls;
	/* Of vCPU 0's block of this number the host has the begin only, and of the 256th after it
	 * the end; 0 none. */
	unsigned lose_blocks;
	bool losing, gap[WORLD_CPUS];
	bool open;    /* fragments leave as they are written, as the guest's module sends them */
	bool fold;    /* calls go into a file of their own */
	uint64_t rip; /* of the next call */
	bool no_rip;  /* the host's tracer does not record it */
	/* Before every call of the kernel one of a process on the same vCPU: what it is. */
	struct ht_call (*forge)(struct world *w, unsigned vcpu, const struct ht_call *call);
	unsigned nr_forged, floods; /* floods: so many more of those each time */
	unsigned skips;		    /* so many before each of those the recorder counted only */
	uint64_t skipped;	    /* as a record has it */
	bool namesake;		    /* vCPU 1 is a neighbour's, who calls itself by the same name */
	unsigned namesakes_vcpu;    /* ... its number there */
	bool twin;	 /* before all others, vCPU 1 of a neighbour's that calls itself the same */
	unsigned crowd;	 /* before all others, so many nested vCPUs of neighbours' send a block */
	unsigned crowds; /* ... of so many neighbours, in turn; 0: one */
	uint32_t khz;	 /* of the TSC, as the guest says; 0: 3,000,000 */
	bool panic;	 /* at the end vCPU 0 sends what all have */
	bool nested; /* the VM runs in the one that has these threads, and the host takes its calls
		      */
	struct buf folded;
	struct world_mark marks[WORLD_MARKS];
	unsigned nr_marks;
};

static inline void world_record(struct world *w, unsigned cpu, uint64_t t, const struct buf *b)
{
	struct pages *p = &w->cpus[cpu];
	bool gap = w->losing && !w->gap[cpu];

	if (p->used && (gap || p->used - p->page + b->len + 16 > BUILD_PAGE)) {
		page_end_lost(p, w->gap[cpu] && !w->losing ? 1u << 31 : 0, 0);
		w->gap[cpu] = w->losing;
		p->used = 0;
	}
	if (w->losing)
		return;
	if (!p->used) {
		page_begin(p, t);
		w->last[cpu] = t;
	}
	page_record(p, (uint32_t)(t - w->last[cpu]), b->data, b->len);
	w->last[cpu] = t;
}

static inline unsigned world_vcpu_id(const struct world *w, unsigned vcpu)
{
	if (vcpu == WORLD_TWIN)
		return 1;
	return w->namesake && vcpu ? w->namesakes_vcpu : vcpu;
}

static inline void world_kvm(struct world *w, unsigned cpu, uint64_t t, unsigned vcpu, uint16_t id,
			     const struct ht_call *call)
{
	struct buf b = {0};

	payload_common(&b, id, WORLD_TID(vcpu));
	if (id == ID_ENTRY) {
		put_uint(&b, vcpu, 4);
	} else if (id == ID_EXIT) {
		put_uint(&b, call ? 0x81 : 0x78, 4);
		put_uint(&b, world_vcpu_id(w, vcpu), 4);
		put_uint(&b, 2, 4);
		put_uint(&b, 0, 4);
		put_uint(&b, w->no_rip ? 0 : w->rip, 8);
	} else {
		put_uint(&b, call->nr, 8);
		put_uint(&b, call->a0, 8);
		put_uint(&b, call->a1, 8);
		put_uint(&b, call->a2, 8);
		put_uint(&b, call->a3, 8);
		if (id == ID_NESTED_HYPERCALL) {
			put_uint(&b, w->rip, 8);
			put_uint(&b, WORLD_VMCB(vcpu), 8);
		}
	}
	world_record(w, cpu, t, &b);
	free(b.data);
}

static inline void world_sched(struct world *w, unsigned cpu, uint64_t t, int32_t prev,
			       int32_t next)
{
	struct buf b = {0};

	payload_switch(&b, prev, next, next ? "CPU/KVM" : "swapper");
	world_record(w, cpu, t, &b);
	free(b.data);
}

#define WORLD_TICKS_PER_NS 3

static inline void world_clock(struct world *w, uint64_t t)
{
	struct hc_record r = {.kind = HC_CLOCK, .time_ns = t / WORLD_TICKS_PER_NS, .tsc = t};

	put(&w->folded, &r, sizeof(r));
}

/* Exit, hypercall and entry; returns the time after them. */
static inline uint64_t world_call_from(struct world *w, unsigned vcpu, unsigned cpu, uint64_t t,
				       const struct ht_call *call, uint64_t rip)
{
	const uint64_t us = w->floods ? WORLD_US / 10 : WORLD_US;
	bool lost = w->lose_call && ++w->nr_calls == w->lose_call;
	struct hc_record r = {
		.kind = HC_CALL,
		.time_ns = (t + 2 * us) / WORLD_TICKS_PER_NS,
		.tsc = t + 2 * us + (uint64_t)WORLD_OFFSET,
		.tsc_offset = WORLD_OFFSET,
		.tid = (uint32_t)WORLD_TID(vcpu),
		.tgid = w->namesake && vcpu ? 200 : 100,
		.vcpu_id = world_vcpu_id(w, vcpu),
		.cpu = cpu,
		.entry_cpu = cpu,
		.overhead_ns = 3 * us / WORLD_TICKS_PER_NS,
		.rip = w->no_rip ? 0 : rip,
		.nr = call->nr,
		.args = {call->a0, call->a1, call->a2, call->a3},
		.skipped = rip == WORLD_USER ? w->skipped : 0,
	};

	w->rip = rip;
	if (w->fold) {
		put(&w->folded, &r, sizeof(r));
		return t + 6 * us;
	}
	world_kvm(w, cpu, t + 2 * us, vcpu, ID_EXIT, call);
	if (!lost)
		world_kvm(w, cpu, t + 2 * us, vcpu, w->nested ? ID_NESTED_HYPERCALL : ID_HYPERCALL,
			  call);
	world_kvm(w, cpu, t + 5 * us, vcpu, ID_ENTRY, NULL);
	return t + 6 * us;
}

/* By the kernel. */
static inline uint64_t world_call(struct world *w, unsigned vcpu, unsigned cpu, uint64_t t,
				  const struct ht_call *call)
{
	struct ht_call forged;

	for (unsigned i = 0; w->forge && i <= w->floods; i++) {
		forged = w->forge(w, vcpu, call);
		w->skipped += w->skips * HC_SKIPPED_CALL;
		t = world_call_from(w, vcpu, cpu, t, &forged, WORLD_USER);
		w->nr_forged++;
	}
	return world_call_from(w, vcpu, cpu, t, call, WORLD_KERNEL);
}

static const char *world_name(int32_t tid)
{
	static const char *const names[] = {"alpha", "beta", "gamma"};

	return tid ? names[tid - 10] : "swapper";
}

static inline void world_begin_block(const struct world *w, struct world_vcpu *v, uint64_t tsc,
				     bool first)
{
	struct ht_task now = {v->running, -1, false, world_name(v->running)};

	if (w->open)
		ht_begin_open(&v->w, v->block, WORLD_BLOCK, tsc);
	else
		ht_begin(&v->w, v->block, WORLD_BLOCK, tsc);
	v->fragment = 0;
	ht_current(&v->w, &now);
	/* Behind the task, as the module has it. */
	if (first)
		ht_machine(&v->w, "vm-a", "6.1.0-test", w->khz ? w->khz : 3000000, WORLD_CPUS);
}

/* False: the block is full. */
static inline bool world_switch(struct world_vcpu *v, uint64_t tsc)
{
	int32_t next = v->running == 0 ? 10 : v->running == 12 ? 0 : v->running + 1;
	struct ht_task task = {next, next ? next : -1, false, world_name(next)};

	if (!ht_switch(&v->w, tsc, &task, HT_SLEEPING))
		return false;
	if (v->nr == v->room) {
		v->room = v->room ? v->room * 2 : 256;
		v->recorded = realloc(v->recorded, v->room * sizeof(*v->recorded));
	}
	v->recorded[v->nr++] = (struct world_switch){tsc, v->running, next};
	v->running = next;
	return true;
}

static inline bool is_in_gap(const struct world *w, const struct world_vcpu *v)
{
	uint32_t seq = v->sending_seq - (v->fragment < 2);

	return seq >= w->lose_blocks && seq < w->lose_blocks + 256;
}

/* Up to @calls hypercalls; returns the time after the last. */
static inline uint64_t world_send(struct world *w, unsigned vcpu, unsigned cpu, uint64_t t,
				  unsigned calls)
{
	struct world_vcpu *v = &w->vcpus[vcpu];
	struct ht_call call;

	for (unsigned i = 0; i < calls && v->sending_len; i++) {
		ht_call_fragment(&call, v->block, v->sending_len, v->sending_seq, v->fragment,
				 v->fragment + 1 == ht_call_fragments(v->sending_len));
		w->losing = w->lose_blocks && (vcpu ? w->losing : is_in_gap(w, v));
		v->fragment++;
		t = world_call(w, vcpu, cpu, t, &call);
		if (v->fragment == ht_call_fragments(v->sending_len)) {
			v->sending_len = 0;
			v->nr_sent = v->nr;
			world_begin_block(w, v, t + (uint64_t)WORLD_OFFSET, false);
		}
	}
	return t;
}

/* A process of the guest marks, once in a while. */
static inline uint64_t world_mark(struct world *w, unsigned vcpu, unsigned cpu, uint64_t t)
{
	struct world_vcpu *v = &w->vcpus[vcpu];
	struct world_mark *m = &w->marks[w->nr_marks];
	struct ht_call call;

	if (w->nr_marks == WORLD_MARKS || !v->running || v->sending_len)
		return t;
	m->tid = v->running;
	m->vcpu = vcpu;
	m->t = t + 2 * WORLD_US;
	m->kind = (enum ht_mark)(w->nr_marks % 3);
	w->nr_marks++;
	ht_call_mark(&call, m->kind, m->kind ? 7 : 0, m->kind ? "span" : "point", m->kind ? 4 : 5);
	return world_call_from(w, vcpu, cpu, t, &call, WORLD_USER);
}

/* The fragments of an open block that are full. */
static inline uint64_t world_send_full(struct world *w, unsigned vcpu, unsigned cpu, uint64_t t)
{
	struct world_vcpu *v = &w->vcpus[vcpu];
	struct ht_call call;

	while (w->open && (v->fragment + 1) * HT_CALL_BYTES <= v->w.used) {
		ht_call_fragment(&call, v->block, v->w.used, v->w.seq, v->fragment++, false);
		t = world_call(w, vcpu, cpu, t, &call);
	}
	return t;
}

static inline void world_round(struct world *w, unsigned round)
{
	uint64_t t0 = WORLD_BEGIN + (uint64_t)round * WORLD_ROUND;

	for (unsigned i = 0; i < WORLD_CPUS; i++) {
		unsigned cpu = (i + round / 3) % WORLD_CPUS;
		struct world_vcpu *v = &w->vcpus[i];
		uint64_t t = t0 + (10 + 7 * i) * WORLD_US;

		world_sched(w, cpu, t0 + i * WORLD_US, 0, WORLD_TID(i));
		world_kvm(w, cpu, t, i, ID_ENTRY, NULL);
		if (!round) {
			ht_writer_init(&v->w, (uint16_t)i, 0);
			world_begin_block(w, v, t + (uint64_t)WORLD_OFFSET, true);
		}
		t = world_send(w, i, cpu, t, UINT_MAX);
		for (unsigned k = 0; k < 20 && !v->sending_len; k++) {
			t += (20 + (round * 7 + k * 3 + i) % 15) * WORLD_US;
			if (world_switch(v, t + (uint64_t)WORLD_OFFSET)) {
				t = world_send_full(w, i, cpu, t);
				continue;
			}
			v->sending_seq = v->w.seq;
			v->sending_len = w->open ? ht_end_open(&v->w) : ht_end(&v->w);
			if (!w->open)
				v->fragment = 0;
			/* Sometimes the thread is preempted in the midst of it. */
			t = world_send(w, i, cpu, t, round % 3 == 2 ? 4 : UINT_MAX);
		}
		if (round % 10 == 5 && i == round / 10 % WORLD_CPUS)
			t = world_mark(w, i, cpu, t + 10 * WORLD_US);
		world_kvm(w, cpu, t + 10 * WORLD_US, i, ID_EXIT, NULL);
		world_sched(w, cpu, t + 20 * WORLD_US, WORLD_TID(i), 0);
	}
}

/* Kernels of other VMs name ever new nested vCPUs. */
static inline void world_crowd(struct world *w)
{
	static uint8_t block[HT_CALL_BLOCK_MAX];
	struct ht_writer writer;
	struct ht_call call;
	struct buf b;
	uint32_t len;

	for (unsigned i = 0; i < w->crowd; i++) {
		ht_writer_init(&writer, 0, 0);
		ht_begin(&writer, block, sizeof(block), WORLD_BEGIN);
		ht_record(&writer, WORLD_BEGIN, HT_PANIC, NULL, 0, "crowd", 5);
		len = ht_end(&writer);
		ht_call_fragment(&call, block, len, writer.seq, 0, true);
		b = (struct buf){0};
		payload_common(&b, ID_NESTED_HYPERCALL,
			       WORLD_TID(WORLD_CPUS + (w->crowds ? i % w->crowds : 0)));
		put_uint(&b, call.nr, 8);
		put_uint(&b, call.a0, 8);
		put_uint(&b, call.a1, 8);
		put_uint(&b, call.a2, 8);
		put_uint(&b, call.a3, 8);
		put_uint(&b, WORLD_KERNEL, 8);
		put_uint(&b, WORLD_VMCB(WORLD_CPUS + i), 8);
		world_record(w, 0, WORLD_BEGIN - (w->crowd - i) * WORLD_US, &b);
		free(b.data);
	}
}

/* The CPU that is left sends the others' blocks, too. */
static inline void world_panic(struct world *w, uint64_t t)
{
	const unsigned last = 0;

	world_sched(w, last, t, 0, WORLD_TID(last));
	for (unsigned i = 0; i < WORLD_CPUS; i++) {
		struct world_vcpu *v = &w->vcpus[i];
		struct ht_call call;
		uint32_t seq, len;

		assert_int_equal(v->sending_len, 0); /* it had nothing half sent */
		v->w.flags |= HT_FLAG_PANIC;
		seq = v->w.seq;
		len = ht_end(&v->w);
		v->nr_sent = v->nr;
		for (unsigned k = 0; k < ht_call_fragments(len); k++) {
			ht_call_fragment(&call, v->block, len, seq, k,
					 k + 1 == ht_call_fragments(len));
			t = world_call_from(w, last, last, t, &call, WORLD_KERNEL);
		}
	}
}

static inline void world_twin(struct world *w)
{
	static uint8_t block[HT_CALL_BLOCK_MAX];
	uint64_t t = WORLD_BEGIN - WORLD_ROUND;
	struct ht_writer writer;
	struct ht_call call;
	uint32_t len;

	ht_writer_init(&writer, 1, 0);
	ht_begin(&writer, block, sizeof(block), t + (uint64_t)WORLD_OFFSET);
	ht_machine(&writer, "vm-a", "6.1.0-test", 3000000, WORLD_CPUS);
	len = ht_end(&writer);
	for (unsigned i = 0; w->twin && i < ht_call_fragments(len); i++) {
		bool is_last = i + 1 == ht_call_fragments(len);

		ht_call_fragment(&call, block, len, writer.seq, i, is_last);
		t = world_call_from(w, WORLD_TWIN, 0, t, &call, WORLD_KERNEL);
	}
}

static inline void world_run(struct world *w, unsigned rounds)
{
	w->form = (struct dat_form){.version = 6,
				    .long_size = 8,
				    .packing = "none",
				    .clock = "x86-tsc",
				    .kvm_formats = world_formats};
	for (unsigned i = 0; i < WORLD_CPUS; i++)
		w->cpus[i].form = &w->form;
	if (w->fold) {
		struct hc_header head = {.version = HC_VERSION, .record_bytes = HC_RECORD_BYTES};

		memcpy(head.magic, HC_MAGIC, sizeof(head.magic));
		put(&w->folded, &head, sizeof(head));
		world_clock(w, WORLD_BEGIN);
	}
	world_twin(w);
	world_crowd(w);
	for (unsigned r = 0; r < rounds; r++)
		world_round(w, r);
	if (w->panic)
		world_panic(w, WORLD_BEGIN + (uint64_t)rounds * WORLD_ROUND);
	if (w->fold)
		world_clock(w, WORLD_BEGIN + (uint64_t)rounds * WORLD_ROUND);
	for (unsigned i = 0; i < WORLD_CPUS; i++)
		page_end(&w->cpus[i]);
}

static inline void world_write(const struct world *w, const char *path)
{
	struct buf out;
	FILE *f = fopen(path, "w");

	dat_build(&w->form, w->cpus, WORLD_CPUS, &out);
	if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f))
		abort();
	free(out.data);
}

static inline void world_write_folded(const struct world *w, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(w->folded.data, 1, w->folded.len, f) != w->folded.len || fclose(f))
		abort();
}

static inline void world_release(struct world *w)
{
	for (unsigned i = 0; i < WORLD_CPUS; i++) {
		free(w->cpus[i].b.data);
		free(w->vcpus[i].recorded);
	}
	free(w->folded.data);
}

#endif
