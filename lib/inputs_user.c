/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/inputs_user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inputs_place.h"

static bool same_machine(const struct trace *a, const struct trace *b)
{
	static const uint8_t none[sizeof(a->clock.uuid)];

	return memcmp(a->clock.uuid, none, sizeof(none)) &&
	       !memcmp(a->clock.uuid, b->clock.uuid, sizeof(none)) && a->hostname[0] &&
	       !strcmp(a->hostname, b->hostname) && a->clock.kind == b->clock.kind &&
	       a->clock.freq_hz == b->clock.freq_hz;
}

/* Whose machine @user is of: a kernel's trace, else the first of user space. */
static const struct trace *find_owner(const struct inputs *in, const struct trace *user)
{
	const struct trace *first = NULL;

	for (unsigned i = 0; i < in->nr_traces; i++) {
		const struct trace *t = in->traces[i];

		if (!same_machine(t, user))
			continue;
		if (!t->user_space)
			return t;
		first = first ? first : t;
	}
	return first;
}

int inputs_set_users_apart(struct inputs *in)
{
	struct trace **users = calloc(in->nr_traces + 1, sizeof(*users));
	unsigned nr = 0, kept = 0;

	if (!users)
		return -ENOMEM;
	for (unsigned i = 0; i < in->nr_traces; i++) {
		struct trace *t = in->traces[i];
		const struct trace *owner = t->user_space ? find_owner(in, t) : NULL;

		if (owner && owner != t)
			users[nr++] = t;
	}
	for (unsigned i = 0, k = 0; i < in->nr_traces; i++) {
		if (k < nr && users[k] == in->traces[i])
			k++;
		else
			in->traces[kept++] = in->traces[i];
	}
	in->nr_traces = kept;
	in->users = users;
	in->nr_users = nr;
	return 0;
}

static bool span_of(const struct trace *t, uint64_t *from, uint64_t *to)
{
	*from = UINT64_MAX;
	*to = 0;
	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];

		if (!s->nr_packets)
			continue;
		*from = s->packets[0].begin < *from ? s->packets[0].begin : *from;
		*to = s->packets[s->nr_packets - 1].end > *to ? s->packets[s->nr_packets - 1].end
							      : *to;
	}
	return *from <= *to;
}

static bool overlap(const struct trace *a, const struct trace *b)
{
	uint64_t from_a, to_a, from_b, to_b;

	return span_of(a, &from_a, &to_a) && span_of(b, &from_b, &to_b) && from_a <= to_b &&
	       from_b <= to_a;
}

/* One host's kernel may have been traced twice: then the trace counts that has the same time. */
static struct trace *find_machine(const struct topology *t, const struct trace *user)
{
	struct trace *first = NULL;

	for (unsigned i = 0; i < t->nr_machines; i++) {
		struct trace *one = t->machines[i].trace;

		if (!one || !same_machine(one, user))
			continue;
		if (overlap(one, user))
			return one;
		first = first ? first : one;
	}
	return first;
}

static int leave_out(struct inputs *in, struct trace *user, const struct sonde_watcher *watcher)
{
	const char *why = "it is of user space, and what else there is of its machine is left out";
	int ret = inputs_note_left_out(in, user->hostname, user->path, why);

	watcher_notice(watcher, "%s (%s) is left out: %s", user->hostname, user->path, why);
	problems_add(&in->topology.problems, "%.150s is left out: %s", user->path, why);
	trace_release(user);
	return ret;
}

int inputs_attach_users(struct inputs *in, const struct sonde_watcher *watcher)
{
	int ret = 0;

	for (unsigned i = 0; i < in->nr_users && !ret; i++) {
		struct trace *user = in->users[i];
		struct trace *machine = find_machine(&in->topology, user);

		in->users[i] = NULL;
		if (!machine) {
			ret = leave_out(in, user, watcher);
			continue;
		}
		problems_note(&in->topology.problems,
			      "%.100s is of user space on the machine of %.100s: its events are "
			      "marks of that machine's threads",
			      user->path, machine->path);
		ret = trace_take(machine, user, NULL);
		if (ret)
			in->users[i] = user;
	}
	return ret;
}
