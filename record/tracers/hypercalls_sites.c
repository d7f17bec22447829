/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/hypercalls_sites.h"
#include "arch/exits.h"
#include "channel/hypercalls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOTHING "0" /* removes a filter */

/* Whether the place has been busy enough; counts. */
static bool is_busy(struct call_sites *s, uint64_t rip)
{
	struct call_site_seen *seen = &s->seen[(rip ^ rip >> 8 ^ rip >> 16) & 255];

	if (seen->rip != rip) {
		if (seen->calls && --seen->calls)
			return false;
		*seen = (struct call_site_seen){rip, 0};
	}
	return ++seen->calls >= CALL_SITES_ENOUGH;
}

/* A place in the list: a free one, or that of the one that was idle longest. */
static int find_place(const struct call_sites *s, uint64_t now_ns)
{
	int oldest = 0;

	if (s->nr < CALL_SITES_MAX)
		return (int)s->nr;
	for (int i = 1; i < CALL_SITES_MAX; i++) {
		if (s->used_ns[i] < s->used_ns[oldest])
			oldest = i;
	}
	return s->used_ns[oldest] + CALL_SITES_IDLE_NS < now_ns ? oldest : -1;
}

bool call_sites_take(struct call_sites *s, uint64_t rip, uint64_t now_ns, uint64_t *left)
{
	int place;

	*left = 0;
	for (unsigned i = 0; i < s->nr; i++) {
		if (s->rips[i] == rip) {
			s->used_ns[i] = now_ns;
			return false;
		}
	}
	if (!is_busy(s, rip))
		return false;
	place = find_place(s, now_ns);
	if (place < 0)
		return false;
	if ((unsigned)place < s->nr)
		*left = s->rips[place];
	else
		s->nr++;
	s->rips[place] = rip;
	s->used_ns[place] = now_ns;
	return true;
}

/* "!(BEFORE(FIELD == a || FIELD == b))" */
static void print_filter(const struct call_sites *s, const char *before, const char *field,
			 uint64_t add, char out[static CALL_SITES_FILTER_BYTES])
{
	size_t used;

	if (!s->nr) {
		strcpy(out, NOTHING);
		return;
	}
	used = (size_t)snprintf(out, CALL_SITES_FILTER_BYTES, "!(%s(", before);
	/* 16 of at most 4 + 9 + 4 + 18 bytes: always room */
	for (unsigned i = 0; i < s->nr; i++)
		used += (size_t)snprintf(out + used, CALL_SITES_FILTER_BYTES - used,
					 "%s%s == 0x%" PRIx64, i ? " || " : "", field,
					 s->rips[i] + add);
	snprintf(out + used, CALL_SITES_FILTER_BYTES - used, "))");
}

void call_sites_exit_filter(const struct call_sites *s, bool is_vmx,
			    char out[static CALL_SITES_FILTER_BYTES])
{
	char before[40];

	snprintf(before, sizeof(before), "exit_reason == %" PRId64 " && ",
		 exit_of_hypercall(exit_isa_of_x86(is_vmx)));
	print_filter(s, before, "guest_rip", 0, out);
}

void hypercall_exits_filter(char out[static CALL_SITES_FILTER_BYTES])
{
	snprintf(out, CALL_SITES_FILTER_BYTES,
		 "(isa == %d && exit_reason == %" PRId64
		 ") || (isa == %d && exit_reason == %" PRId64 ")",
		 ISA_SVM, exit_of_hypercall(ISA_SVM), ISA_VMX, exit_of_hypercall(ISA_VMX));
}

void call_sites_entry_filter(const struct call_sites *s, char out[static CALL_SITES_FILTER_BYTES])
{
	print_filter(s, "", "rip", HC_CALL_BYTES, out);
}
