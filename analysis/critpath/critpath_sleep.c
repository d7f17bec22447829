/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths while a thread sleeps: see critpath_walk.h. */
#include "analysis/critpath/critpath_walk.h"
#include "analysis/io/handovers.h"
#include "analysis/sched/ready_under.h"
#include "model/context.h"

/* Code of a guest other than handlers that may run between its vCPU's return to a CPU and a handler
 * for that to have been what the handler waited for: what was interrupted goes on until then. */
#define RETURN_NS 50000
/* Its number in Linux. */
#define SOFTIRQ_NET_RX 3

int64_t path_waking_thread(const struct path_walker *w, const struct sonde_context *c)
{
	struct sonde_thread t;

	if (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ ||
	    c->mode == SONDE_MODE_IDLE || c->thread == w->thread)
		return -1;
	return sonde_thread_get(w->f->history, c->thread, &t) || !t.tid ? -1 : c->thread;
}

/* Code of a vCPU's guest that is no handler. */
struct own_code {
	struct sonde_history *history;
	unsigned machine;
	ns_t left; /* of what there may be; negative: there was more */
};

static bool take_own_code(const struct cpu_user *user, void *data)
{
	struct own_code *own = data;
	struct sonde_context c;

	if (!sonde_context_get(own->history, user->context, &c) &&
	    query_is_inside(own->history, c.machine, own->machine) && c.mode != SONDE_MODE_IRQ &&
	    c.mode != SONDE_MODE_SOFTIRQ && c.mode != SONDE_MODE_IDLE)
		own->left -= user->to - user->from;
	return own->left >= 0;
}

/* Since when a vCPU had been ready before it ran the handler that ends at @end; false when it was
 * not, or other code of its guest ran in between. */
static bool ready_since(struct path_finder *f, int64_t vcpu, const struct sonde_cpu *cpu,
			ns_t begin, ns_t end, ns_t *since)
{
	attr_t state = f->history->cpu_attrs[vcpu][CPU_STATE];
	struct own_code own = {f->history, cpu->machine, RETURN_NS};
	bool was_ready = false;
	struct sonde_interval i;

	while (end > begin && !sonde_interval_at(f->history, state, end - 1, &i)) {
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
static bool last_sleep(struct path_finder *f, int64_t vcpu, ns_t begin, ns_t end,
		       struct sonde_interval *out)
{
	attr_t state = f->history->cpu_attrs[vcpu][CPU_STATE];
	ns_t t = end;

	while (t > begin && state != ATTR_NONE &&
	       !sonde_interval_at(f->history, state, t - 1, out)) {
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
static bool follow_outwards(struct path_walker *w, int64_t context, const struct sonde_context *c,
			    ns_t begin, ns_t end)
{
	int64_t vcpu = sonde_find_cpu(w->f->history, c->machine, c->cpu);
	struct sonde_interval sleep;
	struct sonde_cpu cpu;
	struct path_walker host;
	ns_t since;

	if (!c->machine || sonde_cpu_get(w->f->history, vcpu, &cpu) || cpu.host_thread < 0 ||
	    w->depth + 1 >= PATH_DEPTH_MAX)
		return false;
	if (!last_sleep(w->f, vcpu, begin, end, &sleep)) {
		if (!ready_since(w->f, vcpu, &cpu, begin, end, &since))
			return false;
		path_follow(w->f, cpu.host_thread, w->depth + 1, since, end);
		path_add_wait(w, context, c, begin, since);
		return true;
	}
	/* From the wake-up on, the vCPU's thread is what is waited for. */
	path_follow(w->f, cpu.host_thread, w->depth + 1, sleep.end, end);
	host = path_walker_of(w->f, cpu.host_thread, w->depth + 1);
	if (host.waker == ATTR_NONE) {
		path_add(w, PATH_WAITS, -1, begin, sleep.end);
		return true;
	}
	/* As if the thread had slept until then in its host. */
	struct sonde_interval woken;
	struct sonde_context by;
	int64_t waker = -1, woken_by = -1;

	if (!sonde_interval_at(w->f->history, host.waker, sleep.end, &woken) && woken.value &&
	    !sonde_context_get(w->f->history, (int64_t)woken.value - 1, &by)) {
		woken_by = (int64_t)woken.value - 1;
		waker = path_waking_thread(&host, &by);
	}
	if (waker >= 0)
		path_follow(w->f, waker, w->depth + 2, begin, sleep.end);
	else if (woken_by < 0 || !follow_outwards(&host, woken_by, &by, begin, sleep.end))
		path_add_wait(w, woken_by, c, begin, sleep.end);
	return true;
}

/* What a handler of its own kernel woke it for, if its VM's host is known to have told of that. */
static const struct handed *told_of(const struct path_walker *w, const struct sonde_context *c,
				    int64_t vcpu, ns_t begin, ns_t end)
{
	enum handover_kind kind = HANDED_DONE;

	if (c->mode == SONDE_MODE_SOFTIRQ && c->detail == SOFTIRQ_NET_RX)
		kind = HANDED_RECEIVED;
	else if (c->mode != SONDE_MODE_IRQ && c->mode != SONDE_MODE_SOFTIRQ)
		return NULL;
	return handovers_last(w->f->handed, kind, vcpu, begin, end);
}

/* A packet that @thread of the host handed on at @end: if it took it from a VM, the way goes on
 * with the guest's thread that sent it.  The other thread may have been awake before, with
 * something else. */
static void follow_packet(struct path_walker *w, int64_t thread, ns_t begin, ns_t end)
{
	const struct handed *h = handovers_last(w->f->handed, HANDED_ON, thread, end, end);
	ns_t since;

	if (!h || h->from < 0 || h->since > end || w->depth + 4 >= PATH_DEPTH_MAX) {
		path_follow(w->f, thread, w->depth + 3, begin, end);
		return;
	}
	since = h->since > begin ? h->since : begin;
	path_follow(w->f, thread, w->depth + 3, since, end);
	path_follow(w->f, h->from, w->depth + 4, begin, since);
}

/* The sender of the interrupt, and then its way to its vCPU, be that one asleep or busy.  One that
 * was sent before the sleeper fell asleep had only that way to go.  Packets: who handed them to the
 * sender. */
static bool follow_told(struct path_walker *w, const struct sonde_context *c, ns_t begin, ns_t end)
{
	int64_t vcpu = sonde_find_cpu(w->f->history, c->machine, c->cpu);
	const struct handed *h;
	struct sonde_cpu cpu;
	ns_t since, handed;

	if (!c->machine || w->depth + 3 >= PATH_DEPTH_MAX ||
	    sonde_cpu_get(w->f->history, vcpu, &cpu) || cpu.host_thread < 0)
		return false;
	h = told_of(w, c, vcpu, begin, end);
	if (!h || h->since >= end)
		return false;
	since = h->since > begin ? h->since : begin;
	path_follow(w->f, cpu.host_thread, w->depth + 1, since, end);
	handed = h->by < 0 || h->by_at < begin ? begin : h->by_at < since ? h->by_at : since;
	path_follow(w->f, h->from, w->depth + 2, handed, since);
	if (handed > begin)
		follow_packet(w, h->by, begin, handed);
	return true;
}

/* A vCPU's thread woke it for a packet: the way goes on with the guest's thread that sent it. */
static bool follow_sent(struct path_walker *w, int64_t vcpu_thread, ns_t begin, ns_t end)
{
	const struct handed *h;
	struct sonde_interval i;

	/* It was taken up when the sleeper ran, after its sleep. */
	if (w->depth + 2 >= PATH_DEPTH_MAX || sonde_interval_at(w->f->history, w->state, end, &i))
		return false;
	h = handovers_last(w->f->handed, HANDED_SENT, w->thread, end, i.end);
	if (!h || h->from < 0 || h->since < begin || h->since > end)
		return false;
	path_follow(w->f, vcpu_thread, w->depth + 1, h->since, end);
	path_follow(w->f, h->from, w->depth + 2, begin, h->since);
	return true;
}

void path_slept(struct path_walker *w, ns_t begin, ns_t end)
{
	struct sonde_interval i;
	struct sonde_context c;
	int64_t waker, context;

	if (w->waker == ATTR_NONE || sonde_interval_at(w->f->history, w->waker, end, &i) ||
	    !i.value || sonde_context_get(w->f->history, (int64_t)i.value - 1, &c)) {
		path_add(w, PATH_WAITS, -1, begin, end);
		return;
	}
	context = (int64_t)i.value - 1;
	waker = path_waking_thread(w, &c);
	if (follow_told(w, &c, begin, end))
		return;
	if (waker >= 0 && follow_sent(w, waker, begin, end))
		return;
	if (waker >= 0)
		path_follow(w->f, waker, w->depth + 1, begin, end);
	else if (!follow_outwards(w, context, &c, begin, end))
		path_add_wait(w, context, &c, begin, end);
}
