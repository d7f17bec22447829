/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_EVENTS_H
#define SOURCE_DAT_EVENTS_H

#include "base/text.h"
#include "source/dat/bytes.h"
#include "source/dat/format.h"

/*
 * A Linux kernel's own binary event records: common_type, common_pid and so on, then the fields, as
 * tracefs' format files place them.  trace.dat keeps them in pages, perf.data in samples; what is
 * here does not know which.
 */
#define DAT_LOAD_BYTES 8
#define DAT_STR_BYTES 16 /* what event.h promises of a string slot */
/* Fields of arguments end before that; no kernel has them further back. */
#define DAT_PLACE_MAX 4096

/*
 * How to decode one event type: canonical arguments from fixed places.  A number of 1 to 8 bytes is
 * loaded as the 8 bytes at its offset, and shifted: no branch on its size.
 */
struct dat_number {
	uint16_t offset;
	uint8_t slot;
	uint8_t shift; /* 64 minus its bits */
	uint8_t sign;  /* 1: sign-extend */
};

struct dat_text {
	uint16_t offset;
	uint8_t slot;
	uint8_t where; /* enum dat_where */
	uint16_t size; /* DAT_FIXED: bytes it has */
};

struct dat_plan {
	uint16_t type; /* index into trace->types */
	uint16_t kind;
	uint16_t min_len; /* a record shorter than this is broken */
	uint16_t reach;	  /* the loads touch so many bytes, of DAT_PLACE_MAX + DAT_LOAD_BYTES */
	uint8_t nr_numbers;
	uint8_t nr_texts;
	struct dat_number numbers[EVENT_ARGS];
	struct dat_text texts[2];
	int32_t otherwise[EVENT_ARGS];
};

/* What a clock of this name is; names as in tracefs' trace_clock. */
void dat_clock_kind(struct trace_clock *c);

/* Where a record has its common fields. */
struct dat_record_form {
	uint16_t type_offset;  /* common_type, 2 bytes */
	uint16_t tid_offset;   /* common_pid, 4 bytes */
	uint16_t flags_offset; /* common_flags, 1 byte; 0 there is none */
	uint16_t common_len;   /* a record holds at least that */
};

/* All event types of a trace. */
struct dat_events {
	struct trace *trace; /* its types are made here; takes the problems */
	struct arena *arena; /* names, layouts and plan_of_id are in it */
	bool swap;
	unsigned long_size; /* of the traced kernel */
	struct dat_record_form form;
	uint16_t *plan_of_id; /* by common_type, index into plans; plans[0] = unknown */
	uint32_t nr_ids;
	uint32_t last_id;	/* the largest that a format explains */
	struct dat_plan *plans; /* as many as types */
};

/*
 * Builds trace->types and the plans from the two tables of formats, as both files have them: a
 * count and that many texts with a u64 length each; and a count of systems, each a name and such a
 * table.  The first four members are set, the rest is zero.  trace->types are malloc'ed: with
 * dat_events_release() they go.
 */
int dat_events_init(struct dat_events *ev, struct bytes ftrace, struct bytes systems,
		    struct error *err);
void dat_events_release(struct dat_events *ev);

/* The plan for the record at @data, which has ev->form.common_len bytes at least. */
static inline const struct dat_plan *dat_plan_of(const struct dat_events *ev, const uint8_t *data,
						 bool swap)
{
	return &ev->plans[ev->plan_of_id[load16(data + ev->form.type_offset, swap)]];
}

/* Where the text of a slot is, or NULL when reading DAT_STR_BYTES or up to its NUL is not safe. */
static inline const uint8_t *dat_text_place(const struct dat_text *x, const uint8_t *data,
					    uint32_t len, bool swap)
{
	uint32_t from = x->offset;
	uint32_t size = x->size;

	if (x->where == DAT_REST) {
		size = len - from;
	} else if (x->where != DAT_FIXED) {
		uint32_t loc = load32(data + from, swap);

		from = (loc & 0xffff) + (x->where == DAT_REL_LOC ? from + 4 : 0);
		size = loc >> 16;
	}
	if (from > len || size > len - from)
		return NULL;
	if (size < DAT_STR_BYTES && !memchr(data + from, '\0', size))
		return NULL;
	return data + from;
}

/* The arguments of a record of @len bytes that has p->min_len; p->reach can be read. */
static inline __attribute__((always_inline)) void dat_event_args(struct event *e,
								 const struct dat_plan *p,
								 const uint8_t *data, uint32_t len,
								 const bool swap)
{
	for (unsigned i = 0; i < EVENT_ARGS; i++)
		e->arg[i] = p->otherwise[i];
	for (unsigned i = 0; i < p->nr_numbers; i++) {
		const struct dat_number *n = &p->numbers[i];
		uint64_t v = load64(data + n->offset, swap);
		uint64_t sign = (uint64_t)n->sign << (63 - n->shift);

		/* The number is at the low end in little-endian memory, else at the high. */
		if (swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
			v >>= n->shift;
		else
			v = v << n->shift >> n->shift;
		e->arg[n->slot] = (int64_t)((v ^ sign) - sign);
	}
	for (unsigned i = 0; i < p->nr_texts; i++)
		e->arg[p->texts[i].slot] =
			(int64_t)(uintptr_t)dat_text_place(&p->texts[i], data, len, swap);
}

/* The same near the end of what can be read: from a copy, for the loads reach too far. */
void dat_event_args_edge(struct event *e, const struct dat_plan *p, const uint8_t *data,
			 uint32_t len, bool swap);

/* The slow way to a record: any field by its name, and all of them as text. */
struct dat_record {
	const struct dat_layout *layout;
	const uint8_t *data;
	uint32_t len_bytes;
	bool swap;
};

/* See trace_event_field(). */
int dat_record_field(const struct dat_record *r, const char *name, struct field_value *out);

/* "name=value ..." of all but the common fields. */
void dat_record_print(const struct dat_record *r, struct text *t);

#endif
