/* SPDX-License-Identifier: Apache-2.0 */
/* Tables about the history: how far it can be trusted, where it came from; wake-ups, marks. */
#include "sql/rows.h"

/* ---- the history itself ------------------------------------------------------------------------
 */

struct run_row {
	const char *file;
	int64_t begin, end, window_begin, window_end, length;
	int64_t wall_offset;
	bool complete, ticks_are_ns;
};

static int64_t one(const struct sonde_history *history)
{
	(void)history;
	return 1;
}

static void load_run(const struct sql_history *r, int64_t row, void *out)
{
	struct run_row *x = out;

	(void)row;
	*x = (struct run_row){
		.file = r->path,
		.begin = sonde_history_begin(r->history),
		.end = sonde_history_end(r->history),
		.window_begin = r->begin,
		.window_end = r->end,
		.length = r->end - r->begin,
		.wall_offset = -1,
		.complete = sonde_history_complete(r->history),
		.ticks_are_ns = sonde_history_ticks_are_ns(r->history),
	};
	sonde_history_wall_offset(r->history, &x->wall_offset);
}

static const struct rows run_rows = {one, load_run};
static const struct sql_column run_columns[] = {
	COLUMN_TEXT(struct run_row, "file", file, "the history"),
	COLUMN(struct run_row, "begin", TIME, begin, "of the history"),
	COLUMN(struct run_row, "end", TIME, end, "of the history"),
	COLUMN(struct run_row, "window_begin", TIME, window_begin,
	       "of the window of tables, unless they are asked for another: --time, or where the host was "
	       "traced"),
	COLUMN(struct run_row, "window_end", TIME, window_end, "its end"),
	COLUMN(struct run_row, "length", NS, length, "of that window"),
	COLUMN(struct run_row, "complete", BOOL, complete, "0: its writer was stopped"),
	COLUMN(struct run_row, "ticks_are_ns", BOOL, ticks_are_ns,
	       "0: all times are cycles of a counter of unknown rate"),
	COLUMN(struct run_row, "wall_offset", INT, wall_offset,
	       "what to add to a time for Unix time in ns; NULL unknown"),
};
ROWS_TABLE_NAMED(run, "history", struct run_row, 1, "the history: one row");

struct cost_row {
	const char *what;
	uint64_t count;
};

static int64_t nr_costs(const struct sonde_history *history)
{
	(void)history;
	return COST_NR;
}

static void load_cost(const struct sql_history *r, int64_t row, void *out)
{
	*(struct cost_row *)out =
		(struct cost_row){sql_cost_name((enum sql_cost)row), r->cost[row]};
}

static const struct rows cost_rows = {nr_costs, load_cost};
static const struct sql_column cost_columns[] = {
	COLUMN_TEXT(struct cost_row, "what", what,
		    "attributes, intervals, events, analyses, analysed_ns"),
	COLUMN(struct cost_row, "count", INT, count, "how many"),
};
ROWS_TABLE(cost, struct cost_row, COST_NR,
	   "what queries have read of this history since it was opened");

/* ---- clocks, losses, problems -------------------------------------------------------------- */

static void load_clock(const struct sql_history *r, int64_t row, void *out)
{
	sonde_clock_get(r->history, row, out);
}

static const struct rows clocks_rows = {sonde_nr_clocks, load_clock};
static const struct sql_column clocks_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_clock, "machine", MACHINE, machine, "whose clock it is"),
	COLUMN(struct sonde_clock, "begin", TIME, from,
	       "of the piece; NULL: outside of the history"),
	COLUMN(struct sonde_clock, "end", TIME, to, "of the piece; NULL: outside of the history"),
	COLUMN(struct sonde_clock, "bound", NS, bound_ns,
	       "times are at most this wrong; NULL: no limit is known"),
	COLUMN_TEXT(struct sonde_clock, "method", method, "how it was found"),
	COLUMN(struct sonde_clock, "pairs", INT, pairs,
	       "hypercalls it was made from that both machines recorded"),
	COLUMN(struct sonde_clock, "readings", INT, readings,
	       "limits it was made from that readings of both clocks set"),
	COLUMN(struct sonde_clock, "contained", INT, contained,
	       "limits it was made from that entries and exits of the vCPUs set"),
	COLUMN(struct sonde_clock, "timers", INT, timers,
	       "timers it was made from that the machine programmed"),
	COLUMN(struct sonde_clock, "violations", INT, violations, "of these it breaks"),
	COLUMN(struct sonde_clock, "worst_violation", NS, worst_violation_ns, "by how much"),
	COLUMN(struct sonde_clock, "rate_ppb", SIGNED, rate_ppb,
	       "how much faster than L0's, parts per 10^9"),
	COLUMN_ROW_OF(struct sonde_clock, "machine", MACHINE, machine),
};
ROWS_TABLE(clocks, struct sonde_clock, 100, "pieces of the machines' clock models");

static void load_loss(const struct sql_history *r, int64_t row, void *out)
{
	sonde_loss_get(r->history, row, out);
}

static const struct rows gaps_rows = {sonde_nr_losses, load_loss};
static const struct sql_column gaps_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_loss, "machine", MACHINE, machine, "whose events they were"),
	COLUMN(struct sonde_loss, "cpu", INT, cpu, "number of its CPU"),
	COLUMN(struct sonde_loss, "begin", TIME, begin, "from when on"),
	COLUMN(struct sonde_loss, "end", TIME, end, "until when"),
	COLUMN(struct sonde_loss, "events", INT, events, "lost events; NULL: nobody counted them"),
	COLUMN_ROW_OF(struct sonde_loss, "machine", MACHINE, machine),
};
ROWS_TABLE(gaps, struct sonde_loss, 100, "times in which events of a CPU are missing");

static void load_problem(const struct sql_history *r, int64_t row, void *out)
{
	sonde_problem_get(r->history, row, out);
}

static const struct rows problems_rows = {sonde_nr_problems, load_problem};
static const struct sql_column problems_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_problem, "machine", MACHINE, machine, "whose trace it is in"),
	COLUMN_TEXT(struct sonde_problem, "text", text, "what was wrong, and what was done"),
	COLUMN(struct sonde_problem, "count", INT, count, "how often"),
	COLUMN(struct sonde_problem, "note", BOOL, note, "good to know, and no fault"),
	COLUMN_ROW_OF(struct sonde_problem, "machine", MACHINE, machine),
};
ROWS_TABLE(problems, struct sonde_problem, 20, "what was wrong with the input");

/* ---- where it came from -------------------------------------------------------------------- */

static void load_meta(const struct sql_history *r, int64_t row, void *out)
{
	sonde_meta_get(r->history, row, out);
}

static const struct rows meta_rows = {sonde_nr_meta, load_meta};
static const struct sql_column meta_columns[] = {
	COLUMN_TEXT(struct sonde_meta, "key", key, "version, created, command ..."),
	COLUMN_TEXT(struct sonde_meta, "value", value, "its value"),
};
ROWS_TABLE(meta, struct sonde_meta, 10, "provenance of the history");

static void load_identity(const struct sql_history *r, int64_t row, void *out)
{
	sonde_identity_get(r->history, row, out);
}

static const struct rows identities_rows = {sonde_nr_identities, load_identity};
static const struct sql_column identities_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_identity, "machine", MACHINE, machine, "of whom it is known"),
	COLUMN_TEXT(struct sonde_identity, "key", key, "boot_id, product_uuid, vm_name ..."),
	COLUMN_TEXT(struct sonde_identity, "value", value, "its value"),
	COLUMN_ROW_OF(struct sonde_identity, "machine", MACHINE, machine),
};
ROWS_TABLE(identities, struct sonde_identity, 50, "what machines say of themselves");

static void load_cpu_times(const struct sql_history *r, int64_t row, void *out)
{
	sonde_cpu_times_get(r->history, row, out);
}

#define JIFFIES(member) COLUMN(struct sonde_cpu_times, #member, INT, member, "in 1/hz s since boot")

static const struct rows cpu_times_rows = {sonde_nr_cpu_times, load_cpu_times};
static const struct sql_column cpu_times_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_cpu_times, "machine", MACHINE, machine, "who counted"),
	COLUMN(struct sonde_cpu_times, "time", TIME, t, "when it was read"),
	COLUMN_TEXT(struct sonde_cpu_times, "cause", cause, "why: start, vm, end"),
	COLUMN(struct sonde_cpu_times, "cpu", INT, cpu, "number of its CPU"),
	COLUMN(struct sonde_cpu_times, "hz", INT, hz, "how many units make a second"),
	JIFFIES(user),
	JIFFIES(nice),
	JIFFIES(system),
	JIFFIES(idle),
	JIFFIES(iowait),
	JIFFIES(irq),
	JIFFIES(softirq),
	JIFFIES(steal),
	JIFFIES(guest),
	JIFFIES(guest_nice),
	COLUMN_ROW_OF(struct sonde_cpu_times, "machine", MACHINE, machine),
};
ROWS_TABLE(cpu_times, struct sonde_cpu_times, 50, "lines of the machines' /proc/stat, as recorded");

/* ---- wake-ups, marks ----------------------------------------------------------------------- */

struct wake_row {
	struct sonde_wake w;
	const char *cause;
};

static void load_wake(const struct sql_history *r, int64_t row, void *out)
{
	struct wake_row *x = out;

	sonde_wake_get(r->history, row, &x->w);
	x->cause = sonde_cause_name(x->w.cause);
}

static const struct rows wakes_rows = {sonde_nr_wakes, load_wake};
static const struct sql_column wakes_columns[] = {
	COLUMN_ROW,
	COLUMN(struct wake_row, "vcpu", CPU, w.vcpu, "who was woken"),
	COLUMN_TEXT(struct wake_row, "cause", cause, "timer, disk, network, ipi, device, vmm ..."),
	COLUMN(struct wake_row, "vector", INT, w.vector, "of the interrupt that did it"),
	COLUMN_TEXT(struct wake_row, "irq", w.irq, "what the guest calls it"),
	COLUMN(struct wake_row, "sender", CPU, w.from, "vCPU that sent it"),
	COLUMN(struct wake_row, "by", THREAD, w.by, "the parent's thread that delivered it"),
	COLUMN_TEXT(struct wake_row, "evidence", w.evidence, "how that was found"),
	COLUMN_ROW_OF(struct wake_row, "vcpu", CPU, w.vcpu),
	COLUMN_ROW_OF(struct wake_row, "sender", CPU, w.from),
	COLUMN_ROW_OF(struct wake_row, "by", THREAD, w.by),
};
ROWS_TABLE(wakes, struct wake_row, 500,
	   "ways in which vCPUs were woken: states of kind \"woken\" have such rows as values");

struct vector_row {
	struct sonde_vector v;
	const char *cause;
};

static void load_vector(const struct sql_history *r, int64_t row, void *out)
{
	struct vector_row *x = out;

	sonde_vector_get(r->history, row, &x->v);
	x->cause = sonde_cause_name(x->v.cause);
}

static const struct rows vectors_rows = {sonde_nr_vectors, load_vector};
static const struct sql_column vectors_columns[] = {
	COLUMN_ROW,
	COLUMN(struct vector_row, "vcpu", CPU, v.vcpu, "of which vCPU"),
	COLUMN(struct vector_row, "number", INT, v.number, "the vector"),
	COLUMN_TEXT(struct vector_row, "cause", cause, "what it means there"),
	COLUMN_TEXT(struct vector_row, "irq", v.irq, "what the guest calls it"),
	COLUMN(struct vector_row, "times", INT, v.times, "deliveries that showed something"),
	COLUMN(struct vector_row, "agree", INT, v.agree, "those that showed this cause"),
	COLUMN_TEXT(struct vector_row, "evidence", v.evidence, "how that was found"),
	COLUMN_ROW_OF(struct vector_row, "vcpu", CPU, v.vcpu),
};
ROWS_TABLE(vectors, struct vector_row, 50, "what interrupt vectors of vCPUs mean");

struct mark_row {
	struct sonde_mark m;
	const char *kind;
};

static void load_mark(const struct sql_history *r, int64_t row, void *out)
{
	static const char *const kinds[] = {"point", "begin", "end"};
	struct mark_row *x = out;

	sonde_mark_get(r->history, row, &x->m);
	x->kind = x->m.kind >= 0 && x->m.kind < 3 ? kinds[x->m.kind] : "unknown";
}

static const struct rows marks_rows = {sonde_nr_marks, load_mark};
static const struct sql_column marks_columns[] = {
	COLUMN_ROW,
	COLUMN(struct mark_row, "time", TIME, m.t, "when"),
	COLUMN(struct mark_row, "machine", MACHINE, m.machine, "who marked"),
	COLUMN(struct mark_row, "cpu", INT, m.cpu, "number of its CPU"),
	COLUMN(struct mark_row, "thread", THREAD, m.thread, "which thread"),
	COLUMN_TEXT(struct mark_row, "kind", kind, "point, begin or end"),
	COLUMN(struct mark_row, "id", INT, m.id, "joins begin and end, 0 none"),
	COLUMN_TEXT(struct mark_row, "text", m.text, "what was said"),
	COLUMN(struct mark_row, "by_host", BOOL, m.by_host, "its host saw the call"),
	COLUMN_ROW_OF(struct mark_row, "machine", MACHINE, m.machine),
	COLUMN_ROW_OF(struct mark_row, "thread", THREAD, m.thread),
};
ROWS_TABLE(marks, struct mark_row, 500,
	   "what guests marked; table mark has begins and ends joined");
