/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsonde/inputs/inputs_place.h"
#include "source/state_line.h"

#define BOOT_BYTES 16
#define LOOK_RECORDS 8192 /* of each stream: `sonde record` says it when tracing begins */

static bool stream_says_boot(struct stream *s, uint8_t out[BOOT_BYTES])
{
	struct event events[64];
	struct cursor c;
	bool found = false;
	unsigned nr;

	if (cursor_init(&c, s, 0, s->nr_packets, WANT(STATE_LINE), NULL))
		return false;
	c.records_left = LOOK_RECORDS;
	while (!found && (nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < nr && !found; i++) {
			struct state_line l;

			found = state_line_read(&l, s, &events[i]) && l.kind == STATE_BEGIN &&
				state_uuid(&l, "boot_id", out);
		}
	}
	cursor_release(&c);
	return found;
}

/* Which boot of its machine a trace is of: LTTng calls its clock after it. */
static bool boot_of(const struct trace *t, uint8_t out[BOOT_BYTES])
{
	static const uint8_t none[BOOT_BYTES];

	memcpy(out, t->clock.uuid, BOOT_BYTES);
	for (unsigned i = 0; i < t->nr_streams && !memcmp(out, none, BOOT_BYTES); i++) {
		if (!t->streams[i].trace->user_space)
			stream_says_boot(&t->streams[i], out);
	}
	return memcmp(out, none, BOOT_BYTES) != 0;
}

static bool same_machine(const struct trace *a, const struct trace *b)
{
	uint8_t boot_a[BOOT_BYTES], boot_b[BOOT_BYTES];

	return a->hostname[0] && !strcmp(a->hostname, b->hostname) &&
	       a->clock.kind == b->clock.kind && a->clock.freq_hz == b->clock.freq_hz &&
	       boot_of(a, boot_a) && boot_of(b, boot_b) && !memcmp(boot_a, boot_b, BOOT_BYTES);
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
	const char *why = "it is of user space, and its machine's other traces are left out";
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
