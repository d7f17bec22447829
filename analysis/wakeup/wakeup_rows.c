/* SPDX-License-Identifier: Apache-2.0 */
/* How long wake-ups take: each with its way through the layers, summed up, and how they spread. */
#include "analysis/rows.h"
#include "analysis/keyed.h"
#include "query/kept.h"
#include "analysis/wakeup/wakeups.h"
#include "base/grow.h"
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>

enum step { STEP_BELOW, STEP_TO_CPU, STEP_TO_ENTRY, STEP_GUEST, STEP_QUEUE, NR_STEPS };

/* A wake-up as it is told. */
struct told {
	ns_t at, total, steps[NR_STEPS];
	int64_t vcpu, thread;
	unsigned level;
	enum sonde_cause cause;
	const char *irq;
};

static struct told tell(const struct wakeup *w)
{
	/* In the guest's kernel, until the thread may run; then in its run queue.  Another vCPU may
	 * have made it ready before this one was there. */
	ns_t ready = w->runnable >= 0 ? w->runnable : w->running;
	ns_t kernel = ready > w->entry ? ready - w->entry : 0;

	return (struct told){
		.at = w->begin,
		.total = w->running - w->begin,
		.steps = {[STEP_BELOW] = w->woken - w->begin,
			  [STEP_TO_CPU] = w->ran - w->woken,
			  [STEP_TO_ENTRY] = w->entry - w->ran,
			  [STEP_GUEST] = kernel,
			  [STEP_QUEUE] = w->running - w->entry - kernel},
		.vcpu = w->wait->vcpu,
		.thread = w->thread,
		.level = w->level,
		.cause = w->wake.cause,
		.irq = w->wake.irq,
	};
}

static int scan(struct sonde_history *history, bool awake, ns_t begin, ns_t end,
		bool (*each)(const struct wakeup *w, void *data), void *data, const bool *no_memory,
		struct error *err)
{
	int ret = wakeups_scan(history, awake, begin, end, each, data);

	if (*no_memory)
		ret = -ENOMEM;
	return ret ? fail(err, ret, "cannot follow wake-ups: %s", error_reason(ret)) : 0;
}

/* ---- all of a window, once ------------------------------------------------------------------- */

#define WAKEUPS_KEPT (1u << 17) /* about 100 bytes each */

enum key { KEY_VM, KEY_LEVEL, KEY_CAUSE, KEY_NR_CELLS };

struct sum {
	struct histogram *lengths; /* owned */
	ns_t steps[NR_STEPS];
	ns_t longest_at;
};

struct wakeup_sums {
	struct kept kept;
	ns_t begin, end; /* of the window */
	struct sonde_history *history;
	struct keyed keys; /* struct sum */
	struct told *list; /* owned: all of them, in the order of wakeups_scan() */
	size_t nr, room;
	bool too_many; /* more than WAKEUPS_KEPT: those are not all */
	bool no_memory;
};

static struct sum *sum_get(struct wakeup_sums *s, const struct told *w)
{
	struct sonde_cpu cpu;
	struct sum *sum;

	sonde_cpu_get(s->history, w->vcpu, &cpu);
	sum = keyed_sum(&s->keys, (int64_t[]){cpu.machine, w->level, w->cause});
	if (sum && !sum->lengths)
		sum->lengths = calloc(1, sizeof(*sum->lengths));
	return sum && sum->lengths ? sum : NULL;
}

static void keep_wakeup(struct wakeup_sums *s, const struct told *w)
{
	s->too_many |= s->nr == WAKEUPS_KEPT || !room_for_one(&s->list, s->nr, &s->room);
	if (!s->too_many)
		s->list[s->nr++] = *w;
}

static bool sum_wakeup(const struct wakeup *wakeup, void *data)
{
	struct told w = tell(wakeup);
	struct wakeup_sums *s = data;
	struct sum *sum = sum_get(s, &w);

	s->no_memory = !sum;
	if (!sum)
		return false;
	if (!sum->lengths->count || w.total > sum->lengths->greatest_ns)
		sum->longest_at = w.at;
	s->no_memory = !histogram_add(sum->lengths, w.total);
	if (s->no_memory)
		return false;
	for (unsigned i = 0; i < NR_STEPS; i++)
		sum->steps[i] += w.steps[i];
	keep_wakeup(s, &w);
	return true;
}

static void release(struct kept *kept)
{
	struct wakeup_sums *s = (struct wakeup_sums *)kept;

	for (size_t i = 0; i < s->keys.nr; i++)
		histogram_free(((struct sum *)keyed_sum_at(&s->keys, i))->lengths);
	keyed_release(&s->keys);
	free(s->list);
	free(s);
}

/* Of all threads, and of those on vCPUs that are awake. */
static const struct kept_kind kinds[2] = {{release}, {release}};

static int sums_get(const struct wakeup_sums **out, struct sonde_history *history, bool awake,
		    ns_t begin, ns_t end, struct error *err)
{
	struct wakeup_sums *s = kept_find(history, &kinds[awake]);
	int ret;

	*out = s;
	if (s && s->begin == begin && s->end == end)
		return 0;
	kept_drop(history, &kinds[awake]);
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	*s = (struct wakeup_sums){
		.begin = begin,
		.end = end,
		.history = history,
		.keys = {.nr_cells = KEY_NR_CELLS, .sum_bytes = sizeof(struct sum)},
	};
	ret = scan(history, awake, begin, end, sum_wakeup, s, &s->no_memory, err);
	if (ret) {
		release(&s->kept);
		return ret;
	}
	kept_set(history, &kinds[awake], &s->kept);
	*out = s;
	return 0;
}

/* ---- one by one ---------------------------------------------------------------------------- */

static void add_told(struct sonde_rows *out, const struct told *w)
{
	rows_add(out, (union sonde_cell[]){
			      cell_int(w->at),
			      cell_int(w->total),
			      cell_int(w->vcpu),
			      cell_int(w->level),
			      cell_str(sonde_cause_name(w->cause)),
			      cell_str(w->irq),
			      cell_int(w->steps[STEP_BELOW]),
			      cell_int(w->steps[STEP_TO_CPU]),
			      cell_int(w->steps[STEP_TO_ENTRY]),
			      cell_int(w->steps[STEP_GUEST]),
			      cell_int(w->steps[STEP_QUEUE]),
			      cell_int(w->thread),
		      });
}

/* Where a wake-up goes that is found again. */
struct adding {
	struct sonde_rows *out;
	void (*add)(struct sonde_rows *out, const struct told *w);
};

static bool add_wakeup(const struct wakeup *wakeup, void *data)
{
	struct told w = tell(wakeup);
	struct adding *to = data;

	to->add(to->out, &w);
	return !to->out->no_memory;
}

static int list_all(struct sonde_rows *out, struct sonde_history *history, bool awake, ns_t begin,
		    ns_t end, void (*add)(struct sonde_rows *out, const struct told *w),
		    struct error *err)
{
	struct adding to = {out, add};
	const struct wakeup_sums *s;
	int ret = sums_get(&s, history, awake, begin, end, err);

	if (!ret && s->too_many)
		ret = scan(history, awake, begin, end, add_wakeup, &to, &out->no_memory, err);
	for (size_t i = 0; !ret && !s->too_many && i < s->nr; i++)
		add(out, &s->list[i]);
	rows_sort(out, "total");
	return ret;
}

static int find_list(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	return list_all(out, history, false, begin, end, add_told, err);
}

/* clang-format off */
#define STEP_COLUMNS                                                                               \
	{"host_wakeup", "HOST WAKEUP", SONDE_COL_NS,                                                       \
	 "nested: its host had to be woken first"},                             \
	{"run_delay", "RUN DELAY", SONDE_COL_NS,                                                       \
	 "run-queue delay of its thread; 0, and part of the next, where its host "\
	 "has no trace"},                                                                          \
	{"entry", "TO ENTRY", SONDE_COL_NS, "from there to the VM entry"},      \
	{"guest", "IN GUEST", SONDE_COL_NS, "until the guest's kernel had made a thread runnable"},   \
	{"guest_run_delay", "GUEST RUN DELAY", SONDE_COL_NS, "run-queue delay of that thread"}
#define CAUSE_COLUMN {"cause", "BLOCKED ON", SONDE_COL_STRING, "what ended the wait"}
#define LEVEL_COLUMN {"level", "LEVEL", SONDE_COL_INT, "of the VM: 1, or more when nested"}
/* clang-format on */

static const struct sonde_column list_columns[] = {
	{"at", "AT", SONDE_COL_TIME,
	 "when it was woken; or, if it was awake already, when it began to handle the interrupt "
	 "that "
	 "woke the thread"},
	{"total", "TOOK", SONDE_COL_NS, "until the guest's thread ran; the steps add up to it"},
	{"vcpu", "VCPU", SONDE_COL_CPU, "who was woken"},
	LEVEL_COLUMN,
	CAUSE_COLUMN,
	{"irq", "INTERRUPT", SONDE_COL_STRING, "what its guest calls the interrupt"},
	STEP_COLUMNS,
	{"thread", "FOR", SONDE_COL_THREAD, "guest's thread that ran then"},
};

const struct table_def wakeup_list_table = {
	.public =
		{"wakeup_list", "Wake-ups of vCPUs, slowest first",
		 "each with its steps: from the wake-up of the vCPU's thread until the guest's thread ran",
		 list_columns, ARRAY_SIZE(list_columns)},
	.find = find_list,
};

/* ---- summed up ----------------------------------------------------------------------------- */

/* How long they took: @means is what the mean is of. */
#define LENGTH_COLUMNS(means)                                                                      \
	{"count", "TIMES", SONDE_COL_INT, "how often"}, {"mean", "MEAN", SONDE_COL_NS, means},     \
		{"median", "MEDIAN", SONDE_COL_NS, "half of them took no longer"},                 \
		{"p99", "P99", SONDE_COL_NS, "99 % of them took no longer"},                       \
		{"longest", "LONGEST", SONDE_COL_NS, "the longest"},                               \
	{                                                                                          \
		"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that began"                      \
	}

/* With its steps from @step on: who was awake needs no others. */
static void add_sum(struct sonde_rows *out, const struct wakeup_sums *s, size_t i, int step)
{
	const int64_t *key = keyed_cells(&s->keys, i);
	const struct sum *sum = keyed_sum_at(&s->keys, i);
	const struct histogram *h = sum->lengths;
	union sonde_cell *cells = rows_new(out);
	ns_t count = (ns_t)h->count;

	if (!cells)
		return;
	*cells++ = cell_int(key[KEY_VM]);
	*cells++ = cell_int(key[KEY_LEVEL]);
	*cells++ = cell_str(sonde_cause_name((enum sonde_cause)key[KEY_CAUSE]));
	*cells++ = cell_int(count);
	*cells++ = cell_int(h->total_ns / count);
	*cells++ = cell_int(histogram_quantile(h, 500000));
	*cells++ = cell_int(histogram_quantile(h, 990000));
	*cells++ = cell_int(h->greatest_ns);
	*cells++ = cell_int(sum->longest_at);
	for (; step <= STEP_QUEUE; step++)
		*cells++ = cell_int(sum->steps[step] / count);
}

static int tell_sums(struct sonde_rows *out, struct sonde_history *history, bool awake, ns_t begin,
		     ns_t end, struct error *err)
{
	const struct wakeup_sums *s;
	int ret = sums_get(&s, history, awake, begin, end, err);

	for (size_t i = 0; !ret && i < s->keys.nr; i++)
		add_sum(out, s, i, awake ? STEP_GUEST : STEP_BELOW);
	rows_sort(out, "count");
	return ret;
}

static int find_sums(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	return tell_sums(out, history, false, begin, end, err);
}

static const struct sonde_column sum_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "virtual machine"},
	LEVEL_COLUMN,
	CAUSE_COLUMN,
	LENGTH_COLUMNS("from the wake-up until the guest's thread ran"),
	STEP_COLUMNS,
};

const struct table_def wakeup_table = {
	.public =
		{"wakeup", "Wakeup latency",
		 "from the moment in which a vCPU's thread is woken to that in which the guest's thread "
		 "runs "
		 "(without the guest's trace: in which the guest goes on); the steps are means",
		 sum_columns, ARRAY_SIZE(sum_columns)},
	.find = find_sums,
};

/* ---- how they spread ----------------------------------------------------------------------- */

static void add_powers(struct sonde_rows *out, const struct wakeup_sums *s, size_t i)
{
	const struct sum *sum = keyed_sum_at(&s->keys, i);
	const int64_t *key = keyed_cells(&s->keys, i);
	uint64_t counts[HISTOGRAM_POWERS];

	histogram_powers(sum->lengths, counts);
	for (unsigned power = 0; power < HISTOGRAM_POWERS; power++) {
		if (!counts[power])
			continue;
		rows_add(out, (union sonde_cell[]){
				      cell_int(key[KEY_VM]),
				      cell_int(key[KEY_LEVEL]),
				      cell_str(sonde_cause_name((enum sonde_cause)key[KEY_CAUSE])),
				      cell_int(power ? (ns_t)1 << power : 0),
				      cell_int((ns_t)1 << (power + 1)),
				      cell_int((int64_t)counts[power]),
			      });
	}
}

static int find_histogram(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	const struct wakeup_sums *s;
	int ret = sums_get(&s, history, false, begin, end, err);

	for (size_t i = 0; !ret && i < s->keys.nr; i++)
		add_powers(out, s, i);
	return ret;
}

static const struct sonde_column histogram_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "virtual machine"},
	LEVEL_COLUMN,
	CAUSE_COLUMN,
	{"from", "FROM", SONDE_COL_NS, "they took so long or longer"},
	{"to", "TO", SONDE_COL_NS, "... and less than this"},
	{"count", "TIMES", SONDE_COL_INT, "how many there were"},
};

const struct table_def wakeup_histogram_table = {
	.public = {"wakeup_histogram", "Histogram of wakeup latencies",
		   "wake-ups by how long they took, in powers of 2", histogram_columns,
		   ARRAY_SIZE(histogram_columns)},
	.find = find_histogram,
};

/* ---- the vCPU was awake -------------------------------------------------------------------- */

static void add_awake(struct sonde_rows *out, const struct told *w)
{
	rows_add(out, (union sonde_cell[]){
			      cell_int(w->at),
			      cell_int(w->total),
			      cell_int(w->vcpu),
			      cell_int(w->level),
			      cell_str(sonde_cause_name(w->cause)),
			      cell_str(w->irq),
			      cell_int(w->steps[STEP_GUEST]),
			      cell_int(w->steps[STEP_QUEUE]),
			      cell_int(w->thread),
		      });
}

static int find_awake_list(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			   ns_t end, struct error *err)
{
	return list_all(out, history, true, begin, end, add_awake, err);
}

/* clang-format off */
#define AWAKE_CAUSE_COLUMN {"cause", "WOKEN FOR", SONDE_COL_STRING, "what the interrupt was for"}
#define AWAKE_COLUMNS                                                                              \
	{"guest", "IN GUEST", SONDE_COL_NS, "until the interrupt's handler had made it runnable"},    \
	{"guest_run_delay", "GUEST RUN DELAY", SONDE_COL_NS, "run-queue delay of it"}
/* clang-format on */

static const struct sonde_column awake_list_columns[] = {
	{"at", "AT", SONDE_COL_TIME,
	 "when the guest began to handle the interrupt that woke the thread"},
	{"total", "TOOK", SONDE_COL_NS, "until the thread ran; the steps add up to it"},
	{"vcpu", "VCPU", SONDE_COL_CPU, "who got the interrupt"},
	LEVEL_COLUMN,
	AWAKE_CAUSE_COLUMN,
	{"irq", "INTERRUPT", SONDE_COL_STRING, "what its guest calls the interrupt"},
	AWAKE_COLUMNS,
	{"thread", "FOR", SONDE_COL_THREAD, "guest's thread that was woken"},
};

const struct table_def wakeup_awake_list_table = {
	.public =
		{"wakeup_awake_list", "Wake-ups of threads on vCPUs that were awake, slowest first",
		 "guests' threads that an interrupt woke while another thread had their vCPU, which had "
		 "not halted: from its "
		 "handler's begin until the thread ran",
		 awake_list_columns, ARRAY_SIZE(awake_list_columns)},
	.find = find_awake_list,
};

static int find_awake(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	return tell_sums(out, history, true, begin, end, err);
}

static const struct sonde_column awake_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "virtual machine"},
	LEVEL_COLUMN,
	AWAKE_CAUSE_COLUMN,
	LENGTH_COLUMNS("from the interrupt's handler until the thread ran"),
	AWAKE_COLUMNS,
};

const struct table_def wakeup_awake_table = {
	.public =
		{"wakeup_awake", "Wakeup latency on vCPUs that were awake",
		 "guests' threads that an interrupt woke while another thread had their vCPU, which had "
		 "not halted; the steps are "
		 "means",
		 awake_columns, ARRAY_SIZE(awake_columns)},
	.find = find_awake,
};
