/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_CTF_STREAM_H
#define EXPORT_CTF_STREAM_H

#include "history/parts/bytes.h"

/*
 * A data stream of a CTF 1.8 trace: a file of packets, as export/ctf_metadata.c describes them.
 *
 *	ctf_event(&s, t, id);
 *	ctf_text(&s, "vm-a");
 *	ctf_i32(&s, 1);
 *	...
 *	ctf_close(&s, end);
 *
 * Events come in order of time.  A packet is written when it is full; its file is open only for as
 * long as that takes, since there is one for each CPU of each machine.  Errors come out of
 * ctf_close().
 */
enum ctf_class { CTF_CPU, CTF_VCPU, CTF_THREADS, CTF_LOST, CTF_NR_CLASSES };
enum ctf_event { CTF_RUNS, CTF_VCPU_STATE, CTF_THREAD_STATE, CTF_LOSS };

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_NAME_MAX 64

struct ctf_stream {
	const char *dir;	 /* not owned */
	char name[CTF_NAME_MAX]; /* of its file */
	enum ctf_class class;
	uint32_t cpu; /* CTF_CPU, CTF_VCPU: its number */
	ns_t origin;  /* subtracted from all times */
	struct bytes packet;
	uint64_t begin, last; /* of the packet's events */
	bool there;	      /* the file was made */
	int ret;
};

void ctf_event(struct ctf_stream *s, ns_t t, enum ctf_event id);

/* The event's fields, in the order of its class. */
void ctf_u8(struct ctf_stream *s, uint8_t value);
void ctf_i32(struct ctf_stream *s, int32_t value);
void ctf_i64(struct ctf_stream *s, int64_t value);
void ctf_text(struct ctf_stream *s, const char *text);

/* Its last packet lasts until @end.  A stream without events makes no file. */
int ctf_close(struct ctf_stream *s, ns_t end);

#endif
