/* SPDX-License-Identifier: Apache-2.0 */
/* All analyses, by name. */
#include "analysis/facts.h"

#include <errno.h>
#include <string.h>

#define ANALYSES(X)                                                                                \
	X(why)                                                                                     \
	X(delay)                                                                                   \
	X(machine_time)                                                                            \
	X(level_time)                                                                              \
	X(cpu_time)                                                                                \
	X(container_time)                                                                          \
	X(process_time)                                                                            \
	X(thread_time)                                                                             \
	X(vcpu_time)                                                                               \
	X(hypervisor)                                                                              \
	X(exit_reason)                                                                             \
	X(exits)                                                                                   \
	X(exit_cause)                                                                              \
	X(exit_histogram)                                                                          \
	X(nesting)                                                                                 \
	X(preemption)                                                                              \
	X(preemption_victim)                                                                       \
	X(preemption_list)                                                                         \
	X(mark)                                                                                    \
	X(thread_delay)                                                                            \
	X(boot)                                                                                    \
	X(initcall)                                                                                \
	X(shutdown)                                                                                \
	X(vms)                                                                                     \
	X(vcpu_state)                                                                              \
	X(steal)                                                                                   \
	X(wait)                                                                                    \
	X(wait_list)                                                                               \
	X(wakeup)                                                                                  \
	X(wakeup_list)                                                                             \
	X(wakeup_histogram)                                                                        \
	X(wakeup_awake)                                                                            \
	X(wakeup_awake_list)                                                                       \
	X(io)                                                                                      \
	X(io_stage)                                                                                \
	X(io_list)                                                                                 \
	X(io_histogram)                                                                            \
	X(io_step)                                                                                 \
	X(clock)                                                                                   \
	X(gap)                                                                                     \
	X(refused)                                                                                 \
	X(left_out)                                                                                \
	X(problem)

static const struct analysis *const analyses[] = {
#define X(name) &name##_analysis,
	ANALYSES(X)
#undef X
};

/* The same list, as the public interface shows it. */
static const struct sonde_analysis *const public_list[] = {
#define X(name) &name##_analysis.public,
	ANALYSES(X)
#undef X
};

const struct sonde_analysis *const *sonde_analyses(unsigned *nr)
{
	*nr = ARRAY_SIZE(public_list);
	return public_list;
}

static const struct analysis *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(analyses); i++) {
		if (!strcmp(analyses[i]->public.name, name))
			return analyses[i];
	}
	return NULL;
}

int sonde_facts_get(struct sonde_facts **out, struct sonde_run *run, const char *name,
		    int64_t begin, int64_t end, struct sonde_error *err)
{
	const struct analysis *a = find(name);
	struct error inner = {0};
	int ret;

	*out = NULL;
	ret = a ? analysis_facts(out, run, a, begin, end, &inner)
		: fail(&inner, -ENOENT, "there is no table \"%s\"", name);
	return run_error(err, ret, &inner);
}
