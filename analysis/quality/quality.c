/* SPDX-License-Identifier: Apache-2.0 */
/* How far the rest can be trusted: clocks, losses, traces left out, problems. */
#include "analysis/rows.h"
#include "query/losses.h"
#include "base/figure.h"

/* ---- clocks -------------------------------------------------------------------------------- */

struct clock_sum {
	const char *method;
	int64_t bound_ns;
	int64_t pieces, violations;
	int64_t pairs, readings, contained, timers;
	int64_t worst_ns, rate_ppb;
};

/* Pieces of one machine: the worst bound counts, and no bound is worse than any. */
static void add_piece(struct clock_sum *sum, const struct sonde_clock *c)
{
	if (!sum->pieces++) {
		sum->method = c->method;
		sum->bound_ns = c->bound_ns;
		sum->rate_ppb = c->rate_ppb;
	}
	if (c->bound_ns < 0 || c->bound_ns == INT64_MAX)
		sum->bound_ns = -1;
	else if (sum->bound_ns >= 0 && c->bound_ns > sum->bound_ns)
		sum->bound_ns = c->bound_ns;
	/* Evidence and violations are the whole model's, repeated in each of its pieces. */
	if (c->pairs > sum->pairs)
		sum->pairs = c->pairs;
	if (c->readings > sum->readings)
		sum->readings = c->readings;
	if (c->contained > sum->contained)
		sum->contained = c->contained;
	if (c->timers > sum->timers)
		sum->timers = c->timers;
	if (c->violations > sum->violations)
		sum->violations = c->violations;
	if (c->worst_violation_ns > sum->worst_ns)
		sum->worst_ns = c->worst_violation_ns;
}

static int find_clocks(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	(void)err;
	for (int64_t m = 0; m < sonde_nr_machines(history); m++) {
		struct clock_sum sum = {.method = "none", .bound_ns = -1};
		struct sonde_machine machine;

		sonde_machine_get(history, m, &machine);
		if (!machine.traced)
			continue;
		for (int64_t row = 0; row < sonde_nr_clocks(history); row++) {
			struct sonde_clock c;

			sonde_clock_get(history, row, &c);
			if (c.machine == m && c.from < end && (c.to > begin || c.to == c.from))
				add_piece(&sum, &c);
		}
		rows_add(out, (union sonde_cell[]){
				      cell_int(m),
				      cell_str(sum.method),
				      cell_int(sum.bound_ns),
				      cell_int(sum.pairs),
				      cell_int(sum.readings),
				      cell_int(sum.contained),
				      cell_int(sum.timers),
				      cell_int(sum.violations),
				      cell_int(sum.worst_ns),
				      cell_int(sum.pieces),
				      cell_int(sum.rate_ppb),
			      });
	}
	return 0;
}

static const struct sonde_column clock_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "whose clock"},
	{"method", "METHOD", SONDE_COL_STRING, "what relates it to L0's"},
	{"bound", "BOUND", SONDE_COL_NS, "times are at most this wrong; -1 = no limit known"},
	{"pairs", "PAIRS", SONDE_COL_INT, "hypercalls used that both machines recorded"},
	{"readings", "READINGS", SONDE_COL_INT, "limits used that readings of both clocks set"},
	{"contained", "CONTAINED", SONDE_COL_INT,
	 "limits used that entries and exits of its vCPUs set"},
	{"timers", "TIMERS", SONDE_COL_INT, "timers used that it programmed"},
	{"violations", "VIOLATIONS", SONDE_COL_INT, "observations the model still breaks"},
	{"worst_violation", "WORST", SONDE_COL_NS, "by how much at most"},
	{"pieces", "PIECES", SONDE_COL_INT, "straight lines its model is made of"},
	{"rate_ppb", "RATE PPB", SONDE_COL_SIGNED, "rate against the physical clock, 10^-9"},
};

const struct table_def clock_table = {
	.public = {"clock", "Clocks", "how well each machine's time is known", clock_columns,
		   ARRAY_SIZE(clock_columns)},
	.find = find_clocks,
};

/* ---- losses and problems ------------------------------------------------------------------- */

/* A gap of no length is where the trace begins or ends, as far as it is there. */
static int64_t loss_length(const struct sonde_loss *l)
{
	return l->end > l->begin ? ns_since(l->end, l->begin) : -1;
}

/* Of one whose length is not known. */
static int64_t loss_at_most(const struct sonde_history *history, const struct sonde_loss *l)
{
	ns_t latest = loss_latest_end(history, l);

	return latest > l->end ? ns_since(latest, l->begin) : -1;
}

static int find_losses(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	(void)err;
	for (int64_t row = 0; row < sonde_nr_losses(history); row++) {
		struct sonde_loss l;

		sonde_loss_get(history, row, &l);
		if (!loss_is_in(history, &l, begin, end))
			continue;
		rows_add(out, (union sonde_cell[]){
				      cell_int(l.machine),
				      cell_int(l.cpu),
				      cell_int(l.begin),
				      cell_int(loss_length(&l)),
				      cell_int(loss_at_most(history, &l)),
				      cell_int(l.events),
			      });
	}
	return 0;
}

static const struct sonde_column loss_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "in whose trace"},
	{"cpu", "CPU", SONDE_COL_INT, "on which of its CPUs, -1 unknown"},
	{"at", "AT", SONDE_COL_TIME, "from when on"},
	{"length", "FOR", SONDE_COL_NS, "how long, -1 = not known"},
	{"at_most", "AT MOST", SONDE_COL_NS,
	 "how long at most where that is not known: to the history's end; -1 else"},
	{"events", "EVENTS", SONDE_COL_INT, "lost events, -1 = nobody counted them"},
};

const struct table_def gap_table = {
	.public = {"gap", "Gaps", "times in which events of a CPU are missing", loss_columns,
		   ARRAY_SIZE(loss_columns)},
	.find = find_losses,
};

static int find_left_out(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			 ns_t end, struct error *err)
{
	(void)begin;
	(void)end;
	(void)err;
	for (int64_t row = 0; row < sonde_nr_left_outs(history); row++) {
		struct sonde_left_out l;

		sonde_left_out_get(history, row, &l);
		rows_add(out, (union sonde_cell[]){
				      cell_str(l.name),
				      cell_str(l.path),
				      cell_str(l.reason),
			      });
	}
	return 0;
}

static const struct sonde_column left_out_columns[] = {
	{"name", "NAME", SONDE_COL_STRING, "of the trace's machine; empty: it could not be opened"},
	{"path", "TRACE", SONDE_COL_STRING, "the trace, as it was given"},
	{"reason", "REASON", SONDE_COL_STRING, "why it is not in this history"},
};

const struct table_def left_out_table = {
	.public = {"left_out", "Traces left out",
		   "traces that were given, but are not in this history", left_out_columns,
		   ARRAY_SIZE(left_out_columns)},
	.find = find_left_out,
};

static int find_problems(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			 ns_t end, struct error *err)
{
	(void)begin;
	(void)end;
	(void)err;
	/* Whoever wrote the history could not know. */
	if (!sonde_history_complete(history))
		rows_add(out, (union sonde_cell[]){
				      cell_int(-1),
				      cell_int(1),
				      cell_str("this history is not complete: its writer was "
					       "stopped, or the file cut off; analyse the traces "
					       "again"),
				      cell_str("problem"),
			      });
	for (int64_t row = 0; row < sonde_nr_problems(history); row++) {
		struct sonde_problem p;

		sonde_problem_get(history, row, &p);
		rows_add(out, (union sonde_cell[]){
				      cell_int(p.machine),
				      cell_int(p.count),
				      cell_str(p.text),
				      cell_str(p.note ? "note" : "problem"),
			      });
	}
	return 0;
}

static const struct sonde_column problem_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "whose trace; -1 = all"},
	{"count", "TIMES", SONDE_COL_INT, "how often"},
	{"text", "PROBLEM", SONDE_COL_STRING, "what was wrong, and what was done"},
	{"kind", "KIND", SONDE_COL_STRING, "problem, or note: good to know, and no fault"},
};

const struct table_def problem_table = {
	.public = {"problem", "Problems", "what was wrong with the input, and what was done",
		   problem_columns, ARRAY_SIZE(problem_columns)},
	.find = find_problems,
};
