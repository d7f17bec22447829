/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/remote_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64

void remote_clean_text(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

static bool is_plain(char c)
{
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || c == '-' || c == '_');
}

static bool is_taken(const char *name, const struct remote_machine *parent,
		     struct remote_machine *const *siblings, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (siblings[i]->parent == parent && !strcmp(siblings[i]->name, name))
			return true;
	}
	return false;
}

void remote_fit_name(char out[static NAME_BYTES], const char *wanted,
		     const struct remote_machine *parent, struct remote_machine *const *siblings,
		     unsigned nr_siblings)
{
	char base[NAME_BYTES - 8];
	size_t len = 0;

	for (; *wanted && len < sizeof(base) - 1; wanted++)
		base[len++] = is_plain(*wanted) ? *wanted : '_';
	base[len] = '\0';
	snprintf(out, NAME_BYTES, "%s", len ? base : "vm");
	for (unsigned i = 2; is_taken(out, parent, siblings, nr_siblings); i++)
		snprintf(out, NAME_BYTES, "%s-%u", len ? base : "vm", i);
}

void remote_path(const struct remote_machine *m, char *out, size_t room)
{
	size_t used;

	*out = '\0';
	if (m->parent)
		remote_path(m->parent, out, room);
	used = strlen(out);
	snprintf(out + used, room - used, "%s%s", used ? "." : "", m->name);
}

bool remote_is_vm(const struct remote_machine *other, const struct remote_machine *m, pid_t vm)
{
	/* What has ended without a recording was a VM without an agent. */
	if (other == m || (other->over && !other->recorded))
		return false;
	return other->vm_pid == vm || other->claimed_pid == vm;
}
