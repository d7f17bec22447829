/* SPDX-License-Identifier: Apache-2.0 */
#include "record/announce.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILTER_FILE "events/kvm/kvm_hypercall/filter"
#define ENABLE_FILE "events/kvm/kvm_hypercall/enable"

static int set_up(struct announce *a, struct error *err)
{
	char filter[96];
	int ret = instance_open(&a->instance, err);

	snprintf(filter, sizeof(filter), "nr >= 0x%x000000000000 && nr <= 0x%xffffffffffff",
		 HT_ANNOUNCE_MAGIC, HT_ANNOUNCE_MAGIC);
	if (!ret)
		ret = instance_set(&a->instance, "buffer_size_kb", "16", err);
	if (!ret)
		ret = instance_set(&a->instance, FILTER_FILE, filter, err);
	if (!ret)
		ret = instance_set(&a->instance, ENABLE_FILE, "1", err);
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
 *   CPU 0/KVM-166     [001] d..1.  59.123: kvm_hypercall: nr 0x5352... a0 0x... a1 0x... a2 0x...
 * a3 0x...
 *
 * A thread's name may hold anything, so its number is what stands before the last " [CPU]".
 */
bool announce_parse(const char *line, struct announcement *out)
{
	const char *event = strstr(line, ": kvm_hypercall: nr 0x"), *cpu = NULL, *p;
	uint64_t nr, a0, a1, a2, a3;

	for (p = line; event && (p = strstr(p, " [")) && p < event; p++)
		cpu = p;
	if (!cpu || sscanf(event,
			   ": kvm_hypercall: nr 0x%" SCNx64 " a0 0x%" SCNx64 " a1 0x%" SCNx64
			   " a2 0x%" SCNx64 " a3 0x%" SCNx64,
			   &nr, &a0, &a1, &a2, &a3) != 5)
		return false;
	if (nr >> 48 != HT_ANNOUNCE_MAGIC || (nr >> 40 & 0xff) != HT_RING_VERSION ||
	    (nr >> 32 & 0xff) > HT_REGION_IN_DEVICE || !a2)
		return false;
	while (cpu > line && *cpu == ' ')
		cpu--;
	while (cpu > line && cpu[-1] != '-')
		cpu--;
	if (sscanf(cpu, "%d", &out->tid) != 1 || out->tid <= 0)
		return false;
	out->what = (enum ht_announcement)(nr >> 32 & 0xff);
	out->rings = (struct ring_announcement){
		.region = a0, .nonce = a2, .ring_bytes = (uint32_t)a3, .nr_rings = (uint32_t)nr};
	return true;
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

bool announce_next(struct announce *a, struct announcement *out)
{
	char line[512];
	ssize_t n;

	while (a->pipe >= 0) {
		while (next_line(a, line, sizeof(line))) {
			if (announce_parse(line, out))
				return true;
		}
		n = read(a->pipe, a->text + a->used, sizeof(a->text) - a->used);
		if (n <= 0)
			return false;
		a->used += (size_t)n;
	}
	return false;
}
