/* SPDX-License-Identifier: Apache-2.0 */
#include "model/boot/earlier_boot.h"

#include <stdio.h>
#include <string.h>

#include "model/boot/initcalls.h"
#include "model/boot/milestones.h"
#include "model/identity/tid.h"
#include "source/state_line.h"

static void step(struct machine_state *mc, const char *kind, const char *name, ns_t at)
{
	struct model *m = mc->model;
	const struct milestone milestone = {
		.machine = mc,
		.since = at,
		.at = at,
		.kind = kind,
		.text = history_writer_string(m->w, name, strlen(name)),
	};

	milestone_add(m, &milestone);
}

static void initcall(struct machine_state *mc, const struct state_line *l, const char *name,
		     ns_t begin)
{
	struct model *m = mc->model;
	uint64_t end = state_uint(l, "end", 0);
	int64_t tid = state_int(l, "tid", 1);
	struct initcall c = {
		.machine = mc,
		.thread = tid == 1 ? thread_find(mc, 1) : NULL,
		.name = history_writer_string(m->w, name, strlen(name)),
		.level = tid > 1 || mc->booted_init ? 0
			 : mc->booted_level	    ? mc->booted_level
						    : initcall_level_unknown(m),
		.begin = begin,
		.end = end ? clock_to_l0(m->clock, (ticks_t){end}) : NS_MIN,
		.result = state_int(l, "result", 0),
		.is_over = true,
	};

	if (c.end != NS_MIN && (c.end < begin || c.end > m->now))
		return;
	initcall_add(m, &c);
}

static void lost(struct machine_state *mc, const struct state_line *l)
{
	uint64_t nr = state_uint(l, "lost", 0);
	char text[64];

	if (nr) {
		snprintf(text, sizeof(text), "at least %llu events", (unsigned long long)nr);
		step(mc, "lost", text, mc->model->now);
		problems_add(
			&mc->model->problems,
			"%s: of what its kernel recorded of its boot at least %llu events were "
			"overwritten before they were read: levels and initcalls are missing, "
			"the first ones before others",
			mc->name, (unsigned long long)nr);
	}
	if (state_uint(l, "cut", 0)) {
		step(mc, "lost", "its end", mc->model->now);
		problems_add(&mc->model->problems,
			     "%s: what its kernel recorded of its boot was not read to its end",
			     mc->name);
	}
}

void booted_line(struct machine_state *mc, const struct state_line *l)
{
	uint64_t time = state_uint(l, "time", 0);
	char what[16], name[128];
	ns_t at;

	if (state_text(l, "what", what, sizeof(what)) && !strcmp(what, "lost")) {
		lost(mc, l);
		return;
	}
	if (!mc->trace || mc->trace->clock.kind != CLOCK_TSC || !time ||
	    !state_text(l, "what", what, sizeof(what)) ||
	    !state_text(l, "name", name, sizeof(name)))
		return;
	at = clock_to_l0(mc->model->clock, (ticks_t){time});
	if (at > mc->model->now)
		return;
	if (!strcmp(what, "initcall")) {
		initcall(mc, l, name, at);
	} else if (!strcmp(what, "level")) {
		mc->booted_level = history_writer_string(mc->model->w, name, strlen(name));
		step(mc, "level", name, at);
	} else if (!strcmp(what, "init")) {
		step(mc, "init", name, at);
		mc->booted_init = true; /* what thread 1 calls from now on is a module's */
	}
}
