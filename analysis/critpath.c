/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critpath.h"
#include "analysis/packets.h"
#include "analysis/ready_under.h"
#include "base/grow.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Wake-ups that the path is followed through; a file that is no real one may have circles. */
#define DEPTH_MAX 64
/* Code of a guest other than handlers that may run between its vCPU's return to a CPU and a handler
 * for that to have been what the handler waited for: what was interrupted goes on until then. */
#define RETURN_NS 50000
/* Its number in Linux. */
#define SOFTIRQ_NET_RX 3

struct finder {
	struct path *path;
	struct sonde_run *run;
	struct cpu_users *users;
	const struct packets *packets;
	int ret;
};

#define NO_WAIT (-2)

/* A thread whose path is being followed. */
struct walker {
	struct finder *f;
	int64_t thread;
	unsigned machine;
	unsigned depth;
	attr_t state, cpu, waker;
	int first_cpu;
	bool queued;   /* the interval at hand: it waits for a CPU */
	int64_t ready; /* the stretch at hand: the vCPU under it that does not run, -1 */
	int64_t waits; /* the same: context that ends its wait, -1 unknown; NO_WAIT */
};

static bool add(struct finder *f, const struct path_step *step)
{
	struct path *p = f->path;

	if (step->end <= step->begin)
		return true;
	if (!room_for_one(&p->steps, p->nr, &p->room)) {
		f->ret = -ENOMEM;
		return false;
	}
	p->steps[p->nr++] = *step;
	return true;
}

static void add_plain(const struct walker *w, enum path_kind kind, int64_t context, ns_t begin,
		      ns_t end)
{
	const struct path_step step = {.begin = begin,
				       .end = end,
				       .kind = kind,
				       .depth = w->depth,
				       .thread = w->thread,
				       .context = context,
				       .on = -1,
				       .ready = -1,
				       .instead = -1};

	add(w->f, &step);
}

static struct walker walker_of(struct finder *f, int64_t thread, unsigned depth)
{
	struct walker w = {.f = f, .thread = thread, .depth = depth, .ready = -1, .waits = NO_WAIT};
	struct sonde_thread t;

	sonde_thread(f->run, thread, &t);
	w.machine = t.machine;
	w.state = sonde_attr_of_thread(f->run, thread, "state");
	w.cpu = sonde_attr_of_thread(f->run, thread, "cpu");
	w.waker = sonde_attr_of_thread(f->run, thread, "waker");
	w.first_cpu = run_first_cpu(f->run, thread);
	return w;
}

static int cpu_at(const struct walker *w, ns_t t)
{
	struct sonde_interval i;

	if (w->cpu == ATTR_NONE || sonde_at(w->f->run, w->cpu, t, &i) || !i.value)
		return w->first_cpu;
	return (int)i.value - 1;
}

/* ---- while it wants to run ----------------------------------------------------------------- */

static enum path_kind kind_of(const struct walker *w, const struct sonde_context *c)
{
	struct sonde_thread own;
	struct sonde_cpu served, vcpu;

	sonde_thread(w->f->run, w->thread, &own);
	if (c->mode == SONDE_MODE_UNKNOWN)
		return PATH_UNKNOWN;
	if (c->mode == SONDE_MODE_HYPERVISOR && !sonde_cpu(w->f->run, c->serves, &served) &&
	    (run_is_inside(w->f->run, w->machine, served.machine) || c->thread == w->thread))
		return PATH_HYPERVISOR;
	if (c->machine == w->machine && c->mode != SONDE_MODE_IDLE &&
	    (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ))
		return PATH_INTERRUPTED;
	if (c->thread == w->thread)
		return PATH_RUNS;
	/* A vCPU's thread runs when code of its VM, or of one inside it, does. */
	if (own.vcpu >= 0 && !sonde_cpu(w->f->run, own.vcpu, &vcpu) &&
	    run_is_inside(w->f->run, c->machine, vcpu.machine))
		return PATH_RUNS;
	/* A guest of which nothing more is known may be running it. */
	if (c->mode == SONDE_MODE_GUEST && c->machine == w->machine)
		return PATH_RUNS;
	return PATH_OFF_CPU;
}

static bool add_piece(const struct cpu_user *ran, void *data)
{
	const struct walker *w = data;
	struct path_step step = {.begin = ran->from,
				 .end = ran->to,
				 .depth = w->depth,
				 .thread = w->thread,
				 .context = ran->context,
				 .on = ran->on,
				 .ready = w->ready,
				 .instead = -1};
	struct sonde_context c;

	if (w->waits != NO_WAIT) {
		step.kind = PATH_WAITS;
		step.context = w->waits;
		step.instead = ran->context;
		return add(w->f, &step);
	}
	if (sonde_context(w->f->run, ran->context, &c))
		step.kind = PATH_UNKNOWN;
	else
		step.kind = kind_of(w, &c);
	if (w->queued && step.kind != PATH_UNKNOWN)
		step.kind = PATH_QUEUED;
	return add(w->f, &step);
}

/* A step for each that had the CPU under @number of @machine. */
static void add_users(struct walker *w, unsigned machine, int number, ns_t begin, ns_t end)
{
	int ret = cpu_users_walk(w->f->users, machine, number, begin, end, add_piece, w);

	if (ret && !w->f->ret)
		w->f->ret = ret;
}

static void wants_to_run(struct walker *w, bool queued, ns_t begin, ns_t end, ns_t runs_at)
{
	int cpu = cpu_at(w, runs_at < sonde_run_end(w->f->run) ? runs_at : end - 1);
	struct ready_list ready;
	int ret;

	w->queued = queued;
	if (cpu < 0) {
		add_plain(w, queued ? PATH_QUEUED : PATH_UNKNOWN, -1, begin, end);
		return;
	}
	ret = ready_under_find(&ready, w->f->users, w->machine, cpu, begin, end);
	for (size_t i = 0; i < ready.nr && !ret; i++) {
		w->ready = ready.list[i].vcpu;
		add_users(w, w->machine, cpu, ready.list[i].from, ready.list[i].to);
	}
	w->ready = -1;
	ready_under_release(&ready);
	if (ret && !w->f->ret)
		w->f->ret = ret;
}

/* ---- while it sleeps ----------------------------------------------------------------------- */

static void follow(struct finder *f, int64_t thread, unsigned depth, ns_t begin, ns_t end);

/* The thread that the path goes on with, or -1: an interrupt, or nothing known. */
static int64_t waking_thread(const struct walker *w, const struct sonde_context *c)
{
	struct sonde_thread t;

	if (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ ||
	    c->mode == SONDE_MODE_IDLE || c->thread == w->thread)
		return -1;
	return sonde_thread(w->f->run, c->thread, &t) || !t.tid ? -1 : c->thread;
}

/* It waits for an interrupt (a context, -1 unknown) that a CPU of a VM handled in the end.  While
 * that was ready and did not run, it could not have handled it: who ran instead is told, be it why
 * this took so long or not. */
static void add_wait(struct walker *w, int64_t context, const struct sonde_context *c, ns_t begin,
		     ns_t end)
{
	struct ready_list ready;
	int ret = ready_under_find(&ready, w->f->users, c->machine, c->cpu, begin, end);

	for (size_t i = 0; i < ready.nr && !ret; i++) {
		const struct ready_stretch *r = &ready.list[i];

		if (r->vcpu < 0) {
			add_plain(w, PATH_WAITS, context, r->from, r->to);
			continue;
		}
		w->ready = r->vcpu;
		w->waits = context;
		add_users(w, c->machine, c->cpu, r->from, r->to);
		w->waits = NO_WAIT;
		w->ready = -1;
	}
	ready_under_release(&ready);
	if (ret && !w->f->ret)
		w->f->ret = ret;
}

/* Code of a vCPU's guest that is no handler. */
struct own_code {
	struct sonde_run *run;
	unsigned machine;
	ns_t left; /* of what there may be; negative: there was more */
};

static bool take_own_code(const struct cpu_user *user, void *data)
{
	struct own_code *own = data;
	struct sonde_context c;

	if (!sonde_context(own->run, user->context, &c) &&
	    run_is_inside(own->run, c.machine, own->machine) && c.mode != SONDE_MODE_IRQ &&
	    c.mode != SONDE_MODE_SOFTIRQ && c.mode != SONDE_MODE_IDLE)
		own->left -= user->to - user->from;
	return own->left >= 0;
}

/* Since when a vCPU had been ready before it ran the handler that ends at @end; false when it was
 * not, or other code of its guest ran in between. */
static bool ready_since(struct finder *f, int64_t vcpu, const struct sonde_cpu *cpu, ns_t begin,
			ns_t end, ns_t *since)
{
	attr_t state = f->run->cpu_attrs[vcpu][CPU_STATE];
	struct own_code own = {f->run, cpu->machine, RETURN_NS};
	bool was_ready = false;
	struct sonde_interval i;

	while (end > begin && !sonde_at(f->run, state, end - 1, &i)) {
		ns_t from = i.begin > begin ? i.begin : begin;

		if (i.value == VCPU_PREEMPTED) {
			*since = from;
			was_ready = true;
		} else if (i.value != VCPU_ON_CPU ||
			   cpu_users_walk(f->users, cpu->machine, cpu->number, from, end,
					  take_own_code, &own) ||
			   own.left < 0) {
			break;
		}
		end = from;
	}
	return was_ready;
}

/* The last sleep of @vcpu's thread that ended in (begin, end]; false when it had none. */
static bool last_sleep(struct finder *f, int64_t vcpu, ns_t begin, ns_t end,
		       struct sonde_interval *out)
{
	attr_t state = f->run->cpu_attrs[vcpu][CPU_STATE];
	ns_t t = end;

	while (t > begin && state != ATTR_NONE && !sonde_at(f->run, state, t - 1, out)) {
		if (out->value == VCPU_WAITING)
			return out->end <= end;
		if (out->value == VCPU_UNKNOWN)
			return false;
		t = out->begin;
	}
	return false;
}

/* Why a vCPU was woken that slept: what it waited for began where the guest's thread fell asleep,
 * which may be before the vCPU did.  Or why one that did not sleep ran its handler no sooner.
 * @context: row of @c. */
static bool follow_outwards(struct walker *w, int64_t context, const struct sonde_context *c,
			    ns_t begin, ns_t end)
{
	int64_t vcpu = sonde_find_cpu(w->f->run, c->machine, c->cpu);
	struct sonde_interval sleep;
	struct sonde_cpu cpu;
	struct walker host;
	ns_t since;

	if (!c->machine || sonde_cpu(w->f->run, vcpu, &cpu) || cpu.host_thread < 0 ||
	    w->depth + 1 >= DEPTH_MAX)
		return false;
	if (!last_sleep(w->f, vcpu, begin, end, &sleep)) {
		if (!ready_since(w->f, vcpu, &cpu, begin, end, &since))
			return false;
		follow(w->f, cpu.host_thread, w->depth + 1, since, end);
		add_wait(w, context, c, begin, since);
		return true;
	}
	/* From the wake-up on, the vCPU's thread is what is waited for. */
	follow(w->f, cpu.host_thread, w->depth + 1, sleep.end, end);
	host = walker_of(w->f, cpu.host_thread, w->depth + 1);
	if (host.waker == ATTR_NONE) {
		add_plain(w, PATH_WAITS, -1, begin, sleep.end);
		return true;
	}
	/* As if the thread had slept until then in its host. */
	struct sonde_interval woken;
	struct sonde_context by;
	int64_t waker = -1, woken_by = -1;

	if (!sonde_at(w->f->run, host.waker, sleep.end, &woken) && woken.value &&
	    !sonde_context(w->f->run, (int64_t)woken.value - 1, &by)) {
		woken_by = (int64_t)woken.value - 1;
		waker = waking_thread(&host, &by);
	}
	if (waker >= 0)
		follow(w->f, waker, w->depth + 2, begin, sleep.end);
	else if (woken_by < 0 || !follow_outwards(&host, woken_by, &by, begin, sleep.end))
		add_wait(w, woken_by, c, begin, sleep.end);
	return true;
}

/* A softirq of its own kernel woke it for a packet that had come meanwhile: who told of that packet, and
 * then the way of the interrupt to its vCPU, be that one asleep or busy. */
static bool follow_received(struct walker *w, const struct sonde_context *c, ns_t begin, ns_t end)
{
	int64_t vcpu = sonde_find_cpu(w->f->run, c->machine, c->cpu);
	const struct packet *p;
	struct sonde_cpu cpu;

	if (c->mode != SONDE_MODE_SOFTIRQ || c->detail != SOFTIRQ_NET_RX || !c->machine ||
	    w->depth + 2 >= DEPTH_MAX || sonde_cpu(w->f->run, vcpu, &cpu) || cpu.host_thread < 0)
		return false;
	p = packets_last(w->f->packets, true, vcpu, begin, end);
	if (!p || p->since < begin || p->since >= end)
		return false;
	follow(w->f, cpu.host_thread, w->depth + 1, p->since, end);
	follow(w->f, p->from, w->depth + 2, begin, p->since);
	return true;
}

/* A vCPU's thread woke it for a packet: the way goes on with the guest's thread that sent it. */
static bool follow_sent(struct walker *w, int64_t vcpu_thread, ns_t begin, ns_t end)
{
	const struct packet *p = NULL;
	struct sonde_interval i;

	/* It was taken up when the sleeper ran, after its sleep. */
	if (w->depth + 2 >= DEPTH_MAX || sonde_at(w->f->run, w->state, end, &i))
		return false;
	p = packets_last(w->f->packets, false, w->thread, end, i.end);
	if (!p || p->from < 0 || p->since < begin || p->since > end)
		return false;
	follow(w->f, vcpu_thread, w->depth + 1, p->since, end);
	follow(w->f, p->from, w->depth + 2, begin, p->since);
	return true;
}

/* It slept in [begin, end), and was woken at its end. */
static void slept(struct walker *w, ns_t begin, ns_t end)
{
	struct sonde_interval i;
	struct sonde_context c;
	int64_t waker, context;

	if (w->waker == ATTR_NONE || sonde_at(w->f->run, w->waker, end, &i) || !i.value ||
	    sonde_context(w->f->run, (int64_t)i.value - 1, &c)) {
		add_plain(w, PATH_WAITS, -1, begin, end);
		return;
	}
	context = (int64_t)i.value - 1;
	waker = waking_thread(w, &c);
	if (follow_received(w, &c, begin, end))
		return;
	if (waker >= 0 && follow_sent(w, waker, begin, end))
		return;
	if (waker >= 0)
		follow(w->f, waker, w->depth + 1, begin, end);
	else if (!follow_outwards(w, context, &c, begin, end))
		add_wait(w, context, &c, begin, end);
}

/* Who made it, by the wake-up that starts it: that comes after the fork, before it runs first. */
static int64_t first_waker(const struct walker *w, ns_t birth)
{
	struct sonde_interval first, none, woken;
	struct sonde_context c;

	if (w->waker == ATTR_NONE || sonde_at(w->f->run, w->state, birth, &first) ||
	    first.value != THREAD_RUNNABLE || sonde_at(w->f->run, w->waker, birth, &none) ||
	    none.value || none.end > first.end || none.end >= sonde_run_end(w->f->run) ||
	    sonde_at(w->f->run, w->waker, none.end, &woken) || !woken.value ||
	    sonde_context(w->f->run, (int64_t)woken.value - 1, &c))
		return -1;
	return waking_thread(w, &c);
}

/* The first thread of the process that made its process, where it is one's first itself; -1. */
static int64_t first_of_parent(const struct walker *w, ns_t birth)
{
	struct sonde_thread t;

	if (sonde_thread(w->f->run, w->thread, &t) || t.begin != birth || t.tid != t.pid ||
	    t.ppid <= 0)
		return -1;
	return sonde_find_thread(w->f->run, t.machine, t.ppid, birth);
}

/* Before its first moment it did not wait: the path goes on with who made it.  One that was there,
 * but is seen first when it is woken, slept. */
static void before_birth(struct walker *w, ns_t begin, ns_t end)
{
	struct sonde_interval i;
	int64_t maker;

	if (w->waker != ATTR_NONE && !sonde_at(w->f->run, w->waker, end, &i) && i.value) {
		slept(w, begin, end);
		return;
	}
	maker = first_waker(w, end);
	if (maker < 0)
		maker = first_of_parent(w, end);
	if (maker >= 0 && maker != w->thread)
		follow(w->f, maker, w->depth + 1, begin, end);
	else
		add_plain(w, PATH_UNKNOWN, -1, begin, end);
}

static void one_state(struct walker *w, const struct sonde_interval *i, ns_t begin, ns_t end)
{
	switch (i->value) {
	case THREAD_RUNNING:
		wants_to_run(w, false, begin, end, begin);
		break;
	case THREAD_RUNNABLE:
		wants_to_run(w, true, begin, end, i->end);
		break;
	case THREAD_SLEEPING:
	case THREAD_BLOCKED:
	case THREAD_STOPPED:
		if (end < i->end || end >= sonde_run_end(w->f->run))
			add_plain(w, PATH_WAITS, -1, begin, end); /* it goes on sleeping */
		else
			slept(w, begin, end);
		break;
	case THREAD_NONE:
		if (end < sonde_run_end(w->f->run))
			before_birth(w, begin, end);
		else
			add_plain(w, PATH_UNKNOWN, -1, begin, end);
		break;
	default:
		add_plain(w, PATH_UNKNOWN, -1, begin, end);
		break;
	}
}

/* Backwards from @end, state by state. */
static void follow(struct finder *f, int64_t thread, unsigned depth, ns_t begin, ns_t end)
{
	struct walker w = walker_of(f, thread, depth);

	if (depth >= DEPTH_MAX || w.state == ATTR_NONE) {
		add_plain(&w, PATH_UNKNOWN, -1, begin, end);
		return;
	}
	while (end > begin && !f->ret) {
		struct sonde_interval i;
		ns_t from;

		f->ret = sonde_at(f->run, w.state, end - 1, &i);
		if (f->ret)
			return;
		from = i.begin > begin ? i.begin : begin;
		one_state(&w, &i, from, end);
		end = from;
	}
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct path_step *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool goes_on(const struct path_step *a, const struct path_step *b)
{
	return a->end == b->begin && a->kind == b->kind && a->thread == b->thread &&
	       a->context == b->context && a->on == b->on && a->depth == b->depth &&
	       a->ready == b->ready && a->instead == b->instead;
}

static void settle(struct path *p)
{
	size_t kept = 0;

	if (!p->nr)
		return;
	qsort(p->steps, p->nr, sizeof(*p->steps), by_begin);
	for (size_t i = 1; i < p->nr; i++) {
		if (goes_on(&p->steps[kept], &p->steps[i]))
			p->steps[kept].end = p->steps[i].end;
		else
			p->steps[++kept] = p->steps[i];
	}
	p->nr = kept + 1;
}

int path_find(struct path *p, struct sonde_run *run, int64_t thread, ns_t begin, ns_t end,
	      struct error *err)
{
	struct finder f = {.path = p, .run = run};
	int ret = cpu_users_get(&f.users, run);

	*p = (struct path){0};
	if (!ret)
		ret = packets_get(&f.packets, run);
	if (!ret) {
		follow(&f, thread, 0, begin, end);
		ret = f.ret;
	}
	settle(p);
	if (!ret)
		return 0;
	path_release(p);
	return fail(err, ret, "cannot follow a thread: %s", strerror(-ret));
}

void path_release(struct path *p)
{
	free(p->steps);
	*p = (struct path){0};
}
