/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_TASKS_H
#define RECORD_HOST_TASKS_H

#include "base/strings.h"
#include "record/host/comms.h"
#include "record/host/state_line.h"

/* The inode of the first PID namespace: PROC_PID_INIT_INO in linux/proc_ns.h. */
#define FIRST_PIDNS 0xEFFFFFFCu

/*
 * State lines about threads, their PID namespaces and cgroups, read from /proc with few system
 * calls a thread: "stat" and "cgroup", and "status" only for those in a nested PID namespace.
 * A namespace or cgroup has its line before the first thread in it.
 */
struct task_walk {
	struct line *line;
	struct comms *comms;	/* takes every thread's name; NULL = nobody wants them */
	struct map namespaces;	/* inode numbers that have had their lines */
	struct strings cgroups; /* paths that have been seen ... */
	uint64_t *cgroup_ids;	/* ... their inode numbers (0 unknown), by id; owned */
	uint32_t nr_cgroup_ids;
	char cgroup_root[256]; /* mount point of the hierarchy; "" = none */
	char cgroup_mark[64];  /* how its lines in /proc/PID/cgroup can be told: ":cpu", "0:" */
	unsigned nr_tasks;     /* written */
};

/* 0 or -errno.  -ENOTSUP: this process lives in a PID namespace of its own, where TIDs are not
 * those of the trace. */
int task_walk_open(struct task_walk *w, struct line *line, struct comms *comms);

/* All threads, or those of one process. */
int task_walk_all(struct task_walk *w);
int task_walk_process(struct task_walk *w, int pid);
void task_walk_release(struct task_walk *w);

/* This program is in a PID namespace: numbers that the kernel's events have are not those that it
 * can use. */
bool in_pid_namespace(void);

#endif
