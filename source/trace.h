/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_TRACE_H
#define SOURCE_TRACE_H

#include "arch/arch.h"
#include "base/error.h"
#include "events/event.h"

/*
 * A trace: one kernel's events, as one tracer wrote them, whatever the file format.
 *
 *	struct trace *t;
 *	ret = trace_open(&t, "L0/trace.dat", &err);
 *	for each t->streams[i]:
 *		ret = cursor_init(&c, &t->streams[i], 0, t->streams[i].nr_packets, 0, &err);
 *		while ((n = cursor_next(&c, events, ARRAY_SIZE(events))) > 0)
 *			use events[0 .. n - 1];
 *		cursor_release(&c);
 *	trace_release(t);
 *
 * A trace is a set of streams (one per CPU and buffer); a stream is a sequence of packets (CTF
 * packets, ftrace sub-buffers or the like), each of which can be decoded on its own.  So a cursor
 * may run over any range of packets, and several threads may decode one trace at once, each with
 * cursors of its own: after trace_open() a trace is read-only, but for its problem list, which is
 * behind a lock (trace_problem()).
 *
 * Broken input: trace_open() fails only when nothing at all can be used.  All else becomes a
 * problem in the list, and lost time becomes an EV_LOST event in the stream.
 *
 * Lost time is an interval on a CPU in which nothing is known: from the last moment of which all
 * was recorded to the first one of which that is so again.  Its event stands between the last
 * event before and the first after, and has the time of its beginning, never a later one: whoever
 * believed the last state until the event came would prolong it through the hole.  A stream whose
 * end is missing ends with such an event: nobody knows until when.
 */

/* More than any Linux can have: a number above is a broken trace. */
#define TRACE_CPUS_MAX 8192

enum trace_format { TRACE_CTF, TRACE_DAT, TRACE_HYPER, TRACE_FOLDED, TRACE_PERF };

enum clock_kind {
	CLOCK_UNKNOWN,
	CLOCK_MONO,    /* CLOCK_MONOTONIC, nanoseconds */
	CLOCK_BOOT,    /* CLOCK_BOOTTIME */
	CLOCK_REAL,    /* wall clock */
	CLOCK_TSC,     /* raw cycle counter of the machine */
	CLOCK_LOCAL,   /* ftrace "local"/"global"/"perf": sched_clock(), nanoseconds */
	CLOCK_COUNTER, /* order only, no time */
};

struct trace_clock {
	enum clock_kind kind;
	char name[32];	   /* as in the file: "monotonic", "x86-tsc", ... */
	uint64_t freq_hz;  /* ticks per second; 0 = the file does not say */
	int64_t offset_ns; /* add to ticks-in-ns for the tracer's wall-clock time */
	bool offset_known;
	uint8_t uuid[16];    /* same uuid = same clock; all zero when there is none */
	int64_t shift_ticks; /* trace.dat TIME_SHIFT: the first of trace->shifts, not applied */
	bool shift_known;
};

/* How a field is stored is the reader's own business; this is what it means to a person. */
enum field_class {
	FIELD_INT,
	FIELD_UINT,
	FIELD_FLOAT,
	FIELD_ENUM,
	FIELD_STRING,
	FIELD_ARRAY,
	FIELD_STRUCT,
	FIELD_VARIANT,
	FIELD_BLOB
};

struct field_desc {
	const char *name; /* without the leading '_' of CTF */
	enum field_class cls;
};

struct event_type {
	const char *name;   /* the tracer's own: "kvm_x86_exit", "sched_switch" */
	uint64_t id;	    /* in the file */
	uint16_t kind;	    /* enum event_kind */
	int32_t syscall;    /* LTTng syscall_entry_x/syscall_exit_x: index into
			       trace->syscall_names; -1 else */
	const char *system; /* ftrace: "sched", "kvm"; "" else */
	const struct field_desc *fields;
	unsigned nr_fields;
	const void *reader; /* the reader's own decoding plan */
};

struct packet {
	uint64_t begin, end;   /* ticks; end may be 0 when only decoding can tell */
	uint64_t offset_bytes; /* in the stream's file */
	uint64_t len_bytes;
	uint64_t unpacked_bytes; /* 0: it is not packed */
	uint64_t lost;		 /* events lost just before this packet, or (CTF) during it;
				    UINT64_MAX = unknown number, but some */
};

struct trace;

/* Whether a stream has all that was recorded on its CPU since tracing began. */
enum stream_start { START_NOT_TOLD, START_WHOLE, START_MISSING };

struct stream {
	struct trace *trace;
	const char *path;   /* for messages */
	const char *buffer; /* trace.dat: name of the buffer instance; "" else */
	int cpu;	    /* -1 unknown */
	enum stream_start start;
	bool cut;	  /* its end is missing; without any packet: all of it */
	uint64_t read_to; /* ticks: its recorder had events that are no older; 0 not known */
	struct packet *packets;
	uint32_t nr_packets;
	const void *reader;
};

/* A loss, summed: for the result. */
struct trace_loss {
	uint64_t events;	/* known number of lost events */
	uint64_t unknown;	/* places where events were lost and nobody counted them */
	uint64_t packets;	/* packets missing by sequence number */
	uint64_t bytes_skipped; /* bytes of the file that could not be decoded */
	uint64_t headless;	/* streams whose first packet is not the first that there was */
};

/* What trace-cmd knew of a guest that it traced together with this host (trace.dat, GUEST). */
struct trace_guest {
	const char *name;
	uint64_t trace_id;	 /* of the guest's own trace file */
	const int32_t *vcpu_tid; /* host thread of each of the guest's CPUs, by CPU; -1 not told */
	unsigned nr_vcpus;
};

/*
 * How trace-cmd would correct this guest's times to its host's (trace.dat, TIME_SHIFT), one sample
 * of one CPU:  host = (guest * scaling >> fraction_bits) + offset, from tick @at on.
 */
struct trace_shift {
	int cpu;
	uint64_t at;
	int64_t offset;
	uint64_t scaling;
	unsigned fraction_bits;
};

/* A thread's name as the kernel remembered it when recording stopped. */
struct trace_comm {
	int32_t tid;
	const char *name;
};

struct trace_ops;

struct trace {
	enum trace_format format;
	const char *path;
	char **paths; /* owned: all that it is made of; the first is @path */
	unsigned nr_paths;
	char tracer[32];	    /* "lttng-modules 2.13.9", "trace-cmd 3.1.6" */
	char hostname[65];	    /* "" when the file does not say */
	char release[65];	    /* kernel release */
	enum arch arch;		    /* of that kernel's machine */
	unsigned nr_cpus_named;	    /* the last of nr_cpus: named by events, and without a stream,
				       which is among the problems (source/cover.h) */
	uint8_t uuid[16];	    /* of the trace; zero when none */
	uint64_t trace_id;	    /* trace.dat TRACEID; 0 when none */
	struct trace_guest *guests; /* trace.dat of a host: guests traced along with it */
	unsigned nr_guests;
	uint64_t peer_trace_id;	    /* trace.dat of a guest: its host's trace_id; 0 when none */
	struct trace_shift *shifts; /* trace.dat of a guest: towards that host */
	unsigned nr_shifts;
	struct trace_comm *comms; /* trace.dat CMDLINES */
	unsigned nr_comms;
	bool lttng;	      /* dialect: LTTng names and state numbers, else ftrace's */
	bool user_space;      /* of processes (LTTng-UST), not of a kernel: no event of it
				 says what a CPU does, and each is a mark */
	bool vcpu_id_unsound; /* kvm_entry.vcpu_id carries a pointer (lttng-modules on 6.1) */
	struct trace_clock clock;
	struct stream *streams;
	unsigned nr_streams;
	unsigned nr_cpus;
	struct event_type *types;
	unsigned nr_types;
	const char **syscall_names; /* LTTng: from event names; index = event_type.syscall.  NULL
				       for ftrace, where numbers are the architecture's */
	unsigned nr_syscall_names;
	struct trace_loss loss; /* final when every cursor is done */
	uint64_t excerpt_of;	/* ... as well: so many events its recorder counted, ... */
	uint64_t excerpt;	/* ... and so many, fewer, are there; both 0: not told */
	struct problems problems;
	uint64_t len_bytes; /* size of the event data on disk, for progress */
	const struct trace_ops *ops;
	void *reader;	      /* the reader's own, released by ops->release */
	struct trace **parts; /* owned: joined to this one; see trace_join() */
	unsigned nr_parts;
	struct stream *own_streams; /* without those of parts, when there are parts */
	unsigned nr_own_streams;
	struct event_type *own_types; /* the reader's, when trace_add_type() has made others */
	unsigned nr_own_types;
};

/* Opens a trace.dat or perf.data file, a directory that holds a CTF "metadata" file, or a file of a
 * guest's blocks (docs/formats/hypertrace.md). */
int trace_open(struct trace **out, const char *path, struct error *err);
void trace_release(struct trace *t);

/*
 * Opens directories that hold one CTF trace together: chunks of a rotated session, snapshots.  What
 * the first one's metadata says is true of all (trace_has_part()).  A CPU's files are one stream,
 * wherever they are; a packet that is in several is there once.  -EINVAL for several of another
 * format.  There may be no stream at all: trace_has_streams().
 */
int trace_open_parts(struct trace **out, const char *const *paths, unsigned nr, struct error *err);

/* 0; -ENODATA, and why, when there is nothing to read in a trace. */
int trace_has_streams(const struct trace *t, struct error *err);

/* @part is another part of the recording that @t is of (rotated, or divided by CPU), and all its
 * events are known to @t. */
bool trace_has_part(const struct trace *t, const struct trace *part);

/*
 * The streams of such a part become streams of @t, too, and it is released with it.  A stream's
 * trace stays the one that it was opened with.  -EINVAL when it is no part of @t; nothing has
 * changed then.
 */
int trace_join(struct trace *t, struct trace *part, struct error *err);

/* The same without a look at what they are: for readers that make @part fit. */
int trace_take(struct trace *t, struct trace *part, struct error *err);

/* Adds a type, for events that only a part has; what @type points to must live as long as @t.
 * Before anybody uses @t.  -ENOMEM; -EFBIG: there are as many as an event can name. */
int trace_add_type(struct trace *t, const struct event_type *type);

/* True when @path looks like something trace_open() takes (magic bytes; a directory with a
 * metadata file).  Never reports an error. */
bool trace_probe(const char *path);

/* Adds to the trace's problem list; safe from any thread. */
void trace_problem(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for what a user may want to know although nothing is broken or missing. */
void trace_note(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the trace's losses; safe from any thread. */
void trace_loss_add(struct trace *t, const struct trace_loss *more);

/*
 * A cursor decodes packets [first, first + nr) of one stream, in order.
 * @want: WANT(x) | WANT(y) ...: decode arguments of these kinds; kinds not wanted are skipped (not
 * returned).  0 = everything, EV_OTHER included.  EV_LOST is always returned.
 *
 * Who wants only a part sets, after cursor_init(), @from: events before that tick are skipped; and
 * @records_left: when about so many records, wanted or not, have been looked at, the cursor is at
 * its end.
 */
struct cursor {
	struct stream *stream;
	bool wants[EV_NR_KINDS]; /* a byte each: readers ask of every event */
	uint32_t packet;	 /* being decoded */
	uint32_t packet_end;
	uint64_t from;	       /* ticks */
	uint64_t records_left; /* UINT64_MAX from cursor_init() */
	/* Set after cursor_init(): an event that is not wanted, of another thread than the one that
	 * wanted ones say runs, is returned, too, as EV_OTHER (source/seam.h).  A reader may not
	 * know how. */
	bool shows_seams;
	void *buffer; /* the reader's own, freed by cursor_release */
};

int cursor_init(struct cursor *c, struct stream *s, uint32_t first, uint32_t nr, kinds_t want,
		struct error *err);

/*
 * Fills up to @room events; returns how many, 0 at the end.  Pointers inside the events stay valid
 * until the second call after this one with this cursor, so that a caller can use one batch while
 * the next is being filled.  (A reader that decompresses alternates between two buffers and
 * returns short rather than fill both in one call.)  Never fails: broken data is reported through
 * trace_problem() and EV_LOST.
 */
unsigned cursor_next(struct cursor *c, struct event *events, unsigned room);
void cursor_release(struct cursor *c);

/* Slow path: any field of any event. */
struct field_value {
	enum field_class cls;
	union {
		int64_t i;
		uint64_t u;
		double f;
	};
	const char *text;     /* strings, enum labels; not always NUL-terminated */
	size_t len;	      /* of text in bytes, or number of elements of an array */
	const int64_t *elems; /* arrays of integers; scratch of the calling thread */
};

/* Finds a payload field by name; 0, -ENOENT when the event has none such. */
int trace_event_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out);

/*
 * Writes all fields of the event as text: "name=value name=value ...", the form that the
 * differential tests compare: integers in decimal, strings in double quotes, arrays as [a, b],
 * structs as {name=value ...}.  Returns the length it wanted (as snprintf does).
 */
size_t trace_event_print(const struct stream *s, const struct event *e, char *buf, size_t room);

/*
 * A recorder's own counts may tell that events of a CPU are missing where its stream shows nothing.
 * That is known when all of the trace has been read once.
 *
 *	if (trace_lacks_events(t))
 *		ret = trace_show_lacking(t);
 *
 * From then on cursors give an EV_LOST wherever the missing events may have been.  The latter reads
 * what was not read yet.  -ENOMEM.
 */
bool trace_lacks_events(const struct trace *t);
int trace_show_lacking(struct trace *t);

/* For readers that make a trace themselves: sets path and paths.  -ENOMEM. */
int trace_set_paths(struct trace *t, const char *const *paths, unsigned nr);

/* What a reader implements; private to source/. */
struct trace_ops {
	bool (*probe)(const char *path);
	int (*open)(struct trace *t, struct error *err); /* t->path and t->paths are set */
	bool takes_parts;				 /* ... which may be several */
	/* @t describes all that is in @part; NULL: when their types' numbers mean the same. */
	bool (*covers)(const struct trace *t, const struct trace *part);
	void (*release)(struct trace *t);
	int (*cursor_init)(struct cursor *c, struct error *err);
	unsigned (*cursor_next)(struct cursor *c, struct event *events, unsigned room);
	void (*cursor_release)(struct cursor *c);
	int (*event_field)(const struct stream *s, const struct event *e, const char *name,
			   struct field_value *out);
	size_t (*event_print)(const struct stream *s, const struct event *e, char *buf,
			      size_t room);
	/* The kernel's functions, as /proc/kallsyms lists them; NULL when there are none.  NULL
	 * itself: there never are.  See source/symbols.h. */
	const char *(*symbols)(struct trace *t, size_t *len_bytes);
	/* See trace_lacks_events() and trace_show_lacking(); NULL: it cannot be known. */
	bool (*lacks_events)(const struct stream *s);
	void (*show_lacking)(struct stream *s);
};

extern const struct trace_ops ctf_trace_ops;
extern const struct trace_ops dat_trace_ops;
extern const struct trace_ops hyper_trace_ops;
extern const struct trace_ops folded_trace_ops;
extern const struct trace_ops perf_trace_ops;

#endif
