/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/first.h"

static unsigned add_attrs(const struct sonde_run *run, const char *const *names, unsigned nr_names,
			  uint32_t attrs[FIRST_ATTRS], unsigned nr)
{
	for (int64_t row = 0; row < sonde_nr_cpus(run); row++) {
		for (unsigned i = 0; i < nr_names && nr < FIRST_ATTRS; i++) {
			attrs[nr] = sonde_attr_of_cpu(run, row, names[i]);
			nr += attrs[nr] != SONDE_NO_ATTR;
		}
	}
	return nr;
}

unsigned first_attrs(const struct sonde_run *run, uint32_t attrs[FIRST_ATTRS])
{
	static const char *const cpu[] = {"runs"}, *const vcpu[] = {"state", "task"};
	unsigned nr = add_attrs(run, cpu, 1, attrs, 0);

	return add_attrs(run, vcpu, 2, attrs, nr);
}
