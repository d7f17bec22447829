/* SPDX-License-Identifier: Apache-2.0 */
#include "record/steal/stolen_rules.h"
#include "record/host/vms.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UUID_CHARS 36
#define PID_PREFIX "pid:"

static bool is_uuid(const char *text)
{
	for (unsigned i = 0; i < UUID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return !text[UUID_CHARS];
}

bool stolen_is_name(const char *text)
{
	const char *pid = text + strlen(PID_PREFIX);

	if (strncmp(text, PID_PREFIX, strlen(PID_PREFIX)))
		return *text;
	return *pid >= '1' && *pid <= '9' && strspn(pid, "0123456789") == strlen(pid);
}

/* Who may choose a VM's name is not to get another's rights by its UUID, or its process. */
static bool is_meant(const char *wanted, const struct vm_info *vm)
{
	if (is_uuid(wanted))
		return !strcasecmp(wanted, vm->uuid);
	if (!strncmp(wanted, PID_PREFIX, strlen(PID_PREFIX))) {
		char *end;

		return strtol(wanted + strlen(PID_PREFIX), &end, 10) == vm->pid && !*end;
	}
	return *wanted && !strcmp(wanted, vm->name);
}

/* Of two processes' VMs, or more. */
static bool means_two(const char *wanted, const struct vms *all, int pids[2])
{
	unsigned nr = 0;

	for (unsigned i = 0; i < all->nr && nr < 2; i++) {
		if (is_meant(wanted, &all->list[i]) && (!nr || all->list[i].pid != pids[0]))
			pids[nr++] = all->list[i].pid;
	}
	return nr == 2;
}

bool stolen_may_listen(const struct stolen_rules *rules, const struct vm_info *vm,
		       const struct vms *all)
{
	int pids[2];

	for (unsigned i = 0; i < rules->nr_vms && !rules->all_vms; i++) {
		if (is_meant(rules->vms[i], vm) && !means_two(rules->vms[i], all, pids))
			return true;
	}
	return rules->all_vms;
}

const char *stolen_ambiguous(const struct stolen_rules *rules, const struct vms *all, int pids[2])
{
	for (unsigned i = 0; i < rules->nr_vms && !rules->all_vms; i++) {
		if (means_two(rules->vms[i], all, pids))
			return rules->vms[i];
	}
	return NULL;
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
