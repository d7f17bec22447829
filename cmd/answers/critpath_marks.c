/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/critpath_marks.h"
#include "base/units.h"
#include "base/figure.h"
#include "report/rows.h"

#include <stdio.h>

static enum exit_code complain_unpaired(const struct invocation *inv,
					const struct marks_wanted *opt, const struct mark_pairs *p)
{
	if (!p->begins && opt->to)
		return complain(inv, EXIT_USAGE,
				"--from: nothing marked \"%s\" in that time; sonde report -t mark "
				"lists marks",
				opt->from);
	if (!p->begins)
		return complain(
			inv, EXIT_USAGE,
			"--from: no span \"%s\" begins in that time (sonde report -t mark lists "
			"marks); between two marks, say --to, too",
			opt->from);
	return complain(inv, EXIT_USAGE, "no mark \"%s\" follows a mark \"%s\" in that time",
			opt->to ? opt->to : opt->from, opt->from);
}

enum exit_code marked_request_find(const struct invocation *inv, struct sonde_history *history,
				   const struct marks_wanted *opt, int64_t begin, int64_t end,
				   struct marked_request *out)
{
	struct mark_pairs pairs;
	enum exit_code code = EXIT_DONE;

	if (mark_pairs_find(&pairs, history, opt->from, opt->to, begin, end)) {
		mark_pairs_release(&pairs);
		return complain(inv, EXIT_FAILED, "out of memory");
	}
	out->nth = opt->nth ? (size_t)opt->nth : 1;
	if (!pairs.nr) {
		code = complain_unpaired(inv, opt, &pairs);
	} else if (out->nth > pairs.nr) {
		code = complain(inv, EXIT_USAGE, "--nth: there are only %zu", pairs.nr);
	} else {
		const struct mark_pair *middle = &pairs.list[pairs.nr / 2];

		out->pair = pairs.list[out->nth - 1];
		out->nr_pairs = pairs.nr;
		out->median = ns_since(middle->to.t, middle->from.t);
	}
	mark_pairs_release(&pairs);
	return code;
}

void marked_request_print(const struct invocation *inv, const struct sonde_history *history,
			  const struct marked_request *r)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	const char *from = r->pair.from.text, *to = r->pair.to.text;
	char median[UNIT_TEXT], length[UNIT_TEXT], nth[48] = "the longest";

	if (!r->nr_pairs)
		return;
	if (r->nth > 1)
		snprintf(nth, sizeof(nth), "number %zu by length", r->nth);
	unit_length(length, ns_since(r->pair.to.t, r->pair.from.t), is_ns);
	if (r->nr_pairs == 1)
		screen_say(&inv->screen, "\"%s\" to \"%s\": %s, the only one\n", from, to, length);
	else
		screen_say(&inv->screen, "\"%s\" to \"%s\": %s of %zu, %s; the median is %s\n",
			   from, to, nth, r->nr_pairs, length,
			   unit_length(median, r->median, is_ns));
}

static void json_mark(struct json *j, const char *key, struct sonde_history *history,
		      const struct sonde_mark *m)
{
	struct sonde_machine machine;

	json_begin_object(j, key);
	json_int(j, "at", m->t);
	json_str(j, "machine",
		 sonde_machine_get(history, m->machine, &machine) ? "" : machine.name);
	json_int(j, "cpu", m->cpu);
	json_thread(j, "thread", history, m->thread);
	json_str(j, "text", m->text);
	json_int(j, "id", m->id);
	json_end(j);
}

void marked_request_json(struct json *j, struct sonde_history *history,
			 const struct marked_request *r)
{
	if (!r->nr_pairs)
		return;
	json_begin_object(j, "request");
	json_mark(j, "from", history, &r->pair.from);
	json_mark(j, "to", history, &r->pair.to);
	json_int(j, "nth", (int64_t)r->nth);
	json_int(j, "requests", (int64_t)r->nr_pairs);
	json_int(j, "median", r->median);
	json_end(j);
}
