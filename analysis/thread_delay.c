/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/thread_delay.h"
#include "analysis/use_log.h"
#include "model/context.h"

#include <string.h>

struct scan {
	struct sonde_run *run;
	struct cpu_users *users;
	ns_t begin, end;
	struct thread_delay d;
	unsigned machine;
	int first_cpu; /* where it was first, -1 unknown */
	attr_t cpu;    /* where it is or was last, ATTR_NONE: it never moved */
	struct strips strips; /* of the thread's own attributes */
	bool (*each)(const struct thread_delay *d, const struct cpu_use *use, void *data);
	void *data;
	struct use_log *log;
	struct victim victim;
	bool stop;
	int ret;
};

static bool tell_use(const struct cpu_use *use, void *data)
{
	struct scan *s = data;

	use_log_add(s->log, use);
	s->stop = !s->each(&s->d, use, s->data);
	return !s->stop;
}

static bool tell_again(const void *delay, const struct cpu_use *use, void *data)
{
	struct scan *s = data;

	s->stop = !s->each(delay, use, s->data);
	return !s->stop;
}

/* The CPU it waits for is the one that it then runs on. */
static int cpu_waited_for(struct scan *s, ns_t end)
{
	struct sonde_interval i;
	int ret;

	if (s->cpu == ATTR_NONE)
		return s->first_cpu;
	if (end >= sonde_run_end(s->run))
		end = sonde_run_end(s->run) - 1;
	if (end >= s->end)
		ret = sonde_at(s->run, s->cpu, end, &i);
	else
		ret = strip_hold(&s->strips, s->cpu, s->begin, s->end);
	if (!ret && end < s->end)
		ret = strip_at(&s->strips, s->cpu, end, &i);
	if (ret || !i.value)
		return s->first_cpu;
	return (int)i.value - 1;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	ns_t from = i->begin > s->begin ? i->begin : s->begin;
	ns_t to = i->end < s->end ? i->end : s->end;

	if (i->value != THREAD_RUNNABLE)
		return true;
	s->d.begin = i->begin;
	s->d.end = i->end;
	use_log_begin(s->log, &s->d);
	s->ret = cpu_users_sum(s->users, s->machine, cpu_waited_for(s, i->end), from, to, tell_use,
			       s);
	return !s->stop && !s->ret;
}

static int scan_thread(struct scan *s, int64_t row)
{
	struct sonde_thread t;
	attr_t state;
	int ret;

	sonde_thread(s->run, row, &t);
	if (!t.tid || t.vcpu >= 0 || t.begin >= s->end || (t.end >= 0 && t.end <= s->begin))
		return 0;
	state = sonde_attr_of_thread(s->run, row, "state");
	if (state == ATTR_NONE)
		return 0;
	s->cpu = sonde_attr_of_thread(s->run, row, "cpu");
	s->first_cpu = run_first_cpu(s->run, row);
	s->machine = t.machine;
	s->d.thread = row;
	s->strips.run = s->run;
	ret = strip_scan(&s->strips, state, s->begin, s->end, each_state, s);
	strips_release(&s->strips);
	return ret ? ret : s->ret;
}

bool victim_delay(struct victim *v, const struct preemption *p, struct thread_delay *out)
{
	if (p->victim < 0)
		return false;
	if (p->victim != v->thread) {
		struct sonde_thread t;

		v->thread = p->victim;
		v->counts = !sonde_thread(v->run, p->victim, &t) && t.tid && t.vcpu < 0;
	}
	if (!v->counts)
		return false;
	*out = (struct thread_delay){.thread = p->victim,
				     .in_guest = true,
				     .begin = p->begin,
				     .end = p->end};
	return true;
}

static bool tell_preemption(const struct preemption *p, const struct cpu_use *use, void *data)
{
	struct scan *s = data;

	if (victim_delay(&s->victim, p, &s->d))
		s->stop = !s->each(&s->d, use, s->data);
	return !s->stop;
}

static int scan_threads(struct scan *s, struct error *err)
{
	int ret = cpu_users_get(&s->users, s->run);

	if (ret)
		return fail(err, ret, "out of memory");
	if (use_log_tell(s->run->waits, s->begin, s->end, tell_again, s))
		return 0;
	run_threads(s->run); /* without the memory for all of them each costs more */
	memset(&s->d, 0, sizeof(s->d)); /* what is between its members, too */
	s->log = use_log_new(s->begin, s->end, sizeof(s->d), s->users->culprits);
	ret = cpu_users_hold(s->users, s->begin, s->end);
	for (int64_t row = 0; row < sonde_nr_threads(s->run) && !s->stop && !ret; row++)
		ret = scan_thread(s, row);
	use_log_keep(&s->run->waits, s->log, !ret && !s->stop);
	return ret ? fail(err, ret, "cannot follow a thread's states: %s", strerror(-ret)) : 0;
}

int thread_waits_scan(struct sonde_run *run, ns_t begin, ns_t end,
		      bool (*each)(const struct thread_delay *d, const struct cpu_use *use,
				   void *data),
		      void *data, struct error *err)
{
	struct scan s = {.run = run, .begin = begin, .end = end, .each = each, .data = data};

	return scan_threads(&s, err);
}

int thread_delay_scan(struct sonde_run *run, ns_t begin, ns_t end,
		      bool (*each)(const struct thread_delay *d, const struct cpu_use *use,
				   void *data),
		      void *data, struct error *err)
{
	struct scan s = {.run = run,
			 .begin = begin,
			 .end = end,
			 .each = each,
			 .data = data,
			 .victim = {.run = run, .thread = -1}};
	int ret = scan_threads(&s, err);

	return ret || s.stop ? ret : preemption_sum(run, begin, end, tell_preemption, &s, err);
}
