/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_REMOTE_NAMES_H
#define RECORD_REMOTE_REMOTE_NAMES_H

#include "record/remote/remote.h"

/* Text that comes from guests, made fit for names, manifests and terminals. */

/* Every byte that is not printable ASCII becomes "?". */
void remote_clean_text(char *text);

/*
 * A machine's name from what its host calls it: letters, digits, "-" and "_" stay, others become
 * "_", and a number is added when one of @siblings with the same parent has it already.
 */
void remote_fit_name(char out[static 64], const char *wanted, const struct remote_machine *parent,
		     struct remote_machine *const *siblings, unsigned nr_siblings);

/* Whether @other, a guest that is recorded or may be, and is not @m, is VM @vm already. */
bool remote_is_vm(const struct remote_machine *other, const struct remote_machine *m, pid_t vm);

#endif
