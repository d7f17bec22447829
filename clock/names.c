/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

#define BASE_BYTES 56 /* leaves room for a number */

/* Whose word a name is; who is later yields. */
enum rank { RANK_USER, RANK_MANIFEST, RANK_OWN, RANK_CONTESTED, RANKS };

/* Names become parts of paths. */
static void plain(char out[static BASE_BYTES], const char *name)
{
	snprintf(out, BASE_BYTES, "%.55s", name);
	for (char *p = out; *p; p++) {
		if (*p == '/')
			*p = '_';
	}
}

/* What a trace says that its machine is called; "" for a kernel that was never given a name. */
static const char *host_name(const struct candidate *c)
{
	const char *name = c->sample->trace->hostname;

	if (!*name)
		name = c->declared->hostname;
	return strcmp(name, "(none)") ? name : "";
}

/* A guest that was found within its host's trace brings its name along. */
static enum rank rank_of(const struct candidate *c)
{
	if (c->in->named)
		return RANK_USER;
	return c->in->name && *c->in->name && !c->in->because && !c->in->guessed ? RANK_MANIFEST
										 : RANK_OWN;
}

static void wanted_name(char out[static BASE_BYTES], const struct candidate *c)
{
	plain(out, c->in->name && *c->in->name ? c->in->name : host_name(c));
}

/* ---- a name for each --------------------------------------------------------------------------- */

struct taken_names {
	struct strings names;
	struct map numbers; /* name's id -> the last number that was tried behind it */
};

static uint32_t *find_name(const struct taken_names *t, const char *name)
{
	return map_get(&t->numbers, strings_find(&t->names, name, strlen(name)));
}

static int put_name(struct taken_names *t, const char *name, uint32_t number)
{
	uint32_t id = strings_put(&t->names, name, strlen(name));

	return id == UINT32_MAX ? -ENOMEM : map_put(&t->numbers, id, number);
}

static void release_names(struct taken_names *t)
{
	map_release(&t->numbers);
	strings_release(&t->names);
}

/* @base, with a number behind it, @least or more, where that is taken; -ENOMEM. */
static int take_name(char out[static MACHINE_NAME], struct taken_names *t, const char *base,
		     uint32_t least)
{
	const uint32_t *known = find_name(t, base);
	uint32_t number = known && *known > least ? *known : least;

	snprintf(out, MACHINE_NAME, number > 1 ? "%s-%u" : "%s", base, number);
	while (find_name(t, out))
		snprintf(out, MACHINE_NAME, "%s-%u", base, ++number);
	/* With a number it may stand for itself still. */
	if ((known || number == 1) && put_name(t, base, number))
		return -ENOMEM;
	return number > 1 ? put_name(t, out, 1) : 0;
}

static int choose_name(struct taken_names *t, struct candidate *c)
{
	char base[BASE_BYTES];

	wanted_name(base, c);
	return take_name(c->name, t, *base ? base : "machine", 1);
}

int names_choose(struct candidate *list, unsigned nr)
{
	struct taken_names t = {0};
	int ret = 0;

	for (enum rank rank = RANK_USER; rank < RANKS; rank++) {
		for (unsigned i = 0; i < nr && !ret; i++) {
			if (rank_of(&list[i]) == rank)
				ret = choose_name(&t, &list[i]);
		}
	}
	release_names(&t);
	return ret;
}

/* ---- names against the hosts' lists ------------------------------------------------------------ */

struct claim {
	const struct placed *by;
	enum rank rank;
	char base[BASE_BYTES];		  /* "" none */
	const struct declared_vm *listed; /* as its parent lists it; NULL not known */
	char listed_as[BASE_BYTES];	  /* "" has no name there */
	const struct placed *not_of;	  /* lists another VM by this name */
};

/* The VM of its parent's list that it is: by its threads, which its events bear out, before its
 * own word. */
static const struct declared_vm *listing(const struct placed *p)
{
	const struct candidate *c = p->candidate;
	const struct declared *host = p->parent ? p->parent->candidate->declared : NULL;
	const struct declared_vm *vm = NULL;

	for (unsigned v = 0; host && v < p->machine->nr_vcpus && !vm; v++)
		vm = declared_vm_of_thread(host, p->machine->vcpus[v].host_tid);
	if (host && !vm && c->in->vm_pid > 0)
		vm = declared_vm_of_process(host, c->in->vm_pid);
	return vm || !host ? vm : c->vm;
}

static bool is_called(const struct declared_vm *vm, const char *base)
{
	char name[BASE_BYTES];

	plain(name, vm->name);
	return !strcmp(name, base);
}

/* What trace-cmd and what the recorder listed of one VM cannot be compared. */
static bool is_other_vm(const struct declared_vm *a, const struct declared_vm *b)
{
	return !a->trace_id == !b->trace_id && !declared_same_vm(a, b);
}

/* Who, of those above it, calls another VM than the one that leads to it by that name. */
static const struct placed *who_calls_another(const struct placed *p, const char *base)
{
	for (; p->parent; p = p->parent) {
		const struct declared *host = p->parent->candidate->declared;
		const struct declared_vm *own = listing(p);

		for (size_t i = 0; own && !is_called(own, base) && i < host->vms.nr; i++) {
			if (is_called(&host->vms.list[i], base) &&
			    is_other_vm(&host->vms.list[i], own))
				return p->parent;
		}
	}
	return NULL;
}

static void make_claim(struct claim *c, const struct placed *p)
{
	c->by = p;
	c->rank = rank_of(p->candidate);
	wanted_name(c->base, p->candidate);
	c->listed = listing(p);
	if (c->listed)
		plain(c->listed_as, c->listed->name);
	if (c->rank == RANK_OWN && *c->base)
		c->not_of = who_calls_another(p, c->base);
}

static bool is_above(const struct claim *a, const struct claim *b)
{
	for (const struct placed *p = b->by->parent; p; p = p->parent) {
		if (p == a->by)
			return true;
	}
	return false;
}

/* Traces of one machine have one host name, and rightly. */
static bool same_machine(const struct claim *a, const struct claim *b)
{
	const struct candidate *x = a->by->candidate, *y = b->by->candidate;

	return kin_share_clock(x->kin, x->index, y->index) ||
	       (a->listed && b->listed && a->by->parent == b->by->parent &&
		!is_other_vm(a->listed, b->listed));
}

/* Whether @c has to yield its name to @other. */
static bool yields_to(const struct claim *c, const struct claim *other)
{
	if (c == other || strcmp(c->base, other->base) || is_above(c, other) ||
	    same_machine(c, other))
		return false;
	return other->rank < RANK_OWN || is_above(other, c) ||
	       (c->listed && strcmp(c->listed_as, c->base));
}

static bool is_contested(const struct claim *c, const struct claim *list, unsigned nr)
{
	bool contested = c->not_of;

	for (unsigned i = 0; i < nr && !contested && c->rank == RANK_OWN && *c->base; i++)
		contested = yields_to(c, &list[i]);
	return contested;
}

/* The name that its host has for it, else its own, with a number where it is another's. */
static int give_name(char out[static MACHINE_NAME], struct taken_names *t, const struct claim *c)
{
	bool by_list = c->rank == RANK_CONTESTED && *c->listed_as;
	const char *base = by_list ? c->listed_as : *c->base ? c->base : "machine";

	return take_name(out, t, base, c->not_of && !by_list ? 2 : 1);
}

/* In the order in which names_choose() went through them. */
static int give_names(char (*names)[MACHINE_NAME], const struct claim *claims, unsigned nr)
{
	struct taken_names t = {0};
	int ret = 0;

	for (unsigned k = 0; !ret && k < RANKS * nr; k++) {
		unsigned i = 0;

		while (claims[i].by->candidate->index != k % nr)
			i++;
		if (claims[i].rank == (enum rank)(k / nr))
			ret = give_name(names[i], &t, &claims[i]);
	}
	release_names(&t);
	return ret;
}

static void tell(const struct claim *c, const struct claim *list, char (*names)[MACHINE_NAME],
		 struct problems *problems)
{
	const char *name = names[c - list];

	if (c->rank != RANK_CONTESTED)
		return;
	if (*c->listed_as && strcmp(c->listed_as, c->base))
		problems_add(problems,
			     "%s: its trace says that its host name is %s, but %s lists it as %s",
			     name, c->base, names[c->by->parent - list[0].by], c->listed_as);
	else if (c->not_of)
		problems_add(
			problems,
			"%s: its trace says that its host name is %s, but %s lists another VM as %s",
			name, c->base, names[c->not_of - list[0].by], c->base);
}

int names_settle(char (*names)[MACHINE_NAME], const struct placed *list, unsigned nr,
		 struct problems *problems)
{
	struct claim *claims = calloc(nr + 1, sizeof(*claims));
	bool *contested = calloc(nr + 1, sizeof(*contested));
	int changed = claims && contested ? 0 : -ENOMEM;

	for (unsigned i = 0; i < nr && !changed; i++)
		make_claim(&claims[i], &list[i]);
	for (unsigned i = 0; i < nr && !changed; i++)
		contested[i] = is_contested(&claims[i], claims, nr);
	for (unsigned i = 0; i < nr && changed >= 0; i++) {
		if (contested[i])
			claims[i].rank = RANK_CONTESTED;
	}
	if (!changed)
		changed = give_names(names, claims, nr);
	for (unsigned i = 0; i < nr && changed >= 0; i++) {
		tell(&claims[i], claims, names, problems);
		changed |= strcmp(names[i], list[i].machine->name) != 0;
	}
	free(contested);
	free(claims);
	return changed;
}
