/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/remote_targets.h"
#include "record/host/vms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct remote_target *add(struct remote_targets *t, const char *name, size_t len,
				 struct error *err)
{
	struct remote_target *target = &t->list[t->nr];

	if (t->nr == REMOTE_TARGETS_MAX) {
		fail(err, -E2BIG, "more than %u guests", REMOTE_TARGETS_MAX);
		return NULL;
	}
	memset(target, 0, sizeof(*target));
	snprintf(target->name, sizeof(target->name), "%.*s", (int)len, name);
	t->nr++;
	return target;
}

static int parse_tcp(struct link_target *link, const char *text, remote_resolve_fn resolve,
		     struct error *err)
{
	char host[sizeof(link->address)];
	int ret = link_split_address(text, host, sizeof(host), &link->port, err);

	link->kind = LINK_TCP;
	if (ret)
		return ret;
	if (!*host || !strcmp(host, "localhost"))
		snprintf(link->address, sizeof(link->address), "127.0.0.1");
	else if (resolve)
		return resolve(host, link->address, sizeof(link->address), err);
	else
		memcpy(link->address, host, sizeof(host));
	return 0;
}

static int parse_vsock(struct link_target *link, const char *text, struct error *err)
{
	const char *end;
	bool right = link_number(text, UINT32_MAX, &link->cid, &end);

	link->kind = LINK_VSOCK;
	link->port = LINK_VSOCK_PORT;
	if (right && *end == ':')
		right = link_number(end + 1, UINT32_MAX, &link->port, &end);
	if (!right || *end)
		return fail(err, -EINVAL, "\"%s\" is not CID or CID:PORT", text);
	return 0;
}

static int parse_link(struct link_target *link, const char *text, remote_resolve_fn resolve,
		      struct error *err)
{
	if (!strncmp(text, "tcp:", 4))
		return parse_tcp(link, text + 4, resolve, err);
	if (!strncmp(text, "vsock:", 6))
		return parse_vsock(link, text + 6, err);
	if (strncmp(text, "unix:", 5))
		return fail(err, -EINVAL,
			    "\"%s\" is none of tcp:ADDRESS:PORT, vsock:CID, "
			    "unix:PATH",
			    text);
	link->kind = LINK_SOCKET;
	if (snprintf(link->address, sizeof(link->address), "%s", text + 5) >=
	    (int)sizeof(link->address))
		return fail(err, -ENAMETOOLONG, "the path \"%s\" is too long", text + 5);
	return 0;
}

/* ---- VMs that are found -------------------------------------------------------------------- */

static void name_vm(const struct vm_info *vm, char *name, size_t room)
{
	if (*vm->name)
		snprintf(name, room, "%s", vm->name);
	else
		snprintf(name, room, "vm%d", vm->pid);
}

/* A VM that the user named with a link of its own is not to be recorded twice: @nr_told are such.
 * VMs that are found may share a name. */
static bool is_known(const struct remote_targets *t, unsigned nr_told, const char *name)
{
	for (unsigned i = 0; i < nr_told; i++) {
		if (!strcmp(t->list[i].name, name))
			return true;
	}
	return false;
}

static int add_vm(struct remote_targets *t, const struct vm_info *vm, const char *name,
		  struct error *err)
{
	struct remote_target *target = add(t, name, strlen(name), err);

	if (!target)
		return err ? err->code : -E2BIG;
	target->vm_pid = vm->pid;
	snprintf(target->vm_uuid, sizeof(target->vm_uuid), "%s", vm->uuid);
	target->nr_links = link_find(vm->pid, target->links);
	return 0;
}

/* All VMs, or those that are called @wanted. */
static int add_found(struct remote_targets *t, const char *wanted, struct error *err)
{
	struct vm_source source;
	struct vms vms;
	unsigned matched = 0, nr_told = t->nr;
	int ret;

	vm_source_open(&source);
	ret = vms_find(&source, &vms);
	vm_source_close(&source);
	if (ret)
		return fail(err, ret, "out of memory for the VMs of this machine");
	for (unsigned i = 0; i < vms.nr && !ret; i++) {
		char name[sizeof(t->list[0].name)];

		name_vm(&vms.list[i], name, sizeof(name));
		if (wanted && strcmp(name, wanted) && strcmp(vms.list[i].uuid, wanted))
			continue;
		matched++;
		if (wanted || !is_known(t, nr_told, name))
			ret = add_vm(t, &vms.list[i], name, err);
	}
	vms_release(&vms);
	if (!ret && wanted && !matched)
		return fail(err, -ENOENT, "there is no VM \"%s\" on this machine", wanted);
	return ret;
}

static int no_name(const char *spec, struct error *err)
{
	return fail(err, -EINVAL, "\"%s\" has no name before \"=\"", spec);
}

static int keep_name(const char *name, char *address, size_t room, struct error *err)
{
	(void)err;
	snprintf(address, room, "%s", name);
	return 0;
}

int remote_spec_check(const char *spec, struct error *err)
{
	const char *equals = strchr(spec, '=');
	struct link_target link;

	if (!*spec)
		return fail(err, -EINVAL, "\"\" names no guest");
	if (equals == spec)
		return no_name(spec, err);
	return equals ? parse_link(&link, equals + 1, keep_name, err) : 0;
}

int remote_targets_add(struct remote_targets *t, const char *spec, remote_resolve_fn resolve,
		       struct error *err)
{
	const char *equals = strchr(spec, '=');
	struct remote_target *target;

	if (!equals)
		return add_found(t, strcmp(spec, "all") ? spec : NULL, err);
	if (equals == spec)
		return no_name(spec, err);
	target = add(t, spec, (size_t)(equals - spec), err);
	if (!target)
		return err ? err->code : -E2BIG;
	target->nr_links = 1;
	target->needs_token = !strncmp(equals + 1, "tcp:", 4);
	return parse_link(&target->links[0], equals + 1, resolve, err);
}
