/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to devices as rows: one by one, summed up per device, and per leg of their way. */
#include "analysis/rows.h"
#include "analysis/keyed.h"
#include "analysis/io/requests.h"
#include "base/histogram.h"
#include "base/strings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *keep_text(struct sonde_rows *out, const char *text)
{
	const char *kept = arena_strdup(&out->arena, text);

	out->no_memory |= !kept;
	return kept ? kept : "";
}

/* A leg that the request did not take shows as one of no length. */
static int64_t leg_cell(const struct io_request *r, enum io_leg leg)
{
	return r->legs[leg] == LEG_NONE ? 0 : r->legs[leg];
}

/* LEG_COLUMNS are in the order of enum io_leg. */
/* clang-format off */
#define VM_COLUMN {"vm", "VM", SONDE_COL_MACHINE, "whose device it is; the host's own count, too"}
#define DEVICE_COLUMN                                                                              \
	{"device", "DEVICE", SONDE_COL_STRING,                                                     \
	 "what its interrupt is called, and its number; \"network\" for packets, \"disk\" where "    \
	 "the VM's own events do not tell its number"}
#define KIND_COLUMN                                                                                \
	{"kind", "KIND", SONDE_COL_STRING,                                                         \
	 "read, write, flush, send (a packet, until it is handed to a device of the host), "        \
	 "receive (packets, from the interrupt's being sent to its handler), or "                  \
	 "unknown: only its kick and its interrupt were seen"}
#define LEG_COLUMNS                                                                                \
	{"queue", "QUEUE", SONDE_COL_NS, "in its own kernel's scheduler's queue"},                 \
	{"submit", "SUBMIT", SONDE_COL_NS, "its driver, until the vCPU left guest mode to tell"},  \
	{"wake", "WAKE", SONDE_COL_NS, "until the VMM's thread, or vhost's, ran"},                 \
	{"vmm", "VMM", SONDE_COL_NS, "that thread's work, and others' for it, without the disk"},  \
	{"disk", "DISK", SONDE_COL_NS, "the host's own device had it"},                            \
	{"inject", "INJECT", SONDE_COL_NS,                                                         \
	 "from the interrupt's being sent until a vCPU was given it"},                             \
	{"deliver", "DELIVER", SONDE_COL_NS, "until its handler began"},                           \
	{"finish", "FINISH", SONDE_COL_NS, "until the handler was done with the request"},         \
	{"undivided", "UNDIVIDED", SONDE_COL_NS, "what the traces do not tell apart"}
/* clang-format on */

/* ---- one by one ---------------------------------------------------------------------------- */

static const struct sonde_column list_columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when it was queued or issued, or its kick"},
	{"total", "TOOK", SONDE_COL_NS, "until it was done; the stages add up to it"},
	VM_COLUMN,
	DEVICE_COLUMN,
	KIND_COLUMN,
	{"bytes", "BYTES", SONDE_COL_INT, "how much"},
	{"depth", "DEPTH", SONDE_COL_INT,
	 "so many of its device were under way when it was issued, itself included; 0 unknown"},
	{"thread", "FOR", SONDE_COL_THREAD, "whose request it is, -1 unknown"},
	LEG_COLUMNS,
	{"cpu", "VCPU", SONDE_COL_CPU, "that issued it"},
	{"sector", "SECTOR", SONDE_COL_INT, "where on the device"},
	{"worker", "WORKER", SONDE_COL_THREAD,
	 "thread of the VM's host that took it up; of packets that came, that handed them over"},
	{"sender", "SENDER", SONDE_COL_THREAD, "thread that sent the interrupt"},
	{"request", "REQUEST", SONDE_COL_INT, "its number, as in io_step"},
};

struct lister {
	struct sonde_rows *out;
	const struct sonde_history *history;
};

static bool add_request(const struct io_request *r, void *data)
{
	const struct lister *lister = data;
	struct sonde_rows *out = lister->out;
	union sonde_cell cells[ARRAY_SIZE(list_columns)];
	unsigned n = 0;
	char device[96];

	io_device_name(lister->history, r, device, sizeof(device));
	cells[n++] = cell_int(r->begin);
	cells[n++] = cell_int(r->end - r->begin);
	cells[n++] = cell_int(r->vm);
	cells[n++] = cell_str(keep_text(out, device));
	cells[n++] = cell_str(io_kind_names[r->kind]);
	cells[n++] = cell_int(r->bytes);
	cells[n++] = cell_int(r->depth);
	cells[n++] = cell_int(r->thread);
	for (unsigned leg = 0; leg < NR_LEGS; leg++)
		cells[n++] = cell_int(leg_cell(r, leg));
	cells[n++] = cell_int(r->undivided);
	cells[n++] = cell_int(r->cpu);
	cells[n++] = cell_int(r->sector);
	cells[n++] = cell_int(r->worker);
	cells[n++] = cell_int(r->sender);
	cells[n++] = cell_int(r->row);
	rows_add(out, cells);
	return !out->no_memory;
}

static int find_list(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct lister lister = {out, history};

	(void)err;
	requests_scan(history, begin, end, add_request, &lister);
	rows_sort(out, "total");
	return 0;
}

const struct table_def io_list_table = {
	.public =
		{"io_list", "Requests to devices, slowest first",
		 "each with the stages of its way from its VM through the host and back; -1: not known",
		 list_columns, ARRAY_SIZE(list_columns)},
	.find = find_list,
};

/* ---- summed up per device ------------------------------------------------------------------- */

enum key { KEY_VM, KEY_DEV, KEY_KIND, KEY_NR_CELLS };

/* What is asked for: of requests of a kind the legs' means, or of all of a device how each leg
 * spreads. */
enum asked { PER_KIND, PER_LEG };

struct sum {
	struct histogram *lengths; /* owned */
	struct histogram
		*legs[NR_LEGS]; /* owned; NULL until one is known, and always with PER_KIND */
	ns_t leg_ns[NR_LEGS];
	uint64_t unknown[NR_LEGS];
	uint64_t uncovered;
	ns_t leg_longest_at[NR_LEGS];
	ns_t longest_at, undivided;
	int64_t bytes, depth;
	struct io_request any; /* for its device's name */
};

static bool note_length(struct histogram **h, ns_t *longest_at, ns_t at, ns_t length)
{
	if (!*h)
		*h = calloc(1, sizeof(**h));
	if (!*h)
		return false;
	if (!(*h)->count || length > (*h)->greatest_ns)
		*longest_at = at;
	return histogram_add(*h, length);
}

struct summer {
	const struct sonde_history *history;
	struct keyed *sums;
	struct strings names; /* of disks whose number is not known */
	enum asked asked;
	bool no_memory;
};

/* Packets that are sent and packets that come go different ways.  Disks whose numbers are not known
 * are as many as they have names: each has a key below that of packets. */
static int64_t device_key(struct summer *s, const struct io_request *r)
{
	char name[96];
	uint32_t id;

	if (r->kind == IO_SEND || r->kind == IO_RECEIVE)
		return r->kind == IO_SEND ? -1 : -2;
	if (r->dev >= 0)
		return r->dev;
	io_device_name(s->history, r, name, sizeof(name));
	id = strings_put(&s->names, name, strlen(name));
	s->no_memory |= id == UINT32_MAX;
	return -3 - (int64_t)id;
}

static bool sum_leg(struct sum *sum, const struct io_request *r, unsigned leg, enum asked asked)
{
	if (r->legs[leg] == LEG_UNKNOWN)
		sum->unknown[leg]++;
	if (r->legs[leg] == LEG_UNKNOWN || r->legs[leg] == LEG_NONE)
		return true;
	sum->leg_ns[leg] += r->legs[leg];
	return asked == PER_KIND ||
	       note_length(&sum->legs[leg], &sum->leg_longest_at[leg], r->begin, r->legs[leg]);
}

static bool sum_one(struct summer *s, const struct io_request *r)
{
	int64_t key[] = {r->vm, device_key(s, r), s->asked == PER_KIND ? (int64_t)r->kind : -1};
	struct sum *sum = keyed_sum(s->sums, key);

	if (!sum)
		return false;
	if (!sum->lengths || (sum->any.vector < 0 && r->vector >= 0))
		sum->any = *r;
	if (!note_length(&sum->lengths, &sum->longest_at, r->begin, r->end - r->begin))
		return false;
	sum->undivided += r->undivided;
	sum->uncovered += !r->covered;
	sum->bytes += r->bytes;
	sum->depth = r->depth > sum->depth ? r->depth : sum->depth;
	for (unsigned leg = 0; leg < NR_LEGS; leg++) {
		if (!sum_leg(sum, r, leg, s->asked))
			return false;
	}
	return true;
}

static bool sum_request(const struct io_request *r, void *data)
{
	struct summer *s = data;

	s->no_memory |= !sum_one(s, r);
	return !s->no_memory;
}

static struct sum *sum_at(const struct keyed *sums, size_t i)
{
	return keyed_sum_at(sums, i);
}

static void sums_release(struct keyed *sums)
{
	for (size_t i = 0; i < sums->nr; i++) {
		histogram_free(sum_at(sums, i)->lengths);
		for (unsigned leg = 0; leg < NR_LEGS; leg++)
			histogram_free(sum_at(sums, i)->legs[leg]);
	}
	keyed_release(sums);
}

static int sums_init(struct keyed *s, struct sonde_history *history, ns_t begin, ns_t end,
		     enum asked asked, struct error *err)
{
	struct summer summer = {.history = history, .sums = s, .asked = asked};

	*s = (struct keyed){.nr_cells = KEY_NR_CELLS, .sum_bytes = sizeof(struct sum)};
	requests_scan(history, begin, end, sum_request, &summer);
	strings_release(&summer.names);
	return summer.no_memory ? fail(err, -ENOMEM, "out of memory") : 0;
}

/* Of all requests, those that did not take the leg included; -1 when none of them is known. */
static int64_t leg_mean(const struct sum *sum, enum io_leg leg)
{
	uint64_t known = sum->lengths->count - sum->unknown[leg];

	return known ? sum->leg_ns[leg] / (ns_t)known : -1;
}

static const struct sonde_column sum_columns[] = {
	VM_COLUMN,
	DEVICE_COLUMN,
	KIND_COLUMN,
	{"count", "TIMES", SONDE_COL_INT, "how many requests"},
	{"bytes", "BYTES", SONDE_COL_INT, "of all of them"},
	{"depth", "DEPTH", SONDE_COL_INT, "the most that were under way at once"},
	{"mean", "MEAN", SONDE_COL_NS, "from its being queued or issued until it was done"},
	{"median", "MEDIAN", SONDE_COL_NS, "half of them took no longer"},
	{"p99", "P99", SONDE_COL_NS, "99 % of them took no longer"},
	{"longest", "LONGEST", SONDE_COL_NS, "the longest"},
	{"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that began"},
	LEG_COLUMNS,
};

static void add_sum(struct sonde_rows *out, struct sonde_history *history, const struct sum *sum)
{
	const struct histogram *h = sum->lengths;
	union sonde_cell cells[ARRAY_SIZE(sum_columns)];
	ns_t count = (ns_t)h->count;
	unsigned n = 0;
	char device[96];

	io_device_name(history, &sum->any, device, sizeof(device));
	cells[n++] = cell_int(sum->any.vm);
	cells[n++] = cell_str(keep_text(out, device));
	cells[n++] = cell_str(io_kind_names[sum->any.kind]);
	cells[n++] = cell_int(count);
	cells[n++] = cell_int(sum->bytes);
	cells[n++] = cell_int(sum->depth);
	cells[n++] = cell_int(h->total_ns / count);
	cells[n++] = cell_int(histogram_quantile(h, 500000));
	cells[n++] = cell_int(histogram_quantile(h, 990000));
	cells[n++] = cell_int(h->greatest_ns);
	cells[n++] = cell_int(sum->longest_at);
	for (unsigned leg = 0; leg < NR_LEGS; leg++)
		cells[n++] = cell_int(leg_mean(sum, leg));
	cells[n++] = cell_int(sum->undivided / count);
	rows_add(out, cells);
}

static int find_sums(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct keyed s;
	int ret = sums_init(&s, history, begin, end, PER_KIND, err);

	for (size_t i = 0; i < s.nr && !ret; i++)
		add_sum(out, history, sum_at(&s, i));
	sums_release(&s);
	rows_sort(out, "count");
	return ret;
}

const struct table_def io_table = {
	.public =
		{"io", "Requests to devices",
		 "how many there were per VM, device and kind, and how long they took; the stages are means",
		 sum_columns, ARRAY_SIZE(sum_columns)},
	.find = find_sums,
};

/* ---- how they spread ------------------------------------------------------------------------ */

static void add_powers(struct sonde_rows *out, struct sonde_history *history, const struct sum *sum)
{
	uint64_t counts[HISTOGRAM_POWERS];
	const char *device;
	char name[96];

	io_device_name(history, &sum->any, name, sizeof(name));
	device = keep_text(out, name);
	histogram_powers(sum->lengths, counts);
	for (unsigned power = 0; power < HISTOGRAM_POWERS; power++) {
		if (!counts[power])
			continue;
		rows_add(out, (union sonde_cell[]){
				      cell_int(sum->any.vm),
				      cell_str(device),
				      cell_str(io_kind_names[sum->any.kind]),
				      cell_int(power ? (ns_t)1 << power : 0),
				      cell_int((ns_t)1 << (power + 1)),
				      cell_int((int64_t)counts[power]),
			      });
	}
}

static int find_spread(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	struct keyed s;
	int ret = sums_init(&s, history, begin, end, PER_KIND, err);

	for (size_t i = 0; i < s.nr && !ret; i++)
		add_powers(out, history, sum_at(&s, i));
	sums_release(&s);
	return ret;
}

static const struct sonde_column spread_columns[] = {
	VM_COLUMN,
	DEVICE_COLUMN,
	KIND_COLUMN,
	{"from", "FROM", SONDE_COL_NS, "they took so long or longer"},
	{"to", "TO", SONDE_COL_NS, "... and less than this"},
	{"count", "TIMES", SONDE_COL_INT, "how many there were"},
};

const struct table_def io_histogram_table = {
	.public = {"io_histogram", "Histogram of I/O latencies",
		   "requests by how long they took, in powers of 2", spread_columns,
		   ARRAY_SIZE(spread_columns)},
	.find = find_spread,
};

/* ---- per leg -------------------------------------------------------------------------------- */

static const char *missing(const struct sonde_history *history, const struct sum *sum,
			   enum io_leg leg)
{
	const char *text = io_missing(history, sum->any.vm, leg);

	return *text || !sum->uncovered ? text : "the host's trace of all of that time";
}

static void add_leg(struct sonde_rows *out, struct sonde_history *history, const struct sum *sum,
		    unsigned leg, const char *device)
{
	const struct histogram *h = leg < NR_LEGS ? sum->legs[leg] : sum->lengths;
	int64_t unknown = leg < NR_LEGS ? (int64_t)sum->unknown[leg] : 0;

	if (!h && !unknown)
		return;
	rows_add(out,
		 (union sonde_cell[]){
			 cell_int(sum->any.vm),
			 cell_str(device),
			 cell_str(leg < NR_LEGS ? io_leg_names[leg] : "all"),
			 cell_int(h ? (int64_t)h->count : 0),
			 cell_int(unknown),
			 cell_int(h ? h->total_ns / (ns_t)h->count : -1),
			 cell_int(h ? histogram_quantile(h, 500000) : -1),
			 cell_int(h ? histogram_quantile(h, 990000) : -1),
			 cell_int(h ? h->greatest_ns : -1),
			 cell_int(h && leg < NR_LEGS ? sum->leg_longest_at[leg] : sum->longest_at),
			 cell_int(h ? share_ppm(h->total_ns, sum->lengths->total_ns) : 0),
			 cell_str(unknown ? missing(history, sum, (enum io_leg)leg) : ""),
		 });
}

static void add_legs(struct sonde_rows *out, struct sonde_history *history, const struct sum *sum)
{
	const char *device;
	char name[96], way[112];

	io_device_name(history, &sum->any, name, sizeof(name));
	snprintf(way, sizeof(way), "%s%s%s", name, sum->any.kind >= IO_SEND ? " " : "",
		 sum->any.kind >= IO_SEND ? io_kind_names[sum->any.kind] : "");
	device = keep_text(out, way);
	add_leg(out, history, sum, NR_LEGS, device);
	for (unsigned leg = 0; leg < NR_LEGS; leg++)
		add_leg(out, history, sum, leg, device);
}

/* A VM of which nothing was seen: said, with what would show it. */
static void add_unseen(struct sonde_rows *out, struct sonde_history *history, const struct keyed *s)
{
	for (int64_t vm = 1; vm < sonde_nr_machines(history); vm++) {
		bool seen = io_sees(history, vm, SEES_REQUESTS);

		for (size_t i = 0; i < s->nr && !seen; i++)
			seen = sum_at(s, i)->any.vm == vm;
		if (seen)
			continue;
		rows_add(out, (union sonde_cell[]){
				      cell_int(vm),
				      cell_str(""),
				      cell_str("all"),
				      cell_int(0),
				      cell_int(-1),
				      cell_int(-1),
				      cell_int(-1),
				      cell_int(-1),
				      cell_int(-1),
				      cell_int(-1),
				      cell_int(0),
				      cell_str(io_missing(history, vm, LEG_SUBMIT)),
			      });
	}
}

static int find_legs(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct keyed s;
	int ret = sums_init(&s, history, begin, end, PER_LEG, err);

	for (size_t i = 0; i < s.nr && !ret; i++) {
		if (sum_at(&s, i)->any.vm)
			add_legs(out, history, sum_at(&s, i));
	}
	if (!ret)
		add_unseen(out, history, &s);
	sums_release(&s);
	return ret;
}

static const struct sonde_column leg_columns[] = {
	VM_COLUMN,
	{"device", "DEVICE", SONDE_COL_STRING,
	 "as in io, for packets with their direction: \"network send\", \"network receive\""},
	{"stage", "STAGE", SONDE_COL_STRING, "part of the way; \"all\": the whole of it"},
	{"count", "TIMES", SONDE_COL_INT, "requests that have this stage, as far as known"},
	{"unknown", "UNKNOWN", SONDE_COL_INT,
	 "requests of which the length of this stage is not known"},
	{"mean", "MEAN", SONDE_COL_NS, "of those that took it"},
	{"median", "MEDIAN", SONDE_COL_NS, "half of them took no longer"},
	{"p99", "P99", SONDE_COL_NS, "99 % of them took no longer"},
	{"longest", "LONGEST", SONDE_COL_NS, "the longest"},
	{"longest_at", "LONGEST AT", SONDE_COL_TIME,
	 "when the request of that began; the longest one's begin where none is known"},
	{"share", "SHARE", SONDE_COL_PPM, "of the time of all requests of the device"},
	{"missing", "TO KNOW MORE", SONDE_COL_STRING, "what to record where something is unknown"},
};

const struct table_def io_stage_table = {
	.public =
		{"io_stage", "Where requests spend their time",
		 "per device of VMs: each stage of their way through guest, hypervisor, VMM, disk and back",
		 leg_columns, ARRAY_SIZE(leg_columns)},
	.find = find_legs,
};
