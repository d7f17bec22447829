/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_SYMBOLS_H
#define SOURCE_SYMBOLS_H

#include "source/trace.h"

/*
 * Names of a kernel's functions by address, where its tracer stored them (trace.dat keeps
 * /proc/kallsyms).  The names point into the trace.
 */
struct symbols {
	const char *text;
	size_t len_bytes;
	struct symbol {
		uint64_t address;
		uint32_t at; /* of its line in the text */
	} * list;	     /* owned; by address */
	uint32_t nr;
};

/* Reads them all, once; not from several threads at a time.  0, also when there are none, or
 * -ENOMEM. */
int symbols_open(struct symbols *s, struct trace *t);
void symbols_release(struct symbols *s);

/* The name of the function that begins at @address, @len_bytes long; NULL. */
const char *symbols_find(const struct symbols *s, uint64_t address, size_t *len_bytes);

#endif
