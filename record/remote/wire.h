/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_WIRE_H
#define RECORD_REMOTE_WIRE_H

#include "base/error.h"
#include "record/tracers/sink.h"

/*
 * The wire between `sonde record` and `sonde agent`: docs/formats/agent.md is the description of
 * it, this is its framing.  Nothing here reads or writes a file descriptor.
 *
 * A session begins with a greeting from the host's recorder (the caller) and one from the agent;
 * from then on both send frames: a header of 16 bytes and a payload.  All numbers are
 * little-endian.
 *
 * The parser is fed whatever arrived, in pieces of any size.  It keeps the greeting, headers and
 * the payloads of control frames (4096 bytes at most) until they are whole; the data of PART frames
 * is handed on as it comes, so a parser never holds more than a control frame.
 */
#define WIRE_VERSION 1
#define WIRE_NONCE_BYTES 16
#define WIRE_CALL_BYTES 32
#define WIRE_ANSWER_BYTES 48
#define WIRE_HEADER_BYTES 16
#define WIRE_CONTROL_MAX 4096	   /* payload of every frame but PART */
#define WIRE_PART_MAX (1u << 20)   /* payload of a PART frame */
#define WIRE_NUMBER_MAX 19999	   /* of a part: CPUs, files */
#define WIRE_MACHINES_MAX 64	   /* on one link, the agent's own included */
#define WIRE_DEPTH_MAX 8	   /* agents behind agents */
#define WIRE_STALE_MAX (64u << 20) /* of an earlier session, skipped before a greeting */

/* Flags of a greeting. */
#define WIRE_NEEDS_TOKEN 1u /* agent: it answers only to who has the token */

struct wire_greeting {
	uint16_t version;
	uint16_t flags;
	uint8_t caller_nonce[WIRE_NONCE_BYTES];
	uint8_t agent_nonce[WIRE_NONCE_BYTES]; /* not in a call */
};

void wire_put_call(uint8_t out[static WIRE_CALL_BYTES], const struct wire_greeting *g);
void wire_put_answer(uint8_t out[static WIRE_ANSWER_BYTES], const struct wire_greeting *g);

enum wire_type {
	/* from the caller */
	WIRE_AUTH = 1, /* proof of the token */
	WIRE_START,    /* record_options, limits, whether to relay guests */
	WIRE_STOP,     /* the agent's machine and all that it relays */
	WIRE_NOTE,     /* write another state block */
	WIRE_PING,
	/* from the agent */
	WIRE_HELLO = 16, /* proof of the token, identity */
	WIRE_MACHINE,	 /* one more machine: a guest of one that is known */
	WIRE_STARTED,	 /* tracing is on, in all machines that could; a MACHINE that comes after it
			    is one whose memory is read */
	WIRE_PART,	 /* bytes of a part */
	WIRE_FILE,	 /* the name of file @number */
	WIRE_DONE,	 /* everything of this machine was sent; cost */
	WIRE_PONG,
	WIRE_ERROR,  /* the session is over; why */
	WIRE_NOTICE, /* what is good to know of a recording */
};

struct wire_header {
	uint8_t type;
	uint8_t kind;	  /* enum sink_part of a PART */
	uint16_t machine; /* 0: the agent's own */
	uint32_t number;  /* of the part; else 0 */
	uint32_t len_bytes;
};

void wire_put_header(uint8_t out[static WIRE_HEADER_BYTES], const struct wire_header *h);

/* Who is at the other end decides which types and which greeting are right. */
enum wire_side { WIRE_FROM_CALLER, WIRE_FROM_AGENT };

/*
 * What the parser calls.  A return other than 0 stops it, and wire_parse() returns that; the
 * handler has then put its sentence into *err.
 */
struct wire_handler {
	int (*greeting)(void *data, const struct wire_greeting *g, struct error *err);
	/* A whole control frame. */
	int (*frame)(void *data, const struct wire_header *h, const uint8_t *payload,
		     struct error *err);
	/* A piece of a PART frame; h->len_bytes is the whole frame's, @len_bytes the piece's. */
	int (*part)(void *data, const struct wire_header *h, const uint8_t *piece, size_t len_bytes,
		    struct error *err);
};

struct wire_parser {
	const struct wire_handler *handler;
	void *data;
	enum wire_side from;
	/*
	 * Wanted before anything else.  WIRE_FROM_AGENT: an answer with this caller_nonce counts,
	 * others are left-overs (a virtio port has no sessions of its own) and are skipped.
	 */
	uint8_t nonce[WIRE_NONCE_BYTES];
	bool greeted;
	uint64_t skipped_bytes;
	struct wire_header header; /* of the frame being read, when have_header */
	bool have_header;
	uint32_t part_left;
	uint32_t have; /* bytes in buf */
	uint8_t buf[WIRE_CONTROL_MAX];
};

/* @nonce: the caller's own, for WIRE_FROM_AGENT; else NULL. */
void wire_parser_init(struct wire_parser *p, enum wire_side from, const uint8_t *nonce,
		      const struct wire_handler *handler, void *data);

/* 0, -EPROTO with what was wrong, or what a handler returned.  After an error the parser must not
 * be fed again. */
int wire_parse(struct wire_parser *p, const uint8_t *bytes, size_t len_bytes, struct error *err);

/* A frame's end has not come yet: a link that ends here was cut in the middle. */
static inline bool wire_parser_inside(const struct wire_parser *p)
{
	return p->have || p->have_header;
}

/* The name of a frame's type, for messages. */
const char *wire_type_name(unsigned type);

#endif
