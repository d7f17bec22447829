/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wakeup/waits.h"
#include "query/losses.h"
#include "model/context.h"

#include <stdlib.h>

#include "base/grow.h"

struct scan {
	struct interval_cache *cache;
	int64_t vcpu;
	ns_t begin, end;
	struct wait w; /* seen to begin; complete when what comes after it is known */
	bool pending;
	bool no_thread;
	attr_t thread;	      /* its thread's own state */
	int host;	      /* the machine in which that is */
	struct losses losses; /* of that one; read when first asked for */
	bool (*each)(const struct wait *w, void *data);
	void *data;
	bool stop;
	int ret;
	ns_t on_cpu_ns;	    /* of the wait at hand */
	bool begins_unseen; /* ... whose state is not known when it begins */
	struct waits *kept; /* NULL: there is no room for more */
};

static ns_t later(ns_t a, ns_t b)
{
	return a > b ? a : b;
}

static ns_t earlier(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

static ns_t within(const struct scan *s, ns_t from, ns_t to)
{
	from = later(from, s->begin);
	to = earlier(to, s->end);
	return to > from ? to - from : 0;
}

/* One state of the vCPU's thread during the wait. */
static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	struct wait *w = &s->w;
	ns_t from = later(i->begin, w->begin), to = earlier(i->end, w->entry);

	if (i->value == VCPU_WAITING) {
		if (w->polled)
			w->asleep = from;
		else if (w->no_thread) /* it waits again: so it had not been woken */
			w->time_ns += within(s, w->woken, from);
		w->polled = w->unseen = false;
		w->woken = to;
		w->ran = w->entry;
		w->time_ns += within(s, from, to);
	} else if (i->value == VCPU_ON_CPU) {
		s->on_cpu_ns += within(s, from, to);
		if (!w->polled && w->ran > from)
			w->ran = from;
	} else if (i->value == VCPU_PREEMPTED && w->polled && from == w->begin) {
		/* Who polls has a CPU: it had slept, since when was not seen, and is woken here. */
		w->polled = false;
		w->asleep = w->woken = from;
		w->ran = w->entry;
	} else if (i->value == VCPU_UNKNOWN && !w->no_thread) {
		w->unseen = true;
		s->begins_unseen |= from == w->begin;
	}
	return true;
}

/* The same of its thread. */
static bool each_thread_state(const struct sonde_interval *i, void *data)
{
	static const uint32_t states[] = {
		[THREAD_UNKNOWN] = VCPU_UNKNOWN,    [THREAD_RUNNING] = VCPU_ON_CPU,
		[THREAD_RUNNABLE] = VCPU_PREEMPTED, [THREAD_SLEEPING] = VCPU_WAITING,
		[THREAD_BLOCKED] = VCPU_WAITING,    [THREAD_STOPPED] = VCPU_WAITING,
	};
	struct sonde_interval as = *i;

	as.value = i->value < ARRAY_SIZE(states) ? states[i->value] : VCPU_NONE;
	return each_state(&as, data);
}

/* Before the first that was seen of a vCPU it may have been anything. */
static bool is_wait(const struct scan *s)
{
	return !s->w.polled || s->w.begin > sonde_history_begin(s->cache->history);
}

/* A vCPU's state is not known where nothing is known of the CPU that it is on either, as of a
 * nested one's whose host's host is not recorded yet; its host tells of it all the same, but where
 * it lost events. */
static bool has_losses(struct scan *s)
{
	if (!s->losses.list)
		s->ret = losses_init(&s->losses, s->cache->history, s->host);
	return !s->ret &&
	       losses_touch(&s->losses, s->w.polled ? s->w.begin : s->w.woken, s->w.entry);
}

/* To the state in which it is at the entry: where that is not seen, the wait is over as events were
 * lost. */
static void look(struct scan *s, attr_t attr,
		 bool (*state)(const struct sonde_interval *i, void *data))
{
	struct wait *w = &s->w;

	w->polled = true;
	w->asleep = w->woken = w->ran = w->entry;
	w->time_ns = s->on_cpu_ns = 0;
	w->unseen = s->begins_unseen = false;
	s->ret = interval_cache_walk(s->cache, attr, w->begin, w->entry + w->ended, state, s);
}

static void emit(struct scan *s, uint32_t value)
{
	struct wait *w = &s->w;

	s->pending = false;
	w->wake = (int64_t)value - 1;
	w->ended = w->wake >= 0 && !query_wake_is_loss(s->cache->history, w->wake);
	look(s, s->cache->history->cpu_attrs[s->vcpu][CPU_STATE], each_state);
	if (w->unseen && !s->ret && !has_losses(s) && s->thread != ATTR_NONE)
		look(s, s->thread, each_thread_state);
	/* Where its state is not even known when it is seen first, what is seen may be its
	 * wake-up. */
	w->unseen = w->unseen && !s->ret && (has_losses(s) || (w->polled && s->begins_unseen));
	if (w->polled)
		w->time_ns = s->on_cpu_ns;
	else if (w->no_thread)
		w->ran = w->woken;
	if (w->polled && query_cell(s->cache->history, QUERY_WAKE, w->wake, 1) == WAKE_NONE)
		return;
	/* Without its thread nothing tells whether it slept. */
	if (w->polled && w->no_thread)
		return;
	/* Events were lost, or the history ends, before it slept: it may have been on its way to
	 * that. */
	if (w->polled && !w->ended && (w->wake >= 0 || !w->unseen))
		return;
	/* A vCPU on its way to sleep halts before it sleeps: what it waits for it does not yet. */
	if ((w->polled ? w->begin : w->asleep) >= s->end)
		return;
	if (s->ret || !is_wait(s))
		return;
	/* It may have slept unseen: then nothing is known but that it waited. */
	if (w->polled && w->unseen) {
		w->polled = false;
		w->asleep = w->begin;
		w->time_ns = 0;
	}
	if (s->kept && (s->kept->nr == WAITS_MAX ||
			!room_for_one(&s->kept->list, s->kept->nr, &s->kept->room)))
		s->kept = NULL;
	if (s->kept)
		s->kept->list[s->kept->nr++] = *w;
	s->stop = !s->each(w, s->data);
}

static bool each_woken(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;

	if (s->pending)
		emit(s, i->value);
	if (i->value || i->begin >= s->end || s->stop || s->ret)
		return !s->stop && !s->ret;
	s->w = (struct wait){
		.vcpu = s->vcpu, .begin = i->begin, .entry = i->end, .no_thread = s->no_thread};
	s->pending = true;
	return true;
}

static int scan(struct scan *s)
{
	attr_t woken = s->cache->history->cpu_attrs[s->vcpu][CPU_WOKEN];
	struct sonde_interval next = {0};
	struct sonde_machine m = {0};
	struct sonde_cpu cpu;
	int ret;

	if (woken == ATTR_NONE)
		return 0;
	s->no_thread = sonde_cpu_get(s->cache->history, s->vcpu, &cpu) || cpu.host_thread < 0;
	s->host = s->no_thread || sonde_machine_get(s->cache->history, cpu.machine, &m) ? 0
											: m.parent;
	s->thread = s->no_thread
			    ? ATTR_NONE
			    : sonde_attr_of_thread(s->cache->history, cpu.host_thread, "state");
	ret = interval_cache_scan(s->cache, woken, s->begin, s->end, each_woken, s);
	if (!ret && s->pending && !s->stop) {
		if (s->w.entry < sonde_history_end(s->cache->history))
			ret = interval_cache_at(s->cache, woken, s->w.entry, &next);
		emit(s, next.value);
	}
	losses_release(&s->losses);
	return ret ? ret : s->ret;
}

/* ---- kept ---------------------------------------------------------------------------------- */

static void release(struct kept *kept)
{
	struct waits *w = (struct waits *)kept;

	free(w->list);
	free(w->vcpus);
	free(w);
}

static const struct kept_kind kind = {release};

/* Those of the window; NULL: no memory, they are then looked for each time. */
static struct waits *waits_of_window(struct sonde_history *history, ns_t begin, ns_t end)
{
	struct waits *w = kept_find(history, &kind);

	if (w && w->begin == begin && w->end == end)
		return w;
	kept_drop(history, &kind);
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->vcpus = calloc((size_t)sonde_nr_cpus(history) + 1, sizeof(*w->vcpus));
	if (!w->vcpus) {
		free(w);
		return NULL;
	}
	w->begin = begin;
	w->end = end;
	kept_set(history, &kind, &w->kept);
	return w;
}

static void tell_kept(const struct waits *w, const struct waits_of *of,
		      bool (*each)(const struct wait *w, void *data), void *data)
{
	for (size_t i = of->first; i < of->first + of->nr; i++) {
		const struct wait wait = w->list[i];

		if (!each(&wait, data))
			return;
	}
}

int waits_scan(struct interval_cache *cache, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct wait *w, void *data), void *data)
{
	struct scan s = {.cache = cache, .vcpu = vcpu, .begin = begin, .end = end};
	struct waits *kept = waits_of_window(cache->history, begin, end);
	size_t first = kept ? kept->nr : 0;
	int ret;

	query_read_wakes(cache->history);
	if (kept && kept->vcpus[vcpu].known) {
		tell_kept(kept, &kept->vcpus[vcpu], each, data);
		return 0;
	}
	s.each = each;
	s.data = data;
	s.kept = kept;
	ret = scan(&s);
	if (!kept)
		return ret;
	if (s.kept && !ret && !s.stop)
		kept->vcpus[vcpu] = (struct waits_of){true, first, kept->nr - first};
	else
		kept->nr = first;
	return ret;
}

void wait_wake(const struct sonde_history *history, const struct wait *w, struct sonde_wake *out)
{
	if (!sonde_wake_get(history, w->wake, out))
		return;
	*out = (struct sonde_wake){
		.vcpu = w->vcpu, .vector = -1, .from = -1, .by = -1, .irq = "", .evidence = ""};
	if (!w->ended)
		out->evidence = "it goes on at the end of the history";
}
