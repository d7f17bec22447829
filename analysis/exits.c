/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exits.h"

#include <errno.h>
#include <string.h>

struct scan {
	struct sonde_run *run;
	ns_t begin, end;
	bool open;
	bool outside; /* the exit at hand began before the window: it is another window's */
	struct exit_interval e;
	bool (*each)(const struct exit_interval *e, void *data);
	void *data;
};

static void begin_exit(struct scan *s, ns_t begin, const struct exit_kind *kind)
{
	s->open = true;
	s->e.from = kind->serves >= 0 ? kind->serves : s->e.vcpu;
	s->e.reason = kind->reason;
	s->e.isa = kind->isa;
	s->e.user_reason = -1;
	s->e.begin = begin;
	s->e.user_begin = NS_MAX;
}

static void go_on(struct scan *s, ns_t begin, const struct exit_kind *kind)
{
	if (kind->serves >= 0)
		s->e.from = kind->serves;
	if (kind->user_reason < 0 || s->e.user_reason >= 0)
		return;
	s->e.user_reason = kind->user_reason;
	s->e.user_begin = begin;
}

/* Back in guest mode. */
static bool end_exit(struct scan *s, ns_t t)
{
	bool more = true;

	if (s->open) {
		s->e.end = t;
		if (s->e.user_begin > t)
			s->e.user_begin = t;
		more = s->each(&s->e, s->data);
	}
	s->open = false;
	s->outside = false;
	return more;
}

static bool add_interval(struct scan *s, ns_t begin, uint32_t value)
{
	const struct exit_kind *kind;

	if (!value)
		return end_exit(s, begin);
	kind = run_exit_kind(s->run, (int64_t)value - 1);
	if (!kind) {
		s->open = false; /* how it ended was not seen */
		return true;
	}
	if ((s->open || s->outside) && s->e.reason == kind->reason && s->e.isa == kind->isa) {
		go_on(s, begin, kind);
		return true;
	}
	if (begin >= s->end)
		return false;
	begin_exit(s, begin, kind);
	s->outside = begin < s->begin;
	s->open = !s->outside;
	return true;
}

/* So many at a time: beyond the window it is mostly one that is needed. */
#define EXIT_BATCH 1024

int exits_scan(struct sonde_run *run, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct exit_interval *e, void *data), void *data)
{
	struct scan s = {
		.run = run, .begin = begin, .end = end, .each = each, .data = data, .e.vcpu = vcpu};
	uint32_t attr = run->cpu_attrs[vcpu][CPU_EXIT];
	/* Beyond the window, for the end of what begins in it. */
	ns_t at = begin > sonde_run_begin(run) ? begin : sonde_run_begin(run);
	uint32_t values[EXIT_BATCH];
	ns_t begins[EXIT_BATCH + 1];

	while (attr != ATTR_NONE && at < sonde_run_end(run)) {
		unsigned nr;
		int ret = history_list(run->history, attr, at, sonde_run_end(run), begins, values,
				       EXIT_BATCH, &nr);

		if (ret)
			return ret;
		for (unsigned i = 0; i < nr; i++) {
			if (!add_interval(&s, begins[i], values[i]))
				return 0;
		}
		at = begins[nr];
	}
	return 0;
}

const char *exit_name(const struct sonde_run *run, int64_t isa, int64_t reason)
{
	const char *name = exit_reason_name(isa ? isa == 2 : run->is_svm, reason);

	return name ? name : "";
}

bool exit_is_halt(const struct sonde_run *run, int64_t isa, int64_t reason)
{
	return !strcmp(exit_name(run, isa, reason), "HLT");
}
