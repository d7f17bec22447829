/* SPDX-License-Identifier: Apache-2.0 */
#include "record/guestmem/announce.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/tracers/hypercalls_sites.h"

#define CALLS "events/kvm/kvm_hypercall/"
#define EXITS "events/kvm/kvm_exit/"

/* All calls, not announcements alone: an exit is of the call behind it, whatever that is. */
static int set_up(struct announce *a, struct error *err)
{
	char by_hypercall[CALL_SITES_FILTER_BYTES];
	const struct {
		const char *file, *text;
	} settings[] = {{"buffer_size_kb", "256"},
			{EXITS "filter", by_hypercall},
			{EXITS "enable", "1"},
			{CALLS "enable", "1"}};
	int ret = instance_open(&a->instance, err);

	hypercall_exits_filter(by_hypercall);
	for (unsigned i = 0; i < ARRAY_SIZE(settings) && !ret; i++)
		ret = instance_set(&a->instance, settings[i].file, settings[i].text, err);
	if (ret)
		return ret;
	a->pipe = openat(a->instance.dir, "trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (a->pipe < 0)
		return fail(err, -errno, "cannot open %s/trace_pipe: %s", a->instance.path,
			    strerror(errno));
	return instance_switch(&a->instance, true, err);
}

int announce_open(struct announce *a, struct error *err)
{
	int ret;

	memset(a, 0, sizeof(*a));
	a->pipe = -1;
	ret = set_up(a, err);
	if (ret)
		announce_close(a);
	return ret;
}

void announce_close(struct announce *a)
{
	if (a->pipe >= 0)
		close(a->pipe);
	a->pipe = -1;
	instance_close(&a->instance, NULL);
}

/*
 *   CPU 0/KVM-166     [001] d..1.  59.123: kvm_exit: vcpu 0 reason vmmcall rip 0x... info1 0x...
 *   CPU 0/KVM-166     [001] d..1.  59.123: kvm_hypercall: nr 0x5352... a0 0x... a1 0x... a2 0x...
 * a3 0x...
 *
 * A thread's name may hold anything, but has no more than 15 bytes: its number is what stands
 * before the last " [CPU]" before the event.  0: there is none.
 */
static int tid_of(const char *line, const char *event, unsigned *on)
{
	const char *cpu = NULL;
	int tid;

	for (const char *p = line; (p = strstr(p, " [")) && p < event; p++)
		cpu = p;
	if (!cpu || sscanf(cpu, " [%u", on) != 1)
		return 0;
	while (cpu > line && *cpu == ' ')
		cpu--;
	while (cpu > line && cpu[-1] != '-')
		cpu--;
	return sscanf(cpu, "%d", &tid) == 1 && tid > 0 ? tid : 0;
}

/* The exit of one thread, first of its set; what stood last in the set is driven out, unless it was
 * the thread's own. */
static struct announce_exit *exit_first(struct announce *a, int tid)
{
	struct announce_exit *set = a->exits[(unsigned)tid % ANNOUNCE_EXIT_SETS];
	struct announce_exit own = {.tid = tid};
	unsigned i;

	for (i = 0; i < ANNOUNCE_EXIT_WAYS - 1 && set[i].tid != tid; i++)
		;
	if (set[i].tid == tid)
		own = set[i];
	memmove(set + 1, set, i * sizeof(*set));
	*set = own;
	return set;
}

static void note_exit(struct announce *a, const char *line, const char *event)
{
	const char *rip = strstr(event, " rip 0x");
	unsigned cpu = 0;
	int tid = tid_of(line, event, &cpu);
	struct announce_exit *x;

	if (!tid)
		return;
	x = exit_first(a, tid);
	x->cpu = cpu;
	x->rip = 0;
	if (rip && sscanf(rip, " rip 0x%" SCNx64, &x->rip) != 1)
		x->rip = 0;
}

/* An exit is of one hypercall, on its CPU: where the thread went to another one between, a later
 * exit may be among what that one lost, of which nothing tells yet. */
static enum ht_origin origin_of(struct announce *a, int tid, unsigned cpu)
{
	struct announce_exit *x = exit_first(a, tid);
	uint64_t rip = x->cpu == cpu ? x->rip : 0;

	x->rip = 0;
	return ht_origin_of_rip(rip);
}

static bool parse_call(const char *event, struct announcement *out)
{
	uint64_t nr, a0, a1, a2, a3;

	if (sscanf(event,
		   ": kvm_hypercall: nr 0x%" SCNx64 " a0 0x%" SCNx64 " a1 0x%" SCNx64
		   " a2 0x%" SCNx64 " a3 0x%" SCNx64,
		   &nr, &a0, &a1, &a2, &a3) != 5)
		return false;
	if (nr >> 48 != HT_ANNOUNCE_MAGIC || (nr >> 40 & 0xff) != HT_RING_VERSION ||
	    (nr >> 32 & 0xff) > HT_REGION_IN_DEVICE || !a2)
		return false;
	out->what = (enum ht_announcement)(nr >> 32 & 0xff);
	out->rings = (struct ring_announcement){
		.region = a0, .nonce = a2, .ring_bytes = (uint32_t)a3, .nr_rings = (uint32_t)nr};
	return true;
}

static bool note_call(struct announce *a, const char *line, const char *event,
		      struct announcement *out)
{
	unsigned cpu = 0;
	int tid = tid_of(line, event, &cpu);

	if (!tid)
		return false;
	out->tid = tid;
	out->origin = origin_of(a, tid, cpu);
	return parse_call(event, out);
}

bool announce_line(struct announce *a, const char *line, struct announcement *out)
{
	const char *event = strstr(line, ": kvm_hypercall: nr 0x");

	if (event)
		return note_call(a, line, event, out);
	event = strstr(line, ": kvm_exit: vcpu ");
	event = event ? event : strstr(line, ": kvm_exit: reason ");
	if (event)
		note_exit(a, line, event);
	else if (strstr(line, " [LOST ")) /* words: the kernel's.  Which exits were among them
					     nobody knows */
		memset(a->exits, 0, sizeof(a->exits));
	return false;
}

static bool next_line(struct announce *a, char *line, size_t room)
{
	char *end = memchr(a->text, '\n', a->used);
	size_t len;

	if (!end && a->used == sizeof(a->text)) /* no line of ours is so long */
		a->used = 0;
	if (!end)
		return false;
	len = (size_t)(end - a->text);
	snprintf(line, room, "%.*s", (int)len, a->text);
	a->used -= len + 1;
	memmove(a->text, end + 1, a->used);
	return true;
}

void announce_look(struct announce *a)
{
	a->lines = ANNOUNCE_LINES;
}

bool announce_next(struct announce *a, struct announcement *out)
{
	char line[512];
	ssize_t n;

	while (a->pipe >= 0) {
		while (a->lines && next_line(a, line, sizeof(line))) {
			a->lines--;
			if (announce_line(a, line, out))
				return true;
		}
		if (!a->lines)
			return false;
		n = read(a->pipe, a->text + a->used, sizeof(a->text) - a->used);
		if (n <= 0)
			return false;
		a->used += (size_t)n;
	}
	return false;
}
