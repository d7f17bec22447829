/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept.h"
#include "analysis/io/requests.h"
#include "query/cells.h"
#include "base/text.h"
#include "model/context.h"

#include <stdlib.h>
#include <string.h>

const char *const io_kind_names[NR_IO_KINDS] = {"unknown", "read", "write",
						"flush",   "send", "receive"};
const char *const io_leg_names[NR_LEGS] = {"queue", "submit", "wake",	 "vmm",
					   "disk",  "inject", "deliver", "finish"};

int64_t query_nr_requests(const struct sonde_history *history)
{
	return query_nr_rows(history, QUERY_REQUEST);
}

bool io_sees(const struct sonde_history *history, int64_t machine, enum io_sees what)
{
	int64_t sees = query_cell(history, QUERY_MACHINE, machine, 11);

	return sees >= 0 && sees & (int64_t)what;
}

/* ---- legs ----------------------------------------------------------------------------------- */

static int64_t parent_of(const struct sonde_history *history, int64_t machine)
{
	struct sonde_machine m;

	return sonde_machine_get(history, machine, &m) ? -1 : (int64_t)m.parent;
}

static ns_t between(ns_t from, ns_t to)
{
	return from < 0 || to < 0 ? LEG_UNKNOWN : to > from ? to - from : 0;
}

/* Clocks of guests are known within a bound: what comes out earlier than what led to it was at
 * the same time. */
static void put_in_order(struct io_request *r)
{
	static const enum io_time order[] = {IO_QUEUED, IO_ISSUED,   IO_KICKED,	 IO_PICKED,
					     IO_SENT,	IO_INJECTED, IO_HANDLED, IO_DONE};
	ns_t least = -1;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		ns_t *t = &r->at[order[i]];

		if (*t < 0)
			continue;
		if (*t > r->end)
			*t = r->end;
		if (*t < least)
			*t = least;
		least = *t;
	}
}

/* When the work of the VMM began: nobody is woken who is at work, and a VMM at work is not told. */
static ns_t work_begin(const struct sonde_history *history, const struct io_request *r,
		       int64_t host)
{
	if (r->at[IO_PICKED] >= 0)
		return r->at[IO_PICKED];
	if (r->at[IO_KICKED] >= 0)
		return r->covered && io_sees(history, host, SEES_WAKING) ? r->at[IO_KICKED] : -1;
	return r->covered ? r->at[IO_ISSUED] : -1;
}

static void divide_work(const struct sonde_history *history, struct io_request *r, int64_t host)
{
	ns_t begin = work_begin(history, r, host);
	ns_t end = r->kind == IO_SEND ? r->at[IO_DONE] : r->at[IO_SENT];
	ns_t *disk = &r->legs[LEG_DISK];

	r->legs[LEG_VMM] = between(begin, end);
	if (r->kind == IO_SEND) {
		*disk = LEG_NONE;
		return;
	}
	/* Of a kick it is not known how many requests it told of, nor so which of them the disk
	 * worked for. */
	if (r->disputed || r->kind == IO_UNKNOWN) {
		*disk = r->legs[LEG_VMM] = LEG_UNKNOWN;
		return;
	}
	*disk = between(r->at[IO_DISK_BEGIN], r->at[IO_DISK_END]);
	if (r->at[IO_DISK_BEGIN] < 0 && r->covered && io_sees(history, host, SEES_REQUESTS))
		*disk = LEG_NONE;
	/* It was, in part at least, some other work of the same VMM's that the disk did. */
	if (*disk > 0 && r->legs[LEG_VMM] >= 0 &&
	    (r->at[IO_DISK_BEGIN] < begin || r->at[IO_DISK_END] > end))
		*disk = r->legs[LEG_VMM] = LEG_UNKNOWN;
	if (*disk > 0 && r->legs[LEG_VMM] >= 0)
		r->legs[LEG_VMM] -= *disk;
}

static void divide_interrupt(struct io_request *r)
{
	ns_t given = r->at[IO_INJECTED];

	if (r->kind == IO_SEND) {
		r->legs[LEG_INJECT] = r->legs[LEG_DELIVER] = r->legs[LEG_FINISH] = LEG_NONE;
		return;
	}
	r->legs[LEG_INJECT] = between(r->at[IO_SENT], given);
	r->legs[LEG_DELIVER] = between(given, r->at[IO_HANDLED]);
	/* It is given to a vCPU that runs without an event, where the hardware does that. */
	if (given < 0 && r->at[IO_SENT] >= 0 && r->at[IO_HANDLED] >= 0 && r->covered) {
		r->legs[LEG_INJECT] = between(r->at[IO_SENT], r->at[IO_HANDLED]);
		r->legs[LEG_DELIVER] = LEG_NONE;
	}
	r->legs[LEG_FINISH] =
		r->kind == IO_UNKNOWN ? LEG_UNKNOWN : between(r->at[IO_HANDLED], r->at[IO_DONE]);
}

static void divide_kick(const struct sonde_history *history, struct io_request *r, int64_t host)
{
	bool sees_wake = io_sees(history, host, SEES_WAKING);

	r->legs[LEG_SUBMIT] = between(r->at[IO_ISSUED], r->at[IO_KICKED]);
	r->legs[LEG_WAKE] = between(r->at[IO_KICKED], r->at[IO_PICKED]);
	if (r->at[IO_KICKED] < 0 && r->covered)
		r->legs[LEG_SUBMIT] = r->legs[LEG_WAKE] = LEG_NONE;
	else if (r->at[IO_KICKED] >= 0 && r->at[IO_PICKED] < 0 && sees_wake && r->covered)
		r->legs[LEG_WAKE] = LEG_NONE;
}

/* Packets that came: who sent the interrupt had them already, and its handler is its end. */
static void divide_received(struct io_request *r)
{
	for (unsigned i = 0; i < NR_LEGS; i++)
		r->legs[i] = LEG_NONE;
	divide_interrupt(r);
	r->legs[LEG_FINISH] = LEG_NONE;
}

static void divide(const struct sonde_history *history, struct io_request *r)
{
	int64_t host = parent_of(history, r->vm);

	r->legs[LEG_QUEUE] = between(r->at[IO_QUEUED], r->at[IO_ISSUED]);
	if (r->at[IO_QUEUED] != REQUEST_PERHAPS && r->legs[LEG_QUEUE] == LEG_UNKNOWN &&
	    r->at[IO_ISSUED] >= 0)
		r->legs[LEG_QUEUE] = LEG_NONE;
	if (r->kind == IO_RECEIVE) {
		divide_received(r);
	} else if (host < 0) {
		for (unsigned i = LEG_SUBMIT; i < NR_LEGS; i++)
			r->legs[i] = LEG_NONE;
		r->legs[LEG_DISK] = between(r->at[IO_ISSUED], r->at[IO_DONE]);
	} else {
		divide_kick(history, r, host);
		divide_work(history, r, host);
		divide_interrupt(r);
	}
	r->undivided = r->end - r->begin;
	for (unsigned i = 0; i < NR_LEGS; i++)
		r->undivided -= r->legs[i] > 0 ? r->legs[i] : 0;
}

/* What answered a kick is known to be a disk's interrupt only when all of the history has been
 * seen. */
static bool answered_by_disk(const struct sonde_history *history, const struct io_request *r)
{
	return query_vector_cause(history, r->irq_cpu, r->vector) == SONDE_CAUSE_DISK;
}

bool query_request(const struct sonde_history *history, int64_t row, struct io_request *out)
{
	const enum query_table t = QUERY_REQUEST;
	int64_t kind;
	bool is_told;

	if (!query_has_row(history, t, row))
		return false;
	*out = (struct io_request){
		.row = row,
		.vm = query_number(history, t, row, 0),
		.cpu = query_number(history, t, row, 1),
		.thread = query_number(history, t, row, 2),
		.dev = query_number(history, t, row, 4),
		.sector = query_number(history, t, row, 5),
		.bytes = query_number(history, t, row, 6),
		.depth = query_number(history, t, row, 7),
		.worker = query_number(history, t, row, 18),
		.sender = query_number(history, t, row, 19),
		.irq_cpu = query_number(history, t, row, 20),
		.vector = query_number(history, t, row, 21),
		.covered = query_number(history, t, row, 22) > 0,
		.disputed = query_number(history, t, row, 23) > 0,
	};
	kind = query_number(history, t, row, 3);
	out->kind = kind >= 0 && kind < NR_IO_KINDS ? (enum io_kind)kind : IO_UNKNOWN;
	out->begin = -1;
	is_told = out->kind == IO_RECEIVE && query_number(history, t, row, 8 + IO_SENT) >= 0;
	for (unsigned i = 0; i < NR_IO_TIMES; i++) {
		out->at[i] = query_number(history, t, row, 8 + i);
		/* How long packets waited for their interrupt is no part of it: mostly that is not
		 * known. */
		if (out->begin < 0 && (!is_told || i >= IO_SENT))
			out->begin = out->at[i];
	}
	out->end = out->at[IO_DONE];
	if (out->begin < 0 || out->end < out->begin || out->vm < 0 ||
	    out->vm >= sonde_nr_machines(history) ||
	    (out->kind == IO_UNKNOWN && out->dev < 0 && !answered_by_disk(history, out)))
		return false;
	put_in_order(out);
	divide(history, out);
	return true;
}

/* ---- all of them ---------------------------------------------------------------------------- */

struct requests {
	struct kept kept;
	size_t nr;
	struct io_request list[];
};

static void release(struct kept *kept)
{
	free(kept);
}

static const struct kept_kind kind = {release};

/* NULL: there are too many of them, or no memory. */
static const struct requests *all_of(struct sonde_history *history)
{
	int64_t nr_rows = query_nr_requests(history);
	struct requests *r = kept_find(history, &kind);

	if (r || nr_rows > REQUESTS_KEPT)
		return r;
	r = malloc(sizeof(*r) + (size_t)nr_rows * sizeof(*r->list));
	if (!r)
		return NULL;
	r->nr = 0;
	for (int64_t row = 0; row < nr_rows; row++)
		r->nr += query_request(history, row, &r->list[r->nr]);
	kept_set(history, &kind, &r->kept);
	return r;
}

static bool in_window(const struct io_request *r, ns_t begin, ns_t end)
{
	return r->begin < end && r->end >= begin;
}

void requests_scan(struct sonde_history *history, ns_t begin, ns_t end,
		   bool (*each)(const struct io_request *r, void *data), void *data)
{
	const struct requests *all = all_of(history);
	struct io_request one;
	bool more = true;

	for (size_t i = 0; all && i < all->nr && more; i++)
		more = !in_window(&all->list[i], begin, end) || each(&all->list[i], data);
	for (int64_t row = 0; !all && row < query_nr_requests(history) && more; row++)
		more = !query_request(history, row, &one) || !in_window(&one, begin, end) ||
		       each(&one, data);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A kernel numbers its devices with 20 bits for the minor. */
#define MINOR_BITS 20

void io_device_name(const struct sonde_history *history, const struct io_request *r, char *out,
		    size_t room)
{
	const char *irq = query_vector_irq(history, r->irq_cpu, r->vector);
	size_t len = strcspn(irq, "-"); /* "virtio0-req.0" */
	struct text text = text_in(out, room);

	if (r->kind == IO_SEND || r->kind == IO_RECEIVE) {
		text_str(&text, "network");
		text_end(&text, room);
		return;
	}
	text_put(&text, irq, len);
	text_str(&text, len ? " " : "");
	if (r->dev < 0) {
		text_str(&text, "disk");
	} else {
		text_i64(&text, r->dev >> MINOR_BITS);
		text_char(&text, ':');
		text_i64(&text, r->dev & ((1 << MINOR_BITS) - 1));
	}
	text_end(&text, room);
}

const char *io_missing(const struct sonde_history *history, int64_t vm, enum io_leg leg)
{
	int64_t host = parent_of(history, vm);

	switch (leg) {
	case LEG_QUEUE:
	case LEG_SUBMIT:
	case LEG_VMM:
	case LEG_DISK:
	case LEG_FINISH:
		if (!io_sees(history, vm, SEES_REQUESTS))
			return "the VM's own block events: record it, too, with --for io";
		break;
	case LEG_DELIVER:
		if (!io_sees(history, vm, SEES_HANDLERS))
			return "the VM's own interrupt events: record it, too, with --for io";
		break;
	default:
		break;
	}
	if (host < 0 || leg == LEG_QUEUE)
		return "";
	if (!io_sees(history, host, SEES_KVM))
		return "the host's kvm events: record it, too, with --for io";
	if (leg == LEG_DISK && !io_sees(history, host, SEES_REQUESTS))
		return "the host's block events: record it with --for io";
	if ((leg == LEG_VMM || leg == LEG_INJECT) && !io_sees(history, host, SEES_DELIVERIES))
		return "the host's kvm_apic_accept_irq: record it with --for io";
	if ((leg == LEG_INJECT || leg == LEG_DELIVER) && !io_sees(history, host, SEES_INJECTIONS))
		return "the host's kvm_inj_virq: record it with --for io";
	if (leg == LEG_WAKE && !io_sees(history, host, SEES_WAKING))
		return "the host's sched_waking: record it with --for io";
	return "";
}
