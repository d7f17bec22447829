/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_INSTANCE_H
#define RECORD_TRACERS_INSTANCE_H

#include "base/error.h"

struct tracefs_instance;

/*
 * An ftrace instance of our own: its buffers, events and options are no other tracer's, and no
 * other's are touched.  It is called "sonde-PID-START-N" (START: when the process began, field 22
 * of /proc/PID/stat), so that a later recorder can tell whose it is.
 *
 * When the process dies in any way, the kernel closes "free_buffer", and with the option
 * disable_on_free switches the tracing of the instance off and frees its memory.  What is left of
 * it, a directory, is removed by the next recorder: instance_clean().
 */
struct instance {
	struct tracefs_instance *tracefs;
	char name[64];
	char path[256];
	int dir;    /* descriptor of the instance's directory; the others, too, are open files */
	int marker; /* trace_marker, to write to */
	int tracing_on;
	int free_buffer;
};

/* Is there a tracefs that we may use?  0, -ENODEV or -EACCES, with what to do about it. */
int tracefs_usable(char *dir, size_t room, struct error *err);

/* A new instance with tracing off.  instance_close() releases it, also after a failure. */
int instance_open(struct instance *in, struct error *err);

/* Writes @value into a file of the instance. */
int instance_set(struct instance *in, const char *file, const char *value, struct error *err);

int instance_switch(struct instance *in, bool on, struct error *err);

/* Events lost on all CPUs so far: overwritten before they could be read, or dropped. */
uint64_t instance_lost(const struct instance *in);

/* Removes the instance.  Who reads from it must have closed its files. */
int instance_close(struct instance *in, struct error *err);

/* Removes the instances of recorders that are proven dead; returns how many. */
unsigned instance_clean(void);

#endif
