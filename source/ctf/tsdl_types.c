/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/tsdl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TYPE_NAME_MAX 256

static int parse_specifier(struct tsdl *p, bool declarator_follows, struct ctf_fc **out);

/* Names of types */

static unsigned bucket_of(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h % TSDL_BUCKETS;
}

static struct ctf_fc *find_type(const struct tsdl *p, const char *name)
{
	for (struct tsdl_name *n = p->buckets[bucket_of(name)]; n; n = n->next_in_bucket) {
		if (!strcmp(n->name, name))
			return n->fc;
	}
	return NULL;
}

static int define_type(struct tsdl *p, const char *name, struct ctf_fc *fc)
{
	struct tsdl_name *n = arena_alloc(&p->m->arena, sizeof(*n));

	if (!n)
		return tsdl_oom(p);
	n->bucket = bucket_of(name);
	n->name = arena_strdup(&p->m->arena, name);
	if (!n->name)
		return tsdl_oom(p);
	n->fc = fc;
	n->next_in_bucket = p->buckets[n->bucket];
	p->buckets[n->bucket] = n;
	n->next_in_scope = p->scope;
	p->scope = n;
	return 0;
}

struct tsdl_name *tsdl_scope_open(struct tsdl *p)
{
	struct tsdl_name *outer = p->scope;

	p->scope = NULL;
	return outer;
}

void tsdl_scope_close(struct tsdl *p, struct tsdl_name *outer)
{
	for (struct tsdl_name *n = p->scope; n; n = n->next_in_scope)
		p->buckets[n->bucket] = n->next_in_bucket;
	p->scope = outer;
}

static int append_word(struct tsdl *p, char name[static TYPE_NAME_MAX], const char *word,
		       size_t len)
{
	size_t used = strlen(name);

	if (used + len + 2 > TYPE_NAME_MAX)
		return tsdl_fail(p, "a type name is longer than %d characters", TYPE_NAME_MAX);
	if (used)
		name[used++] = ' ';
	memcpy(name + used, word, len);
	name[used + len] = '\0';
	return 0;
}

/* Words and stars of a type such as "unsigned long" or "const char *".  With @declarator_follows
 * the last word is a field's name and stays. */
static int parse_type_words(struct tsdl *p, bool declarator_follows,
			    char name[static TYPE_NAME_MAX])
{
	name[0] = '\0';
	while (p->tok.kind == TSDL_WORD || tsdl_is(p, '*')) {
		struct tsdl_lexer ahead = p->lx;
		struct tsdl_token next = tsdl_next(&ahead);
		int ret;

		if (declarator_follows && name[0] && p->tok.kind == TSDL_WORD &&
		    next.kind != TSDL_WORD && !(next.kind == TSDL_PUNCT && next.punct == '*'))
			break;
		if (!tsdl_is_word(p, "const")) {
			ret = append_word(p, name, p->tok.text, p->tok.len);
			if (ret)
				return ret;
		}
		tsdl_advance(p);
	}
	return name[0] ? 0 : tsdl_fail(p, "a type is expected");
}

/* Enumerations */

struct range_list {
	struct ctf_range *list;
	unsigned nr, room;
};

static int add_range(struct tsdl *p, struct range_list *l, struct ctf_range r)
{
	if (l->nr == l->room) {
		unsigned room = l->room ? l->room * 2 : 8;
		struct ctf_range *list = arena_alloc(&p->m->arena, room * sizeof(*list));

		if (!list)
			return tsdl_oom(p);
		if (l->nr)
			memcpy(list, l->list, l->nr * sizeof(*list));
		l->list = list;
		l->room = room;
	}
	l->list[l->nr++] = r;
	return 0;
}

static int parse_label(struct tsdl *p, const char **out)
{
	char *label;

	if (p->tok.kind != TSDL_WORD && p->tok.kind != TSDL_STRING)
		return tsdl_fail(p, "the label of an enumeration is expected");
	label = arena_strndup(&p->m->arena, p->tok.text, p->tok.len);
	if (!label)
		return tsdl_oom(p);
	if (p->tok.kind == TSDL_STRING)
		label[tsdl_unescape(label, p->tok.text, p->tok.len)] = '\0';
	tsdl_advance(p);
	*out = label;
	return 0;
}

static int parse_bound(struct tsdl *p, uint64_t *out)
{
	bool is_char = p->tok.kind == TSDL_STRING && p->tok.quote == '\'';
	struct tsdl_value v;
	int ret = tsdl_parse_value(p, &v);

	if (ret)
		return ret;
	if (is_char && v.len == 1) {
		*out = (unsigned char)v.text[0];
		return 0;
	}
	if (v.kind != TSDL_VALUE_INT)
		return tsdl_fail(p, "the value of a label is not an integer");
	*out = (uint64_t)v.number;
	return 0;
}

static int parse_labels(struct tsdl *p, struct ctf_fc *fc)
{
	struct range_list l = {0};
	uint64_t next = 0;
	int ret = tsdl_expect(p, '{');

	while (!ret && !tsdl_accept(p, '}')) {
		struct ctf_range r = {0};

		ret = parse_label(p, &r.label);
		if (ret)
			return ret;
		r.low = r.high = next;
		if (tsdl_accept(p, '=')) {
			ret = parse_bound(p, &r.low);
			r.high = r.low;
			if (!ret && tsdl_accept(p, TSDL_ELLIPSIS))
				ret = parse_bound(p, &r.high);
			if (ret)
				return ret;
		}
		next = r.high + 1;
		ret = add_range(p, &l, r);
		if (!ret && !tsdl_is(p, '}'))
			ret = tsdl_expect(p, ',');
	}
	fc->labels = l.list;
	fc->nr_labels = l.nr;
	return ret;
}

/* The integer that carries an enumeration: "enum name : TYPE {"; plain "int" when not said. */
static int parse_enum_carrier(struct tsdl *p, struct ctf_fc **out)
{
	struct ctf_fc *of;
	int ret;

	if (tsdl_accept(p, ':'))
		ret = parse_specifier(p, false, out);
	else if ((of = find_type(p, "int")))
		ret = (*out = ctf_fc_clone(&p->m->arena, of)) ? 0 : tsdl_oom(p);
	else
		ret = tsdl_fail(p, "an enumeration does not say which integer carries it");
	if (!ret && (*out)->kind != CTF_INT)
		ret = tsdl_fail(p, "an enumeration is carried by something else than an integer");
	return ret;
}

/* "struct NAME", "enum NAME", "variant NAME" as an entry of the table of names. */
static int parse_tag_name(struct tsdl *p, const char *what, char name[static TYPE_NAME_MAX])
{
	int ret;

	name[0] = '\0';
	if (p->tok.kind != TSDL_WORD)
		return 0;
	ret = append_word(p, name, what, strlen(what));
	if (!ret)
		ret = append_word(p, name, p->tok.text, p->tok.len);
	tsdl_advance(p);
	return ret;
}

static int use_tag_name(struct tsdl *p, const char *name, struct ctf_fc **out)
{
	struct ctf_fc *fc = name[0] ? find_type(p, name) : NULL;

	if (!fc)
		return tsdl_fail(p, "\"%s\" was not defined before", name);
	*out = ctf_fc_clone(&p->m->arena, fc);
	return *out ? 0 : tsdl_oom(p);
}

static int parse_enum(struct tsdl *p, struct ctf_fc **out)
{
	char name[TYPE_NAME_MAX];
	int ret = parse_tag_name(p, "enum", name);

	if (ret)
		return ret;
	if (!tsdl_is(p, ':') && !tsdl_is(p, '{'))
		return use_tag_name(p, name, out);
	ret = parse_enum_carrier(p, out);
	if (!ret)
		ret = parse_labels(p, *out);
	if (ret)
		return ret;
	(*out)->is_enum = true;
	return name[0] ? define_type(p, name, *out) : 0;
}

/* Arrays, sequences and the members of structures */

/* A reference such as "len", "a.b" or "stream.event.header.id", until ']' or '>'. */
static int parse_path(struct tsdl *p, const struct ctf_path **out)
{
	static const struct {
		const char *prefix[3];
		int scope;
	} scopes[] = {
		{{"trace", "packet", "header"}, CTF_SCOPE_PACKET_HEADER},
		{{"stream", "packet", "context"}, CTF_SCOPE_PACKET_CONTEXT},
		{{"stream", "event", "header"}, CTF_SCOPE_EVENT_HEADER},
		{{"stream", "event", "context"}, CTF_SCOPE_COMMON_CONTEXT},
		{{"event", "context"}, CTF_SCOPE_SPECIFIC_CONTEXT},
		{{"event", "fields"}, CTF_SCOPE_PAYLOAD},
	};
	struct ctf_path *path = arena_alloc(&p->m->arena, sizeof(*path));
	const char *names[CTF_MAX_DEPTH];

	if (!path)
		return tsdl_oom(p);
	path->scope = -1;
	do {
		if (p->tok.kind != TSDL_WORD || path->nr == ARRAY_SIZE(names))
			return tsdl_fail(p, "the name of a field is expected");
		names[path->nr] = arena_strndup(&p->m->arena, p->tok.text, p->tok.len);
		if (!names[path->nr++])
			return tsdl_oom(p);
		tsdl_advance(p);
	} while (tsdl_accept(p, '.') || tsdl_accept(p, TSDL_ARROW));
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		unsigned n = 0;

		while (n < 3 && n < path->nr && scopes[i].prefix[n] &&
		       !strcmp(names[n], scopes[i].prefix[n]))
			n++;
		if ((n == 3 || !scopes[i].prefix[n]) && path->nr > n) {
			path->scope = scopes[i].scope;
			memmove(names, names + n, (path->nr - n) * sizeof(*names));
			path->nr -= n;
			break;
		}
	}
	path->names = arena_alloc(&p->m->arena, path->nr * sizeof(*names));
	if (!path->names)
		return tsdl_oom(p);
	memcpy(path->names, names, path->nr * sizeof(*names));
	*out = path;
	return 0;
}

/* The "[3][n]" after a declarator; the first bracket is the outermost array. */
static int parse_brackets(struct tsdl *p, struct ctf_fc *elem, struct ctf_fc **out)
{
	struct ctf_fc *array;
	int ret;

	if (!tsdl_accept(p, '[')) {
		*out = elem;
		return 0;
	}
	if (++p->depth > CTF_MAX_DEPTH)
		return tsdl_fail(p, "types are nested deeper than %d", CTF_MAX_DEPTH);
	array = ctf_fc_new(&p->m->arena, CTF_ARRAY);
	if (!array)
		return tsdl_oom(p);
	if (p->tok.kind == TSDL_INT) {
		array->len = p->tok.value;
		tsdl_advance(p);
	} else {
		ret = parse_path(p, &array->ref);
		if (ret)
			return ret;
	}
	ret = tsdl_expect(p, ']');
	if (!ret)
		ret = parse_brackets(p, elem, &array->elem);
	p->depth--;
	if (ret)
		return ret;
	if (array->elem->kind == CTF_INT && array->elem->size == 8 && array->elem->align == 8)
		array->text = array->elem->text;
	*out = array;
	return 0;
}

struct member_list {
	struct ctf_member *list;
	unsigned nr, room;
};

static int add_member(struct tsdl *p, struct member_list *l, const char *raw, struct ctf_fc *fc)
{
	if (l->nr == l->room) {
		unsigned room = l->room ? l->room * 2 : 8;
		struct ctf_member *list = arena_alloc(&p->m->arena, room * sizeof(*list));

		if (!list)
			return tsdl_oom(p);
		if (l->nr)
			memcpy(list, l->list, l->nr * sizeof(*list));
		l->list = list;
		l->room = room;
	}
	/* LTTng puts '_' before every name so that none is a keyword. */
	l->list[l->nr++] = (struct ctf_member){.raw = raw, .name = raw + (raw[0] == '_'), .fc = fc};
	return 0;
}

static int parse_declarator(struct tsdl *p, struct ctf_fc *fc, const char **name,
			    struct ctf_fc **out)
{
	while (tsdl_accept(p, '*') || (tsdl_is_word(p, "const") && (tsdl_advance(p), true)))
		;
	if (p->tok.kind != TSDL_WORD)
		return tsdl_fail(p, "the name of a field is expected");
	*name = arena_strndup(&p->m->arena, p->tok.text, p->tok.len);
	if (!*name)
		return tsdl_oom(p);
	tsdl_advance(p);
	return parse_brackets(p, fc, out);
}

/* "TYPE a, b[3];" */
static int parse_member(struct tsdl *p, struct member_list *l)
{
	struct ctf_fc *type, *fc;
	const char *name;
	int ret = parse_specifier(p, true, &type);

	while (!ret) {
		ret = parse_declarator(p, type, &name, &fc);
		if (!ret)
			ret = add_member(p, l, name, fc);
		if (ret || !tsdl_accept(p, ','))
			break;
		type = ctf_fc_clone(&p->m->arena, type);
		if (!type)
			return tsdl_oom(p);
	}
	return ret ? ret : tsdl_expect(p, ';');
}

/* A structure's or variant's "{ members }". */
static int parse_members(struct tsdl *p, struct ctf_fc *fc)
{
	struct tsdl_name *outer = tsdl_scope_open(p);
	struct member_list l = {0};
	int ret = tsdl_expect(p, '{');

	while (!ret && !tsdl_accept(p, '}')) {
		if (tsdl_at_declaration(p))
			ret = tsdl_parse_declaration(p);
		else
			ret = parse_member(p, &l);
	}
	fc->members = l.list;
	fc->nr_members = l.nr;
	tsdl_scope_close(p, outer);
	return ret;
}

static int parse_struct_align(struct tsdl *p, struct ctf_fc *fc)
{
	struct tsdl_value v;
	int ret;

	if (!tsdl_is_word(p, "align"))
		return 0;
	tsdl_advance(p);
	ret = tsdl_expect(p, '(');
	if (!ret)
		ret = tsdl_parse_value(p, &v);
	if (!ret)
		ret = tsdl_set_align(p, &v, fc);
	return ret ? ret : tsdl_expect(p, ')');
}

static int parse_struct(struct tsdl *p, struct ctf_fc **out)
{
	char name[TYPE_NAME_MAX];
	int ret = parse_tag_name(p, "struct", name);

	if (ret)
		return ret;
	if (!tsdl_is(p, '{'))
		return use_tag_name(p, name, out);
	*out = ctf_fc_new(&p->m->arena, CTF_STRUCT);
	if (!*out)
		return tsdl_oom(p);
	ret = parse_members(p, *out);
	if (!ret)
		ret = parse_struct_align(p, *out);
	if (ret)
		return ret;
	return name[0] ? define_type(p, name, *out) : 0;
}

static int parse_variant(struct tsdl *p, struct ctf_fc **out)
{
	const struct ctf_path *tag = NULL;
	char name[TYPE_NAME_MAX];
	int ret = parse_tag_name(p, "variant", name);

	if (!ret && tsdl_accept(p, '<')) {
		ret = parse_path(p, &tag);
		if (!ret)
			ret = tsdl_expect(p, '>');
	}
	if (ret)
		return ret;
	if (!tsdl_is(p, '{')) {
		ret = use_tag_name(p, name, out);
	} else {
		*out = ctf_fc_new(&p->m->arena, CTF_VARIANT);
		if (!*out)
			return tsdl_oom(p);
		ret = parse_members(p, *out);
		if (!ret && name[0])
			ret = define_type(p, name, *out);
	}
	if (!ret && tag)
		(*out)->ref = tag;
	return ret;
}

static int parse_named(struct tsdl *p, bool declarator_follows, struct ctf_fc **out)
{
	char name[TYPE_NAME_MAX];
	int ret = parse_type_words(p, declarator_follows, name);
	struct ctf_fc *fc;

	if (ret)
		return ret;
	fc = find_type(p, name);
	if (!fc)
		return tsdl_fail(p, "type \"%s\" was not defined before", name);
	*out = ctf_fc_clone(&p->m->arena, fc);
	return *out ? 0 : tsdl_oom(p);
}

static int parse_specifier(struct tsdl *p, bool declarator_follows, struct ctf_fc **out)
{
	static const struct {
		const char *word;
		int (*parse)(struct tsdl *p, struct ctf_fc **out);
	} kinds[] = {{"integer", tsdl_parse_integer}, {"floating_point", tsdl_parse_float},
		     {"string", tsdl_parse_string},   {"struct", parse_struct},
		     {"variant", parse_variant},      {"enum", parse_enum}};
	int ret;

	if (++p->depth > CTF_MAX_DEPTH)
		return tsdl_fail(p, "types are nested deeper than %d", CTF_MAX_DEPTH);
	while (tsdl_is_word(p, "const"))
		tsdl_advance(p);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (tsdl_is_word(p, kinds[i].word)) {
			tsdl_advance(p);
			ret = kinds[i].parse(p, out);
			p->depth--;
			return ret;
		}
	}
	ret = parse_named(p, declarator_follows, out);
	p->depth--;
	return ret;
}

int tsdl_parse_type(struct tsdl *p, struct ctf_fc **out)
{
	return parse_specifier(p, false, out);
}

/* Declarations */

/* Moves behind "{ ... }", of which *t is the first brace. */
static void skip_braces(struct tsdl_lexer *ahead, struct tsdl_token *t)
{
	for (unsigned open = 0; t->kind != TSDL_END; *t = tsdl_next(ahead)) {
		if (t->kind != TSDL_PUNCT)
			continue;
		open += t->punct == '{';
		if (t->punct == '}' && --open == 0)
			break;
	}
	*t = tsdl_next(ahead);
}

static bool is_punct(const struct tsdl_token *t, int punct)
{
	return t->kind == TSDL_PUNCT && t->punct == punct;
}

/* "struct name {...};" declares a type; "struct name {...} field;" is a member of that type, and
 * "struct name field;" one of a type declared before. */
static bool at_tagged_declaration(const struct tsdl *p)
{
	struct tsdl_lexer ahead = p->lx;
	struct tsdl_token t = tsdl_next(&ahead);

	if (t.kind != TSDL_WORD)
		return false;
	/* A selector <a.b>, a carrier ": unsigned int". */
	while (t.kind == TSDL_WORD || is_punct(&t, '<') || is_punct(&t, '>') || is_punct(&t, '.') ||
	       is_punct(&t, ':'))
		t = tsdl_next(&ahead);
	if (!is_punct(&t, '{'))
		return false;
	while (is_punct(&t, '{')) /* an enumeration's carrier may have braces too */
		skip_braces(&ahead, &t);
	if (t.kind == TSDL_WORD && t.len == 5 && !memcmp(t.text, "align", 5)) {
		for (unsigned i = 0; i < 4; i++) /* align ( 8 ) then what */
			t = tsdl_next(&ahead);
	}
	return is_punct(&t, ';');
}

bool tsdl_at_declaration(const struct tsdl *p)
{
	if (tsdl_is_word(p, "typealias") || tsdl_is_word(p, "typedef"))
		return true;
	if (tsdl_is_word(p, "struct") || tsdl_is_word(p, "enum") || tsdl_is_word(p, "variant"))
		return at_tagged_declaration(p);
	return false;
}

/* typealias TYPE := NAME; */
static int parse_typealias(struct tsdl *p)
{
	char name[TYPE_NAME_MAX];
	struct ctf_fc *fc;
	int ret;

	tsdl_advance(p);
	ret = parse_specifier(p, false, &fc);
	if (!ret)
		ret = tsdl_expect(p, TSDL_ASSIGN_TYPE);
	if (!ret)
		ret = parse_type_words(p, false, name);
	if (!ret)
		ret = define_type(p, name, fc);
	return ret ? ret : tsdl_expect(p, ';');
}

/* typedef TYPE name, name[3]; */
static int parse_typedef(struct tsdl *p)
{
	struct ctf_fc *type, *fc;
	const char *name;
	int ret;

	tsdl_advance(p);
	ret = parse_specifier(p, true, &type);
	do {
		if (!ret)
			ret = parse_declarator(p, type, &name, &fc);
		if (!ret)
			ret = define_type(p, name, fc);
	} while (!ret && tsdl_accept(p, ','));
	return ret ? ret : tsdl_expect(p, ';');
}

int tsdl_parse_declaration(struct tsdl *p)
{
	struct ctf_fc *fc;
	int ret;

	if (tsdl_is_word(p, "typealias"))
		return parse_typealias(p);
	if (tsdl_is_word(p, "typedef"))
		return parse_typedef(p);
	ret = parse_specifier(p, false, &fc);
	return ret ? ret : tsdl_expect(p, ';');
}
