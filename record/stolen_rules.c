/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stolen_rules.h"
#include "record/vms.h"

#include <string.h>
#include <strings.h>

bool stolen_may_listen(const struct stolen_rules *rules, const struct vm_info *vm)
{
	for (unsigned i = 0; i < rules->nr_vms && !rules->all_vms; i++) {
		const char *wanted = rules->vms[i];

		if (*wanted && (!strcmp(wanted, vm->name) || !strcasecmp(wanted, vm->uuid)))
			return true;
	}
	return rules->all_vms;
}

bool stolen_is_of_others(enum st_class kind)
{
	return kind != ST_HYPERVISOR;
}

void stolen_coarsen(const struct stolen_rules *rules, int64_t *begin_ns, int64_t *length_ns,
		    uint64_t *rest_ns)
{
	uint64_t step = rules->resolution_ns, all = *rest_ns + (uint64_t)*length_ns;

	*begin_ns -= *begin_ns % (int64_t)step;
	*length_ns = (int64_t)(all - all % step);
	*rest_ns = all % step;
}
