/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_ROWS_H
#define MODEL_STATE_ROWS_H

#include "base/types.h"
#include "events/event.h"

/*
 * What the model keeps to write it into a table of the history (tables.h): docs/formats/schema.md
 * says what the columns mean.
 */
struct cpu;
struct machine_state;
struct thread;

enum table {
	TABLE_MACHINE,
	TABLE_CPU,
	TABLE_THREAD,
	TABLE_PID_NS,
	TABLE_VTID,
	TABLE_CONTEXT,
	TABLE_CLOCK,
	TABLE_LOSS,
	TABLE_PROBLEM,
	TABLE_META,
	TABLE_CGROUP,
	TABLE_IDENTITY,
	TABLE_STAT,
	TABLE_MARK,
	TABLE_WAKE,
	TABLE_VECTOR,
	TABLE_IRQ,
	TABLE_EXIT,
	TABLE_MILESTONE,
	TABLE_REQUEST,
	TABLE_INITCALL,
	TABLE_ADDRESS_SPACE,
	TABLE_REFUSED,
	TABLE_KEPT_EVENT,
	NR_TABLES
};

struct pid_ns {
	struct machine_state *machine;
	uint32_t inum;
	int64_t parent; /* index; -1 none or unknown */
	int level;
	bool level_known; /* else it is that one or a deeper one */
	uint32_t cgroup;  /* of its first process, else of any: index + 1; 0 unknown */
	char name[64];	  /* of the container, from that; "" unknown */
};

struct cgroup {
	struct machine_state *machine;
	uint64_t id;
	const char *path; /* in the arena; "" unknown */
	uint32_t above;	  /* index of the one that it is in + 1; 0 none known */
};

/* Something that is known about a machine as a whole. */
struct identity {
	struct machine_state *machine;
	const char *key;
	uint32_t value; /* string id */
};

#define STAT_NR_TIMES 10

/* A CPU's line of /proc/stat. */
struct stat_line {
	struct machine_state *machine;
	ns_t at;
	int cause; /* enum state_cause */
	int64_t cpu, hz;
	int64_t times[STAT_NR_TIMES]; /* in 1/hz s; -1 unknown */
};

/* Something that a guest marked. */
struct mark {
	ns_t at;
	struct cpu *cpu;       /* the vCPU; where it is not known, the CPU of the host */
	struct thread *thread; /* NULL unknown */
	uint8_t kind;	       /* enum ht_mark */
	bool by_host;	       /* the host saw the hypercall; else the guest's trace has it */
	uint32_t id;
	uint32_t text; /* string id */
};

/* An event as it came: see feed/kept_events.h. */
struct kept_event {
	ns_t at;
	struct cpu *cpu;
	struct thread *thread;	 /* NULL unknown */
	uint16_t kind;		 /* enum event_kind */
	int64_t arg[EVENT_ARGS]; /* 0 in slots of text */
};

/* Hypercalls that a guest had no right to, or too many of: see hypercalls.h. */
enum refused_what { REFUSED_EVENTS, REFUSED_RINGS, REFUSED_BOARD, REFUSED_MARKS, NR_REFUSED };

struct refused {
	struct machine_state *machine; /* the guest; where it is not known, the host */
	struct thread *thread; /* the guest's that made all of them; NULL unknown, or several */
	uint8_t what;	       /* enum refused_what */
	uint8_t origin;	       /* enum ht_origin */
	uint64_t count;
	ns_t first, last;
};

struct vtid {
	uint32_t thread; /* row */
	int32_t level;
	bool innermost; /* .level is not told: it is its namespace's */
	int64_t ns;	/* index of pid_ns; -1 unknown */
	int32_t vtid;
	uint32_t next; /* of the same thread: index + 1 */
};

struct loss {
	struct machine_state *machine;
	int cpu;
	ns_t begin, end;
	int64_t events; /* -1 not counted */
};

/* Exits that are alike: a row of table "exit". */
struct exit_kind {
	uint32_t serves; /* index of the CPU whose code ran until then + 1; 0 unknown */
	int32_t user;	 /* reason told to the VMM's user space; -1 not (yet) there */
	int64_t reason;	 /* -1 unknown */
	uint8_t isa;	 /* enum exit_isa */
};

struct milestone {
	struct cpu *vcpu;	       /* whose it is; NULL: the machine's own event */
	struct machine_state *machine; /* without a vCPU */
	ns_t since, at;		       /* it was in this time */
	const char *kind;
	uint32_t text; /* string id */
};

struct initcall {
	struct machine_state *machine;
	struct thread *thread;
	uint64_t func;
	uint32_t name, level; /* string ids; level 0: a module's */
	ns_t begin, end;      /* NS_MIN: not seen; one of them is */
	int64_t result;
	bool is_over; /* no event will tell more of it */
};

#endif
