/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/coverage.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/figure.h"
#include "base/units.h"
#include "source/cover.h"
#include "source/ticks.h"

/* Of more CPUs than this one sentence tells: who writes a trace chooses how many it has. */
#define EACH_MAX 8
/* Ranges of CPUs that a sentence names. */
#define RANGES_MAX 6

enum lack { NO_STREAM, BEGINS_LATE, ENDS_EARLY, LACKS };

/* Of several, and of one. */
static const char *const whens[LACKS][2] = {
	[BEGINS_LATE] = {"begin later than", "begins later than"},
	[ENDS_EARLY] = {"end before", "ends before"},
};

/* What is missing of the CPU, in ticks; without a stream, 1: all.  0: nothing. */
static uint64_t lack_of(const struct trace *t, const struct cover *c, unsigned i, enum lack lack)
{
	const struct cpu_cover *cpu = &c->cpus[i];
	uint64_t ticks = 0;

	if (lack == NO_STREAM)
		return !cpu->there && i < t->nr_cpus - t->nr_cpus_named;
	if (lack == BEGINS_LATE && cpu->late)
		ticks = count_less(cpu->first, c->all.first);
	if (lack == ENDS_EARLY && cpu->any && cpu->ends)
		ticks = count_less(c->all.last, cpu->last);
	return ticks > ticks_in(t, COVER_ENDS_TOGETHER_NS) ? ticks : 0;
}

/* "3", or "0-3, 7, 9-11, ..." */
static void list_cpus(const struct trace *t, const struct cover *c, enum lack lack, char *out,
		      size_t room)
{
	unsigned nr = 0, to;
	size_t used = 0;

	for (unsigned i = 0; i < c->nr && nr <= RANGES_MAX && used < room; i = to) {
		to = i + 1;
		if (!lack_of(t, c, i, lack))
			continue;
		while (to < c->nr && lack_of(t, c, to, lack))
			to++;
		if (nr++ == RANGES_MAX)
			snprintf(out + used, room - used, ", ...");
		else if (to - i > 1)
			used += (size_t)snprintf(out + used, room - used, "%s%u-%u",
						 used ? ", " : "", i, to - 1);
		else
			used += (size_t)snprintf(out + used, room - used, "%s%u", used ? ", " : "",
						 i);
	}
}

/* As time; of a counter whose rate only an analysis measures, in cycles, which say nothing to most
 * people without their share of the trace. */
static void measure(char *out, size_t room, const struct trace *t, const struct cover *c,
		    uint64_t ticks)
{
	double all = (double)count_less(c->all.last, c->all.first);
	char text[UNIT_TEXT];

	if (ticks_have_rate(t))
		snprintf(out, room, "%s",
			 unit_length(text, figure_round((double)ticks / ticks_per_us(t) * 1000),
				     true));
	else
		snprintf(out, room, "%" PRIu64 " cycles, %s of it", ticks,
			 unit_share(text, all > 0 ? figure_round((double)ticks / all * 1e6) : 0));
}

/* Of @nr CPUs, which @cpus names and which lack @by at most. */
static void say(const struct trace *t, enum lack lack, unsigned nr, const char *cpus,
		const char *by, void (*tell)(const char *text, void *data), void *data)
{
	char text[512], whose[240], count[UNIT_TEXT];

	if (nr == 1)
		snprintf(whose, sizeof(whose), "CPU %s", cpus);
	else
		snprintf(whose, sizeof(whose), "%s CPUs (%s)", unit_count(count, nr), cpus);
	if (lack == NO_STREAM)
		snprintf(text, sizeof(text),
			 "%s: there is no stream of %s that can be read: nothing is known of %s",
			 t->path, whose, nr == 1 ? "it" : "them");
	else
		snprintf(
			text, sizeof(text),
			"%s: the stream%s of %s %s the trace does, by %s%s: nothing is known of %s "
			"there",
			t->path, nr == 1 ? "" : "s", whose, whens[lack][nr == 1],
			nr == 1 ? "" : "up to ", by, nr == 1 ? "it" : "them");
	tell(text, data);
}

static void tell_lack(const struct trace *t, const struct cover *c, enum lack lack,
		      void (*tell)(const char *text, void *data), void *data)
{
	char cpus[160] = "", by[UNIT_TEXT + 40];
	uint64_t worst = 0;
	unsigned nr = 0;

	for (unsigned i = 0; i < c->nr; i++) {
		uint64_t ticks = lack_of(t, c, i, lack);

		nr += ticks > 0;
		worst = ticks > worst ? ticks : worst;
	}
	if (nr > EACH_MAX) {
		list_cpus(t, c, lack, cpus, sizeof(cpus));
		measure(by, sizeof(by), t, c, worst);
		say(t, lack, nr, cpus, by, tell, data);
		return;
	}
	for (unsigned i = 0; i < c->nr; i++) {
		uint64_t ticks = lack_of(t, c, i, lack);

		snprintf(cpus, sizeof(cpus), "%u", i);
		if (!ticks)
			continue;
		measure(by, sizeof(by), t, c, ticks);
		say(t, lack, 1, cpus, by, tell, data);
	}
}

int coverage_tell(struct trace *t, void (*tell)(const char *text, void *data), void *data)
{
	struct cover c;
	int ret;

	if (t->user_space) /* which says nothing of CPUs */
		return 0;
	ret = cover_find(&c, t);
	for (enum lack lack = NO_STREAM; lack < LACKS && !ret && !c.unnumbered; lack++)
		tell_lack(t, &c, lack, tell, data);
	cover_release(&c);
	return ret;
}
