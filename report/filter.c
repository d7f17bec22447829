/* SPDX-License-Identifier: Apache-2.0 */
#include "report/filter.h"
#include "report/moment.h"
#include "base/types.h"
#include "report/palette.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key { KEY_MACHINE, KEY_CPU, KEY_CONTAINER, KEY_PROCESS, KEY_THREAD, KEY_STATE, NR_KEYS };
static const char *const key_names[NR_KEYS] = {"machine", "cpu",    "container",
					       "process", "thread", "state"};

struct filter_term {
	int key; /* -1: any */
	bool not, whole;
	char *values; /* owned: one after the other, each with a NUL, an empty one at the end */
};

/* What something is: all texts that a term may match. */
#define FACET_TEXTS 24
#define FACET_ROOM 160
struct facets {
	unsigned nr;
	uint8_t key[FACET_TEXTS];
	char text[FACET_TEXTS][FACET_ROOM];
};

/* ---- reading the text ---------------------------------------------------------------------- */

/* The end of the word that begins at @p: blanks end it, unless in quotes. */
static const char *word_end(const char *p)
{
	bool quoted = false;

	for (; *p && (quoted || !isspace((unsigned char)*p)); p++)
		quoted ^= *p == '"';
	return p;
}

/* The key that @len bytes name, wholly or cut; -1 when there is none. */
static int key_of(const char *text, size_t len)
{
	for (int k = 0; k < NR_KEYS && len; k++) {
		if (!strncmp(key_names[k], text, len))
			return k;
	}
	return -1;
}

/* Without quotes, in small letters, split at commas when @split; false when nothing is left. */
static bool copy_values(char *out, const char *p, const char *end, bool split)
{
	char *begin = out;
	char *word = out;

	for (; p < end; p++) {
		if (*p == '"')
			continue;
		if (split && *p == ',') {
			if (out != word)
				*out++ = '\0';
			word = out;
			continue;
		}
		*out++ = (char)tolower((unsigned char)*p);
	}
	if (out != word)
		*out++ = '\0';
	*out = '\0';
	return *begin;
}

/* 1: a term; 0: there is nothing in this word. */
static int parse_term(struct filter_term *t, const char *p, const char *end)
{
	size_t letters = 0;

	*t = (struct filter_term){.key = -1};
	if (*p == '-' && end - p > 1) {
		t->not = true;
		p++;
	}
	while (p + letters < end && islower((unsigned char)p[letters]))
		letters++;
	if (p + letters < end && (p[letters] == ':' || p[letters] == '='))
		t->key = key_of(p, letters);
	if (t->key >= 0) {
		t->whole = p[letters] == '=';
		p += letters + 1;
	}
	t->values = malloc((size_t)(end - p) + 2);
	if (!t->values)
		return -ENOMEM;
	if (copy_values(t->values, p, end, t->key >= 0))
		return 1;
	free(t->values);
	return 0;
}

int filter_init(struct filter *f, struct sonde_history *history, const char *text)
{
	size_t room = strlen(text) / 2 + 1; /* words have a blank between them */

	*f = (struct filter){.history = history};
	f->terms = calloc(room, sizeof(*f->terms));
	if (!f->terms)
		return -ENOMEM;
	while (*text) {
		const char *end = word_end(text);
		int ret = end > text ? parse_term(&f->terms[f->nr], text, end) : 0;

		if (ret < 0) {
			filter_release(f);
			return ret;
		}
		f->nr += (unsigned)ret;
		text = *end ? end + 1 : end;
	}
	if (f->nr)
		f->contexts = calloc((size_t)sonde_nr_contexts(history) + 1, 1);
	if (f->nr && !f->contexts) {
		filter_release(f);
		return -ENOMEM;
	}
	return 0;
}

void filter_release(struct filter *f)
{
	for (unsigned i = 0; i < f->nr; i++)
		free(f->terms[i].values);
	free(f->terms);
	free(f->contexts);
	*f = (struct filter){0};
}

/* ---- matching ------------------------------------------------------------------------------ */

/* Room for one more text of that key; one that is thrown away when there is no more. */
static char *facet(struct facets *f, enum key key)
{
	unsigned i = f->nr < FACET_TEXTS - 1 ? f->nr++ : FACET_TEXTS - 1;

	f->key[i] = (uint8_t)key;
	*f->text[i] = '\0';
	return f->text[i];
}

static void facet_text(struct facets *f, enum key key, const char *text)
{
	snprintf(facet(f, key), FACET_ROOM, "%s", text);
}

static void facet_number(struct facets *f, enum key key, int64_t number)
{
	snprintf(facet(f, key), FACET_ROOM, "%lld", (long long)number);
}

static void machine_facet(struct facets *f, const struct sonde_history *history, int64_t machine)
{
	struct sonde_machine m;

	if (!sonde_machine_get(history, machine, &m))
		facet_text(f, KEY_MACHINE, m.name);
}

static void cpu_facet(struct facets *f, const struct sonde_history *history, int64_t cpu)
{
	if (cpu >= 0)
		sonde_cpu_label(history, cpu, facet(f, KEY_CPU), FACET_ROOM);
}

#define NS_DEPTH_MAX 8

/* A thread's own texts; its machine is @machine when the thread is not known. */
static void thread_facets(struct facets *f, const struct sonde_history *history, int64_t thread,
			  int64_t machine)
{
	struct sonde_thread t;
	struct sonde_pid_ns ns;
	int64_t row;

	f->nr = 0;
	if (sonde_thread_get(history, thread, &t)) {
		machine_facet(f, history, machine);
		return;
	}
	machine_facet(f, history, t.machine);
	sonde_thread_label(history, thread, facet(f, KEY_THREAD), FACET_ROOM);
	facet_text(f, KEY_THREAD, t.comm);
	facet_number(f, KEY_THREAD, t.tid);
	facet_text(f, KEY_PROCESS, t.comm);
	facet_number(f, KEY_PROCESS, t.pid);
	row = t.pid_ns;
	for (unsigned i = 0; i < NS_DEPTH_MAX; i++, row = ns.parent) {
		if (!is_container(history, row) || sonde_pid_ns_get(history, row, &ns))
			break;
		sonde_pid_ns_label(history, row, facet(f, KEY_CONTAINER), FACET_ROOM);
	}
	cpu_facet(f, history, t.vcpu);
}

/* @value is in small letters. */
static bool text_matches(const char *text, const char *value, bool whole)
{
	size_t len = strlen(value);

	for (; *text; text++) {
		size_t i = 0;

		while (i < len && tolower((unsigned char)text[i]) == (unsigned char)value[i])
			i++;
		if (i == len && (!whole || !text[i]))
			return true;
		if (whole)
			break;
	}
	return false;
}

static bool term_hits(const struct filter_term *t, const struct facets *f)
{
	for (const char *v = t->values; *v; v += strlen(v) + 1) {
		for (unsigned i = 0; i < f->nr; i++) {
			if ((t->key < 0 || t->key == f->key[i]) &&
			    text_matches(f->text[i], v, t->whole))
				return true;
		}
	}
	return false;
}

static bool matches(const struct filter *f, const struct facets *facets)
{
	for (unsigned i = 0; i < f->nr; i++) {
		if (term_hits(&f->terms[i], facets) == f->terms[i].not )
			return false;
	}
	return true;
}

static bool context_matches(const struct filter *f, int64_t context)
{
	struct sonde_context c;
	struct facets facets;

	if (sonde_context_get(f->history, context, &c))
		return false;
	thread_facets(&facets, f->history, c.thread, c.machine);
	cpu_facet(&facets, f->history, sonde_find_cpu(f->history, c.machine, c.cpu));
	cpu_facet(&facets, f->history, c.serves);
	facet_text(&facets, KEY_STATE, sonde_mode_name(c.mode));
	facet_text(&facets, KEY_STATE, mode_color(c.mode)->name);
	if (*c.detail_text)
		facet_text(&facets, KEY_STATE, c.detail_text);
	return matches(f, &facets);
}

enum { NOT_ASKED, MATCHES, MATCHES_NOT };

bool filter_context(struct filter *f, int64_t context)
{
	uint8_t *known;

	if (!f->nr)
		return true;
	if (context < 0 || context >= sonde_nr_contexts(f->history))
		return false;
	known = &f->contexts[context];
	if (*known == NOT_ASKED)
		*known = context_matches(f, context) ? MATCHES : MATCHES_NOT;
	return *known == MATCHES;
}

bool filter_thread(const struct filter *f, int64_t thread)
{
	struct facets facets;

	if (!f->nr)
		return true;
	thread_facets(&facets, f->history, thread, -1);
	return matches(f, &facets);
}

bool filter_vcpu_state(const struct filter *f, int64_t vcpu, uint32_t state)
{
	struct facets facets = {0};
	struct sonde_cpu cpu;

	if (!f->nr)
		return true;
	if (!sonde_cpu_get(f->history, vcpu, &cpu))
		machine_facet(&facets, f->history, cpu.machine);
	cpu_facet(&facets, f->history, vcpu);
	facet_text(&facets, KEY_STATE, vcpu_color(state)->name);
	return matches(f, &facets);
}

bool filter_thread_state(const struct filter *f, int64_t thread, uint32_t state)
{
	struct facets facets;

	if (!f->nr)
		return true;
	thread_facets(&facets, f->history, thread, -1);
	facet_text(&facets, KEY_STATE, thread_color(state)->name);
	return matches(f, &facets);
}
