/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_RECORD_GUESTS_H
#define CMD_RECORD_RECORD_GUESTS_H

#include "cmd/common/command.h"
#include "record/directory/run.h"

/*
 * The guests of sonde record: --guest and its companions.  Without --guest there are none, and every
 * function does nothing.
 *
 *	guests_connect()          before the host's recorder starts
 *	guests_start()            after it has
 *	guests_stop()             before it stops
 *	guests_print() or guests_json(), guests_close()
 */
struct guest_options {
	bool rings; /* what guests keep in memory, too */
	struct text_list guests;
	const char *token_file;
	const char *tracer;
	uint64_t limit_mb;
	uint64_t timeout_s;
	uint64_t depth;
};

/* Rows for an option table whose struct @type has a struct guest_options called @field. */
#define GUEST_OPTIONS(type, field)                                                                  \
	{0,                                                                                         \
	 "guest",                                                                                   \
	 OPTION_LIST,                                                                               \
	 offsetof(type, field.guests),                                                              \
	 "GUEST",                                                                                   \
	 "all",                                                                                     \
	 "record this guest, too: all, NAME, or NAME=tcp:HOST:PORT (sonde agent runs in it)",       \
	 0},                                                                                        \
		{0,                                                                                 \
		 "token-file",                                                                      \
		 OPTION_TEXT,                                                                       \
		 offsetof(type, field.token_file),                                                  \
		 "FILE",                                                                            \
		 NULL,                                                                              \
		 "the secret that guests' agents were given",                                       \
		 0},                                                                                \
		{0,                                                                                 \
		 "guest-tracer",                                                                    \
		 OPTION_CHOICE,                                                                     \
		 offsetof(type, field.tracer),                                                      \
		 "NAME",                                                                            \
		 "ftrace|hypertrace",                                                               \
		 "of agents: ftrace (default), or what the kernel module sonde_guest there sends",  \
		 0},                                                                                \
		{0,                                                                                 \
		 "guest-limit",                                                                     \
		 OPTION_NUMBER,                                                                     \
		 offsetof(type, field.limit_mb),                                                    \
		 "MB",                                                                              \
		 NULL,                                                                              \
		 "of each guest (default: 16384, but all together at most half of the free space)", \
		 0},                                                                                \
		{0,                                                                                 \
		 "guest-timeout",                                                                   \
		 OPTION_NUMBER,                                                                     \
		 offsetof(type, field.timeout_s),                                                   \
		 "SECONDS",                                                                         \
		 NULL,                                                                              \
		 "how long a guest may be silent when it starts and ends (default: 10)",            \
		 0},                                                                                \
	{                                                                                           \
		0, "guest-depth", OPTION_NUMBER, offsetof(type, field.depth), "N", NULL,            \
			"levels of guests to record (default: 8)", 0                                \
	}

struct guests;

/* EXIT_DONE, or one that is named cannot be meant; the user has been told. */
enum exit_code guests_check(const struct invocation *inv, const struct guest_options *opt);

/*
 * Greets the agents.  An error: a guest that was named cannot be recorded (of "all", it can be that
 * there are none).  *out is NULL when no guest is asked for.
 */
int guests_connect(struct guests **out, const struct invocation *inv,
		   const struct guest_options *opt, struct run *run, struct run_machine *host,
		   const struct record_options *record, struct error *err);

/* The most bytes that are taken from the memory of one VM: --guest-limit, or else a default that
 * leaves free space to others, as it is now. */
uint64_t guests_rings_limit(const struct invocation *inv, const struct guest_options *opt);

/* Tracing is on in all guests that can when it returns, and run.json knows them. */
/* The run is ours while it is locked; both take NULL. */
void guests_lock(struct guests *g);
void guests_unlock(struct guests *g);

void guests_start(struct guests *g);

/* The VM's agent has answered. */
bool guests_has_agent(struct guests *g, pid_t vm);

/* For a live display. */
void guests_progress(struct guests *g, unsigned *recording, uint64_t *bytes, uint64_t *events_lost);

/* Everything of every guest is in the run when it returns, or it is known why not. */
void guests_stop(struct guests *g);

/* After run_join(), while the run is there: a guest whose parts could not be joined is not
 * complete. */
void guests_joined(struct guests *g);

/* A line for each. */
void guests_print(struct guests *g, FILE *out);

/* "guests": [...] */
void guests_json(struct guests *g, struct json *j);

/* Also after an error, and of NULL. */
void guests_close(struct guests *g);

#endif
