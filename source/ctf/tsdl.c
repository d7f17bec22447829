/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/tsdl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tsdl_fail(struct tsdl *p, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->tok.kind == TSDL_END)
		return fail(p->err, -EINVAL, "%s, metadata line %u, at its end", text, p->tok.line);
	return fail(p->err, -EINVAL, "%s, metadata line %u, at \"%.*s\"", text, p->tok.line,
		    (int)(p->tok.len < 40 ? p->tok.len : 40), p->tok.text);
}

int tsdl_oom(struct tsdl *p)
{
	if (p->m->arena.reached_limit)
		return fail(p->err, -E2BIG,
			    "the metadata needs more memory than is sensible, line %u",
			    p->tok.line);
	return fail(p->err, -ENOMEM, "out of memory reading the metadata, line %u", p->tok.line);
}

void tsdl_advance(struct tsdl *p)
{
	p->tok = tsdl_next(&p->lx);
}

bool tsdl_is(const struct tsdl *p, int punct)
{
	return p->tok.kind == TSDL_PUNCT && p->tok.punct == punct;
}

bool tsdl_is_word(const struct tsdl *p, const char *word)
{
	return p->tok.kind == TSDL_WORD && p->tok.text[0] == word[0] &&
	       !strncmp(p->tok.text, word, p->tok.len) && !word[p->tok.len];
}

bool tsdl_accept(struct tsdl *p, int punct)
{
	if (!tsdl_is(p, punct))
		return false;
	tsdl_advance(p);
	return true;
}

int tsdl_expect(struct tsdl *p, int punct)
{
	if (tsdl_accept(p, punct))
		return 0;
	if (punct == TSDL_ASSIGN_TYPE)
		return tsdl_fail(p, "\":=\" is expected");
	return tsdl_fail(p, "\"%c\" is expected", punct);
}

static int value_words(struct tsdl *p, struct tsdl_value *out)
{
	char text[256];
	size_t used = 0;

	do {
		if (p->tok.kind != TSDL_WORD || used + p->tok.len + 2 > sizeof(text))
			return tsdl_fail(p, "a value is expected");
		if (used)
			text[used++] = '.';
		memcpy(text + used, p->tok.text, p->tok.len);
		used += p->tok.len;
		tsdl_advance(p);
	} while (tsdl_accept(p, '.'));
	out->kind = TSDL_VALUE_WORD;
	out->text = arena_strndup(&p->m->arena, text, used);
	return out->text ? 0 : tsdl_oom(p);
}

int tsdl_parse_value(struct tsdl *p, struct tsdl_value *out)
{
	*out = (struct tsdl_value){.negative = false};
	if (p->tok.kind == TSDL_STRING) {
		char *text = arena_strndup(&p->m->arena, p->tok.text, p->tok.len);

		if (!text)
			return tsdl_oom(p);
		out->len = tsdl_unescape(text, p->tok.text, p->tok.len);
		text[out->len] = '\0';
		out->kind = TSDL_VALUE_TEXT;
		out->text = text;
		tsdl_advance(p);
		return 0;
	}
	if (p->tok.kind == TSDL_WORD)
		return value_words(p, out);
	if (tsdl_is(p, '-') || tsdl_is(p, '+')) {
		out->negative = tsdl_is(p, '-');
		tsdl_advance(p);
	}
	if (p->tok.kind != TSDL_INT)
		return tsdl_fail(p, "a value is expected");
	out->kind = TSDL_VALUE_INT;
	out->number = (int64_t)(out->negative ? 0 - p->tok.value : p->tok.value);
	tsdl_advance(p);
	return 0;
}

/* Blocks */

struct block;

/* One kind of block: who takes "key = value" and who takes "path := type". */
struct block_ops {
	int (*value)(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v);
	int (*type)(struct tsdl *p, void *data, const char *key, struct ctf_fc *fc);
};

static int parse_key(struct tsdl *p, char *key, size_t room)
{
	size_t used = 0;

	do {
		bool usable = p->tok.kind == TSDL_WORD || p->tok.kind == TSDL_STRING;

		if (!usable || used + p->tok.len + 2 > room)
			return tsdl_fail(p, "the name of an attribute is expected");
		if (used)
			key[used++] = '.';
		memcpy(key + used, p->tok.text, p->tok.len);
		used += p->tok.len;
		tsdl_advance(p);
	} while (tsdl_accept(p, '.'));
	key[used] = '\0';
	return 0;
}

static int parse_entry(struct tsdl *p, const struct block_ops *ops, void *data)
{
	struct tsdl_value v;
	struct ctf_fc *fc;
	char key[256];
	int ret = parse_key(p, key, sizeof(key));

	if (ret)
		return ret;
	if (tsdl_accept(p, TSDL_ASSIGN_TYPE)) {
		ret = tsdl_parse_type(p, &fc);
		if (!ret && ops->type)
			ret = ops->type(p, data, key, fc);
	} else {
		ret = tsdl_expect(p, '=');
		if (!ret)
			ret = tsdl_parse_value(p, &v);
		if (!ret)
			ret = ops->value(p, data, key, &v);
	}
	return ret ? ret : tsdl_expect(p, ';');
}

/* "{ entries } ;", the block's name being read already. */
static int parse_block(struct tsdl *p, const struct block_ops *ops, void *data)
{
	struct tsdl_name *outer = tsdl_scope_open(p);
	int ret = tsdl_expect(p, '{');

	while (!ret && !tsdl_accept(p, '}')) {
		if (tsdl_at_declaration(p))
			ret = tsdl_parse_declaration(p);
		else
			ret = parse_entry(p, ops, data);
	}
	tsdl_scope_close(p, outer);
	return ret ? ret : tsdl_expect(p, ';');
}

static int want_number(struct tsdl *p, const char *key, const struct tsdl_value *v, uint64_t *out)
{
	if (v->kind != TSDL_VALUE_INT)
		return tsdl_fail(p, "\"%s\" is not a number", key);
	*out = (uint64_t)v->number;
	return 0;
}

static int want_text(struct tsdl *p, const char *key, const struct tsdl_value *v, const char **out)
{
	if (v->kind == TSDL_VALUE_INT)
		return tsdl_fail(p, "\"%s\" is a number", key);
	*out = v->text;
	return 0;
}

static int trace_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	struct ctf_metadata *m = data;

	if (!strcmp(key, "major") && v->kind == TSDL_VALUE_INT && v->number != 1)
		return tsdl_fail(p, "CTF version %lld is not known in this form",
				 (long long)v->number);
	if (!strcmp(key, "uuid")) {
		if (v->kind == TSDL_VALUE_INT || !ctf_uuid_parse(v->text, m->uuid))
			return tsdl_fail(p, "the trace's uuid is malformed");
		m->has_uuid = true;
	}
	if (!strcmp(key, "byte_order")) {
		if (v->kind == TSDL_VALUE_INT)
			return tsdl_fail(p, "\"byte_order\" is a number");
		if (!strcmp(v->text, "le"))
			m->order = CTF_ORDER_LE;
		else if (!strcmp(v->text, "be") || !strcmp(v->text, "network"))
			m->order = CTF_ORDER_BE;
		else
			return tsdl_fail(p, "byte order \"%s\" is unknown", v->text);
	}
	return 0;
}

static int trace_type(struct tsdl *p, void *data, const char *key, struct ctf_fc *fc)
{
	struct ctf_metadata *m = data;

	(void)p;
	if (!strcmp(key, "packet.header"))
		m->packet_header = fc;
	return 0;
}

static int env_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	struct ctf_metadata *m = data;
	struct ctf_env *e = arena_alloc(&m->arena, sizeof(*e));

	if (!e)
		return tsdl_oom(p);
	e->name = arena_strdup(&m->arena, key);
	if (!e->name)
		return tsdl_oom(p);
	e->text = v->kind == TSDL_VALUE_INT ? NULL : v->text;
	e->number = v->number;
	e->next = m->env;
	m->env = e;
	return 0;
}

static int clock_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	struct ctf_clock *c = data;
	const char *text = "";
	int ret = 0;

	if (!strcmp(key, "name")) {
		ret = want_text(p, key, v, &c->name);
	} else if (!strcmp(key, "uuid")) {
		ret = want_text(p, key, v, &text);
		if (!ret && !ctf_uuid_parse(text, c->uuid))
			ret = tsdl_fail(p, "the clock's uuid is malformed");
	} else if (!strcmp(key, "description")) {
		return want_text(p, key, v, &c->description);
	} else if (!strcmp(key, "freq")) {
		ret = want_number(p, key, v, &c->freq_hz);
	} else if (!strcmp(key, "offset")) {
		ret = want_number(p, key, v, (uint64_t *)&c->offset_cycles);
		c->has_offset = true;
	} else if (!strcmp(key, "offset_s")) {
		ret = want_number(p, key, v, (uint64_t *)&c->offset_s);
		c->has_offset = true;
	}
	return ret;
}

static int stream_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	struct ctf_stream_class *s = data;

	return strcmp(key, "id") ? 0 : want_number(p, key, v, &s->id);
}

static int stream_type(struct tsdl *p, void *data, const char *key, struct ctf_fc *fc)
{
	struct ctf_stream_class *s = data;

	(void)p;
	if (!strcmp(key, "packet.context"))
		s->packet_context = fc;
	else if (!strcmp(key, "event.header"))
		s->event_header = fc;
	else if (!strcmp(key, "event.context"))
		s->event_context = fc;
	return 0;
}

static int event_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	struct ctf_event_class *e = data;

	if (!strcmp(key, "name"))
		return want_text(p, key, v, &e->name);
	if (!strcmp(key, "id"))
		return want_number(p, key, v, &e->id);
	if (!strcmp(key, "stream_id")) {
		e->has_stream_id = true;
		return want_number(p, key, v, &e->stream_id);
	}
	return 0;
}

static int event_type(struct tsdl *p, void *data, const char *key, struct ctf_fc *fc)
{
	struct ctf_event_class *e = data;

	(void)p;
	if (!strcmp(key, "fields"))
		e->payload = fc;
	else if (!strcmp(key, "context"))
		e->context = fc;
	return 0;
}

static int ignore_value(struct tsdl *p, void *data, const char *key, const struct tsdl_value *v)
{
	(void)p, (void)data, (void)key, (void)v;
	return 0;
}

/* Where new entries of the lists go: behind the last, in the order of the file. */
struct tails {
	struct ctf_clock **clock;
	struct ctf_stream_class **stream;
	struct ctf_event_class **event;
};

static int parse_clock(struct tsdl *p, struct tails *t)
{
	static const struct block_ops ops = {.value = clock_value};
	struct ctf_clock *c = arena_alloc(&p->m->arena, sizeof(*c));
	int ret;

	if (!c)
		return tsdl_oom(p);
	c->name = "";
	c->freq_hz = NS_PER_SEC;
	ret = parse_block(p, &ops, c);
	c->id = c->name;
	*t->clock = c;
	t->clock = &c->next;
	return ret;
}

static int parse_stream(struct tsdl *p, struct tails *t)
{
	static const struct block_ops ops = {.value = stream_value, .type = stream_type};
	struct ctf_stream_class *s = arena_alloc(&p->m->arena, sizeof(*s));

	if (!s)
		return tsdl_oom(p);
	*t->stream = s;
	t->stream = &s->next;
	return parse_block(p, &ops, s);
}

static int parse_event(struct tsdl *p, struct tails *t)
{
	static const struct block_ops ops = {.value = event_value, .type = event_type};
	struct ctf_event_class *e = arena_alloc(&p->m->arena, sizeof(*e));

	if (!e)
		return tsdl_oom(p);
	e->name = "";
	e->line = p->tok.line;
	*t->event = e;
	t->event = &e->next;
	return parse_block(p, &ops, e);
}

static int parse_top(struct tsdl *p, struct tails *t)
{
	static const struct block_ops trace_ops = {.value = trace_value, .type = trace_type};
	static const struct block_ops env_ops = {.value = env_value};
	static const struct block_ops ignore_ops = {.value = ignore_value};
	enum { TRACE, ENV, CLOCK, STREAM, EVENT, CALLSITE, NR } what;
	static const char *const words[NR] = {"trace",	"env",	 "clock",
					      "stream", "event", "callsite"};

	if (tsdl_accept(p, ';'))
		return 0;
	if (tsdl_at_declaration(p))
		return tsdl_parse_declaration(p);
	for (what = 0; what < NR && !tsdl_is_word(p, words[what]); what++)
		;
	if (what == NR)
		return tsdl_fail(p,
				 "\"trace\", \"env\", \"clock\", \"stream\", \"event\" or a type "
				 "is expected");
	tsdl_advance(p);
	switch (what) {
	case TRACE:
		return parse_block(p, &trace_ops, p->m);
	case ENV:
		return parse_block(p, &env_ops, p->m);
	case CLOCK:
		return parse_clock(p, t);
	case STREAM:
		return parse_stream(p, t);
	case EVENT:
		return parse_event(p, t);
	default:
		return parse_block(p, &ignore_ops, NULL);
	}
}

/*
 * An event that cannot be understood costs only itself: its block is skipped, and what it said of
 * its id is kept so that a reader knows that such events exist.
 */
static int skip_event(struct tsdl *p, struct tsdl_lexer lx, struct tsdl_token tok,
		      struct ctf_event_class *e)
{
	unsigned open = 0;

	problems_add(p->problems, "%s; events of this kind cannot be read", p->err->text);
	e->broken = true;
	p->lx = lx;
	p->tok = tok;
	p->depth = 0;
	for (; p->tok.kind != TSDL_END; tsdl_advance(p)) {
		open += tsdl_is(p, '{');
		if (tsdl_is(p, '}') && open && --open == 0)
			break;
	}
	tsdl_advance(p);
	tsdl_accept(p, ';');
	return 0;
}

int ctf_tsdl_parse(struct ctf_metadata *m, const char *text, size_t len, struct problems *problems,
		   struct error *err)
{
	struct tails tails = {&m->clocks, &m->streams, &m->events};
	struct error scratch = {0};
	struct tsdl *p = calloc(1, sizeof(*p));
	int ret = 0;

	if (!p)
		return fail(err, -ENOMEM, "out of memory reading the metadata");
	p->m = m;
	p->lx = (struct tsdl_lexer){.at = text, .end = text + len, .line = 1};
	p->problems = problems;
	p->err = err ? err : &scratch;
	m->major = 1;
	tsdl_advance(p);
	while (!ret && p->tok.kind != TSDL_END) {
		struct ctf_event_class **event = tails.event;
		struct tsdl_lexer lx = p->lx;
		struct tsdl_token tok = p->tok;

		ret = parse_top(p, &tails);
		if (ret == -EINVAL && tails.event != event)
			ret = skip_event(p, lx, tok, *event);
	}
	free(p);
	return ret;
}
