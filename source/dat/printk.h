/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_PRINTK_H
#define SOURCE_DAT_PRINTK_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"

/*
 * trace_printk() with a constant format: the record ("bprint") has the format's address and the
 * arguments in binary, or ("bputs") only a text's address.  The file has the formats, a line each:
 *
 *	0xffffffff82a1b2c8 : "entered %s with %d\n"
 *
 * Arguments lie as the kernel's vbin_printf() puts them: numbers of 1, 2 and 4 bytes aligned to
 * their size, of 8 bytes to 4; strings, and pointers that it has printed already, as text up to a
 * NUL.
 */
struct dat_printk {
	struct map by_address; /* to index + 1 of texts */
	const char **texts;    /* in the arena */
	uint32_t nr;
};

/* 0 or -ENOMEM; lines that say something else are left out. */
int dat_printk_read(struct dat_printk *p, struct arena *arena, const char *lines, size_t len_bytes);
void dat_printk_release(struct dat_printk *p);

/* NULL when the file does not have it. */
const char *dat_printk_find(const struct dat_printk *p, uint64_t address);

/* Puts the text together.  What the arguments end before is left as the format has it. */
struct dat_printk_args {
	const uint8_t *data;
	uint32_t len_bytes;
	unsigned long_size;
	bool swap;
};

void dat_printk_put(struct text *t, const char *format, const struct dat_printk_args *args);

#endif
