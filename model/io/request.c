/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to devices, one by one: see request.h. */
#include "model/io/request.h"

#include <stdlib.h>
#include <string.h>

#include "model/identity/process.h"
#include "model/io/guest_request.h"
#include "model/state/state.h"
#include "model/io/packet_taker.h"
#include "model/identity/machine.h"
#include "source/trace.h"

/* More than any device has under way; what a broken trace leaves unfinished makes room. */
#define PENDING_MAX 1024

/* A run may have requests without end; what is kept of them is not. */
#define REQUESTS_MAX (1u << 20)
#define PACKETS_MAX (REQUESTS_MAX / 2)

/* No disk is larger, no request either; what a broken trace says is not calculated with. */
#define SECTOR_MAX ((INT64_C(1) << 55) - 1)
#define BYTES_MAX (INT64_C(1) << 40)

#define MMIO_WRITE 2
#define PIO_WRITE 1
#define USER_IO 2 /* reasons of kvm_userspace_exit, as in linux/kvm.h */
#define USER_MMIO 6

/* APICs stand there; guests touch them for other reasons. */
#define APICS_BEGIN UINT64_C(0xfec00000)
#define APICS_END UINT64_C(0xfef00000)

static bool known(ns_t t)
{
	return t != NS_MIN;
}

static int64_t within(int64_t value, int64_t max)
{
	return value < 0 ? 0 : value < max ? value : max;
}

static ns_t now_of(const struct machine_state *mc)
{
	return mc->model->now;
}

/* Its parent's trace tells all that there is to tell now. */
static bool is_told(const struct machine_state *vm)
{
	return vm->parent && vm->parent->traced_any && !thread_may_run_unseen(vm->parent) &&
	       !vm->parent->ended;
}

/* ---- what a loss makes unknown -----------------------------------------------------------------
 *
 * Who has anything that a loss makes unknown is in a list, which the loss empties: it costs what
 * there is to forget, however many CPUs and guests there are.
 */

static void note_work(struct machine_state *vm)
{
	if (likely(vm->in_at_work) || !vm->parent)
		return;
	vm->in_at_work = true;
	vm->next_at_work = vm->parent->at_work;
	vm->parent->at_work = vm;
}

void request_note_handed(struct cpu *cpu)
{
	note_work(cpu->machine);
	if (likely(cpu->in_handed))
		return;
	cpu->in_handed = true;
	cpu->next_handed = cpu->machine->handed;
	cpu->machine->handed = cpu;
}

static void note_kicked(struct cpu *vcpu)
{
	struct machine_state *parent = vcpu->machine->parent;

	if (likely(vcpu->in_kicked) || !parent)
		return;
	vcpu->in_kicked = true;
	vcpu->next_kicked = parent->kicked;
	parent->kicked = vcpu;
}

static void note_busy(struct machine_state *vm)
{
	note_work(vm);
	if (likely(vm->in_busy) || !vm->parent)
		return;
	vm->in_busy = true;
	vm->next_busy = vm->parent->busy;
	vm->parent->busy = vm;
}

/* ---- those under way ---------------------------------------------------------------------------
 */

static void drop(struct pending *p, uint32_t i)
{
	memmove(&p->list[i], &p->list[i + 1], (p->nr - i - 1) * sizeof(*p->list));
	p->nr--;
}

static struct request blank(struct machine_state *mc)
{
	struct request r = {.machine = mc,
			    .dev = -1,
			    .sector = -1,
			    .vector = -1,
			    .serial = ++mc->model->request_serial};

	for (unsigned i = 0; i < NR_REQUEST_TIMES; i++)
		r.at[i] = NS_MIN;
	return r;
}

static struct request *begin(struct machine_state *mc)
{
	struct pending *p = &mc->pending;
	struct model *m = mc->model;

	if (p->nr == PENDING_MAX)
		drop(p, 0);
	if (model_grow(m, (void **)&p->list, p->nr, &p->room, sizeof(*p->list)))
		return NULL;
	p->list[p->nr] = blank(mc);
	note_busy(mc);
	return &p->list[p->nr++];
}

/* Packets, of which there may be any number, leave room for requests to disks. */
static void keep(struct model *m, const struct request *r)
{
	bool packet = r->kind == REQUEST_SEND || r->kind == REQUEST_RECEIVE;

	if (m->nr_requests >= REQUESTS_MAX || (packet && m->nr_packets >= PACKETS_MAX)) {
		m->requests_dropped++;
	} else if (!model_grow(m, (void **)&m->requests, m->nr_requests, &m->requests_room,
			       sizeof(*m->requests))) {
		m->requests[m->nr_requests++] = *r;
		m->nr_packets += packet;
	}
}

static void end(struct machine_state *mc, struct request *r)
{
	r->at[REQUEST_DONE] = mc->model->now;
	r->covered &= r->cpu && r->cpu->vcpu.seen && !r->torn;
	if (r->torn) /* the disk may have gone on with it unseen */
		r->at[REQUEST_DISK_BEGIN] = r->at[REQUEST_DISK_END] = NS_MIN;
	keep(mc->model, r);
	drop(&mc->pending, (uint32_t)(r - mc->pending.list));
}

static struct request *by_sector(struct machine_state *mc, int64_t dev, int64_t sector)
{
	for (uint32_t i = 0; i < mc->pending.nr; i++) {
		struct request *r = &mc->pending.list[i];

		if (r->dev == dev && r->sector == sector && dev >= 0)
			return r;
	}
	return NULL;
}

static struct request *by_serial(struct machine_state *mc, uint32_t serial)
{
	for (uint32_t i = 0; mc && serial && i < mc->pending.nr; i++) {
		if (mc->pending.list[i].serial == serial)
			return &mc->pending.list[i];
	}
	return NULL;
}

void requests_release(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++)
		free(m->machines[i]->pending.list);
	free(m->requests);
}

/* What was sent may have arrived, and what was given to the vCPU been handled. */
static void forget_sends(struct cpu *vcpu)
{
	struct kick *k = &vcpu->vcpu.kick;

	vcpu->vcpu.delivered = -1;
	vcpu->handler.at = NS_MIN;
	for (unsigned s = 0; k->sends && s < SENDS; s++)
		k->sends[s].first = k->sends[s].last = k->sends[s].injected = NS_MIN;
}

/* What the VM's own kernel tells of goes on, without what its parent does for it. */
static void tear(struct machine_state *vm)
{
	struct pending *p = &vm->pending;

	vm->unsent.nr = 0;
	for (uint32_t i = p->nr; i-- > 0;) {
		p->list[i].torn = true;
		if (p->list[i].kind == REQUEST_UNKNOWN || p->list[i].kind == REQUEST_SEND)
			drop(p, i);
	}
}

void requests_unseen(struct machine_state *mc, ns_t until)
{
	mc->pending.unseen_until = until + REQUEST_LONGEST_NS;
}

static void forget_handed(struct machine_state *mc)
{
	for (struct cpu *cpu; (cpu = mc->handed);) {
		mc->handed = cpu->next_handed;
		cpu->in_handed = false;
		forget_sends(cpu);
	}
}

static void forget_kicks(struct machine_state *mc)
{
	for (struct cpu *cpu; (cpu = mc->kicked);) {
		mc->kicked = cpu->next_kicked;
		cpu->in_kicked = false;
		cpu->vcpu.kick.at = cpu->vcpu.kick.xmit_at = NS_MIN;
	}
}

/* What was under way may have ended unseen. */
void request_lost(struct machine_state *mc)
{
	ns_t now = now_of(mc);

	mc->pending.nr = 0;
	requests_unseen(mc, now > mc->lost_until ? now : mc->lost_until);
	mc->unsent.nr = 0;
	mc->disk_handler.at = NS_MIN;
	tap_lost(mc);
	forget_handed(mc);
	forget_kicks(mc);
	for (struct machine_state *vm; (vm = mc->at_work);) {
		mc->at_work = vm->next_at_work;
		vm->in_at_work = false;
		tear(vm);
		forget_handed(vm);
	}
}

/* ---- a machine's own requests ------------------------------------------------------------------
 */

/* ftrace's text, "WS" or "R", or LTTng's bits: 1 a write, 4 a read; where neither is there and it
 * has no data it is a flush. */
static uint8_t kind_of(const struct cpu *cpu, const struct event *e)
{
	struct field_value rwbs;
	size_t len;

	if (e->arg[2] <= 0)
		return REQUEST_FLUSH;
	if (e->arg[3] >= 0)
		return e->arg[3] ? REQUEST_WRITE : REQUEST_READ;
	if (trace_event_field(cpu->machine->model->stream, e, "rwbs", &rwbs))
		return REQUEST_UNKNOWN;
	if (!rwbs.text)
		return rwbs.cls == FIELD_STRING ? REQUEST_UNKNOWN
		       : rwbs.u & 1		? REQUEST_WRITE
						: REQUEST_READ;
	len = strnlen(rwbs.text, rwbs.len);
	return memchr(rwbs.text, 'R', len) ? REQUEST_READ : REQUEST_WRITE;
}

/* The handler's thread did not ask for it. */
static struct thread *asker(const struct cpu *cpu)
{
	return cpu->nr_irqs || !cpu->thread || !cpu->thread->tid ? NULL : cpu->thread;
}

/* The VM that a thread works for, by its process or by who woke it. */
static struct machine_state *vm_of(const struct thread *th)
{
	struct machine_state *vm = th ? process_vm(th) : NULL;

	if (vm || !th)
		return vm;
	return th->works_for ? th->works_for : th->woken_by ? th->woken_by->works_for : NULL;
}

/* Nothing tells for whom that thread works: what would may be lost, or have been before the trace
 * begins. */
static bool may_be_of_vmm(const struct request *host)
{
	const struct thread *th = host->thread;

	return !th || (process_of_thread(th) < 0 && th->kind != KIND_KERNEL);
}

/* It may be for any of their requests.  Those that have none any more leave the list. */
static void dispute_all(const struct request *host)
{
	struct machine_state *vm, **at = &host->machine->busy;

	while ((vm = *at)) {
		if (vm->pending.nr) {
			served_dispute(vm, host);
			at = &vm->next_busy;
		} else {
			vm->in_busy = false;
			*at = vm->next_busy;
		}
	}
}

static void serve_vm(struct request *host)
{
	struct machine_state *vm = vm_of(host->thread);
	struct request *r = vm ? served_choose(vm, host) : NULL;

	if (!vm && may_be_of_vmm(host))
		dispute_all(host);
	if (!r)
		return;
	if (!known(r->at[REQUEST_DISK_BEGIN]))
		r->at[REQUEST_DISK_BEGIN] = host->at[REQUEST_ISSUED];
	served_learn(vm, r, host);
	r->disk_bytes = within(r->disk_bytes + host->bytes, 2 * BYTES_MAX);
	host->for_vm = vm;
	host->for_serial = r->serial;
}

/* Whose it is its queue would have told, if it was put into one. */
static bool may_have_been_queued(const struct machine_state *mc)
{
	return mc->sees_queues &&
	       (thread_may_run_unseen(mc) || (mc->losses && now_of(mc) < mc->pending.unseen_until));
}

static uint16_t depth_of(const struct machine_state *mc, int64_t dev)
{
	uint16_t depth = 0;

	for (uint32_t i = 0; i < mc->pending.nr; i++)
		depth += mc->pending.list[i].dev == dev &&
			 known(mc->pending.list[i].at[REQUEST_ISSUED]);
	return depth;
}

void request_issue(struct cpu *cpu, const struct event *e)
{
	struct machine_state *mc = cpu->machine;
	int64_t sector = within(e->arg[1], SECTOR_MAX);
	struct request *r = by_sector(mc, e->arg[0], sector);
	bool queued = e->arg[4];

	mc->sees_requests = true;
	/* Given back by the driver, and taken again: what went before counts for the queue.  Unless
	 * it may have ended unseen. */
	if (r && thread_may_run_unseen(mc) && (queued || known(r->at[REQUEST_ISSUED]))) {
		drop(&mc->pending, (uint32_t)(r - mc->pending.list));
		r = NULL;
	}
	if (!r)
		r = begin(mc);
	if (!r || e->arg[0] < 0)
		return;
	r->dev = e->arg[0];
	r->sector = sector;
	r->bytes = within(e->arg[2], BYTES_MAX);
	r->kind = kind_of(cpu, e);
	if (queued) {
		mc->sees_queues = true;
		r->at[REQUEST_QUEUED] = mc->model->now;
		r->thread = asker(cpu);
		return;
	}
	if (!known(r->at[REQUEST_QUEUED])) {
		r->queued_unseen = may_have_been_queued(mc);
		r->thread = r->queued_unseen ? NULL : asker(cpu);
	}
	r->at[REQUEST_ISSUED] = mc->model->now;
	r->cpu = cpu;
	r->issuer = cpu->thread;
	r->met = cpu->met;
	r->covered = cpu->vcpu.seen && (cpu->thread || !mc->losses);
	r->torn = !is_told(mc);
	r->depth = thread_may_run_unseen(mc) ? 0 : depth_of(mc, r->dev);
	serve_vm(r);
}

/* The handler that this completion runs in; where another CPU does the rest of the work, the last
 * one of a disk. */
static const struct handler *handler_of(const struct cpu *cpu, const struct request *r)
{
	const struct handler *h = &cpu->machine->disk_handler;

	for (unsigned i = 0; i < cpu->nr_irqs; i++) {
		if (cpu->irqs[i].mode == MODE_IRQ && cpu->handler.cpu && known(cpu->handler.at))
			h = &cpu->handler;
	}
	/* The last one of a disk may not have been seen. */
	if (h != &cpu->handler && thread_may_run_unseen(cpu->machine))
		return NULL;
	return h->cpu && known(h->at) && h->at >= r->at[REQUEST_ISSUED] ? h : NULL;
}

/* Several requests may be told of by one interrupt, and an interrupt may be sent again before it
 * has arrived: the first that was sent when all of its work was done.  Where it is not known when
 * that was, or what was taken for its work ended too late, it is known of a single one only. */
static ns_t sent_for(const struct send *s, const struct request *r)
{
	ns_t after =
		known(r->at[REQUEST_DISK_END]) ? r->at[REQUEST_DISK_END] : r->at[REQUEST_ISSUED];

	if (s->first == s->last)
		return s->last >= r->at[REQUEST_ISSUED] ? s->last : NS_MIN;
	if (r->disputed)
		return NS_MIN;
	return s->first >= after ? s->first : s->last >= after ? s->last : NS_MIN;
}

/* Of several that were sent, the one whose handler was not seen may have been given before. */
static bool given_for(const struct send *s, const struct request *r)
{
	if (!known(s->injected))
		return false;
	return known(r->at[REQUEST_SENT]) ? s->injected >= r->at[REQUEST_SENT]
					  : s->first == s->last;
}

static void take_handler(struct request *r, const struct handler *h)
{
	r->at[REQUEST_HANDLED] = h->at;
	r->irq_cpu = h->cpu;
	r->vector = h->send.vector;
	if (h->send.vector < 0 || r->torn)
		return;
	r->sender = h->send.by;
	if (known(h->send.first))
		r->at[REQUEST_SENT] = sent_for(&h->send, r);
	if (given_for(&h->send, r))
		r->at[REQUEST_INJECTED] = h->send.injected;
}

void request_complete(struct cpu *cpu, const struct event *e)
{
	struct machine_state *mc = cpu->machine;
	struct request *r = by_sector(mc, e->arg[0], within(e->arg[1], SECTOR_MAX)), *of_vm;
	const struct handler *h;

	mc->sees_requests = true;
	if (!r)
		return;
	if (!known(r->at[REQUEST_ISSUED])) {
		drop(&mc->pending, (uint32_t)(r - mc->pending.list));
		return;
	}
	h = handler_of(cpu, r);
	if (h)
		take_handler(r, h);
	of_vm = by_serial(r->for_vm, r->for_serial);
	if (of_vm)
		of_vm->at[REQUEST_DISK_END] = now_of(mc);
	end(mc, r);
}

/* ---- interrupts --------------------------------------------------------------------------------
 */

static struct send *send_of(struct cpu *vcpu, int vector)
{
	struct kick *k = &vcpu->vcpu.kick;

	for (unsigned i = 0; k->sends && i < SENDS; i++) {
		if (k->sends[i].vector == vector)
			return &k->sends[i];
	}
	return NULL;
}

/* A place for the vector: that of the one that was sent least recently. */
static struct send *send_add(struct cpu *vcpu, int vector)
{
	struct kick *k = &vcpu->vcpu.kick;
	struct send *s = send_of(vcpu, vector);

	if (s)
		return s;
	if (!k->sends) {
		k->sends = arena_alloc(&vcpu->machine->model->arena, SENDS * sizeof(*k->sends));
		if (!k->sends)
			return NULL;
		for (unsigned i = 0; i < SENDS; i++)
			k->sends[i] = (struct send){
				.vector = -1, .first = NS_MIN, .last = NS_MIN, .injected = NS_MIN};
	}
	s = k->sends;
	for (unsigned i = 1; i < SENDS; i++) {
		if (k->sends[i].last < s->last)
			s = &k->sends[i];
	}
	*s = (struct send){
		.vector = (int16_t)vector, .first = NS_MIN, .last = NS_MIN, .injected = NS_MIN};
	return s;
}

void request_sent(struct cpu *vcpu, int vector, bool may_answer, struct thread *by)
{
	struct send *s = vector >= 0 ? send_add(vcpu, vector) : NULL;

	/* That the vCPU is given it, or its handler runs, may not be seen. */
	if (!s || now_of(vcpu->machine) < vcpu->lost_until || !is_told(vcpu->machine))
		return;
	request_note_handed(vcpu);
	s->last = now_of(vcpu->machine);
	if (known(s->first))
		return;
	s->first = s->last;
	s->by = by;
	s->waker = by ? by->woken_by : NULL;
	s->may_answer = may_answer;
}

static bool may_be_answered(const struct request *r, const struct send *s)
{
	return r->kind == REQUEST_UNKNOWN && s->by && r->worker == s->by &&
	       known(r->at[REQUEST_PICKED]) && r->at[REQUEST_PICKED] <= s->first;
}

/* Its disk is done, or the helper is. */
static bool is_answered(const struct request *r, const struct send *s)
{
	return may_be_answered(r, s) &&
	       (known(r->at[REQUEST_DISK_END]) || (r->helper && r->helper == s->waker));
}

/* Or a disk may have worked for it, which is not known. */
static bool may_be_done(const struct request *r, const struct send *s)
{
	return is_answered(r, s) || (may_be_answered(r, s) && r->disputed);
}

/* Nothing tells of the requests of that VM but their kicks: an interrupt by the thread that was
 * kicked answers the one whose work was done, unless it is known to be for something else.  Of
 * several it is not known which: none is told.  Other kicks before it were for something else, or
 * are not known to be answered. */
static void answer(struct cpu *vcpu, const struct send *s)
{
	struct machine_state *vm = vcpu->machine;
	unsigned nr = 0;

	for (uint32_t i = 0; i < vm->pending.nr; i++)
		nr += may_be_done(&vm->pending.list[i], s);
	for (uint32_t i = 0; i < vm->pending.nr;) {
		struct request *r = &vm->pending.list[i];

		if (!may_be_answered(r, s)) {
			i++;
			continue;
		}
		if (nr > 1 || !is_answered(r, s)) {
			drop(&vm->pending, i);
			continue;
		}
		r->at[REQUEST_SENT] = sent_for(s, r);
		r->at[REQUEST_INJECTED] = s->injected;
		r->sender = s->by;
		r->irq_cpu = vcpu;
		r->vector = s->vector;
		end(vm, r);
	}
}

void request_injected(struct cpu *vcpu, int vector)
{
	const struct machine_state *vm = vcpu->machine;
	struct send *s = send_of(vcpu, vector);

	if (!s || !known(s->first) || known(s->injected))
		return;
	s->injected = now_of(vcpu->machine);
	if (vm->sees_requests && !vm->ended)
		return;
	if (s->may_answer)
		answer(vcpu, s);
	/* No handler will be seen to take it. */
	if (!vm->sees_interrupts || vm->ended)
		s->first = s->last = s->injected = NS_MIN;
}

void request_handler(struct cpu *cpu, int vector, bool of_disk)
{
	struct send *s = vector >= 0 ? send_of(cpu, vector) : NULL;

	if (vector < 0) /* it may be any of them */
		forget_sends(cpu);
	request_note_handed(cpu);
	cpu->handler = (struct handler){
		.at = now_of(cpu->machine), .cpu = cpu, .send = {.vector = (int16_t)vector}};
	cpu->handler.send.first = cpu->handler.send.last = cpu->handler.send.injected = NS_MIN;
	if (s) {
		cpu->handler.send = *s;
		s->first = s->last = s->injected = NS_MIN;
	}
	if (of_disk)
		cpu->machine->disk_handler = cpu->handler;
}

/* ---- kicks -------------------------------------------------------------------------------------
 */

void request_exit(struct cpu *vcpu, int64_t reason, int64_t isa)
{
	bool own = vcpu->vcpu.nested != NESTED_YES;

	note_kicked(vcpu);
	vcpu->vcpu.kick.at = own && exit_may_kick(reason, isa) ? now_of(vcpu->machine) : NS_MIN;
	vcpu->vcpu.kick.told = vcpu->vcpu.kick.unclear = false;
	vcpu->vcpu.kick.early = NULL;
	vcpu->vcpu.kick.doorbell = 0;
}

/* The guest's code that runs has given the request to its driver: the exit tells of that. */
static bool kicks(const struct cpu *vcpu, const struct request *r)
{
	return r->cpu == vcpu && r->issuer == vcpu->thread && known(r->at[REQUEST_ISSUED]) &&
	       !known(r->at[REQUEST_KICKED]) && !r->torn && (r->issuer || !vcpu->machine->losses);
}

/* True when the last exit told of requests, whoever was told.  Intel's fast path says where only
 * after that. */
static bool kick(struct cpu *vcpu)
{
	struct machine_state *vm = vcpu->machine;
	ns_t at = vcpu->vcpu.kick.at;
	bool any = false;

	for (uint32_t i = 0; i < vm->pending.nr; i++) {
		struct request *r = &vm->pending.list[i];

		if (kicks(vcpu, r))
			r->at[REQUEST_KICKED] = at;
		if (r->cpu != vcpu || r->at[REQUEST_KICKED] != at)
			continue;
		r->doorbell = vcpu->vcpu.kick.doorbell;
		any = true;
	}
	return any;
}

/* A packet, or, where the guest's requests are not seen, anything. */
static void kick_unknown(struct cpu *vcpu)
{
	struct kick *k = &vcpu->vcpu.kick;
	struct request *r = is_told(vcpu->machine) ? begin(vcpu->machine) : NULL;

	if (!r)
		return;
	r->cpu = vcpu;
	r->covered = true;
	r->at[REQUEST_KICKED] = k->at;
	r->doorbell = k->doorbell;
	r->thread = asker(vcpu);
	if (known(k->xmit_at) && k->xmit_by == vcpu->thread) {
		r->kind = REQUEST_SEND;
		r->at[REQUEST_ISSUED] = k->xmit_at;
		r->thread = k->xmit_soft ? NULL : r->thread;
		vcpu->machine->unsent.nr = 0;
	}
	k->xmit_at = NS_MIN;
}

static void take_up(struct cpu *vcpu, struct thread *worker, bool at_once)
{
	struct machine_state *vm = vcpu->machine;
	ns_t at = vcpu->vcpu.kick.at;

	for (uint32_t i = 0; i < vm->pending.nr; i++) {
		struct request *r = &vm->pending.list[i];

		if (r->cpu != vcpu || r->at[REQUEST_KICKED] != at || r->worker || r->torn)
			continue;
		r->worker = worker;
		if (at_once)
			r->at[REQUEST_PICKED] = now_of(vm);
	}
	worker->works_for = vm;
	worker->picks_up = !at_once;
}

/* Who was woken early was woken for something else. */
static void put_down(struct cpu *vcpu)
{
	struct pending *p = &vcpu->machine->pending;
	struct kick *k = &vcpu->vcpu.kick;

	for (uint32_t i = 0; k->early && i < p->nr; i++) {
		struct request *r = &p->list[i];

		if (r->cpu != vcpu || r->at[REQUEST_KICKED] != k->at || r->worker != k->early)
			continue;
		r->worker = r->helper = NULL;
		r->at[REQUEST_PICKED] = NS_MIN;
	}
	if (k->early) {
		k->early->works_for = k->early_for;
		k->early->picks_up = false;
	}
	k->early = NULL;
}

/* A thread of an unknown process, before it is seen that a device was told.  It may be woken by
 * that, as KVM's fast path tells of it afterwards; or for something else, as ksoftirqd is.  Of
 * several nobody is known to be it. */
static void take_up_early(struct cpu *vcpu, struct thread *woken)
{
	struct kick *k = &vcpu->vcpu.kick;

	k->unclear |= k->early && k->early != woken;
	if (k->unclear) {
		put_down(vcpu);
		return;
	}
	if (!k->early)
		k->early_for = woken->works_for;
	k->early = woken;
	take_up(vcpu, woken, false);
}

void request_mmio(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;
	bool fast = e->arg[2];
	uint64_t address = (uint64_t)e->arg[1];

	if (!vcpu || !known(vcpu->vcpu.kick.at) || e->arg[0] != MMIO_WRITE ||
	    (address >= APICS_BEGIN && address < APICS_END))
		return;
	/* A fast one (ioeventfd) is recorded after KVM has signalled the device's thread; any other
	 * before the VMM hears of it, so who was woken until then was woken for something else. */
	if (!fast && !vcpu->vcpu.kick.told)
		put_down(vcpu);
	vcpu->vcpu.kick.told = true;
	vcpu->vcpu.kick.doorbell = address;
	kick(vcpu);
}

/* No address has that bit. */
#define OF_PORT (UINT64_C(1) << 63)
#define QUEUE_BYTES 2 /* virtio's legacy devices: a queue's number is written to one port */

/* Says where, not that a device was told: all else is written to ports, too. */
void request_pio(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;

	if (!vcpu || !known(vcpu->vcpu.kick.at) || e->arg[0] != PIO_WRITE ||
	    e->arg[2] != QUEUE_BYTES)
		return;
	vcpu->vcpu.kick.doorbell =
		OF_PORT | (uint64_t)(uint16_t)e->arg[1] << 32 | (uint16_t)e->arg[3];
}

/* The vCPU's own thread does the work. */
void request_userspace(struct cpu *vcpu, int64_t reason)
{
	if ((reason == USER_IO || reason == USER_MMIO) && known(vcpu->vcpu.kick.at) && kick(vcpu))
		take_up(vcpu, vcpu->vcpu.host, true);
}

/* A vhost worker is a kernel thread of its own before Linux 6.4.  Where processes are not known,
 * who is woken while a device is told of something works for that VM. */
static bool is_of_vmm(const struct thread *th, const struct thread *vcpu, bool told)
{
	int32_t process = process_of_thread(vcpu), of_woken = process_of_thread(th);

	if (!memcmp(th->comm, "vhost-", 6))
		return true;
	return process >= 0 && of_woken >= 0 ? process == of_woken
					     : told && th->kind != KIND_KERNEL;
}

/* By another thread, of that which it has just picked up. */
static void goes_to_work(const struct thread *worker, struct thread *helper)
{
	struct pending *p = &worker->works_for->pending;

	for (uint32_t i = 0; i < p->nr; i++) {
		if (p->list[i].worker == worker && p->list[i].at[REQUEST_PICKED] == worker->ran_at)
			p->list[i].helper = helper;
	}
}

void request_woken(struct cpu *host_cpu, struct thread *woken)
{
	struct thread *th = host_cpu->nr_irqs ? NULL : host_cpu->thread;
	struct cpu *vcpu = th ? th->vcpu : NULL;
	bool any;

	woken->woken_by = th && !vcpu ? th : NULL;
	woken->woken_in = woken->woken_by ? th->ran_at : NS_MIN;
	if (woken->woken_by && th->works_for)
		goes_to_work(th, woken);
	if (!vcpu || !known(vcpu->vcpu.kick.at) || woken->vcpu)
		return;
	any = kick(vcpu);
	if (!is_of_vmm(woken, th, any || vcpu->vcpu.kick.told))
		return;
	if (!any)
		kick_unknown(vcpu);
	if (!vcpu->vcpu.kick.told && !is_of_vmm(woken, th, false)) {
		take_up_early(vcpu, woken);
		return;
	}
	if (!vcpu->vcpu.kick.told)
		put_down(vcpu);
	take_up(vcpu, woken, false);
}

void request_picked(struct thread *worker)
{
	struct machine_state *vm = worker->works_for;

	worker->picks_up = false;
	for (uint32_t i = 0; i < vm->pending.nr; i++) {
		struct request *r = &vm->pending.list[i];

		if (r->worker == worker && !known(r->at[REQUEST_PICKED]) && !r->torn)
			r->at[REQUEST_PICKED] = now_of(vm);
	}
}

/* ---- packets -----------------------------------------------------------------------------------
 */

/* It was at work already when its VM handed it the packet, and nobody kicked it.  If there is but
 * one such packet, it is that one. */
static void forward_unasked(struct thread *worker)
{
	struct machine_state *vm = worker->works_for;
	struct unsent one = vm->unsent;
	struct request r;

	vm->unsent.nr = 0;
	if (one.nr != 1 || worker->woken_at > one.at || !is_told(vm) || thread_may_run_unseen(vm))
		return;
	r = blank(vm);
	r.kind = REQUEST_SEND;
	r.cpu = one.cpu;
	r.thread = one.by;
	r.worker = worker;
	r.covered = one.cpu->vcpu.seen;
	r.at[REQUEST_ISSUED] = one.at;
	r.at[REQUEST_DONE] = now_of(vm);
	keep(vm->model, &r);
}

/* A VMM's worker hands a packet to a device of the host: those it was kicked for are on their way.
 */
static void forward(struct thread *worker)
{
	struct machine_state *vm = worker->works_for;
	bool any = false;

	for (uint32_t i = 0; i < vm->pending.nr;) {
		struct request *r = &vm->pending.list[i];
		bool packet = r->kind == REQUEST_SEND ||
			      (r->kind == REQUEST_UNKNOWN && !known(r->at[REQUEST_DISK_BEGIN]));

		if (r->worker == worker && packet && known(r->at[REQUEST_PICKED])) {
			r->kind = REQUEST_SEND;
			end(vm, r);
			any = true;
		} else {
			i++;
		}
	}
	if (!any)
		forward_unasked(worker);
}

/* Packets that were handed over until @until; false: by whom and when is not known. */
static bool receive(struct cpu *cpu, ns_t until, struct request *r)
{
	const struct send *s = &cpu->handler.send;
	struct handing handed;
	bool known_by = tap_handed(s->by, until, &handed);

	*r = blank(cpu->machine);
	r->kind = REQUEST_RECEIVE;
	r->cpu = r->irq_cpu = cpu;
	r->covered = cpu->vcpu.seen && is_told(cpu->machine);
	r->sender = s->by;
	r->vector = s->vector;
	if (known_by) {
		r->worker = handed.by;
		r->at[REQUEST_PICKED] = handed.at;
	}
	r->at[REQUEST_HANDLED] = cpu->handler.at;
	r->at[REQUEST_DONE] = cpu->machine->model->now;
	return known_by;
}

static bool receive_sent(struct cpu *cpu, ns_t sent, struct request *r)
{
	ns_t injected = cpu->handler.send.injected;
	bool known_by = receive(cpu, sent, r);

	r->at[REQUEST_SENT] = sent;
	if (known(injected) && injected >= sent)
		r->at[REQUEST_INJECTED] = injected;
	return known_by;
}

/* Where the interrupt came from is known: a request of its own, which ends where its handler
 * begins.  When it was sent again before that, for packets that came meanwhile, they are another
 * one; and so are those that its sender only put beside them, as it sleeps again and so has nothing
 * left to do. */
void request_received(struct cpu *cpu)
{
	const struct send *sent = &cpu->handler.send;
	struct model *m = cpu->machine->model;
	struct request r;

	if (sent->vector < 0 || !sent->by || !known(sent->first))
		return;
	receive_sent(cpu, sent->first, &r);
	keep(m, &r);
	if (sent->last > sent->first && receive_sent(cpu, sent->last, &r))
		keep(m, &r);
	if (sent->by->state == THREAD_SLEEPING && receive(cpu, m->now, &r) &&
	    sent->by->ran_at > r.at[REQUEST_PICKED])
		keep(m, &r);
}

void request_xmit(struct cpu *cpu)
{
	cpu->machine->sees_packets = true;
	if (cpu->thread && cpu->thread->works_for)
		forward(cpu->thread);
	if (cpu->machine->parent) {
		note_kicked(cpu);
		note_work(cpu->machine);
		cpu->vcpu.kick.xmit_at = now_of(cpu->machine);
		cpu->vcpu.kick.xmit_by = cpu->thread;
		cpu->vcpu.kick.xmit_soft = cpu->nr_irqs;
		cpu->machine->unsent = (struct unsent){now_of(cpu->machine), cpu, asker(cpu),
						       cpu->machine->unsent.nr + 1};
	}
}
