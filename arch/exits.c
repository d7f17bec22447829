/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/exits.h"

#include "arch/tables.h"

static const struct exit_numbers *const numbers[NR_ISAS] = {
	[ISA_VMX] = &vmx_exits,
	[ISA_SVM] = &svm_exits,
	[ISA_ARM64] = &arm64_exits,
};

/* A file may say any number: of reasons, and of ways to number them. */
static const struct exit_reason *find(int64_t isa, int64_t reason)
{
	const struct exit_numbers *n = isa > 0 && isa < NR_ISAS ? numbers[isa] : NULL;

	if (!n || reason < 0)
		return NULL;
	for (size_t i = 0; i < n->nr_ranges; i++) {
		const struct exit_range *range = &n->ranges[i];
		uint64_t at = (uint64_t)(reason & ~n->flags) - range->first;

		if (at < range->nr && range->reasons[at].name)
			return &range->reasons[at];
	}
	return NULL;
}

unsigned exit_means(int64_t reason, int64_t isa)
{
	const struct exit_reason *r = find(isa ? isa : ISA_SVM, reason);

	return r ? r->means : 0;
}

const char *exit_reason_name(int64_t isa, int64_t reason)
{
	const struct exit_reason *r = find(isa, reason);

	return r ? r->name : NULL;
}

/* An external interrupt (0x60), a halt (0x78), a nested page fault (0x400) ... */
enum exit_isa exit_isa_of_reason(int64_t reason)
{
	return reason >= 0x60 && reason <= 0x403 ? ISA_SVM : ISA_UNKNOWN;
}

int64_t exit_of_hypercall(enum exit_isa isa)
{
	return numbers[isa]->hypercall;
}
