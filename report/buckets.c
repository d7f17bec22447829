/* SPDX-License-Identifier: Apache-2.0 */
#include "report/buckets.h"
#include "query/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- load ---------------------------------------------------------------------------------- */

int64_t *load_cells(const struct load *l, unsigned machine, unsigned mode)
{
	return &l->time_ns[((size_t)machine * QUERY_NR_MODES + mode) * l->nr_buckets];
}

static int add_bucket(struct load *l, struct sonde_history *history, uint32_t attr, unsigned bucket,
		      int64_t begin, int64_t end)
{
	struct sonde_time_share *shares;
	unsigned nr;
	int ret = sonde_interval_sum(history, attr, begin, end, &shares, &nr);

	for (unsigned i = 0; !ret && i < nr; i++) {
		struct sonde_context x = {0};

		if (shares[i].value)
			sonde_context_get(history, (int64_t)shares[i].value - 1, &x);
		if (x.machine < l->nr_machines && (unsigned)x.mode < QUERY_NR_MODES)
			load_cells(l, x.machine, x.mode)[bucket] += shares[i].time_ns;
	}
	free(shares);
	return ret;
}

static int add_cpu(struct load *l, struct sonde_history *history, uint32_t attr, int64_t begin,
		   int64_t end)
{
	int ret = 0;

	for (unsigned b = 0; b < l->nr_buckets && !ret; b++) {
		int64_t from = bucket_begin(begin, end, l->nr_buckets, b);
		int64_t to = bucket_begin(begin, end, l->nr_buckets, b + 1);

		if (from < to)
			ret = add_bucket(l, history, attr, b, from, to);
	}
	l->nr_cpus++;
	return ret;
}

int load_init(struct load *l, struct sonde_history *history, int64_t begin, int64_t end,
	      unsigned nr)
{
	int ret = 0;

	*l = (struct load){.nr_machines = sonde_nr_machines(history), .nr_buckets = nr};
	l->time_ns = calloc((size_t)l->nr_machines * QUERY_NR_MODES, nr * sizeof(*l->time_ns));
	if (!l->time_ns)
		return -ENOMEM;
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++) {
		uint32_t attr = sonde_attr_of_cpu(history, row, "runs");

		if (attr != SONDE_NO_ATTR)
			ret = add_cpu(l, history, attr, begin, end);
	}
	return ret;
}

void load_release(struct load *l)
{
	free(l->time_ns);
	l->time_ns = NULL;
}

#define SAMPLE_LEAST 64 /* changes of a bucket that are looked at in any case */

/* ---- exits --------------------------------------------------------------------------------- */

int exit_counts_init(struct exit_counts *x, int64_t begin, int64_t end, unsigned nr)
{
	*x = (struct exit_counts){.begin = begin, .end = end, .nr_buckets = nr};
	x->counts = calloc(nr, sizeof(*x->counts));
	return x->counts ? 0 : -ENOMEM;
}

void exit_counts_release(struct exit_counts *x)
{
	free(x->counts);
	x->counts = NULL;
}

/* A vCPU's attribute `exit` has a value from each exit to the next entry; what is learned on the
 * way makes it another one. */
static bool count_exit(const struct sonde_interval *i, void *data)
{
	struct exit_counts *x = data;

	if (i->value && !x->inside && i->begin >= x->begin && i->begin < x->end)
		x->counts[(__int128)(i->begin - x->begin) * x->nr_buckets / (x->end - x->begin)]++;
	x->inside = i->value != 0;
	return --x->left;
}

/* The begin of a bucket, which stands for the rest of it. */
struct sample {
	int64_t begin, end; /* of the bucket */
	int64_t seen;	    /* up to here */
	uint64_t exits;
	unsigned left;
	bool inside;
};

static bool sample_exit(const struct sonde_interval *i, void *data)
{
	struct sample *s = data;

	s->exits += i->value && !s->inside && i->begin >= s->begin && i->begin < s->end;
	s->inside = i->value != 0;
	s->seen = i->end;
	return --s->left;
}

static int estimate_bucket(struct exit_counts *x, struct sonde_history *history, uint32_t attr,
			   unsigned b, unsigned each)
{
	struct sample s = {
		.begin = bucket_begin(x->begin, x->end, x->nr_buckets, b),
		.end = bucket_begin(x->begin, x->end, x->nr_buckets, b + 1),
		.left = each,
	};
	/* One ns before it: whether it begins inside of an exit. */
	int ret = sonde_interval_walk(history, attr, s.begin - 1, s.end, sample_exit, &s);

	if (!s.left && s.seen > s.begin && s.seen < s.end)
		s.exits = (uint64_t)((__int128)s.exits * (s.end - s.begin) / (s.seen - s.begin));
	x->counts[b] = s.exits < UINT32_MAX ? (uint32_t)s.exits : UINT32_MAX;
	return ret;
}

int exit_counts_of(struct exit_counts *x, struct sonde_history *history, int64_t cpu)
{
	uint32_t attr = sonde_attr_of_cpu(history, cpu, "exit");
	unsigned most = EXITS_MAX / (unsigned)(sonde_nr_cpus(history) + 1) + 1;
	int ret;

	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	x->inside = false;
	x->left = most;
	memset(x->counts, 0, x->nr_buckets * sizeof(*x->counts));
	ret = sonde_interval_walk(history, attr, x->begin, x->end, count_exit, x);
	x->about = !x->left;
	for (unsigned b = 0; b < x->nr_buckets && x->about && !ret; b++)
		ret = estimate_bucket(x, history, attr, b, most / x->nr_buckets + SAMPLE_LEAST);
	return ret;
}
