/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_WIRE_FIELDS_H
#define RECORD_REMOTE_WIRE_FIELDS_H

#include "record/tracers/recorder.h"
#include "record/remote/wire.h"

/*
 * What control frames say: structs here, lists of fields on the wire.  A field is a tag (2 bytes),
 * a length (2 bytes) and a value: a number of 8 bytes, or text without a NUL.  A reader skips tags
 * it does not know, and a tag that is missing leaves 0 or "": so a version may add fields.
 * docs/formats/agent.md lists the tags; wire_fields.c has the same list as tables.
 */
enum wire_message {
	WIRE_IDENTITY, /* struct wire_identity: in HELLO (behind the proof) and MACHINE */
	WIRE_REQUEST,  /* struct wire_request: in START */
	WIRE_COST,     /* struct wire_cost: in DONE */
	WIRE_TEXT,     /* struct wire_text: in ERROR, NOTE, FILE */
	WIRE_LIMIT,    /* struct wire_limit: in STOP */
	WIRE_LIFE,     /* struct wire_life: in PING and PONG */
	WIRE_MESSAGES
};

/* What is recorded of a machine. */
enum wire_content {
	WIRE_KERNEL, /* its kernel's trace */
	WIRE_BLOCKS, /* what it keeps in its memory for its host, as the host reads it (rings.h) */
};

struct wire_identity {
	char hostname[65];
	char product_uuid[40]; /* DMI system UUID, lower case; "" unknown */
	char boot_id[40];
	char release[80]; /* kernel */
	char sonde[24];	  /* version of the agent */
	uint64_t cpus;	  /* possible ones: CPU numbers are below it */
	char tracer[16];  /* "hypertrace": it records with that one, whatever is asked for; or "" */
	/* Only in MACHINE: */
	char name[80];	    /* as its host calls it */
	uint64_t parent;    /* number of the machine it runs in */
	uint64_t vm_pid;    /* its process in the parent */
	char no_agent[200]; /* why it will not be recorded; "": it is */
	uint64_t content;   /* enum wire_content */
};

struct wire_request {
	uint64_t tracer, purpose, buffer_kb;
	char clock[32];
	char events[3000];    /* with commas between them */
	uint64_t depth;	      /* how many levels of guests to relay; 0: none */
	uint64_t limit_bytes; /* of each machine */
	uint64_t timeout_ms;  /* for guests that are silent */
	uint64_t rings;	      /* 1: relay what guests keep in memory, too, whenever it is found */
};

struct wire_cost {
	struct record_cost cost;
	uint64_t complete;
	char why[256]; /* not complete: what happened */
};

struct wire_text {
	char text[512];
};

struct wire_limit {
	uint64_t stop_ms; /* after this long the caller waits no more */
};

struct wire_life {
	uint64_t number; /* of the PING; the PONG gives it back */
	uint64_t events_lost;
	uint64_t bytes; /* sent */
};

/*
 * Writes @value (the message's struct) into @out; returns the bytes used, always at most @room:
 * WIRE_CONTROL_MAX holds every message.  Fields that are 0 or "" are left out.
 */
size_t wire_pack(enum wire_message m, const void *value, uint8_t *out, size_t room);

/* Fills @value from the payload.  Text that is too long is cut.  -EPROTO when the list itself is
 * broken. */
int wire_unpack(enum wire_message m, const uint8_t *payload, size_t len_bytes, void *value,
		struct error *err);

#endif
