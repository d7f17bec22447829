/* SPDX-License-Identifier: Apache-2.0 */
/* All analyses, by name. */
#include "analysis/rows.h"

#include <errno.h>
#include <string.h>

#define TABLES(X)                                                                                  \
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

static const struct table_def *const tables[] = {
#define X(name) &name##_table,
	TABLES(X)
#undef X
};

/* The same list, as the public interface shows it. */
static const struct sonde_table *const public_list[] = {
#define X(name) &name##_table.public,
	TABLES(X)
#undef X
};

const struct sonde_table *const *sonde_tables(unsigned *nr)
{
	*nr = ARRAY_SIZE(public_list);
	return public_list;
}

static const struct table_def *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (!strcmp(tables[i]->public.name, name))
			return tables[i];
	}
	return NULL;
}

int sonde_rows_get(struct sonde_rows **out, struct sonde_history *history, const char *name,
		   int64_t begin, int64_t end, struct sonde_error *err)
{
	const struct table_def *a = find(name);
	struct error inner = {0};
	int ret;

	*out = NULL;
	query_begin(history, a ? a->public.name : name);
	ret = a ? table_rows(out, history, a, begin, end, &inner)
		: fail(&inner, -ENOENT, "there is no table \"%s\"", name);
	ret = query_end(history, ret, &inner);
	if (ret) {
		sonde_rows_free(*out);
		*out = NULL;
	}
	return query_error(err, ret, &inner);
}
