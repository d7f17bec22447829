/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_DIRECTORY_RUN_H
#define RECORD_DIRECTORY_RUN_H

#include "record/tracers/recorder.h"

/*
 * A run directory and its manifest (docs/formats/run.md).
 *
 *	ret = run_create(&run, "run1", command, version, &err);    makes run1, locks it
 *	m = run_add_machine(run, "host0", NULL, &err);          makes run1/host0 known
 *	... folder_open(&sink, m->folder, ...), record, fill *m ...
 *	run_save(run, &err);                                    run.json as things stand now
 *	ret = run_join(run, &err);                              makes traces of what was recorded
 *	ret = run_end(run, &err);                               saves, gives to the owner
 *
 * The directory is locked (flock) while a recorder lives, so that nobody recovers what is still
 * being recorded.  One thread at a time.
 */
struct run_machine {
	char name[64];	   /* unique in the run; also its folder's */
	char parent[64];   /* "" for the host */
	char folder[4096]; /* path, from where the program was started */
	char tracer[16];   /* record_tracer_name() */
	char product_uuid[40];
	int vm_pid; /* the process of its parent that it is; 0 = not known */
	bool complete;
	char why[256];		 /* not complete: what happened */
	struct record_cost cost; /* its clock, too */
};

struct run;

/* -EEXIST: there is something at @path already.  -ENAMETOOLONG.  @command: the recorder's command
 * line; @version: its version. */
int run_create(struct run **out, const char *path, const char *command, const char *version,
	       struct error *err);

/*
 * A new machine; lives as long as the run.  @name is made fit for a folder's name, and unique.
 * The folder is not made yet: folder_open() does that.
 */
struct run_machine *run_add_machine(struct run *run, const char *name,
				    const struct run_machine *parent, struct error *err);

/* Writes run.json as things stand ("recording"). */
int run_save(struct run *run, struct error *err);

/* Joins what each machine recorded.  An error: not all could be joined, and these machines' structs
 * say so; what was recorded is there. */
int run_join(struct run *run, struct error *err);

/*
 * Writes the manifest ("complete", or "partial" when any machine is not) and, when sudo was used,
 * gives all files to who called it.  Frees @run, whatever it returns.
 */
int run_end(struct run *run, struct error *err);

/* Ends without a trace of it: removes all that is in the directory, and the directory if
 * run_create() made it. */
void run_abandon(struct run *run);

/*
 * Makes good what a killed recorder left at @path.  *@done: how many machines were joined; 0 is no
 * error.  -EBUSY: it is still being recorded.  -ENOENT: no run directory.
 * -EPROTONOSUPPORT: a later version of sonde made it.  Folders that are symbolic links are passed
 * over.
 */
int run_recover(const char *path, unsigned *done, struct error *err);

#endif
