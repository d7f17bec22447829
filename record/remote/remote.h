/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_REMOTE_H
#define RECORD_REMOTE_REMOTE_H

#include "record/remote/link.h"
#include "record/remote/link_find.h"
#include "record/remote/wire_auth.h"
#include "record/remote/wire_fields.h"

#include <stdatomic.h>

/*
 * Records guests through their agents: the recorder's end of all links.  One thread serves them
 * all.  Used by `sonde record` for the guests of its machine, and by an agent for the guests of
 * its own, whose recordings it relays.
 *
 *	remote_connect(&r, &opt, &err);    every agent has answered, or why not is known
 *	... start the own recorder ...
 *	remote_start(r);                   tracing is on in every guest that can
 *	...
 *	remote_stop(r);                    everything of every guest is in its sink, or time is up
 *	... stop the own recorder ...
 *	... remote_machine(r, i) tells how it went ...
 *	remote_close(r);
 *
 * A parent records before its guests start and until they have stopped: whatever a guest recorded,
 * the entries and exits of its vCPUs are there too.
 *
 * Nothing that comes from a guest is believed: lengths, numbers, names and amounts have limits, and
 * what breaks the protocol ends that link.  It costs that guest what had not come yet, and no
 * other guest anything.  A guest that is silent is not given up while it records (it may be
 * paused); only starting and stopping have time limits.
 */

/* A guest to record. */
struct remote_target {
	char name[128];				  /* as its host calls it */
	pid_t vm_pid;				  /* 0: not a VM of this machine, or not known */
	char vm_uuid[40];			  /* "" not known */
	struct link_target links[LINK_FOUND_MAX]; /* tried in this order */
	unsigned nr_links;
	bool needs_token; /* strangers could answer: the agent must prove the token */
};

/* A machine that is recorded, or should have been: a guest, or a guest's guest. */
struct remote_machine {
	char name[64];		       /* letters, digits, "-", "_"; unique in its parent */
	struct remote_machine *parent; /* NULL: a guest of this machine */
	struct wire_identity identity; /* as it says */
	pid_t vm_pid;		       /* in its parent; 0 not known */
	pid_t claimed_pid;	       /* ... by its own word alone; 0 none */
	struct sink *sink;	       /* while it is open */
	bool recorded;		       /* it had an agent that could record */
	bool early;		       /* it was over while recording went on */
	atomic_bool over;	       /* what there is to know is below, and stays */
	bool complete;
	char why[256];		 /* not recorded, or not complete: what happened */
	struct record_cost cost; /* as it says; bytes: counted here */
	void *user;
};

/* All are called in the thread of the remote, while remote_start() or remote_stop() waits, or in
 * between; never two at a time. */
struct remote_ops {
	/* Where @m's parts go: sets m->sink.  An error: @m is not recorded. */
	int (*open)(void *data, struct remote_machine *m, struct error *err);
	/* @m is over (also if it was never opened): nothing more comes into m->sink. */
	void (*done)(void *data, struct remote_machine *m);
	/* Optional: what is good to know of @m's recording and stops nothing. */
	void (*notice)(void *data, struct remote_machine *m, const char *text);
};

struct remote_options {
	const struct remote_target *targets;
	unsigned nr_targets;
	const struct wire_token *token; /* NULL: none */
	const struct remote_ops *ops;
	void *data;
	struct wire_request request; /* what to record; depth counts the levels below the targets */
	uint64_t link_limit_bytes;   /* of a target and its own guests together; 0: none */
	const char *own_boot_id;     /* an agent that has it is this machine's own, and refused;
					NULL: they are not compared */
	/* Optional: asked again and again, in the thread of the remote, while remote_connect() or
	 * remote_start() waits; true: they do not wait any longer for guests that are not there. */
	bool (*given_up)(void *data);
	unsigned timeout_ms; /* for an agent's answers; 0: REMOTE_TIMEOUT_MS */
};

#define REMOTE_TIMEOUT_MS 10000
#define REMOTE_TARGETS_MAX 256
/* Starting and stopping may take this many times as long, while the agent is alive. */
#define REMOTE_PATIENCE 12

struct remote;

int remote_connect(struct remote **out, const struct remote_options *opt, struct error *err);

/* Guests that could not be started are over when it returns. */
void remote_start(struct remote *r);

/* Asks all guests for another state block; waits for nothing. */
void remote_note(struct remote *r, const char *cause);

/* Stops all guests, the deepest first, and waits for what they still have; at most @limit_ms
 * (0: timeout_ms * REMOTE_PATIENCE). */
void remote_stop(struct remote *r, unsigned limit_ms);

/* How many guests are being recorded now, lost events and bytes of all: for a live display. */
void remote_progress(struct remote *r, unsigned *recording, uint64_t *events_lost, uint64_t *bytes);

/* Of a machine that is not over only its names may be looked at.
 * After remote_connect(): the direct guests, in the order of the targets; after remote_start():
 * all, a parent before its guests. */
unsigned remote_nr_machines(const struct remote *r);
struct remote_machine *remote_machine(struct remote *r, unsigned i);

/* The agent of this VM, one of the targets, is there. */
bool remote_has_agent(struct remote *r, pid_t vm);

/*
 * @m, whose link does not show which VM it is, says that it is this one: kept as its claimed_pid.
 * False: another guest that is recorded is that VM, by its link or because it said so first.
 */
bool remote_claim_vm(struct remote *r, struct remote_machine *m, pid_t vm);

/* Cuts all links (their agents stop tracing) and frees @r. */
void remote_close(struct remote *r);

/* "vm-a.vm-a-n" */
void remote_path(const struct remote_machine *m, char *out, size_t room);

#endif
