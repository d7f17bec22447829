/* SPDX-License-Identifier: Apache-2.0 */
/* Types that consist of attributes: "integer { size = 8; ... }", and likewise floating_point and
 * string. */
#include "source/ctf/tsdl.h"

#include <errno.h>
#include <string.h>

static int attr_number(struct tsdl *p, const char *key, const struct tsdl_value *v, uint64_t max,
		       uint64_t *out)
{
	if (v->kind != TSDL_VALUE_INT || v->negative || (uint64_t)v->number > max)
		return tsdl_fail(p, "\"%s\" has no sensible value", key);
	*out = (uint64_t)v->number;
	return 0;
}

int tsdl_set_align(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc)
{
	uint64_t align = 0;
	int ret = attr_number(p, "align", v, CTF_MAX_ALIGN, &align);

	if (ret)
		return ret;
	if (!align || (align & (align - 1)))
		return tsdl_fail(p, "\"align\" is not a power of two");
	fc->align = (uint32_t)align;
	return 0;
}

static int attr_bool(struct tsdl *p, const char *key, const struct tsdl_value *v, bool *out)
{
	if (v->kind == TSDL_VALUE_INT)
		*out = v->number != 0;
	else if (!strcmp(v->text, "true") || !strcmp(v->text, "TRUE"))
		*out = true;
	else if (!strcmp(v->text, "false") || !strcmp(v->text, "FALSE"))
		*out = false;
	else
		return tsdl_fail(p, "\"%s\" is neither true nor false", key);
	return 0;
}

static int attr_order(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc)
{
	if (v->kind == TSDL_VALUE_INT)
		return tsdl_fail(p, "\"byte_order\" is a number");
	if (!strcmp(v->text, "le"))
		fc->order = CTF_ORDER_LE;
	else if (!strcmp(v->text, "be") || !strcmp(v->text, "network"))
		fc->order = CTF_ORDER_BE;
	else if (!strcmp(v->text, "native"))
		fc->order = CTF_ORDER_NATIVE;
	else
		return tsdl_fail(p, "byte order \"%s\" is unknown", v->text);
	return 0;
}

static int attr_encoding(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc)
{
	if (v->kind == TSDL_VALUE_INT)
		return tsdl_fail(p, "\"encoding\" is a number");
	if (!strcmp(v->text, "none"))
		fc->text = CTF_TEXT_NONE;
	else /* UTF8, UTF-8, ASCII, whatever else: all are bytes of text */
		fc->text = CTF_TEXT_UTF8;
	return 0;
}

static int attr_base(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc)
{
	static const struct {
		const char *name;
		uint8_t base;
	} names[] = {{"decimal", 10},	  {"dec", 10}, {"d", 10}, {"i", 10},	 {"u", 10},
		     {"hexadecimal", 16}, {"hex", 16}, {"x", 16}, {"X", 16},	 {"p", 16},
		     {"octal", 8},	  {"oct", 8},  {"o", 8},  {"binary", 2}, {"b", 2}};

	if (v->kind == TSDL_VALUE_INT) {
		if (v->number != 2 && v->number != 8 && v->number != 10 && v->number != 16)
			return tsdl_fail(p, "base %lld is unknown", (long long)v->number);
		fc->base = (uint8_t)v->number;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(v->text, names[i].name)) {
			fc->base = names[i].base;
			return 0;
		}
	}
	return tsdl_fail(p, "base \"%s\" is unknown", v->text);
}

/* map = clock.NAME.value: keeps NAME. */
static int attr_map(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc)
{
	size_t len;

	if (v->kind == TSDL_VALUE_INT || strncmp(v->text, "clock.", 6))
		return 0; /* a map to something we do not know: the number itself stays right */
	len = strcspn(v->text + 6, ".");
	fc->clock = arena_strndup(&p->m->arena, v->text + 6, len);
	return fc->clock ? 0 : tsdl_oom(p);
}

/* What the attributes of one type have in common, and what each needs before it is complete. */
struct attrs {
	struct ctf_fc *fc;
	uint64_t size, exp_dig, mant_dig;
	bool has_align;
};

static int apply_attr(struct tsdl *p, const char *key, const struct tsdl_value *v, struct attrs *a)
{
	a->has_align |= !strcmp(key, "align");
	if (!strcmp(key, "size"))
		return attr_number(p, key, v, 64, &a->size);
	if (!strcmp(key, "exp_dig"))
		return attr_number(p, key, v, 64, &a->exp_dig);
	if (!strcmp(key, "mant_dig"))
		return attr_number(p, key, v, 64, &a->mant_dig);
	if (!strcmp(key, "align"))
		return tsdl_set_align(p, v, a->fc);
	if (!strcmp(key, "signed"))
		return attr_bool(p, key, v, &a->fc->is_signed);
	if (!strcmp(key, "byte_order"))
		return attr_order(p, v, a->fc);
	if (!strcmp(key, "encoding"))
		return attr_encoding(p, v, a->fc);
	if (!strcmp(key, "base"))
		return attr_base(p, v, a->fc);
	if (!strcmp(key, "map"))
		return attr_map(p, v, a->fc);
	problems_add(p->problems, "metadata line %u: attribute \"%s\" is unknown and ignored",
		     p->tok.line, key);
	return 0;
}

static int parse_attrs(struct tsdl *p, struct attrs *a)
{
	int ret = tsdl_expect(p, '{');

	while (!ret && !tsdl_accept(p, '}')) {
		struct tsdl_value v;
		char key[64];

		if (p->tok.kind != TSDL_WORD || p->tok.len >= sizeof(key))
			return tsdl_fail(p, "the name of an attribute is expected");
		memcpy(key, p->tok.text, p->tok.len);
		key[p->tok.len] = '\0';
		tsdl_advance(p);
		ret = tsdl_expect(p, '=');
		if (!ret)
			ret = tsdl_parse_value(p, &v);
		if (!ret)
			ret = apply_attr(p, key, &v, a);
		if (!ret)
			ret = tsdl_expect(p, ';');
	}
	return ret;
}

int tsdl_parse_integer(struct tsdl *p, struct ctf_fc **out)
{
	struct attrs a = {.fc = ctf_fc_new(&p->m->arena, CTF_INT)};
	int ret;

	if (!a.fc)
		return tsdl_oom(p);
	ret = parse_attrs(p, &a);
	if (ret)
		return ret;
	if (!a.size)
		return tsdl_fail(p, "an integer has no size between 1 and 64 bits");
	a.fc->size = (uint32_t)a.size;
	if (!a.has_align)
		a.fc->align = a.size % 8 ? 1 : 8;
	*out = a.fc;
	return 0;
}

int tsdl_parse_float(struct tsdl *p, struct ctf_fc **out)
{
	struct attrs a = {.fc = ctf_fc_new(&p->m->arena, CTF_FLOAT)};
	int ret;

	if (!a.fc)
		return tsdl_oom(p);
	ret = parse_attrs(p, &a);
	if (ret)
		return ret;
	if (a.exp_dig == 5 && a.mant_dig == 11)
		a.fc->size = 16;
	else if (a.exp_dig == 8 && a.mant_dig == 24)
		a.fc->size = 32;
	else if (a.exp_dig == 11 && a.mant_dig == 53)
		a.fc->size = 64;
	else
		return tsdl_fail(p, "a floating-point number is none of 16, 32 or 64 bits wide");
	if (!a.has_align)
		a.fc->align = 8;
	*out = a.fc;
	return 0;
}

int tsdl_parse_string(struct tsdl *p, struct ctf_fc **out)
{
	struct attrs a = {.fc = ctf_fc_new(&p->m->arena, CTF_STRING)};
	int ret = 0;

	if (!a.fc)
		return tsdl_oom(p);
	a.fc->text = CTF_TEXT_UTF8;
	if (tsdl_is(p, '{'))
		ret = parse_attrs(p, &a);
	*out = a.fc;
	return ret;
}
