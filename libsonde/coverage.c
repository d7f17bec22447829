/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/coverage.h"

#include <stdio.h>

#include "base/figure.h"
#include "base/units.h"
#include "source/cover.h"
#include "source/ticks.h"

static void tell_end(const struct trace *t, unsigned cpu, uint64_t ticks, const char *what,
		     void (*tell)(const char *text, void *data), void *data)
{
	bool is_time = ticks_have_rate(t);
	double per_us = is_time ? ticks_per_us(t) : 1000;
	ns_t length = figure_round((double)ticks / per_us * 1000);
	char text[512], unit[UNIT_TEXT];

	if (ticks <= ticks_in(t, COVER_ENDS_TOGETHER_NS))
		return;
	snprintf(text, sizeof(text),
		 "%s: the stream of CPU %u %s the trace does, by %s: nothing is known of it there",
		 t->path, cpu, what, unit_length(unit, length, is_time));
	tell(text, data);
}

int coverage_tell(struct trace *t, void (*tell)(const char *text, void *data), void *data)
{
	struct cover c;
	int ret;

	if (t->user_space) /* which says nothing of CPUs */
		return 0;
	ret = cover_find(&c, t);
	for (unsigned i = 0; i < c.nr && !ret && !c.unnumbered; i++) {
		const struct cpu_cover *cpu = &c.cpus[i];
		char text[512];

		snprintf(
			text, sizeof(text),
			"%s: there is no stream of CPU %u that can be read: nothing is known of it",
			t->path, i);
		if (!cpu->there && i < t->nr_cpus - t->nr_cpus_named)
			tell(text, data);
		if (cpu->late)
			tell_end(t, i, count_less(cpu->first, c.all.first), "begins later than",
				 tell, data);
		if (cpu->any && cpu->ends)
			tell_end(t, i, count_less(c.all.last, cpu->last), "ends before", tell,
				 data);
	}
	cover_release(&c);
	return ret;
}
