/* SPDX-License-Identifier: Apache-2.0 */

/*
 * witness - says what is true on this machine now, for truth.json
 *
 *   witness clocks   per CPU: the cycle counter, CLOCK_MONOTONIC, the counter again,
 *                    CLOCK_REALTIME; the narrowest of many tries
 *   witness now      one line: cycle counter and CLOCK_MONOTONIC
 *   witness tasks    every thread of every program: ids at every namespace level, parent,
 *                    namespaces, affinity, control group, and which work of the scenario
 *                    it belongs to (LAB_WORK in its environment)
 *   witness vcpus    every virtual CPU of KVM, from its debugfs: thread, offset and scale of
 *                    its counter
 *
 * Times in cycles and nanoseconds.  One process that starts no others, so that a traced machine is
 * hardly disturbed.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define KVM_DEBUG "/sys/kernel/debug/kvm"

struct reading {
	uint64_t before, after; /* cycles */
	int64_t mono_ns, real_ns;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct reading read_clocks(void)
{
	struct reading best = {.after = UINT64_MAX};

	for (int i = 0; i < 200; i++) {
		struct reading r;

		_mm_lfence();
		r.before = __rdtsc();
		_mm_lfence();
		r.mono_ns = clock_ns(CLOCK_MONOTONIC);
		_mm_lfence();
		r.after = __rdtsc();
		r.real_ns = clock_ns(CLOCK_REALTIME);
		if (r.after - r.before < best.after - best.before)
			best = r;
	}
	return best;
}

static void say_clocks(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < cpus; cpu++) {
		struct reading r;
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) != 0)
			continue;
		r = read_clocks();
		printf("cpu %d tsc %" PRIu64 " mono_ns %" PRId64 " tsc_after %" PRIu64
		       " real_ns %" PRId64 "\n",
		       cpu, r.before, r.mono_ns, r.after, r.real_ns);
	}
}

/* Reads a small file; the text ends before its last newline. */
static const char *slurp(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t len = 0;

	if (file) {
		len = fread(text, 1, size - 1, file);
		fclose(file);
	}
	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return text;
}

/* The value of "KEY:" in the text of a status file, blanks made commas; "" when it is not there. */
static const char *field(const char *status, const char *key, char *value, size_t size)
{
	char start[32];
	const char *at;
	size_t len = 0;

	snprintf(start, sizeof(start), "\n%s:", key);
	at = strstr(status, start);
	if (at)
		at += strlen(start) + strspn(at + strlen(start), " \t");
	for (; at && at[len] && at[len] != '\n' && len < size - 1; len++)
		value[len] = isspace((unsigned char)at[len]) ? ',' : at[len];
	value[len] = '\0';
	return value;
}

static ino_t namespace_of(const char *pid, const char *kind)
{
	char path[320];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, kind);
	return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* The work that a process belongs to; "-" for none. */
static const char *work_of(const char *pid, char *id, size_t size)
{
	static const char key[] = "LAB_WORK=";
	char path[320], environment[8192];
	size_t len = 0;
	FILE *file;

	snprintf(id, size, "-");
	snprintf(path, sizeof(path), "/proc/%.12s/environ", pid);
	file = fopen(path, "r");
	if (!file)
		return id;
	len = fread(environment, 1, sizeof(environment) - 1, file);
	environment[len] = '\0';
	fclose(file);
	for (const char *at = environment; at < environment + len; at += strlen(at) + 1)
		if (strncmp(at, key, strlen(key)) == 0)
			snprintf(id, size, "%s", at + strlen(key));
	return id;
}

static void say_task(const char *pid, const char *tid)
{
	char path[320], status[8192], cgroup[512], comm[64];
	char parent[16], ids[128], group_ids[128], cpus[128], work[16], *line;

	snprintf(path, sizeof(path), "/proc/%.12s/task/%.12s/status", pid, tid);
	if (!*slurp(path, status, sizeof(status)))
		return;
	snprintf(path, sizeof(path), "/proc/%.12s/cgroup", pid);
	slurp(path, cgroup, sizeof(cgroup));
	line = strrchr(cgroup, '\n'); /* the unified hierarchy is the last, here the only one */
	snprintf(path, sizeof(path), "/proc/%.12s/task/%.12s/comm", pid, tid);
	slurp(path, comm, sizeof(comm));
	printf("work %s pid %s tid %s ppid %s nspid %s nstgid %s pid_ns %ju mnt_ns %ju cpus %s "
	       "cgroup %s comm %s\n",
	       work_of(pid, work, sizeof(work)), pid, tid,
	       field(status, "PPid", parent, sizeof(parent)),
	       field(status, "NSpid", ids, sizeof(ids)),
	       field(status, "NStgid", group_ids, sizeof(group_ids)),
	       (uintmax_t)namespace_of(pid, "pid"), (uintmax_t)namespace_of(pid, "mnt"),
	       field(status, "Cpus_allowed_list", cpus, sizeof(cpus)), line ? line + 1 : cgroup,
	       comm);
}

/* Calls visit(directory's argument, name) for each name in a directory that begins like `prefix`.
 */
static void each(const char *path, const char *prefix, void (*visit)(const char *, const char *),
		 const char *argument)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*prefix ? strncmp(entry->d_name, prefix, strlen(prefix)) == 0
			    : isdigit((unsigned char)*entry->d_name))
			visit(argument, entry->d_name);
	if (dir)
		closedir(dir);
}

/* Of threads of the kernel, which are no programs, nothing is said. */
static void say_process(const char *unused, const char *pid)
{
	char path[320], program;

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%.12s/exe", pid);
	if (readlink(path, &program, 1) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%.12s/task", pid);
	each(path, "", say_task, pid);
}

static void say_vcpu(const char *vm, const char *vcpu)
{
	static const char *const keys[] = {"pid", "tsc-offset", "tsc-scaling-ratio",
					   "tsc-scaling-ratio-frac-bits"};
	char path[640], value[64];

	printf("vm %s %s", vm, vcpu);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(path, sizeof(path), KVM_DEBUG "/%s/%s/%s", vm, vcpu, keys[i]);
		slurp(path, value, sizeof(value));
		printf(" %s %s", keys[i], *value ? value : "-");
	}
	printf("\n");
}

static void say_vm(const char *unused, const char *vm)
{
	char path[320];

	(void)unused;
	snprintf(path, sizeof(path), KVM_DEBUG "/%s", vm);
	each(path, "vcpu", say_vcpu, vm);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "clocks") == 0)
		say_clocks();
	else if (strcmp(what, "now") == 0)
		printf("tsc %" PRIu64 " mono_ns %" PRId64 "\n", (uint64_t)__rdtsc(),
		       clock_ns(CLOCK_MONOTONIC));
	else if (strcmp(what, "tasks") == 0)
		each("/proc", "", say_process, NULL);
	else if (strcmp(what, "vcpus") == 0)
		each(KVM_DEBUG, "", say_vm, NULL);
	else
		return fprintf(stderr, "usage: witness clocks|now|tasks|vcpus\n"), 2;
	return 0;
}
