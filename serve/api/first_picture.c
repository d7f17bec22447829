/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/first_picture.h"

#include "base/now.h"

static unsigned add_attrs(const struct sonde_history *history, const char *const *names,
			  unsigned nr_names, uint32_t attrs[FIRST_ATTRS], unsigned nr)
{
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++) {
		for (unsigned i = 0; i < nr_names && nr < FIRST_ATTRS; i++) {
			attrs[nr] = sonde_attr_of_cpu(history, row, names[i]);
			nr += attrs[nr] != SONDE_NO_ATTR;
		}
	}
	return nr;
}

unsigned first_attrs(const struct sonde_history *history, uint32_t attrs[FIRST_ATTRS])
{
	static const char *const cpu[] = {"runs"}, *const vcpu[] = {"state", "task"};
	unsigned nr = add_attrs(history, cpu, 1, attrs, 0);

	return add_attrs(history, vcpu, 2, attrs, nr);
}

static void see_nothing(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	(void)row;
	(void)runs;
	(void)nr;
	(void)data;
}

void first_read(struct sonde_history *history)
{
	uint32_t attrs[FIRST_ATTRS];
	unsigned nr = first_attrs(history, attrs);

	if (nr)
		sonde_pixels_walk(history, attrs, nr, sonde_history_begin(history),
				  sonde_history_end(history), FIRST_PIXELS, see_nothing, NULL);
}

#define AHEAD_STEPS 256
#define AHEAD_MOMENTS                                                                              \
	32 /* of a step: the parts with changes are shorter than the history / 8192                \
	    */
#define AHEAD_CPU_NS 500000000ll /* of a run of some GB the rest has to wait */

/* Summaries, at the widths of windows from the whole history down to a 64th of it: each finer one
 * has its parts; and a CPU, which changes so often that it is in all parts with changes. */
static void touch(struct sonde_history *history, uint32_t attr, int64_t begin, int64_t end)
{
	struct sonde_interval i;

	for (unsigned pixels = FIRST_PIXELS / AHEAD_STEPS; pixels <= FIRST_PIXELS; pixels *= 4)
		sonde_pixels_walk(history, &attr, 1, begin, end, pixels, see_nothing, NULL);
	for (int64_t m = 0; m < AHEAD_MOMENTS; m++)
		sonde_interval_at(history, attr, begin + (end - begin) / AHEAD_MOMENTS * m, &i);
}

bool ahead_step(struct ahead *a, struct sonde_history *history)
{
	int64_t begin = sonde_history_begin(history),
		step = (sonde_history_end(history) - begin) / AHEAD_STEPS;
	int64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t attrs[FIRST_ATTRS];

	if (a->step >= AHEAD_STEPS || a->cpu_ns > AHEAD_CPU_NS || !step ||
	    !first_attrs(history, attrs))
		return false;
	begin += step * a->step++;
	touch(history, attrs[0], begin, begin + step);
	a->cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	return true;
}
