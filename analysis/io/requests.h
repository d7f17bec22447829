/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_IO_REQUESTS_H
#define ANALYSIS_IO_REQUESTS_H

#include "query/query.h"

/*
 * Requests to devices, each with its way through the layers divided into legs.
 *
 * A leg is known when the traces have both of its ends.  One that the request did not take (no
 * scheduler's queue, no kick because the VMM was at work already, no disk because the page was in
 * its host's cache) is not counted and not missing; LEG_UNKNOWN says that the time of a leg is in
 * the request's but not told apart.  The legs that are known and what is not divided add up to the
 * request's length.
 */
enum io_kind { IO_UNKNOWN, IO_READ, IO_WRITE, IO_FLUSH, IO_SEND, IO_RECEIVE, NR_IO_KINDS };

enum io_leg {
	LEG_QUEUE,   /* in a scheduler's queue, of its own kernel */
	LEG_SUBMIT,  /* its driver, until the vCPU left guest mode */
	LEG_WAKE,    /* until the VMM's thread, or vhost's, ran */
	LEG_VMM,     /* that one's work, without the disk */
	LEG_DISK,    /* the host's own device had it */
	LEG_INJECT,  /* from the interrupt's being sent until the vCPU was given it */
	LEG_DELIVER, /* until its handler began */
	LEG_FINISH,  /* until that handler was done with the request */
	NR_LEGS
};

#define LEG_NONE ((ns_t)-2)
#define LEG_UNKNOWN ((ns_t)-1)

/* Moments, in the order of the table; -1 unknown. */
enum io_time {
	IO_QUEUED,
	IO_ISSUED,
	IO_KICKED,
	IO_PICKED,
	IO_DISK_BEGIN,
	IO_DISK_END,
	IO_SENT,
	IO_INJECTED,
	IO_HANDLED,
	IO_DONE,
	NR_IO_TIMES
};

struct io_request {
	int64_t row;	/* in the history's table */
	int64_t vm;	/* machine whose request it is; 0 the host's own */
	int64_t cpu;	/* row of the vCPU that issued it, -1 */
	int64_t thread; /* whose it is, -1 */
	enum io_kind kind;
	int64_t dev, sector, bytes, depth;
	int64_t worker, sender; /* threads of its parent, -1; of packets that came, @worker handed
				   them to @sender, at IO_PICKED */
	int64_t irq_cpu, vector;
	ns_t at[NR_IO_TIMES];
	bool covered;  /* by its parent's trace */
	bool disputed; /* its parent's disk worked for it or for another one */
	ns_t begin, end;
	ns_t legs[NR_LEGS];
	ns_t undivided;
};

extern const char *const io_kind_names[NR_IO_KINDS];
extern const char *const io_leg_names[NR_LEGS];

int64_t query_nr_requests(const struct sonde_history *history);

/* False when there is no such row, or one that cannot be. */
bool query_request(const struct sonde_history *history, int64_t row, struct io_request *out);

/*
 * Tells of those that were under way in [@begin, @end), by their rows, until @each says false. Most
 * of the work is to divide them, and several tables ask for all: a history keeps them, unless there
 * are so many that this would take much memory.
 */
#define REQUESTS_KEPT 16384
void requests_scan(struct sonde_history *history, ns_t begin, ns_t end,
		   bool (*each)(const struct io_request *r, void *data), void *data);

/* Its device's name: "virtio0 254:0"; @room bytes. */
void io_device_name(const struct sonde_history *history, const struct io_request *r, char *out,
		    size_t room);

/* What must be recorded for legs of this VM to be known that are not; "" when nothing is missing.
 */
const char *io_missing(const struct sonde_history *history, int64_t vm, enum io_leg leg);

/* Whether the trace of a machine was seen to have such events. */
enum io_sees {
	SEES_REQUESTS = 1,
	SEES_PACKETS = 2,
	SEES_HANDLERS = 4,
	SEES_KVM = 8,
	SEES_DELIVERIES = 16,
	SEES_INJECTIONS = 32,
	SEES_WAKING = 64,
};
bool io_sees(const struct sonde_history *history, int64_t machine, enum io_sees what);

#endif
