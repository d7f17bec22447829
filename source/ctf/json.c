/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_SEPARATOR '\x1e'
/* A value takes a hundred times as much memory as text, and an event some kilobytes of it. */
#define FRAGMENT_BYTES_MAX ((size_t)2 << 20)

/* Ends of the lists of the metadata. */
struct tails {
	struct ctf_clock **clock;
	struct ctf_stream_class **stream;
	struct ctf_event_class **event;
};

static int optional_fc(struct json_parser *p, const json_t *json, const char *key,
		       struct ctf_fc **out)
{
	const json_t *fc = json_object_get(json, key);
	int ret = fc ? json_parse_fc(p, fc, out) : 0;

	return ret ? fail_prefix(p->err, ret, "%s", key) : 0;
}

/* A uuid: an array of 16 numbers, or text. */
static bool read_uuid(const json_t *v, uint8_t uuid[static 16])
{
	if (json_is_string(v))
		return ctf_uuid_parse(json_string_value(v), uuid);
	if (json_array_size(v) != 16)
		return false;
	for (size_t i = 0; i < 16; i++)
		uuid[i] = (uint8_t)json_integer_value(json_array_get(v, i));
	return true;
}

static int parse_preamble(struct json_parser *p, const json_t *json)
{
	uint64_t version = 0;
	int ret = json_get_uint(p, json, "version", &version);

	if (!ret && version != 2)
		ret = fail(p->err, -ENOTSUP, "CTF version %llu is not known in this form",
			   (unsigned long long)version);
	p->m->has_uuid |= read_uuid(json_object_get(json, "uuid"), p->m->uuid);
	return ret;
}

static int parse_env(struct json_parser *p, const json_t *env)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)env, key, value)
	{
		struct ctf_env *e = arena_alloc(&p->m->arena, sizeof(*e));

		if (!e)
			return json_oom(p);
		e->name = arena_strdup(&p->m->arena, key);
		e->number = json_integer_value(value);
		if (json_is_string(value))
			e->text = arena_strdup(&p->m->arena, json_string_value(value));
		if (!e->name || (json_is_string(value) && !e->text))
			return json_oom(p);
		e->next = p->m->env;
		p->m->env = e;
	}
	return 0;
}

static int parse_trace(struct json_parser *p, const json_t *json)
{
	int ret = parse_env(p, json_object_get(json, "environment"));

	if (!p->m->has_uuid)
		p->m->has_uuid = read_uuid(json_object_get(json, "uid"), p->m->uuid);
	return ret ? ret : optional_fc(p, json, "packet-header-field-class", &p->m->packet_header);
}

static int parse_clock(struct json_parser *p, const json_t *json, struct tails *t)
{
	const json_t *offset = json_object_get(json, "offset-from-origin");
	const json_t *origin = json_object_get(json, "origin");
	struct ctf_clock *c = arena_alloc(&p->m->arena, sizeof(*c));
	int ret;

	if (!c)
		return json_oom(p);
	c->name = "";
	c->freq_hz = NS_PER_SEC;
	ret = json_get_text(p, json, "name", &c->name);
	c->id = c->name;
	if (!ret)
		ret = json_get_text(p, json, "id", &c->id);
	if (!ret)
		ret = json_get_uint(p, json, "frequency", &c->freq_hz);
	if (!ret)
		ret = json_get_uint(p, offset, "seconds", (uint64_t *)&c->offset_s);
	if (!ret)
		ret = json_get_uint(p, offset, "cycles", (uint64_t *)&c->offset_cycles);
	if (!c->name[0])
		c->name = c->id;
	/* The offset counts from the Unix epoch if that is the origin.  Drafts, where a clock has
	 * no id, had no other. */
	c->has_offset = offset && (origin ? json_is_string(origin) &&
						    !strcmp(json_string_value(origin), "unix-epoch")
					  : !json_object_get(json, "id"));
	if (!read_uuid(json_object_get(json, "uuid"), c->uuid) &&
	    !read_uuid(json_object_get(json, "uid"), c->uuid))
		memset(c->uuid, 0, sizeof(c->uuid));
	*t->clock = c;
	t->clock = &c->next;
	return ret;
}

static int parse_stream(struct json_parser *p, const json_t *json, struct tails *t)
{
	struct ctf_stream_class *s = arena_alloc(&p->m->arena, sizeof(*s));
	int ret;

	if (!s)
		return json_oom(p);
	*t->stream = s;
	t->stream = &s->next;
	ret = json_get_uint(p, json, "id", &s->id);
	if (!ret)
		ret = json_get_text(p, json, "default-clock-class-name", &s->clock); /* draft */
	if (!ret)
		ret = json_get_text(p, json, "default-clock-class-id", &s->clock);
	if (!ret)
		ret = optional_fc(p, json, "packet-context-field-class", &s->packet_context);
	if (!ret)
		ret = optional_fc(p, json, "event-record-header-field-class", &s->event_header);
	if (!ret)
		ret = optional_fc(p, json, "event-record-common-context-field-class",
				  &s->event_context);
	return ret;
}

/* An event that cannot be understood costs only itself. */
static int parse_event(struct json_parser *p, const json_t *json, struct tails *t)
{
	struct ctf_event_class *e = arena_alloc(&p->m->arena, sizeof(*e));
	int ret;

	if (!e)
		return json_oom(p);
	e->name = "";
	e->has_stream_id = true;
	*t->event = e;
	t->event = &e->next;
	ret = json_get_text(p, json, "name", &e->name);
	if (!ret)
		ret = json_get_uint(p, json, "id", &e->id);
	if (!ret)
		ret = json_get_uint(p, json, "data-stream-class-id", &e->stream_id);
	if (ret)
		return ret;
	ret = optional_fc(p, json, "specific-context-field-class", &e->context);
	if (!ret)
		ret = optional_fc(p, json, "payload-field-class", &e->payload);
	if (ret == -ENOMEM || !ret)
		return ret;
	e->broken = true;
	p->depth = 0;
	problems_add(p->problems, "event \"%s\" (id %llu): %s; events of this kind cannot be read",
		     e->name, (unsigned long long)e->id, p->err->text);
	return 0;
}

static int parse_alias(struct json_parser *p, const json_t *json)
{
	struct json_alias alias = {.name = NULL};
	int ret = json_get_text(p, json, "name", &alias.name);

	if (!ret)
		ret = json_parse_fc(p, json_object_get(json, "field-class"), &alias.fc);
	if (ret)
		return ret;
	if (!alias.name || p->nr_aliases == JSON_MAX_ALIASES)
		return fail(p->err, -EINVAL,
			    "a field class alias has no name, or there are more "
			    "than %d",
			    JSON_MAX_ALIASES);
	p->aliases[p->nr_aliases++] = alias;
	return 0;
}

static int parse_fragment(struct json_parser *p, const json_t *json, struct tails *t)
{
	const char *type = json_string_value(json_object_get(json, "type"));

	if (!type)
		return fail(p->err, -EINVAL, "a metadata fragment has no \"type\"");
	if (!strcmp(type, "preamble"))
		return parse_preamble(p, json);
	if (!strcmp(type, "field-class-alias"))
		return parse_alias(p, json);
	if (!strcmp(type, "trace-class"))
		return parse_trace(p, json);
	if (!strcmp(type, "clock-class"))
		return parse_clock(p, json, t);
	if (!strcmp(type, "data-stream-class"))
		return parse_stream(p, json, t);
	if (!strcmp(type, "event-record-class"))
		return parse_event(p, json, t);
	problems_add(p->problems, "metadata fragment of unknown type \"%.60s\" is ignored", type);
	return 0;
}

/* From text to fragments */

/* One number literal of digits at @text; writes it so that it fits a signed integer. */
static size_t fold_number(const char *text, size_t len, char *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (v > (UINT64_MAX - digit) / 10) { /* hopeless: jansson will say so */
			memcpy(out, text, len);
			return len;
		}
		v = v * 10 + digit;
	}
	if (v <= INT64_MAX) {
		memcpy(out, text, len);
		return len;
	}
	return (size_t)sprintf(out, "%lld", (long long)(int64_t)v);
}

/* A copy of the metadata in which every integer fits jansson's; NULL when memory is out. */
static char *fold_numbers(const char *text, size_t len, size_t *out_len)
{
	char *out = malloc(len + len / 19 + 32); /* only literals of 19 digits grow, by one */
	bool in_string = false;
	size_t n = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t digits = 0;
		bool after_number = i && (strchr(".+-eE", text[i - 1]) && text[i - 1]);

		while (!in_string && !after_number && i + digits < len && text[i + digits] >= '0' &&
		       text[i + digits] <= '9')
			digits++;
		if (digits) {
			n += fold_number(text + i, digits, out + n);
			i += digits;
			continue;
		}
		if (in_string && text[i] == '\\' && i + 1 < len)
			out[n++] = text[i++];
		else if (text[i] == '"')
			in_string = !in_string;
		out[n++] = text[i++];
	}
	*out_len = n;
	return out;
}

static size_t skip_blanks(const char *text, size_t at, size_t len)
{
	while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' ||
			    text[at] == '\n' || text[at] == '\0' || text[at] == RECORD_SEPARATOR))
		at++;
	return at;
}

/* The fragment at *@at; moves *@at behind it. */
static int next_fragment(struct json_parser *p, const char *text, size_t *at, size_t len,
			 struct tails *t)
{
	json_error_t why;
	size_t room = len - *at < FRAGMENT_BYTES_MAX ? len - *at : FRAGMENT_BYTES_MAX;
	json_t *json = json_loadb(text + *at, room, JSON_DISABLE_EOF_CHECK, &why);
	int ret;

	if (!json && room < len - *at && (size_t)why.position >= room)
		return fail(p->err, -E2BIG,
			    "metadata fragment at offset %zu is longer than %zu bytes", *at,
			    FRAGMENT_BYTES_MAX);
	if (!json)
		return fail(p->err, -EINVAL, "metadata at offset %zu: %s",
			    *at + (size_t)why.position, why.text);
	ret = parse_fragment(p, json, t);
	if (ret)
		fail_prefix(p->err, ret, "metadata fragment at offset %zu", *at);
	*at += (size_t)why.position;
	json_decref(json);
	return ret;
}

static int parse_all(struct json_parser *p, const char *text, size_t len)
{
	struct tails t = {&p->m->clocks, &p->m->streams, &p->m->events};
	size_t at = 0;

	while ((at = skip_blanks(text, at, len)) < len) {
		const char *separator;
		int ret = next_fragment(p, text, &at, len, &t);

		if (!ret)
			continue;
		if (ret == -ENOMEM || ret == -ENOTSUP || !p->m->events)
			return ret;
		/* Behind events only more events come: go on with the next one that is marked. */
		problems_add(p->problems, "%s; this part of the metadata is not used",
			     p->err->text);
		p->depth = 0;
		separator = memchr(text + at, RECORD_SEPARATOR, len - at);
		at = separator ? (size_t)(separator - text) : len;
	}
	return 0;
}

int ctf_json_parse(struct ctf_metadata *m, const char *text, size_t len, struct problems *problems,
		   struct error *err)
{
	struct error scratch = {0};
	struct json_parser p = {.m = m, .problems = problems, .err = err ? err : &scratch};
	size_t folded_len;
	char *folded;
	int ret;

	m->major = 2;
	p.aliases = arena_alloc(&m->arena, JSON_MAX_ALIASES * sizeof(*p.aliases));
	folded = fold_numbers(text, len, &folded_len);
	if (!p.aliases || !folded) {
		free(folded);
		return fail(err, -ENOMEM, "out of memory reading the metadata");
	}
	ret = parse_all(&p, folded, folded_len);
	free(folded);
	return ret;
}
