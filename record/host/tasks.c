/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KTHREAD_FLAG 0x00200000u /* PF_KTHREAD in linux/sched.h */
#define LEVELS_MAX 64

/* What /proc/PID/stat tells. */
struct task {
	int tid, pid, ppid;
	char state;
	unsigned flags;
	char comm[64];
};

/*
 * Which hierarchy says who may use the CPU: that of the cpu controller of cgroup v1, else v2's.
 * mountinfo: "ID PARENT DEV ROOT POINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS"
 */
static void find_cgroups(struct task_walk *w)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		char point[256], type[32], options[256] = "";
		const char *dash = strstr(line, " - ");

		if (!dash || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
		    sscanf(dash, " - %31s %*s %255s", type, options) < 1)
			continue;
		if (!strcmp(type, "cgroup2") && !*w->cgroup_root) {
			snprintf(w->cgroup_root, sizeof(w->cgroup_root), "%s", point);
			snprintf(w->cgroup_mark, sizeof(w->cgroup_mark), "0::");
		}
		for (char *save, *o = strtok_r(options, ",\n", &save); o && !strcmp(type, "cgroup");
		     o = strtok_r(NULL, ",\n", &save)) {
			if (strcmp(o, "cpu"))
				continue;
			snprintf(w->cgroup_root, sizeof(w->cgroup_root), "%s", point);
			snprintf(w->cgroup_mark, sizeof(w->cgroup_mark), "cpu");
		}
	}
	if (file)
		fclose(file);
}

bool in_pid_namespace(void)
{
	struct stat own;

	return !stat("/proc/self/ns/pid", &own) && own.st_ino != FIRST_PIDNS;
}

int task_walk_open(struct task_walk *w, struct line *line, struct comms *comms)
{
	memset(w, 0, sizeof(*w));
	w->line = line;
	w->comms = comms;
	if (in_pid_namespace())
		return -ENOTSUP;
	find_cgroups(w);
	return 0;
}

/* Is "HIERARCHY:CONTROLLERS:PATH" of the one we want? */
static bool is_our_hierarchy(const struct task_walk *w, const char *line)
{
	const char *controllers = strchr(line, ':');

	if (!controllers)
		return false;
	if (w->cgroup_mark[0] == '0')
		return !strncmp(line, "0::", 3);
	for (const char *c = controllers + 1; *c && *c != ':'; c += strcspn(c, ",:")) {
		c += *c == ',';
		if (!strncmp(c, "cpu", 3) && (c[3] == ',' || c[3] == ':'))
			return true;
	}
	return false;
}

/* The number of a cgroup's directory; writes its line when it is new. */
static uint64_t cgroup_id(struct task_walk *w, const char *path)
{
	uint32_t index = strings_put(&w->cgroups, path, strlen(path));
	char dir[4400];
	struct stat st;

	if (index == UINT32_MAX)
		return 0;
	if (index >= w->nr_cgroup_ids) {
		uint32_t nr = index + 64;
		uint64_t *grown = reallocarray(w->cgroup_ids, nr, sizeof(*grown));

		if (!grown)
			return 0;
		memset(grown + w->nr_cgroup_ids, 0xff, (nr - w->nr_cgroup_ids) * sizeof(*grown));
		w->cgroup_ids = grown;
		w->nr_cgroup_ids = nr;
	}
	if (w->cgroup_ids[index] != UINT64_MAX)
		return w->cgroup_ids[index];
	snprintf(dir, sizeof(dir), "%s%s", w->cgroup_root, path);
	w->cgroup_ids[index] = stat(dir, &st) ? 0 : st.st_ino;
	if (w->cgroup_ids[index]) {
		line_begin(w->line, "cgroup");
		line_number(w->line, "id", w->cgroup_ids[index]);
		line_text(w->line, "path", path);
		line_end(w->line);
	}
	return w->cgroup_ids[index];
}

static uint64_t cgroup_of(struct task_walk *w, int task_dir, const char *tid)
{
	char file[64], text[8192];

	if (!*w->cgroup_root)
		return 0;
	snprintf(file, sizeof(file), "%.20s/cgroup", tid);
	if (read_small(task_dir, file, text, sizeof(text)) <= 0)
		return 0;
	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (is_our_hierarchy(w, line))
			return cgroup_id(w, strchr(strchr(line, ':') + 1, ':') + 1);
	}
	return 0;
}

/* Lines of the namespace behind @fd and of those around it that have none yet, outermost first.
 * Closes @fd.  Returns its level, or -1 when it cannot be seen. */
static int write_namespaces(struct task_walk *w, int fd)
{
	uint64_t inums[LEVELS_MAX];
	int depth = 0;

	while (fd >= 0 && depth < LEVELS_MAX) {
		struct stat st;
		int parent;

		if (fstat(fd, &st))
			break;
		inums[depth++] = st.st_ino;
		parent = st.st_ino == FIRST_PIDNS ? -1 : ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	if (!depth || inums[depth - 1] != FIRST_PIDNS)
		return -1;
	for (int i = depth - 1; i >= 0; i--) {
		if (map_get(&w->namespaces, inums[i]) || map_put(&w->namespaces, inums[i], 0))
			continue;
		line_begin(w->line, "pidns");
		line_number(w->line, "inum", inums[i]);
		line_number(w->line, "parent", i == depth - 1 ? 0 : inums[i + 1]);
		line_number(w->line, "level", (uint64_t)(depth - 1 - i));
		line_end(w->line);
	}
	return depth - 1;
}

/* The PID namespace of a process; 0 = it cannot be seen. */
static uint64_t namespace_of(struct task_walk *w, int pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &st))
		return 0;
	if (!map_get(&w->namespaces, st.st_ino))
		write_namespaces(w, open(path, O_RDONLY | O_CLOEXEC));
	return st.st_ino;
}

/* As events call a thread: the kernel adds to a worker's name what it works on
 * ("kworker/0:1-events"), and events have 15 bytes. */
static void name_as_in_events(struct task *t)
{
	char *colon = strchr(t->comm, ':');

	if (t->flags & KTHREAD_FLAG && !strncmp(t->comm, "kworker/", 8) && colon)
		colon[strcspn(colon, "-+")] = '\0';
	t->comm[COMM_BYTES - 1] = '\0';
}

/* "TID (COMM) STATE PPID PGRP SESSION TTY TPGID FLAGS ..."; COMM may hold anything. */
static bool parse_stat(char *text, struct task *t)
{
	char *open = strchr(text, '(');
	char *close = strrchr(text, ')');

	if (!open || !close || close < open)
		return false;
	*close = '\0';
	snprintf(t->comm, sizeof(t->comm), "%s", open + 1);
	if (sscanf(close + 1, " %c %d %*d %*d %*d %*d %u", &t->state, &t->ppid, &t->flags) != 3)
		return false;
	name_as_in_events(t);
	return true;
}

/* "NSpid:\t123\t4" with commas between the numbers. */
static void read_nstids(int task_dir, const char *tid, char *out, size_t room)
{
	char file[64], text[4096];
	char *p;
	size_t n = 0;

	*out = '\0';
	snprintf(file, sizeof(file), "%.20s/status", tid);
	if (read_small(task_dir, file, text, sizeof(text)) <= 0)
		return;
	p = strstr(text, "\nNSpid:\t");
	if (!p)
		return;
	for (p += 8; *p && *p != '\n' && n + 1 < room; p++)
		out[n++] = *p == '\t' ? ',' : *p;
	out[n] = '\0';
}

static void write_task(struct task_walk *w, const struct task *t, uint64_t pidns, uint64_t cgroup,
		       const char *nstids)
{
	struct line *l = w->line;
	char state[2] = {t->state, '\0'};

	line_begin(l, "task");
	line_signed(l, "tid", t->tid);
	line_signed(l, "pid", t->pid);
	line_signed(l, "ppid", t->ppid);
	line_text(l, "state", state);
	line_number(l, "kthread", !!(t->flags & KTHREAD_FLAG));
	if (pidns)
		line_number(l, "pidns", pidns);
	line_text(l, "nstids", nstids);
	if (cgroup)
		line_number(l, "cgroup", cgroup);
	line_text(l, "comm", t->comm);
	line_end(l);
	w->nr_tasks++;
}

/* A thread that is gone by now is no error. */
static int walk_thread(struct task_walk *w, int task_dir, const char *name, int pid,
		       uint64_t *pidns)
{
	char file[64], text[1024], nstids[256];
	struct task t = {.tid = atoi(name), .pid = pid};
	uint64_t cgroup;

	snprintf(file, sizeof(file), "%.20s/stat", name);
	if (read_small(task_dir, file, text, sizeof(text)) <= 0 || !parse_stat(text, &t))
		return 0;
	if (*pidns == UINT64_MAX)
		*pidns = namespace_of(w, pid);
	cgroup = cgroup_of(w, task_dir, name);
	if (!*pidns || *pidns == FIRST_PIDNS)
		snprintf(nstids, sizeof(nstids), "%s", *pidns ? name : "");
	else
		read_nstids(task_dir, name, nstids, sizeof(nstids));
	write_task(w, &t, *pidns, cgroup, nstids);
	return w->comms ? comms_put(w->comms, t.tid, t.comm) : 0;
}

int task_walk_process(struct task_walk *w, int pid)
{
	uint64_t pidns = UINT64_MAX; /* not asked yet */
	struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !ret && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			ret = walk_thread(w, dirfd(dir), entry->d_name, pid, &pidns);
	}
	if (dir)
		closedir(dir);
	return ret;
}

int task_walk_all(struct task_walk *w)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid > 0)
			ret = task_walk_process(w, pid);
	}
	closedir(dir);
	return ret;
}

void task_walk_release(struct task_walk *w)
{
	map_release(&w->namespaces);
	strings_release(&w->cgroups);
	free(w->cgroup_ids);
	*w = (struct task_walk){0};
}
