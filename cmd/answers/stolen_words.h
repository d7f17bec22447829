/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_STOLEN_WORDS_H
#define CMD_ANSWERS_STOLEN_WORDS_H

#include "arch/exits.h"
#include "channel/stolen.h"

/* The class as JSON has it: "host", "other_vm", … */
const char *stolen_class(unsigned kind);

/* Whose reasons are told, by the flags of the record or board. */
static inline enum exit_isa isa_of(uint64_t flags)
{
	return exit_isa_of_x86(flags & ST_VMX);
}

/* By what, as people read it: "another VM", "hypervisor (NPF)". */
char *stolen_words(const struct st_record *r, enum exit_isa isa, char *buf, size_t room);

#endif
