/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_WIRE_SEND_H
#define RECORD_REMOTE_WIRE_SEND_H

#include "record/remote/wire_fields.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * The sending half of a link, shared by threads: frames never mix.  The descriptor is non-blocking;
 * a sender waits while the other side is slower, and nothing is queued here: what a guest's
 * recorder cannot get rid of stays in the kernel's ring, which loses and counts.  When the link
 * took nothing for timeout_ms, or broke, or wire_sender_break() was called, the sender is dead:
 * every send from then on fails at once, since half a frame may have left.
 */
struct wire_sender {
	int fd; /* the caller's; must stay open until release */
	unsigned timeout_ms;
	pthread_mutex_t lock;
	int wake_fd;
	atomic_bool dead;
	atomic_uint_fast64_t sent_bytes;
};

int wire_sender_init(struct wire_sender *s, int fd, unsigned timeout_ms, struct error *err);
void wire_sender_release(struct wire_sender *s);

/* Any thread; those that wait in a send return -EPIPE. */
void wire_sender_break(struct wire_sender *s);

/* Bytes that are no frame: a greeting. */
int wire_send_bytes(struct wire_sender *s, const void *bytes, size_t len_bytes, struct error *err);

/* A frame; @payload has h->len_bytes. */
int wire_send(struct wire_sender *s, const struct wire_header *h, const void *payload,
	      struct error *err);

/* A control frame that is one message. */
int wire_send_message(struct wire_sender *s, enum wire_type type, uint16_t machine,
		      enum wire_message m, const void *value, struct error *err);

/* ERROR, with a sentence. */
int wire_send_error(struct wire_sender *s, const char *text);

#endif
