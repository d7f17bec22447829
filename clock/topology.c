/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/align.h"
#include "clock/parents.h"
#include "clock/reference.h"

/* One search: what topology_find() needs on its way. */
struct search {
	const struct topology_input *in;
	const struct topology_options *opt;
	unsigned nr;
	struct sample *samples;     /* owned, [nr] */
	struct candidate *list;     /* owned, [nr] */
	unsigned *order;            /* owned, [nr]: candidate of each machine */
	struct placed *placed;      /* owned, [nr]: machines in their order */
};

static int search_init(struct search *s, const struct topology_input *in, unsigned nr,
		       const struct topology_options *opt)
{
	*s = (struct search){.in = in, .opt = opt, .nr = nr};
	s->samples = calloc(nr, sizeof(*s->samples));
	s->list = calloc(nr, sizeof(*s->list));
	s->order = calloc(nr, sizeof(*s->order));
	s->placed = calloc(nr, sizeof(*s->placed));
	if (!s->samples || !s->list || !s->order || !s->placed)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++)
		s->samples[i].trace = in[i].trace;
	return 0;
}

static void search_release(struct search *s)
{
	if (s->list)
		parents_release(s->list, s->nr);
	for (unsigned i = 0; s->samples && i < s->nr; i++)
		sample_release(&s->samples[i]);
	for (unsigned i = 0; s->placed && i < s->nr; i++)
		clock_model_release(&s->placed[i].to_l0);
	free(s->placed);
	free(s->samples);
	free(s->list);
	free(s->order);
}

static unsigned threads_wanted(const struct topology_options *opt)
{
	long n = opt && opt->threads ? (long)opt->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned)n;
}

static void make_machine(struct topology *t, struct search *s, unsigned i)
{
	struct candidate *c = &s->list[s->order[i]];
	struct machine *m = &t->machines[i];

	memcpy(m->name, c->name, sizeof(m->name));
	memcpy(m->evidence, c->evidence, sizeof(m->evidence));
	m->trace = c->in->trace;
	m->parent = -1;
	for (unsigned k = 0; k < i; k++) {
		if (c->parent == (int)s->order[k])
			m->parent = (int)k;
	}
	m->level = m->parent < 0 ? 0 : t->machines[m->parent].level + 1;
	s->placed[i] = (struct placed){.machine = m,
				       .candidate = c,
				       .parent = m->parent < 0 ? NULL : &s->placed[m->parent],
				       .l0 = &s->placed[0]};
}

static int make_machines(struct topology *t, struct search *s, struct error *err)
{
	uint64_t told_khz = s->opt ? s->opt->tsc_khz : 0;
	int ret;

	t->machines = calloc(s->nr, sizeof(*t->machines));
	if (!t->machines)
		return fail(err, -ENOMEM, "out of memory");
	t->nr_machines = s->nr;
	for (unsigned i = 0; i < s->nr; i++)
		make_machine(t, s, i);
	ret = reference_find(t, s->list[s->order[0]].sample, told_khz, err);
	for (unsigned i = 1; i < s->nr && ret == 0; i++)
		ret = align_machine(t, &s->placed[i], err);
	return ret;
}

int topology_find(struct topology *out, const struct topology_input *in, unsigned nr,
		  const struct topology_options *opt, struct error *err)
{
	struct search s;
	int ret;

	memset(out, 0, sizeof(*out));
	if (!nr)
		return fail(err, -EINVAL, "no traces");
	ret = search_init(&s, in, nr, opt);
	if (ret)
		fail(err, ret, "out of memory");
	else
		ret = sample_read(s.samples, nr, threads_wanted(opt), err);
	if (ret == 0)
		ret = parents_find(s.list, in, s.samples, nr, err);
	if (ret == 0)
		ret = parents_order(s.list, nr, s.order, err);
	if (ret == 0)
		ret = make_machines(out, &s, err);
	search_release(&s);
	if (ret)
		topology_release(out);
	else if (opt && opt->progress)
		opt->progress(1, opt->progress_data);
	return ret;
}

void topology_release(struct topology *t)
{
	for (unsigned i = 0; i < t->nr_machines; i++) {
		clock_model_release(&t->machines[i].clock);
		clock_model_release(&t->machines[i].to_parent);
		free(t->machines[i].vcpus);
	}
	free(t->machines);
	problems_release(&t->problems);
	memset(t, 0, sizeof(*t));
}
