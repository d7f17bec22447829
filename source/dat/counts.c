/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder counted, held against what there is.
 *
 * Nothing in a page says which page was before it.  Where whole ones are missing, and times go on,
 * only the kernel's counters tell, of each CPU (CPUSTAT): so many events were read.  They tell how
 * many are missing, and not where.  So each place where one page ends and the next begins may be
 * it, and so may be what is in front of the first page, and behind the last one.
 *
 * Who cuts an excerpt out of a file leaves the counters as they were.  They prove nothing then, so
 * it must be known whether a file is one.  What an excerpt is: all events of one stretch of time, and
 * not all of the recording's.  So a file is none
 *
 *	- that Sonde recorded: its excerpts have another recorder's name;
 *	- of which a CPU has all of its events;
 *	- of which a CPU lacks an event in front of the file's last one, namely the one that the
 *	  counters have as the oldest when they were read: it ends in the midst of the stretch;
 *	- of which a CPU goes on to the recording's end and has the most of its events.
 *
 * The first three are proofs.  The last is none: it takes a long excerpt from the end of a recording
 * for a file with gaps, which is less than is known.  What is left is taken for an excerpt.  That too
 * is no proof: a file that lost pages of all CPUs, and more than half or the end, looks the same.
 * There a state may last through a gap that nothing else shows, and sonde check gives both counts.
 */
#include "source/dat/reader.h"

#include <string.h>

#define RECORD_LEAST_BYTES 12 /* its header, and what each event has */

static uint64_t kept(const struct dat_stream *ds)
{
	return atomic_load(&ds->kept_seen);
}

static bool is_whole(const struct dat_stream *ds)
{
	return ds->stat_least && kept(ds) >= ds->stat_least;
}

/* The file's own stream @i; NULL for one that came from elsewhere. */
static const struct dat_stream *own_stream(const struct trace *t, unsigned i)
{
	return t->streams[i].trace == t ? t->streams[i].reader : NULL;
}

/* The CPU's last events are there. */
static bool reaches_end(const struct dat_stream *ds)
{
	return ds->stat_oldest && atomic_load(&ds->last_seen) >= ds->stat_oldest;
}

static bool has_most(const struct dat_stream *ds)
{
	return kept(ds) >= ds->stat_least / 2;
}

/* When the last event is of all that the file has. */
static uint64_t last_of_file(const struct trace *t)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct dat_stream *ds = own_stream(t, i);
		uint64_t seen = ds ? atomic_load(&ds->last_seen) : 0;

		last = seen > last ? seen : last;
	}
	return last;
}

/* An event of the CPU is missing in front of others that are there. */
static bool ends_within(const struct dat_stream *ds, uint64_t last)
{
	return ds->stat_oldest && !reaches_end(ds) && ds->stat_oldest <= last;
}

/* See above. */
static bool is_excerpt(const struct trace *t)
{
	uint64_t last = last_of_file(t);

	if (!strcmp(t->tracer, "sonde"))
		return false;
	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct dat_stream *ds = own_stream(t, i);

		if (ds &&
		    (is_whole(ds) || ends_within(ds, last) || (reaches_end(ds) && has_most(ds))))
			return false;
	}
	return true;
}

/* What is known to be missing may be all that is. */
static bool is_explained(const struct stream *s, uint64_t missing)
{
	const struct dat_stream *ds = s->reader;

	return s->cut || (atomic_load(&ds->lost_uncounted) && !ds->stat_lost) ||
	       missing <= atomic_load(&ds->skipped_seen) / RECORD_LEAST_BYTES;
}

static void tell(struct trace *t, const struct stream *s, uint64_t counted, bool explained)
{
	const struct dat_stream *ds = s->reader;
	struct trace_loss loss = {.events = counted - kept(ds)};

	trace_loss_add(t, &loss);
	trace_problem(
		t, "%s: CPU %d%s%s: of %llu events that the recorder counted the file has %llu%s",
		t->path, s->cpu, *s->buffer ? " of buffer " : "", s->buffer,
		(unsigned long long)counted, (unsigned long long)kept(ds),
		explained ? "; how many each gap lacks is not known"
			  : "; between which of its pages the others were is not known");
}

static void compare(struct trace *t, struct stream *s)
{
	struct dat_stream *ds = (struct dat_stream *)s->reader;
	bool ours = !strcmp(t->tracer, "sonde");
	uint64_t counted = ours ? ds->stat_kept : ds->stat_least;
	bool explained;

	if (kept(ds) >= counted)
		return;
	explained = is_explained(s, counted - kept(ds));
	tell(t, s, counted, explained);
	if (!explained)
		atomic_store(&ds->lacks, true);
}

void dat_counts_compare(struct dat *d)
{
	struct trace *t = d->file.trace;
	uint64_t counted = 0, there = 0;
	bool excerpt = is_excerpt(t);

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct dat_stream *ds = own_stream(t, i);

		if (!ds)
			continue;
		counted += ds->stat_kept;
		there += kept(ds);
		if (!excerpt)
			compare(t, &t->streams[i]);
	}
	if (excerpt && there < counted) {
		t->excerpt_of = counted;
		t->excerpt = there;
	}
}

bool dat_lacks_events(const struct stream *s)
{
	const struct dat_stream *ds = s->reader;

	return atomic_load(&ds->lacks) && !ds->lacks_at_seams;
}

void dat_show_lacking(struct stream *s)
{
	struct dat_stream *ds = (struct dat_stream *)s->reader;

	if (!atomic_load(&ds->lacks))
		return;
	ds->lacks_at_seams = true;
	s->cut |= !reaches_end(ds);
}
