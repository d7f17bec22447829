/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/cgroup.h"

#include "model/state/peers.h"
#include "model/identity/tid.h"
#include "source/state_line.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define ID_BITS 48 /* kernels count up from 1; what is larger is a lie */

uint32_t cgroup_get(struct machine_state *mc, uint64_t id)
{
	struct model *m = mc->model;
	uint64_t key = id | (uint64_t)mc->index << ID_BITS;
	const uint32_t *known = map_get(&m->by_cgroup, key);

	/* Else a guest's trace could name another machine's cgroups. */
	if (!id || id >> ID_BITS)
		return 0;
	if (known)
		return *known + 1;
	if (model_grow(m, (void **)&m->cgroups, m->nr_cgroups, &m->cgroups_room,
		       sizeof(*m->cgroups)))
		return 0;
	if (map_put(&m->by_cgroup, key, m->nr_cgroups)) {
		model_no_memory(m);
		return 0;
	}
	m->cgroups[m->nr_cgroups] = (struct cgroup){.machine = mc, .id = id, .path = ""};
	return ++m->nr_cgroups;
}

static uint64_t path_key(const struct machine_state *mc, const char *path, size_t len)
{
	return XXH3_64bits_withSeed(path, len, mc->model->secret + mc->index);
}

/* Of two with one path, the later one is there still. */
static void set_path(struct model *m, uint32_t row, const char *path)
{
	struct cgroup *c = row ? &m->cgroups[row - 1] : NULL;
	const char *copy;

	if (!c || *c->path)
		return;
	copy = arena_strdup(&m->arena, path);
	if (copy)
		c->path = copy;
	if (!copy || map_put(&m->by_cgroup_path, path_key(c->machine, path, strlen(path)), row))
		model_no_memory(m);
}

void cgroup_name(struct machine_state *mc, const struct state_line *l)
{
	struct model *m = mc->model;
	char path[STATE_LINE_BYTES];

	if (state_text(l, "path", path, sizeof(path)))
		set_path(m, cgroup_get(mc, state_uint(l, "id", 0)), path);
}

void cgroup_made(struct machine_state *mc, const struct event *e)
{
	const char *path = event_str(e, 2);

	if (path)
		set_path(mc->model, cgroup_get(mc, (uint64_t)e->arg[0]), path);
}

/* A process goes with all its threads, and is named by its first one; that one alone can go only
 * where threads are told apart, and those that stay have an event of their own then, or had one. */
void cgroup_attached(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[1], NULL);
	uint32_t cgroup;

	cgroup_made(mc, e);
	cgroup = cgroup_get(mc, (uint64_t)e->arg[0]);
	if (!th || !cgroup)
		return;
	if (th->pid == th->tid) {
		for (struct thread *other = peers_first(mc, PEERS_PROCESS, th->pid); other;
		     other = other->peers[PEERS_PROCESS].next) {
			if (other->cgroup == th->cgroup && other != th)
				other->cgroup = cgroup;
		}
	}
	th->cgroup = cgroup;
}

/* The path of the directory that @path is in is as long as this; the first one's is "/". */
static size_t above_len(const char *path)
{
	const char *last = strrchr(path, '/');

	return !last ? 0 : last == path ? 1 : (size_t)(last - path);
}

uint32_t cgroup_above(struct model *m, uint32_t cgroup)
{
	struct cgroup *c = &m->cgroups[cgroup - 1];
	size_t len = above_len(c->path);
	const struct cgroup *found;
	const uint32_t *row;

	if (c->above || !len || !c->path[1])
		return c->above;
	row = map_get(&m->by_cgroup_path, path_key(c->machine, c->path, len));
	found = row ? &m->cgroups[*row - 1] : NULL;
	if (found && found->machine == c->machine && strlen(found->path) == len &&
	    !memcmp(found->path, c->path, len))
		c->above = *row;
	return c->above;
}

/* ---- containers -------------------------------------------------------------------------------
 */

/* Part of a path that names a container: prefix, its id or name, suffix.  @above: what stands in
 * front of it; "x*": begins with x. */
struct rule {
	const char *above, *prefix, *suffix, *engine;
	bool is_id; /* 12 hexadecimal digits or more, of which 12 are shown, as engines do */
};

static const struct rule rules[] = {
	{NULL, "docker-", ".scope", "docker", true},
	{NULL, "libpod-", ".scope", "podman", true},
	{NULL, "cri-containerd-", ".scope", "kubepods", true},
	{NULL, "crio-", ".scope", "kubepods", true},
	{NULL, "lxc.payload.", "", "lxc", false},
	{NULL, "machine-", ".scope", "nspawn", false},
	{"docker", "", "", "docker", true},
	{"libpod_parent", "libpod-", "", "podman", true},
	{"lxc.payload", "", "", "lxc", false},
	{"lxc", "", "", "lxc", false},
	{"pod*", "", "", "kubepods", true},
};

#define ID_DIGITS 12

struct part {
	const char *text;
	size_t len;
};

static bool begins(struct part p, const char *with)
{
	return p.len >= strlen(with) && !memcmp(p.text, with, strlen(with));
}

static bool matches(struct part p, const char *pattern)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return p.len > len - 1 && !memcmp(p.text, pattern, len - 1);
	return p.len == len && !memcmp(p.text, pattern, len);
}

static bool is_id(struct part p)
{
	return p.len >= ID_DIGITS && strspn(p.text, "0123456789abcdef") >= p.len;
}

/* What the rule leaves of @p between prefix and suffix; false when it does not fit. */
static bool middle(const struct rule *r, struct part above, struct part p, struct part *out)
{
	size_t prefix = strlen(r->prefix), suffix = strlen(r->suffix);

	if ((r->above && !matches(above, r->above)) || p.len <= prefix + suffix ||
	    !begins(p, r->prefix) || memcmp(p.text + p.len - suffix, r->suffix, suffix))
		return false;
	*out = (struct part){p.text + prefix, p.len - prefix - suffix};
	return !r->is_id || is_id(*out);
}

/* libvirt's VMs are systemd's machines, too. */
static bool is_vm(const struct rule *r, struct part name)
{
	return !strcmp(r->engine, "nspawn") && (begins(name, "qemu") || begins(name, "lxc"));
}

static bool name_part(struct part above, struct part p, char *out, size_t room)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct part name;

		if (!middle(&rules[i], above, p, &name) || is_vm(&rules[i], name))
			continue;
		if (rules[i].is_id)
			name.len = ID_DIGITS;
		snprintf(out, room, "%s-%.*s", rules[i].engine, (int)name.len, name.text);
		return true;
	}
	return false;
}

/* The part of @path that ends at @end. */
static struct part last_part(const char *path, const char *end)
{
	const char *begin = end;

	while (begin > path && begin[-1] != '/')
		begin--;
	return (struct part){begin, (size_t)(end - begin)};
}

bool cgroup_container(const char *path, char *out, size_t room)
{
	const char *end = path + strlen(path);

	while (end > path) {
		struct part p = last_part(path, end), above = {path, 0};

		if (p.text > path)
			above = last_part(path, p.text - 1);
		if (p.len && name_part(above, p, out, room))
			return true;
		end = p.text > path ? p.text - 1 : path;
	}
	return false;
}
