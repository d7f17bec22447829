/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_STOLEN_WORDS_H
#define CMD_ANSWERS_STOLEN_WORDS_H

#include "channel/stolen.h"

/* The class as JSON has it: "host", "other_vm", … */
const char *stolen_class(unsigned kind);

/* By what, as people read it: "another VM", "hypervisor (NPF)". */
char *stolen_words(const struct st_record *r, bool is_vmx, char *buf, size_t room);

#endif
