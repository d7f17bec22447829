/* SPDX-License-Identifier: Apache-2.0 */

/*
 * container NAME -- PROGRAM ARGUMENT... [-- PROGRAM ARGUMENT...]...
 *
 * Runs programs in namespaces of their own (pid, mnt, uts, ipc, cgroup), as children of the first
 * process in there, with NAME as host name, a /proc that shows only them, and a cgroup NAME where
 * cgroups (v2) are mounted.  A program may be this one again, a container in a container; it then
 * needs another word than "--" between programs, any will do:
 *
 *	container outer -- spin --id 1 -- container inner + spin --id 2 + spin --id 3
 *
 * Ends when all programs have ended, with status 0 when all of them did with 0.  The line it prints
 * names the container's first process as seen from outside.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)
#define CGROUPS "/sys/fs/cgroup"
#define STACK_BYTES 262144

struct plan {
	const char *name;
	char **programs; /* the first separator, and what follows */
	int start[2];	 /* init begins when this pipe is closed */
};

static void die(const char *what)
{
	fprintf(stderr, "container: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(const char *name)
{
	/* Now that it is in its cgroup, which becomes the root of what it sees. */
	if (unshare(CLONE_NEWCGROUP))
		die("unshare(CLONE_NEWCGROUP)");
	if (sethostname(name, strlen(name)))
		die("sethostname");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("making mounts private");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		die("mounting /proc");
	prctl(PR_SET_NAME, "init");
	/* It goes when the one who started it goes, and with it the whole container. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Starts the program at @argv; returns where the next one begins. */
static char **start(char **argv, const char *separator)
{
	char **end = argv;
	pid_t child;

	while (*end && strcmp(*end, separator))
		end++;
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		*end = NULL;
		execvp(argv[0], argv);
		die(argv[0]);
	}
	return end;
}

static int init_main(void *arg)
{
	struct plan *plan = arg;
	int status, worst = 0;
	char c;

	close(plan->start[1]);
	if (read(plan->start[0], &c, 1) != 0)
		die("waiting for the start");
	enter(plan->name);
	for (char **next = plan->programs; *next && next[1];)
		next = start(next + 1, plan->programs[0]);
	while (wait(&status) > 0)
		if (status)
			worst = 1;
	return worst;
}

static void put_into_cgroup(const char *name, pid_t pid)
{
	char path[512];
	FILE *procs;

	if (access(CGROUPS "/cgroup.procs", W_OK))
		return;
	snprintf(path, sizeof(path), CGROUPS "/%s", name);
	if (mkdir(path, 0755) && errno != EEXIST)
		die(path);
	snprintf(path, sizeof(path), CGROUPS "/%s/cgroup.procs", name);
	procs = fopen(path, "w");
	if (!procs || fprintf(procs, "%d\n", (int)pid) < 0 || fclose(procs))
		die(path);
}

static unsigned long pid_namespace(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &st))
		die(path);
	return (unsigned long)st.st_ino;
}

int main(int argc, char **argv)
{
	struct plan plan;
	char *stack;
	int status;
	pid_t init;

	if (argc < 4) {
		fprintf(stderr,
			"usage: container NAME -- PROGRAM ARGUMENT... [-- PROGRAM...]...\n");
		return 2;
	}
	plan.name = argv[1];
	plan.programs = argv + 2;
	stack = malloc(STACK_BYTES);
	if (!stack || pipe(plan.start))
		die("stack and pipe");
	init = clone(init_main, stack + STACK_BYTES, NAMESPACES | SIGCHLD, &plan);
	if (init < 0)
		die("clone (it needs root)");
	printf("{\"at\":\"begin\",\"container\":\"%s\",\"pid\":%d,\"pid_ns\":%lu}\n", plan.name,
	       (int)init, pid_namespace(init));
	fflush(stdout);
	put_into_cgroup(plan.name, init);
	close(plan.start[1]);
	while (waitpid(init, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return status != 0;
}
