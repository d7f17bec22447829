/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_FORMAT_H
#define SOURCE_DAT_FORMAT_H

#include "base/arena.h"
#include "source/trace.h"

/*
 * The text of a tracefs "format" file: an event's number and its fields with their places.
 *
 *	name: sched_switch
 *	ID: 316
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *		field:__data_loc char[] name;	offset:24;	size:4;	signed:0;
 *	print fmt: ...
 *
 * The print format is for people and is not read.  A damaged line is left out; the others count.
 */
enum dat_where {
	DAT_FIXED,    /* at its offset */
	DAT_REST,     /* from its offset to the end of the record: "[]" with size 0 */
	DAT_DATA_LOC, /* u32 at its offset: low 16 bits offset in the record, high 16 length */
	DAT_REL_LOC,  /* the same, but counted from the end of that u32 */
};

struct dat_field {
	const char *name;
	uint16_t offset;
	uint16_t size;	    /* bytes at @offset in the record */
	uint16_t elem_size; /* of an array; else @size */
	uint8_t where;	    /* enum dat_where */
	bool is_signed;
	enum field_class cls; /* INT, UINT, STRING, ARRAY or BLOB */
};

/* What event_type.reader points to, in this reader. */
struct dat_layout {
	struct dat_field *fields; /* the common_ ones first, as in the file */
	unsigned nr_fields;
	unsigned nr_common;
};

struct dat_format {
	const char *name;
	uint32_t id;
	const struct dat_layout *layout;
};

/*
 * Parses the @len_bytes of @text.  Names and layout live in @arena.  @long_size: of the traced
 * kernel.  0, -EINVAL when there is no name or number in it, -ENOMEM.
 */
int dat_format_parse(struct arena *arena, const char *text, size_t len_bytes, unsigned long_size,
		     struct dat_format *out);

/* One "field:" line, as above; -EINVAL when it is damaged, -ENOMEM.  For the header_page file,
 * too. */
int dat_field_parse(struct arena *arena, const char *line, size_t len_bytes, unsigned long_size,
		    struct dat_field *out);

/* The field of this name, or NULL. */
const struct dat_field *dat_field_find(const struct dat_layout *l, const char *name);

#endif
