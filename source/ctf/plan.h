/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_PLAN_H
#define SOURCE_CTF_PLAN_H

#include "base/map.h"
#include "source/ctf/class.h"
#include "events/event.h"

/*
 * Plans: how to decode each event class, worked out once when a trace is opened.
 *
 * A record is a row of steps.  Leading and in-between runs of fields with constant sizes are one
 * step: their wanted fields are loads at constant offsets.  Strings, sequences of plain elements
 * and everything else (left to the interpreter of walk.h) end a run.  Most kernel events are a
 * single run: their size is known, and one that nobody wants is skipped without a look.
 */
#define CTF_RUN_BYTES_MAX (1u << 24) /* a record with a longer run is left to the interpreter */

enum ctf_step_kind {
	CTF_STEP_RUN,	   /* len bytes, with loads */
	CTF_STEP_ALIGN,	   /* to len bytes, counted from the packet */
	CTF_STEP_STRING,   /* up to the NUL; slot takes its address */
	CTF_STEP_SEQUENCE, /* regs[reg] elements of len bytes */
	CTF_STEP_WALK,	   /* whatever fc is */
};

/*
 * One wanted field: eight bytes at @offset hold it.
 * value = (((bytes, swapped when big) >> shift) & mask) ^ sign) - sign
 */
struct ctf_load {
	uint64_t mask;
	uint64_t sign;	 /* sign bit; 0 for unsigned */
	uint32_t offset; /* bytes from the run's begin */
	uint8_t shift;
	bool big;
	bool address; /* the value is where the field is: text */
	uint8_t to;   /* argument slot; or register */
};

struct ctf_step {
	uint8_t kind;
	int8_t slot; /* STRING; -1 none */
	int16_t reg;
	uint32_t len;
	uint16_t loads, nr_loads;	  /* into plan->loads: to argument slots */
	uint16_t reg_loads, nr_reg_loads; /* to registers; always needed */
	const struct ctf_fc *fc;	  /* WALK */
};

/*
 * A quick record is one run, and all numbers wanted in it are little-endian: then every slot,
 * wanted or not, is filled by the same few instructions, without a branch. value = (((eight bytes
 * at @offset >> shift) & mask) ^ flip) - less.  A number that is loaded has its sign bit as @flip
 * and @less; for one that is always the same, the mask is 0 and it is in @flip.
 */
struct ctf_slot {
	uint64_t mask, flip, less;
	uint32_t offset, shift;
};

struct ctf_quick_text {
	uint32_t offset;
	uint32_t slot;
};

struct ctf_quick {
	struct ctf_slot slots[EVENT_ARGS];
	struct ctf_slot tid;
	struct ctf_quick_text texts[EVENT_ARGS];
};

struct ctf_plan {
	uint16_t kind;	 /* enum event_kind */
	uint16_t type;	 /* index into trace->types */
	bool fixed;	 /* one RUN only: steps[0] */
	bool walked;	 /* too odd for steps: the interpreter reads all of it */
	bool check_vcpu; /* argument 0 is a vCPU id that may be a pointer */
	bool has_tid;
	bool is_quick;
	uint8_t nr_texts;     /* of quick */
	uint32_t fixed_bytes; /* fixed: size of the record behind its header */
	uint16_t nr_steps;
	uint16_t nr_unset;   /* registers that the steps may leave as the event before had them */
	struct ctf_load tid; /* relative to the first step */
	int64_t defaults[EVENT_ARGS];
	const struct ctf_load *loads;
	const struct ctf_step *steps;
	const struct ctf_event_class *cls;
	struct ctf_quick quick;
};

/* An event id, with all that it takes to step over its record. */
enum ctf_id_state { CTF_ID_FREE, CTF_ID_USED, CTF_ID_FIXED };

struct ctf_id {
	uint32_t fixed_bytes; /* FIXED */
	uint16_t plan;	      /* index into plans */
	uint8_t kind;
	uint8_t state;
};

/* How to read event headers. */
enum ctf_header_kind {
	CTF_HEADER_COMPACT, /* LTTng: 5 bits id, 27 bits time; id 31: 32 bits id, 64 bits time */
	CTF_HEADER_LARGE,   /* LTTng: 16 bits id, 32 bits time; id 65535: 32 and 64 bits */
	CTF_HEADER_WALK,    /* anything else */
};

struct ctf_stream_plan {
	const struct ctf_stream_class *cls;
	enum ctf_header_kind header;
	bool bytewise;		/* records begin at bytes: steps may be used */
	uint32_t header_align;	/* bytes; bytewise only */
	bool self_contained;	/* one of LTTng's headers, and events refer to no field of the
				   packet's header or context: they can be read alone */
	bool context_is_packed; /* the context of all events is whole bytes, always the same
				   number, without alignment, and nothing refers to it */
	uint32_t context_bits;	/* ... of so many bits */
	struct ctf_id *by_id;	/* [nr_ids]; dense part */
	uint32_t nr_ids;
	struct map by_large_id; /* id to index into plans, for ids beyond the dense part */
	struct ctf_plan *plans;
	uint32_t nr_plans;
};

static inline const struct ctf_plan *ctf_plan_find(const struct ctf_stream_plan *s, uint64_t id)
{
	const uint32_t *index;

	if (likely(id < s->nr_ids))
		return s->by_id[id].state ? &s->plans[s->by_id[id].plan] : NULL;
	index = map_get(&s->by_large_id, id);
	return index ? &s->plans[*index] : NULL;
}

/* Makes the plan of stream class @cls and of its events.  @first_type: number of event types
 * before it; plan i is type first_type + i, in the order of the metadata.  0 or -ENOMEM. */
int ctf_plan_stream(struct ctf_stream_plan *out, const struct ctf_metadata *m,
		    const struct ctf_stream_class *cls, unsigned first_type, struct arena *a,
		    struct problems *problems);
void ctf_plan_release(struct ctf_stream_plan *s);

/* Of ctf_plan_stream(): how the headers of its events are read, and their context. */
void ctf_plan_header(struct ctf_stream_plan *out, const struct ctf_metadata *m);

/* From now on the argument in @slot of this plan's events is its default, not decoded. */
void ctf_plan_drop_slot(struct ctf_plan *plan, unsigned slot, int64_t value);

/* Decodes with the interpreter only; for tests that compare both. */
void ctf_plan_use_walk(struct ctf_stream_plan *s);

#endif
