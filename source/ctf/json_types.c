/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/json.h"

#include <errno.h>
#include <string.h>

int json_oom(struct json_parser *p)
{
	if (p->m->arena.reached_limit)
		return fail(p->err, -E2BIG, "the metadata needs more memory than is sensible");
	return fail(p->err, -ENOMEM, "out of memory reading the metadata");
}

int json_get_uint(struct json_parser *p, const json_t *json, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(json, key);

	if (!v)
		return 0;
	if (!json_is_integer(v))
		return fail(p->err, -EINVAL, "property \"%s\" is not an integer", key);
	*out = (uint64_t)json_integer_value(v);
	return 0;
}

int json_get_text(struct json_parser *p, const json_t *json, const char *key, const char **out)
{
	const json_t *v = json_object_get(json, key);

	if (!v)
		return 0;
	if (!json_is_string(v))
		return fail(p->err, -EINVAL, "property \"%s\" is not a string", key);
	*out = arena_strdup(&p->m->arena, json_string_value(v));
	return *out ? 0 : json_oom(p);
}

static int get_align(struct json_parser *p, const json_t *json, const char *key, struct ctf_fc *fc)
{
	uint64_t align = fc->align;
	int ret = json_get_uint(p, json, key, &align);

	if (ret)
		return ret;
	if (!align || align > CTF_MAX_ALIGN || (align & (align - 1)))
		return fail(p->err, -EINVAL, "\"%s\" is not a sensible power of two", key);
	fc->align = (uint32_t)align;
	return 0;
}

/* Ranges: [[low, high], ...] */

static int read_range(struct json_parser *p, const json_t *pair, struct ctf_range *out)
{
	const json_t *low = json_array_get(pair, 0), *high = json_array_get(pair, 1);

	if (!json_is_integer(low) || !json_is_integer(high))
		return fail(p->err, -EINVAL, "a range is not two integers");
	out->low = (uint64_t)json_integer_value(low);
	out->high = (uint64_t)json_integer_value(high);
	return 0;
}

static int read_ranges(struct json_parser *p, const json_t *array, const char *label,
		       struct ctf_range *out, unsigned *nr)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		int ret = read_range(p, json_array_get(array, i), &out[*nr]);

		if (ret)
			return ret;
		out[(*nr)++].label = label;
	}
	return 0;
}

static int parse_member_ranges(struct json_parser *p, const json_t *json, struct ctf_member *out)
{
	const json_t *ranges = json_object_get(json, "selector-field-ranges");
	struct ctf_range *list;
	int ret;

	if (!ranges)
		return 0;
	list = arena_alloc(&p->m->arena, (json_array_size(ranges) + 1) * sizeof(*list));
	if (!list)
		return json_oom(p);
	ret = read_ranges(p, ranges, "", list, &out->nr_ranges);
	out->ranges = list;
	return ret;
}

/* "mappings" of an enumeration, "flags" of a bit map: {"label": ranges, ...} */
static int parse_labels(struct json_parser *p, const json_t *labels, struct ctf_fc *fc)
{
	struct ctf_range *list;
	const char *key;
	json_t *ranges;
	size_t nr = 0;

	json_object_foreach((json_t *)labels, key, ranges) nr += json_array_size(ranges);
	list = arena_alloc(&p->m->arena, (nr + 1) * sizeof(*list));
	if (!list)
		return json_oom(p);
	json_object_foreach((json_t *)labels, key, ranges)
	{
		const char *label = arena_strdup(&p->m->arena, key);
		int ret = label ? read_ranges(p, ranges, label, list, &fc->nr_labels) : json_oom(p);

		if (ret)
			return ret;
	}
	fc->labels = list;
	return 0;
}

/* References */

static int scope_of(const char *name)
{
	static const char *const names[CTF_NR_SCOPES] = {
		[CTF_SCOPE_PACKET_HEADER] = "packet-header",
		[CTF_SCOPE_PACKET_CONTEXT] = "packet-context",
		[CTF_SCOPE_EVENT_HEADER] = "event-record-header",
		[CTF_SCOPE_COMMON_CONTEXT] = "event-record-common-context",
		[CTF_SCOPE_SPECIFIC_CONTEXT] = "event-record-specific-context",
		[CTF_SCOPE_PAYLOAD] = "event-record-payload",
	};

	for (int i = 0; i < CTF_NR_SCOPES; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -1;
}

static int read_path(struct json_parser *p, const json_t *array, size_t from, struct ctf_path *path)
{
	size_t nr = json_array_size(array);

	if (nr > CTF_MAX_DEPTH)
		return fail(p->err, -E2BIG, "a field location has more than %d parts",
			    CTF_MAX_DEPTH);
	path->names = arena_alloc(&p->m->arena, (nr + 1) * sizeof(*path->names));
	if (!path->names)
		return json_oom(p);
	for (size_t i = from; i < nr; i++) {
		const json_t *name = json_array_get(array, i);

		if (json_is_null(name) && !path->nr) {
			path->up++;
			continue;
		}
		if (!json_is_string(name))
			return fail(p->err, -EINVAL, "a part of a field location is no name");
		path->names[path->nr] = arena_strdup(&p->m->arena, json_string_value(name));
		if (!path->names[path->nr++])
			return json_oom(p);
	}
	return 0;
}

/* {"origin": scope, "path": [names]}; in drafts an array, whose first part may be the scope. */
static int parse_location(struct json_parser *p, const json_t *json, const char *key,
			  const struct ctf_path **out)
{
	const json_t *location = json_object_get(json, key);
	struct ctf_path *path = arena_alloc(&p->m->arena, sizeof(*path));
	const char *origin = NULL;
	size_t from = 0;
	int ret;

	if (!path)
		return json_oom(p);
	*out = path;
	if (json_is_array(location)) {
		origin = json_string_value(json_array_get(location, 0));
		path->scope = origin ? scope_of(origin) : -1;
		from = path->scope >= 0;
		return read_path(p, location, from, path);
	}
	if (!json_is_object(location))
		return fail(p->err, -EINVAL, "\"%s\" is missing", key);
	path->scope = -1;
	ret = json_get_text(p, location, "origin", &origin);
	if (ret)
		return ret;
	if (origin) {
		path->scope = scope_of(origin);
		if (path->scope < 0)
			return fail(p->err, -EINVAL, "\"%s\" is no origin of a field location",
				    origin);
	}
	return read_path(p, json_object_get(location, "path"), 0, path);
}

/* Scalars */

static int parse_order(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	const char *order = json_string_value(json_object_get(json, "byte-order"));
	const char *bits = json_string_value(json_object_get(json, "bit-order"));
	bool first_to_last;

	if (!order || !strcmp(order, "little-endian"))
		fc->order = CTF_ORDER_LE;
	else if (!strcmp(order, "big-endian"))
		fc->order = CTF_ORDER_BE;
	else
		return fail(p->err, -EINVAL, "byte order \"%.40s\" is unknown", order);
	if (!bits)
		return 0;
	first_to_last = !strcmp(bits, "first-to-last");
	if (!first_to_last && strcmp(bits, "last-to-first"))
		return fail(p->err, -EINVAL, "bit order \"%.40s\" is unknown", bits);
	fc->bits_reversed = first_to_last != (fc->order == CTF_ORDER_LE);
	return 0;
}

static int parse_roles(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	static const struct {
		const char *name;
		enum ctf_role role;
	} names[] = {
		{"packet-magic-number", CTF_ROLE_MAGIC},
		{"metadata-stream-uuid", CTF_ROLE_UUID},
		{"data-stream-class-id", CTF_ROLE_STREAM_CLASS},
		{"data-stream-id", CTF_ROLE_STREAM_INSTANCE},
		{"packet-content-length", CTF_ROLE_CONTENT_BITS},
		{"packet-total-length", CTF_ROLE_PACKET_BITS},
		{"default-clock-timestamp", CTF_ROLE_TIME},
		{"packet-end-default-clock-timestamp", CTF_ROLE_END},
		{"packet-sequence-number", CTF_ROLE_SEQ_NUM},
		{"discarded-event-record-counter-snapshot", CTF_ROLE_DISCARDED},
		{"event-record-class-id", CTF_ROLE_EVENT_ID},
	};
	const json_t *roles = json_object_get(json, "roles");

	(void)p;
	for (size_t i = 0; i < json_array_size(roles); i++) {
		const char *role = json_string_value(json_array_get(roles, i));

		for (size_t k = 0; role && k < ARRAY_SIZE(names); k++) {
			if (!strcmp(names[k].name, role))
				fc->role = (uint8_t)names[k].role;
		}
	}
	return 0;
}

/* What all integers have, of fixed and of variable length. */
static int parse_number(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	const json_t *mappings = json_object_get(json, "mappings");
	uint64_t base = 10;
	int ret = json_get_uint(p, json, "preferred-display-base", &base);

	fc->base = base == 2 || base == 8 || base == 16 ? (uint8_t)base : 10;
	if (!ret)
		ret = parse_roles(p, json, fc);
	if (!ret && json_object_size(mappings)) {
		fc->is_enum = true;
		ret = parse_labels(p, mappings, fc);
	}
	return ret;
}

static int parse_fixed(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	uint64_t size = 0;
	int ret = json_get_uint(p, json, "length", &size);

	if (ret)
		return ret;
	if (!size || size > 64)
		return fail(p->err, -ENOTSUP, "a length of %llu bits is not supported",
			    (unsigned long long)size);
	fc->size = (uint32_t)size;
	ret = get_align(p, json, "alignment", fc);
	return ret ? ret : parse_order(p, json, fc);
}

static int parse_uint(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_fixed(p, json, fc);

	return ret ? ret : parse_number(p, json, fc);
}

static int parse_sint(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	fc->is_signed = true;
	return parse_uint(p, json, fc);
}

static int parse_bool(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	fc->is_bool = true;
	return parse_fixed(p, json, fc);
}

static int parse_bit_map(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_fixed(p, json, fc);

	fc->is_bit_map = true;
	return ret ? ret : parse_labels(p, json_object_get(json, "flags"), fc);
}

static int parse_float(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_fixed(p, json, fc);

	if (!ret && fc->size != 16 && fc->size != 32 && fc->size != 64)
		ret = fail(p->err, -ENOTSUP,
			   "a floating-point number is none of 16, 32 or 64 bits wide");
	return ret;
}

static int parse_vl_sint(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	fc->is_signed = true;
	return parse_number(p, json, fc);
}

/* Text and blobs */

static int parse_encoding(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	static const struct {
		const char *name;
		enum ctf_text text;
	} names[] = {{"utf-8", CTF_TEXT_UTF8},
		     {"utf-16le", CTF_TEXT_UTF16LE},
		     {"utf-16be", CTF_TEXT_UTF16BE},
		     {"utf-32le", CTF_TEXT_UTF32LE},
		     {"utf-32be", CTF_TEXT_UTF32BE}};
	const char *encoding = json_string_value(json_object_get(json, "encoding"));

	fc->text = CTF_TEXT_UTF8;
	for (size_t i = 0; encoding && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i].name, encoding)) {
			fc->text = (uint8_t)names[i].text;
			return 0;
		}
	}
	return encoding ? fail(p->err, -ENOTSUP, "encoding \"%.40s\" is unknown", encoding) : 0;
}

static int make_bytes(struct json_parser *p, struct ctf_fc *fc)
{
	fc->align = 8;
	fc->elem = ctf_fc_new(&p->m->arena, CTF_INT);
	if (!fc->elem)
		return json_oom(p);
	fc->elem->size = 8;
	fc->elem->align = 8;
	return 0;
}

static int parse_length(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	if (!json_is_integer(json_object_get(json, "length")))
		return fail(p->err, -EINVAL, "\"length\" is missing");
	return json_get_uint(p, json, "length", &fc->len);
}

static int parse_sl_string(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = make_bytes(p, fc);

	if (!ret)
		ret = parse_encoding(p, json, fc);
	return ret ? ret : parse_length(p, json, fc);
}

static int parse_dl_string(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = make_bytes(p, fc);

	if (!ret)
		ret = parse_encoding(p, json, fc);
	return ret ? ret : parse_location(p, json, "length-field-location", &fc->ref);
}

static int parse_sl_blob(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = make_bytes(p, fc);

	fc->is_blob = true;
	if (!ret)
		ret = parse_roles(p, json, fc);
	return ret ? ret : parse_length(p, json, fc);
}

static int parse_dl_blob(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = make_bytes(p, fc);

	fc->is_blob = true;
	return ret ? ret : parse_location(p, json, "length-field-location", &fc->ref);
}

/* Compound classes */

static int parse_array(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = get_align(p, json, "minimum-alignment", fc);

	return ret ? ret
		   : json_parse_fc(p, json_object_get(json, "element-field-class"), &fc->elem);
}

static int parse_sl_array(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_array(p, json, fc);

	return ret ? ret : parse_length(p, json, fc);
}

static int parse_dl_array(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_array(p, json, fc);

	return ret ? ret : parse_location(p, json, "length-field-location", &fc->ref);
}

static int parse_member(struct json_parser *p, const json_t *json, struct ctf_member *out)
{
	int ret;

	if (!json_is_object(json))
		return fail(p->err, -EINVAL, "a member or option is no object");
	out->name = "";
	ret = json_get_text(p, json, "name", &out->name);
	out->raw = out->name;
	if (!ret)
		ret = parse_member_ranges(p, json, out);
	return ret ? ret : json_parse_fc(p, json_object_get(json, "field-class"), &out->fc);
}

static int parse_members(struct json_parser *p, const json_t *array, struct ctf_fc *fc)
{
	size_t nr = json_array_size(array);

	fc->members = arena_alloc(&p->m->arena, (nr + 1) * sizeof(*fc->members));
	if (!fc->members)
		return json_oom(p);
	for (size_t i = 0; i < nr; i++) {
		int ret = parse_member(p, json_array_get(array, i), &fc->members[i]);

		if (ret)
			return ret;
		fc->nr_members++;
	}
	return 0;
}

static int parse_struct(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = get_align(p, json, "minimum-alignment", fc);

	return ret ? ret : parse_members(p, json_object_get(json, "member-classes"), fc);
}

static int parse_variant(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_location(p, json, "selector-field-location", &fc->ref);

	return ret ? ret : parse_members(p, json_object_get(json, "options"), fc);
}

static int parse_optional(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	int ret = parse_location(p, json, "selector-field-location", &fc->ref);

	fc->members = arena_alloc(&p->m->arena, sizeof(*fc->members));
	if (!fc->members)
		return json_oom(p);
	if (!ret)
		ret = parse_member(p, json, &fc->members[0]);
	fc->nr_members = 1;
	return ret;
}

static int parse_nt_string(struct json_parser *p, const json_t *json, struct ctf_fc *fc)
{
	return parse_encoding(p, json, fc);
}

static const struct {
	const char *type;
	enum ctf_kind kind;
	int (*parse)(struct json_parser *p, const json_t *json, struct ctf_fc *fc);
} types[] = {
	{"fixed-length-bit-array", CTF_INT, parse_fixed},
	{"fixed-length-bit-map", CTF_INT, parse_bit_map},
	{"fixed-length-boolean", CTF_INT, parse_bool},
	{"fixed-length-unsigned-integer", CTF_INT, parse_uint},
	{"fixed-length-signed-integer", CTF_INT, parse_sint},
	{"fixed-length-unsigned-enumeration", CTF_INT, parse_uint}, /* draft */
	{"fixed-length-signed-enumeration", CTF_INT, parse_sint},   /* draft */
	{"fixed-length-floating-point-number", CTF_FLOAT, parse_float},
	{"variable-length-unsigned-integer", CTF_VARINT, parse_number},
	{"variable-length-signed-integer", CTF_VARINT, parse_vl_sint},
	{"variable-length-unsigned-enumeration", CTF_VARINT, parse_number}, /* draft */
	{"variable-length-signed-enumeration", CTF_VARINT, parse_vl_sint},  /* draft */
	{"null-terminated-string", CTF_STRING, parse_nt_string},
	{"static-length-string", CTF_ARRAY, parse_sl_string},
	{"dynamic-length-string", CTF_ARRAY, parse_dl_string},
	{"static-length-blob", CTF_ARRAY, parse_sl_blob},
	{"dynamic-length-blob", CTF_ARRAY, parse_dl_blob},
	{"structure", CTF_STRUCT, parse_struct},
	{"static-length-array", CTF_ARRAY, parse_sl_array},
	{"dynamic-length-array", CTF_ARRAY, parse_dl_array},
	{"optional", CTF_OPTIONAL, parse_optional},
	{"variant", CTF_VARIANT, parse_variant},
};

static int use_alias(struct json_parser *p, const char *name, struct ctf_fc **out)
{
	for (unsigned i = p->nr_aliases; i-- > 0;) {
		if (!strcmp(p->aliases[i].name, name)) {
			*out = ctf_fc_clone(&p->m->arena, p->aliases[i].fc);
			return *out ? 0 : json_oom(p);
		}
	}
	return fail(p->err, -EINVAL, "field class alias \"%.60s\" was not defined before", name);
}

int json_parse_fc(struct json_parser *p, const json_t *json, struct ctf_fc **out)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	int ret;

	if (json_is_string(json))
		return use_alias(p, json_string_value(json), out);
	if (!type)
		return fail(p->err, -EINVAL,
			    "a field class is neither an object with a \"type\" "
			    "nor the name of an alias");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].type, type))
			continue;
		if (++p->depth > CTF_MAX_DEPTH)
			return fail(p->err, -E2BIG, "types are nested deeper than %d",
				    CTF_MAX_DEPTH);
		*out = ctf_fc_new(&p->m->arena, types[i].kind);
		ret = *out ? types[i].parse(p, json, *out) : json_oom(p);
		p->depth--;
		return ret;
	}
	return fail(p->err, -ENOTSUP, "field class type \"%.60s\" is unknown", type);
}
