/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_CLASS_H
#define SOURCE_CTF_CLASS_H

#include "base/arena.h"
#include "base/error.h"

/*
 * What CTF metadata says, in one form for both languages (CTF 1.8's TSDL, CTF 2's JSON).
 *
 * A field class is a tree: every use of a named type is a copy of its own, so that what is noted
 * in a node (where to save its value) is about one place in one record.  All of it lives in the
 * arena of the metadata, which bounds how much a hostile file can ask for.
 *
 * The life of the tree: a parser (tsdl.c, json.c) builds it with references by name;
 * ctf_metadata_finish() (finish.c) settles byte orders, alignments, roles and references; after
 * that only the planner writes to it (which argument slot a field fills), and then nobody does.
 *
 * Sizes, alignments and positions are in bits.  Positions count from the packet's first bit.
 */

#define CTF_METADATA_LIMIT (64u << 20)				/* bytes of metadata text */
#define CTF_ARENA_BYTES(len) ((16u << 20) + 64 * (size_t)(len)) /* what its tree may take */
#define CTF_MAX_DEPTH 32					/* of nested types */
#define CTF_MAX_STREAM_CLASSES 1024
#define CTF_MAX_ALIGN (1u << 16) /* bits */

enum ctf_kind {
	CTF_INT,    /* fixed length: integers, enumerations, booleans, bit arrays and maps */
	CTF_VARINT, /* LEB128 */
	CTF_FLOAT,  /* IEEE 754: 16, 32 or 64 bits */
	CTF_STRING, /* ends with a NUL */
	CTF_ARRAY,  /* length fixed, or in another field; text and blobs too */
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_OPTIONAL, /* one member, which may be absent */
};

enum ctf_order { CTF_ORDER_NATIVE, CTF_ORDER_LE, CTF_ORDER_BE };

enum ctf_text {
	CTF_TEXT_NONE,
	CTF_TEXT_UTF8,
	CTF_TEXT_UTF16LE,
	CTF_TEXT_UTF16BE,
	CTF_TEXT_UTF32LE,
	CTF_TEXT_UTF32BE
};

/* What a field of a header or a packet context means to the reader. */
enum ctf_role {
	CTF_ROLE_NONE,
	CTF_ROLE_MAGIC,
	CTF_ROLE_UUID,
	CTF_ROLE_STREAM_CLASS,
	CTF_ROLE_STREAM_INSTANCE,
	CTF_ROLE_CONTENT_BITS,
	CTF_ROLE_PACKET_BITS,
	CTF_ROLE_BEGIN,
	CTF_ROLE_END,
	CTF_ROLE_SEQ_NUM,
	CTF_ROLE_DISCARDED,
	CTF_ROLE_CPU,
	CTF_ROLE_EVENT_ID,
	CTF_ROLE_TIME,
	CTF_NR_ROLES
};

/* The records a field can belong to, in the order of decoding. */
enum ctf_scope {
	CTF_SCOPE_PACKET_HEADER,
	CTF_SCOPE_PACKET_CONTEXT,
	CTF_SCOPE_EVENT_HEADER,
	CTF_SCOPE_COMMON_CONTEXT,
	CTF_SCOPE_SPECIFIC_CONTEXT,
	CTF_SCOPE_PAYLOAD,
	CTF_NR_SCOPES
};

/* Saved values of length and selector fields while a record is read.  The first ones belong to
 * headers and packet contexts and live on from event to event. */
#define CTF_SHARED_REGS 64
#define CTF_REGS 256

/* Label of an enumeration, flag of a bit map, or selector range of an option.  Signed or unsigned
 * as the integer it is compared with. */
struct ctf_range {
	const char *label;
	uint64_t low, high;
};

/* A reference to a length or selector field, by name. */
struct ctf_path {
	const char **names;
	unsigned nr;
	int scope;   /* enum ctf_scope, or -1: relative to where the reference stands */
	unsigned up; /* relative: skip that many enclosing structures */
};

struct ctf_fc;
struct ctf_named;

struct ctf_member {
	const char *name; /* as people write it */
	const char *raw;  /* as the metadata writes it, for references */
	struct ctf_fc *fc;
	const struct ctf_range *ranges; /* options of a variant, presence of an optional */
	unsigned nr_ranges;
};

struct ctf_fc {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order; never native once finished */
	uint8_t text;  /* enum ctf_text; of an array: its bytes are text */
	uint8_t role;  /* enum ctf_role */
	uint8_t base;  /* preferred display base */
	bool is_signed;
	bool is_bool;
	bool is_bit_map; /* labels name ranges of bits, not of values */
	bool is_blob;	 /* array: bytes without structure */
	bool is_enum;
	bool bits_reversed; /* CTF 2 bit-order other than the byte order's usual one */
	bool ref_signed;    /* the selector is signed */
	bool passed;	    /* finish.c: references behind it may lead to it */
	int8_t slot;	    /* event argument it fills, CTF_SLOT_TID, or -1 */
	int16_t reg;	    /* where to save its value, or -1 */
	int16_t ref_reg;    /* where length or selector was saved, or -1 */
	uint16_t nr_refs;   /* lengths and selectors that refer to this field, or many */
	uint32_t align;	    /* a power of two */
	uint32_t size;	    /* of integers and floats */
	uint32_t nr_labels;
	uint32_t nr_members;
	const struct ctf_range *labels;
	struct ctf_member *members;	/* struct, variant, optional (one) */
	const struct ctf_named *by_raw; /* of many members, once settled; else NULL */
	struct ctf_fc *elem;		/* of arrays */
	const struct ctf_path *ref;	/* array length, selector; NULL = fixed length */
	uint64_t len;			/* of arrays of fixed length */
	const char *clock;		/* name of the clock that the value belongs to */
};

#define CTF_SLOT_TID 5
#define CTF_NR_SLOTS 6

struct ctf_clock {
	struct ctf_clock *next;
	const char *id; /* what streams call it */
	const char *name;
	const char *description; /* NULL when there is none */
	uint64_t freq_hz;
	int64_t offset_s;
	int64_t offset_cycles;
	bool has_offset;
	uint8_t uuid[16];
};

struct ctf_event_class {
	struct ctf_event_class *next;
	uint64_t id;
	uint64_t stream_id;
	bool has_stream_id;
	const char *name;
	const char *system; /* perf: "sched" of "sched:sched_switch", whose name is the rest; else
			       NULL */
	struct ctf_fc *context;
	struct ctf_fc *payload;
	unsigned line;	  /* in the metadata; 0 = not known */
	unsigned nr_regs; /* registers of its own */
	bool broken;	  /* a reference in it leads nowhere: its events cannot be read */
};

struct ctf_stream_class {
	struct ctf_stream_class *next;
	uint64_t id;
	const char *clock; /* CTF 2: its default clock */
	struct ctf_fc *packet_context;
	struct ctf_fc *event_header;
	struct ctf_fc *event_context;
};

struct ctf_env {
	struct ctf_env *next;
	const char *name;
	const char *text; /* NULL: it is a number */
	int64_t number;
};

struct ctf_metadata {
	struct arena arena;
	unsigned major;	      /* 1 or 2 */
	enum ctf_order order; /* native byte order */
	bool has_uuid;
	uint8_t uuid[16];
	struct ctf_fc *packet_header;
	struct ctf_clock *clocks; /* lists, in the order of the file */
	struct ctf_stream_class *streams;
	struct ctf_event_class *events;
	struct ctf_env *env;
	bool is_perf; /* perf data convert: the kernel's own names of events and fields */
};

/*
 * Reads the metadata in @data: plain text, packets of text in either byte order, or JSON
 * fragments.  What is wrong but leaves the rest usable goes to @problems.  @m is zeroed by the
 * caller and released with ctf_metadata_release(), also after a failure.
 */
int ctf_metadata_parse(struct ctf_metadata *m, const uint8_t *data, size_t len_bytes,
		       struct problems *problems, struct error *err);
void ctf_metadata_release(struct ctf_metadata *m);

/* The two languages.  @text ends with a NUL at @len. */
int ctf_tsdl_parse(struct ctf_metadata *m, const char *text, size_t len, struct problems *problems,
		   struct error *err);
int ctf_json_parse(struct ctf_metadata *m, const char *text, size_t len, struct problems *problems,
		   struct error *err);

/* Settles what names and defaults mean once everything is read. */
int ctf_metadata_finish(struct ctf_metadata *m, struct problems *problems, struct error *err);

const char *ctf_env_text(const struct ctf_metadata *m, const char *name);
bool ctf_env_number(const struct ctf_metadata *m, const char *name, int64_t *out);

/* LTTng-UST's: what processes recorded of themselves. */
bool ctf_is_user_space(const struct ctf_metadata *m);

/* A new node with the defaults of its kind; NULL when memory or the limit is out. */
struct ctf_fc *ctf_fc_new(struct arena *a, enum ctf_kind kind);

/* A copy of the whole tree. */
struct ctf_fc *ctf_fc_clone(struct arena *a, const struct ctf_fc *fc);

/* The member with this name (as people write it, or raw); NULL when there is none. */
const struct ctf_member *ctf_member_find(const struct ctf_fc *fc, const char *name);
const struct ctf_member *ctf_member_find_raw(const struct ctf_fc *fc, const char *raw);

/* The last one of this raw name among the first @upto members. */
const struct ctf_member *ctf_member_before(const struct ctf_fc *fc, const char *raw, unsigned upto);

/* Has the two calls above search by bisection, when there are many members.  0 or -ENOMEM. */
int ctf_members_sort(struct arena *a, struct ctf_fc *fc);

/* Is @value inside [low, high], as the signedness says? */
bool ctf_range_has(const struct ctf_range *r, uint64_t value, bool is_signed);

/* First label for the value of an enumeration; NULL when none names it. */
const char *ctf_label(const struct ctf_fc *fc, uint64_t value);

/* Text such as comm[16]: an array of bytes that is meant to be read as one string. */
static inline bool ctf_is_text_array(const struct ctf_fc *fc)
{
	return fc->kind == CTF_ARRAY && fc->text != CTF_TEXT_NONE;
}

/* "c4f30de6-0332-214e-8a69-64c19a96876b" to bytes; false when it is not that. */
bool ctf_uuid_parse(const char *text, uint8_t uuid[static 16]);

#endif
