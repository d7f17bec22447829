/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/throttle.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *event, *function;
} probes[] = {{"cpu_unthrottle", "tg_unthrottle_up"}, {"cpu_throttle", "tg_throttle_down"}};

/* Where the member lies in the structure, in bytes; -1 there is none that is whole bytes. */
static int offset_of(const struct btf *btf, const char *structure, const char *member)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off);

		if (name && !strcmp(name, member))
			return btf_member_bit_offset(type, i) % 8
				       ? -1
				       : (int)(btf_member_bit_offset(type, i) / 8);
	}
	return -1;
}

/* What the probes read: task_group *, rq * are the functions' arguments. */
static int print_arguments(char *out, size_t room)
{
	static const char *const members[][2] = {{"task_group", "css"},
						 {"cgroup_subsys_state", "cgroup"},
						 {"cgroup", "kn"},
						 {"kernfs_node", "id"},
						 {"rq", "cpu"}};
	struct btf *btf = btf__load_vmlinux_btf();
	int at[ARRAY_SIZE(members)];
	bool found = true;

	if (!btf)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		at[i] = offset_of(btf, members[i][0], members[i][1]);
		found &= at[i] >= 0;
	}
	btf__free(btf);
	if (!found)
		return -ENOENT;
	snprintf(out, room, "cgroup=+%d(+%d(+%d(%%di))):u64 cpu=+%d(%%si):s32", at[3], at[2],
		 at[0] + at[1], at[4]);
	return 0;
}

/* What is written is added to what is there: others have probes, too. */
static int define(int tracing_dir, const char *text)
{
	int fd = openat(tracing_dir, "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static bool is_there(int tracing_dir, const char *event)
{
	char path[64];

	snprintf(path, sizeof(path), "events/sonde/%s/enable", event);
	return !faccessat(tracing_dir, path, F_OK, 0);
}

int throttle_probes_add(int tracing_dir, struct error *err)
{
	char arguments[128], text[256];
	int ret = print_arguments(arguments, sizeof(arguments));

	if (ret)
		return fail(err, ret,
			    "this kernel's BTF does not tell where a task group's cgroup is");
	for (size_t i = 0; i < ARRAY_SIZE(probes) && !ret; i++) {
		if (is_there(tracing_dir, probes[i].event))
			continue;
		snprintf(text, sizeof(text), "p:sonde/%s %s %s\n", probes[i].event,
			 probes[i].function, arguments);
		ret = define(tracing_dir, text);
		if (ret)
			fail(err, ret, "cannot probe %s(): %s", probes[i].function, strerror(-ret));
	}
	if (ret)
		throttle_probes_remove(tracing_dir);
	return ret;
}

void throttle_probes_remove(int tracing_dir)
{
	char text[64];

	for (size_t i = ARRAY_SIZE(probes); i--;) {
		snprintf(text, sizeof(text), "-:sonde/%s\n", probes[i].event);
		if (is_there(tracing_dir, probes[i].event))
			define(tracing_dir, text);
	}
}
