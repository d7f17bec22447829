/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strcasestr() */
#include "serve/tsp/tsp_filter.h"
#include "report/moment.h"
#include "serve/tsp/tsp_filter_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROOTS_MAX 16 /* expressions in one question */
/* steps of patterns, and of what is compared, for one answer: a second or so */
#define COST_MAX 300000000
#define COST_DEEP (COST_MAX / 2) /* of it, for states between samples */
#define COST_OF_TEXTS 200	 /* of making what is compared */
#define VALUES_MAX 3
#define VALUE_MAX 200

struct root {
	int node;
	unsigned tag; /* of what it does not match */
};

struct tsp_filter {
	enum tsp_output_kind output;
	struct filter_tree tree;
	struct root roots[ROOTS_MAX];
	unsigned nr_roots;
	bool deep;
	uint64_t cost;
	/* What is known of values already, 1 + their tags; of one row, or of all rows of a history.
	 */
	uint8_t *known; /* owned */
	size_t nr_known;
	const struct sonde_history *known_run;
	int64_t known_row;
};

/* What a field says of a state; several names for one thing are several texts. */
struct values {
	char text[VALUES_MAX][VALUE_MAX];
	unsigned nr;
	bool has_number;
	double number;
};

/* ---- fields -------------------------------------------------------------------------------- */

/* Whom a state is about, as far as it is known: rows, or -1. */
struct about {
	int64_t machine, cpu, thread;
	enum sonde_mode mode;
};

static struct about find_about(enum tsp_output_kind output, const struct tsp_subject *s)
{
	const struct sonde_history *history = s->entry->part->history;
	struct about a = {.machine = -1, .cpu = -1, .thread = -1};
	struct sonde_context x;
	struct sonde_thread t;
	struct sonde_cpu cpu;

	if (output == TSP_FUSED && !sonde_context_get(history, (int64_t)s->value - 1, &x)) {
		a.machine = x.machine;
		a.cpu = sonde_find_cpu(history, x.machine, x.cpu);
		a.thread = x.thread;
		a.mode = x.mode;
	}
	if (output == TSP_VCPUS && !sonde_cpu_get(history, s->entry->row, &cpu)) {
		a.machine = cpu.machine;
		a.cpu = s->entry->row;
		a.thread = cpu.host_thread;
	}
	if (output == TSP_THREADS && !sonde_thread_get(history, s->entry->row, &t)) {
		a.machine = t.machine;
		a.thread = s->entry->row;
	}
	return a;
}

static void add_text(struct values *v, const char *text)
{
	if (*text && v->nr < VALUES_MAX)
		snprintf(v->text[v->nr++], VALUE_MAX, "%s", text);
}

static void add_number(struct values *v, double number)
{
	v->has_number = true;
	v->number = number;
	if (v->nr < VALUES_MAX)
		snprintf(v->text[v->nr++], VALUE_MAX, "%.0f", number);
}

static void add_cpu(struct values *v, const struct sonde_history *history, int64_t row)
{
	char text[VALUE_MAX];
	struct sonde_cpu cpu;

	if (row < 0 || sonde_cpu_get(history, row, &cpu))
		return;
	sonde_cpu_label(history, row, text, sizeof(text));
	add_text(v, text);
	add_number(v, cpu.number);
}

/* "burn", and "burn[4711]". */
static void add_thread(struct values *v, const struct sonde_history *history, int64_t row)
{
	char text[VALUE_MAX];
	struct sonde_thread t;

	if (row < 0 || sonde_thread_get(history, row, &t))
		return;
	add_text(v, t.comm);
	sonde_thread_label(history, row, text, sizeof(text));
	add_text(v, text);
}

static void add_process(struct values *v, struct sonde_history *history, int64_t row, int64_t at)
{
	struct sonde_thread t, first;
	int64_t main;

	if (row < 0 || sonde_thread_get(history, row, &t) || t.pid < 0)
		return;
	main = sonde_find_thread(history, t.machine, t.pid, at);
	if (main >= 0 && !sonde_thread_get(history, main, &first))
		add_text(v, first.comm);
	add_number(v, (double)t.pid);
}

static void get_texts(struct values *v, enum filter_field field, enum tsp_output_kind output,
		      const struct tsp_subject *s)
{
	struct sonde_history *history = s->entry->part->history;
	struct about a = find_about(output, s);
	struct sonde_machine machine;
	struct sonde_thread thread;
	char text[VALUE_MAX] = "";

	switch (field) {
	case FILTER_LABEL:
		tsp_state_label(output, history, s->value, text, sizeof(text));
		add_text(v, text);
		break;
	case FILTER_MODE:
		if (output == TSP_FUSED)
			add_text(v, sonde_mode_name(a.mode));
		break;
	case FILTER_ROW:
		if (s->entry->kind == TSP_CPU)
			sonde_cpu_label(history, s->entry->row, text, sizeof(text));
		else
			sonde_thread_label(history, s->entry->row, text, sizeof(text));
		add_text(v, text);
		break;
	case FILTER_MACHINE:
		if (a.machine >= 0 && !sonde_machine_get(history, a.machine, &machine))
			add_text(v, machine.name);
		break;
	case FILTER_CPU:
		add_cpu(v, history, a.cpu);
		break;
	case FILTER_THREAD:
		add_thread(v, history, a.thread);
		break;
	case FILTER_PROCESS:
		add_process(v, history, a.thread, s->begin);
		break;
	case FILTER_CONTAINER:
		if (a.thread >= 0)
			container_text(history, a.thread, text, sizeof(text));
		add_text(v, text);
		break;
	case FILTER_TID:
	case FILTER_PID:
		if (a.thread < 0 || sonde_thread_get(history, a.thread, &thread))
			break;
		if (field == FILTER_TID || thread.pid >= 0)
			add_number(v, (double)(field == FILTER_TID ? thread.tid : thread.pid));
		break;
	default:
		break;
	}
}

/* Times are numbers only: they are asked for of every state. */
static double get_time(enum filter_field field, const struct tsp_subject *s)
{
	if (field == FILTER_DURATION)
		return (double)(s->end - s->begin);
	return (double)tsp_time(s->entry->part, field == FILTER_START ? s->begin : s->end);
}

/* ---- conditions ---------------------------------------------------------------------------- */

static bool is_equal(const struct filter_node *n, const struct values *v)
{
	if (n->is_number && v->has_number && n->number == v->number)
		return true;
	for (unsigned i = 0; i < v->nr; i++) {
		if (!strcasecmp(v->text[i], n->text))
			return true;
	}
	return false;
}

static bool contains(const struct filter_node *n, const struct values *v)
{
	for (unsigned i = 0; i < v->nr; i++) {
		if (strcasestr(v->text[i], n->text))
			return true;
	}
	return false;
}

static bool is_found(struct tsp_filter *f, const struct filter_node *n, const struct values *v)
{
	for (unsigned i = 0; i < v->nr; i++) {
		if (pattern_found(&f->tree.patterns[n->pattern], v->text[i], &f->cost))
			return true;
	}
	return false;
}

static bool fits(struct tsp_filter *f, const struct filter_node *n, const struct values *v)
{
	bool compares = n->is_number && v->has_number;

	switch (n->op) {
	case FILTER_EQUAL:
		return is_equal(n, v);
	case FILTER_UNEQUAL:
		return (v->nr || v->has_number) && !is_equal(n, v);
	case FILTER_LESS:
		return compares && v->number < n->number;
	case FILTER_GREATER:
		return compares && v->number > n->number;
	case FILTER_AT_MOST:
		return compares && v->number <= n->number;
	case FILTER_AT_LEAST:
		return compares && v->number >= n->number;
	case FILTER_CONTAINS:
		return contains(n, v);
	case FILTER_MATCHES:
		return is_found(f, n, v);
	default:
		return v->nr || v->has_number;
	}
}

static bool fits_field(struct tsp_filter *f, const struct filter_node *n, enum filter_field field,
		       const struct tsp_subject *s)
{
	struct values v;

	v.nr = 0;
	v.has_number = field >= FILTER_DURATION;
	if (v.has_number) {
		v.number = get_time(field, s);
	} else {
		f->cost += COST_OF_TEXTS;
		get_texts(&v, field, f->output, s);
	}
	return fits(f, n, &v);
}

/* As deep as it was parsed: the parser bounds that. */
static bool matches(struct tsp_filter *f, int node, const struct tsp_subject *s)
{
	const struct filter_node *n = &f->tree.nodes[node];

	if (n->op == FILTER_AND)
		return matches(f, n->left, s) && matches(f, n->right, s);
	if (n->op == FILTER_OR)
		return matches(f, n->left, s) || matches(f, n->right, s);
	if (n->op == FILTER_NOT)
		return !matches(f, n->left, s);
	if (n->field != FILTER_ANY)
		return fits_field(f, n, n->field, s);
	for (unsigned i = 0; i < FILTER_NR_TEXTS; i++) {
		if (fits_field(f, n, (enum filter_field)i, s))
			return true;
	}
	return false;
}

static unsigned find_tags(struct tsp_filter *f, const struct tsp_subject *s)
{
	unsigned tags = 0;

	for (unsigned i = 0; i < f->nr_roots; i++) {
		if (!(tags & f->roots[i].tag) && !matches(f, f->roots[i].node, s))
			tags |= f->roots[i].tag;
	}
	return tags;
}

/* A value means the same in all rows of physical CPUs, unless the row itself is looked at. */
static bool is_of_one_row(const struct tsp_filter *f)
{
	return f->output != TSP_FUSED || f->tree.uses_row;
}

/* Where the answer for a value is kept, NULL: it cannot be. */
static uint8_t *find_known(struct tsp_filter *f, const struct tsp_subject *s)
{
	const struct sonde_history *history = s->entry->part->history;
	size_t nr = f->output == TSP_FUSED ? (size_t)sonde_nr_contexts(history) + 1 : 256;

	if (f->tree.uses_times || s->value >= nr)
		return NULL;
	if (nr > f->nr_known) {
		free(f->known);
		f->known = calloc(nr, 1);
		f->nr_known = f->known ? nr : 0;
	} else if (f->known_run != history || (is_of_one_row(f) && f->known_row != s->entry->row)) {
		memset(f->known, 0, nr);
	}
	f->known_run = history;
	f->known_row = s->entry->row;
	return f->known ? &f->known[s->value] : NULL;
}

unsigned tsp_filter_tags(struct tsp_filter *f, const struct tsp_subject *s)
{
	uint8_t *known = find_known(f, s);
	unsigned tags;

	f->cost++;
	if (known && *known)
		return *known - 1u;
	if (tsp_filter_gave_up(f))
		return 0;
	tags = find_tags(f, s);
	if (known)
		*known = (uint8_t)(tags + 1);
	return tags;
}

bool tsp_filter_gave_up(const struct tsp_filter *f)
{
	return f->cost >= COST_MAX;
}

bool tsp_filter_has_had_enough(const struct tsp_filter *f)
{
	return f->cost >= COST_DEEP;
}

bool tsp_filter_uses_times(const struct tsp_filter *f)
{
	return f->tree.uses_times;
}

bool tsp_filter_is_deep(const struct tsp_filter *f)
{
	return f->deep;
}

/* ---- the question -------------------------------------------------------------------------- */

static int add_list(struct tsp_filter *f, struct tsp_call *c, const char *key, unsigned tag,
		    struct error *err)
{
	const char *text;

	for (unsigned i = 0; (text = tsp_query_filter(c->query, key, i)); i++) {
		struct error why = {0};
		int node = filter_parse(&f->tree, text, &why);

		if (node < 0) {
			snprintf(c->message, sizeof(c->message), "%.500s", why.text);
			continue;
		}
		if (f->nr_roots == ROOTS_MAX)
			return fail(err, -EINVAL, "filter_expressions_map: more than %d",
				    ROOTS_MAX);
		f->roots[f->nr_roots++] = (struct root){node, tag};
	}
	return 0;
}

int tsp_filter_open(struct tsp_filter **out, struct tsp_call *c, struct error *err)
{
	const char *strategy = tsp_query_filter_strategy(c->query);
	struct tsp_filter *f;
	int ret;

	*out = NULL;
	if (!tsp_query_has(c->query, "filter_query_parameters"))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->output = c->output.kind;
	f->deep = strategy && !strcmp(strategy, "DEEP");
	ret = add_list(f, c, "1", TSP_DIMMED, err);
	if (!ret)
		ret = add_list(f, c, "4", TSP_EXCLUDED, err);
	if (ret || !f->nr_roots) {
		tsp_filter_close(f);
		return ret;
	}
	*out = f;
	return 0;
}

void tsp_filter_close(struct tsp_filter *f)
{
	if (!f)
		return;
	free(f->known);
	free(f);
}
