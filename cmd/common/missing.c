/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/missing.h"

#include "analysis/rows.h"
#include "query/losses.h"
#include "analysis/quality/unknown_time.h"
#include "base/figure.h"
#include "base/units.h"
#include "report/missing.h"
#include "report/moment.h"
#include "report/paragraph.h"

#include <inttypes.h>

#define LOSS_TEXT 400

static void print_not_known(const struct invocation *inv, const char *lead,
			    struct sonde_history *history, int64_t begin, int64_t end)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	char share[UNIT_TEXT], length[UNIT_TEXT];
	struct not_known of;
	struct unseen unseen;

	if (not_known_find(&of, history, begin, end) || !of.time_ns)
		return;
	fprintf(inv->screen.out, "%s%s of the CPU time is not known: %s", lead,
		unit_share(share, share_ppm(of.time_ns, of.all_ns)),
		unit_length(length, of.time_ns, is_ns));
	if (!unseen_find(&unseen, history, begin, end, of.time_ns) && unseen.lost)
		fprintf(inv->screen.out, ", %s of it in gaps",
			unit_length(length, unseen.lost, is_ns));
	fputc('\n', inv->screen.out);
}

/* "from 1.5 to 1.7 (200.0 ms)"; not @with_length: beside another length it would be taken for the
 * same one's. */
static void when_text(char *buf, size_t room, const struct sonde_history *history,
		      const struct sonde_loss *l, bool with_length)
{
	char from[UNIT_TEXT], to[UNIT_TEXT], length[UNIT_TEXT], lasts[UNIT_TEXT + 3] = "";
	bool is_ns = sonde_history_ticks_are_ns(history);
	ns_t latest = loss_latest_end(history, l);

	unit_time(from, l->begin, is_ns);
	unit_time(to, l->end, is_ns);
	if (with_length)
		snprintf(lasts, sizeof(lasts), " (%s)",
			 unit_length(length, ns_since(latest, l->begin), is_ns));
	if (l->end > l->begin)
		snprintf(buf, room, "from %s to %s%s", from, to, lasts);
	else if (latest > l->begin)
		snprintf(buf, room, "from %s on, at most to the end%s", from, lasts);
	else
		snprintf(buf, room, "at %s", from);
}

/* "Events are missing on CPU 0 of host0 from 1.5 to 1.7 (200.0 ms)" */
static void loss_text(char *buf, size_t room, struct sonde_history *history,
		      const struct sonde_loss *l, bool with_length)
{
	char what[64] = "Events are missing", cpu[32] = "", when[3 * UNIT_TEXT + 32];
	char events[UNIT_TEXT];
	struct sonde_machine m;

	if (l->events > 0)
		snprintf(what, sizeof(what), "%s event%s lost", unit_count(events, l->events),
			 l->events == 1 ? " was" : "s were");
	if (l->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "CPU %d of ", l->cpu);
	when_text(when, sizeof(when), history, l, with_length);
	snprintf(buf, room, "%s on %s%s %s", what, cpu,
		 sonde_machine_get(history, l->machine, &m) ? "an unknown machine" : m.name, when);
}

/* A gap in a host's trace hides what all its VMs did: it comes before one in theirs. */
static bool hides_more(const struct sonde_history *history, const struct sonde_loss *a,
		       int64_t length, const struct sonde_loss *than, int64_t most)
{
	struct sonde_machine of_a, of_than;

	if (most < 0)
		return true;
	if (sonde_machine_get(history, a->machine, &of_a) ||
	    sonde_machine_get(history, than->machine, &of_than) || of_a.level == of_than.level)
		return length > most;
	return of_a.level < of_than.level;
}

/* The worst in the window, and how many there are. */
static void print_gaps(const struct invocation *inv, const char *lead,
		       struct sonde_history *history, int64_t begin, int64_t end)
{
	struct sonde_loss l, worst = {0};
	char loss[LOSS_TEXT], more[64] = "", text[LOSS_TEXT + 100];
	int64_t nr = 0, most = -1;

	for (int64_t row = 0; !sonde_loss_get(history, row, &l); row++) {
		int64_t length = ns_common(l.begin, loss_latest_end(history, &l), begin, end);

		if (!loss_is_in(history, &l, begin, end))
			continue;
		nr++;
		if (!hides_more(history, &l, length, &worst, most))
			continue;
		most = length;
		worst = l;
	}
	if (!nr)
		return;
	loss_text(loss, sizeof(loss), history, &worst, true);
	if (nr > 1)
		snprintf(more, sizeof(more), ", and in %" PRId64 " more gap%s", nr - 1,
			 nr == 2 ? "" : "s");
	snprintf(text, sizeof(text), "%s%s: sonde report -t gap", loss, more);
	paragraph_print(&inv->screen, lead, text);
}

/* What its own host ran meanwhile is in all times of a VM whose host has no trace. */
static void print_unseen_host(const struct invocation *inv, const char *lead,
			      const struct sonde_history *history)
{
	struct sonde_machine m;
	char text[200];

	if (outermost_of(history) != OUTERMOST_VM || sonde_machine_get(history, 0, &m))
		return;
	snprintf(text, sizeof(text),
		 "%.64s is itself a VM, and its host has no trace: all times hold what that host "
		 "ran meanwhile, too",
		 m.name);
	paragraph_print(&inv->screen, lead, text);
}

/* What came behind its end, nobody knows. */
static void print_incomplete(const struct invocation *inv, const char *lead,
			     const struct sonde_history *history)
{
	char end[UNIT_TEXT], text[UNIT_TEXT + 120];

	if (sonde_history_complete(history))
		return;
	unit_time(end, sonde_history_end(history), sonde_history_ticks_are_ns(history));
	snprintf(text, sizeof(text),
		 "The history is not complete: it ends at %s, and its traces may go on; analyse "
		 "them again",
		 end);
	paragraph_print(&inv->screen, lead, text);
}

bool missing_is_told(const struct sonde_history *history, int64_t begin, int64_t end)
{
	return !sonde_history_complete(history) || missing_gaps(history, begin, end) ||
	       sonde_nr_left_outs(history) || outermost_of(history) == OUTERMOST_VM;
}

void missing_print_of(const struct invocation *inv, const char *lead, struct sonde_history *history,
		      int64_t begin, int64_t end)
{
	int64_t nr = sonde_nr_left_outs(history);

	print_incomplete(inv, lead, history);
	print_not_known(inv, lead, history, begin, end);
	print_gaps(inv, lead, history, begin, end);
	print_unseen_host(inv, lead, history);
	if (nr)
		fprintf(inv->screen.out,
			"%s%" PRId64 " trace%s left out: sonde report -t left_out says why\n", lead,
			nr, nr == 1 ? " is" : "s are");
}

void missing_print_gaps(const struct invocation *inv, struct sonde_history *history, int64_t begin,
			int64_t end)
{
	print_gaps(inv, "", history, begin, end);
}

void missing_print(const struct invocation *inv, struct sonde_history *history, int64_t begin,
		   int64_t end)
{
	missing_print_of(inv, "", history, begin, end);
}

void missing_json(struct json *j, const struct sonde_history *history, int64_t begin, int64_t end)
{
	json_bool(j, "complete", sonde_history_complete(history));
	json_int(j, "left_out", sonde_nr_left_outs(history));
	json_int(j, "gaps", missing_gaps(history, begin, end));
}

void missing_print_at(const struct invocation *inv, struct sonde_history *history, int64_t at)
{
	char text[LOSS_TEXT];
	struct sonde_loss l;

	for (int64_t row = 0; !sonde_loss_get(history, row, &l); row++) {
		if (at < l.begin || at >= loss_latest_end(history, &l))
			continue;
		loss_text(text, sizeof(text), history, &l, false);
		paragraph_print(&inv->screen, "", text);
	}
}
