/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stolen_rules.h"
#include "record/vms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define UUID_CHARS 36

static bool is_uuid(const char *text)
{
	for (unsigned i = 0; i < UUID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return !text[UUID_CHARS];
}

/* Who may choose a VM's name is not to get another's rights by its UUID. */
static bool is_meant(const char *wanted, const struct vm_info *vm)
{
	return is_uuid(wanted) ? !strcasecmp(wanted, vm->uuid)
			       : *wanted && !strcmp(wanted, vm->name);
}

bool stolen_may_listen(const struct stolen_rules *rules, const struct vm_info *vm)
{
	for (unsigned i = 0; i < rules->nr_vms && !rules->all_vms; i++) {
		if (is_meant(rules->vms[i], vm))
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
