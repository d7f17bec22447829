/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tsp/tsp_query.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int tsp_query_parse(struct tsp_query *q, const char *body, size_t len_bytes, struct error *err)
{
	json_error_t why;
	json_t *params;

	*q = (struct tsp_query){0};
	if (!len_bytes)
		return 0;
	q->root = json_loadb(body, len_bytes, JSON_REJECT_DUPLICATES, &why);
	if (!q->root)
		return fail(err, -EINVAL, "the body is no JSON: %s", why.text);
	params = json_object_get(q->root, "parameters");
	if (!json_is_object(params)) {
		tsp_query_release(q);
		return fail(err, -EINVAL, "the body has no object \"parameters\"");
	}
	q->params = params;
	return 0;
}

void tsp_query_release(struct tsp_query *q)
{
	json_decref(q->root);
	*q = (struct tsp_query){0};
}

static json_t *member(const struct tsp_query *q, const char *key)
{
	return q->params ? json_object_get(q->params, key) : NULL;
}

static int get_int(const json_t *value, const char *key, int64_t min, int64_t max, int64_t *out,
		   struct error *err)
{
	if (!value || json_is_null(value))
		return fail(err, -ENODATA, "%s is missing", key);
	if (!json_is_integer(value))
		return fail(err, -EINVAL, "%s is no whole number", key);
	*out = json_integer_value(value);
	if (*out < min || *out > max)
		return fail(err, -EINVAL, "%s is not between %lld and %lld", key, (long long)min,
			    (long long)max);
	return 0;
}

int tsp_query_int(const struct tsp_query *q, const char *key, int64_t min, int64_t max,
		  int64_t *out, struct error *err)
{
	return get_int(member(q, key), key, min, max, out, err);
}

int tsp_query_range(const struct tsp_query *q, struct tsp_range *out, struct error *err)
{
	const json_t *range = member(q, "requested_timerange");
	int64_t nr = 0;
	int ret;

	if (!range)
		return fail(err, -ENODATA, "requested_timerange is missing");
	ret = get_int(json_object_get(range, "start"), "start", INT64_MIN, INT64_MAX, &out->start,
		      err);
	if (!ret)
		ret = get_int(json_object_get(range, "end"), "end", INT64_MIN, INT64_MAX, &out->end,
			      err);
	if (!ret && json_object_get(range, "nbTimes"))
		ret = get_int(json_object_get(range, "nbTimes"), "nbTimes", 1, TSP_TIMES_MAX, &nr,
			      err);
	if (ret)
		return ret == -ENODATA ? -EINVAL : ret;
	out->nr = (unsigned)nr;
	return out->start < out->end ? 0 : fail(err, -EINVAL, "end is not after start");
}

int tsp_query_list(const struct tsp_query *q, const char *key, int64_t **out, struct error *err)
{
	const json_t *list = member(q, key);
	size_t nr;

	*out = NULL;
	if (!list)
		return fail(err, -ENODATA, "%s is missing", key);
	if (!json_is_array(list))
		return fail(err, -EINVAL, "%s is no array", key);
	nr = json_array_size(list);
	if (nr > TSP_ITEMS_MAX)
		return fail(err, -EINVAL, "%s has more than %d numbers", key, TSP_ITEMS_MAX);
	*out = calloc(nr ? nr : 1, sizeof(**out));
	if (!*out)
		return fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		int ret = get_int(json_array_get(list, i), key, INT64_MIN, INT64_MAX, &(*out)[i],
				  err);

		if (ret) {
			free(*out);
			*out = NULL;
			return -EINVAL;
		}
	}
	return (int)nr;
}

bool tsp_query_has(const struct tsp_query *q, const char *key)
{
	return member(q, key) != NULL;
}

const char *tsp_query_text(const struct tsp_query *q, const char *key)
{
	return json_string_value(member(q, key));
}

const char *tsp_query_text_at(const struct tsp_query *q, const char *key, unsigned i)
{
	return json_string_value(json_array_get(member(q, key), i));
}

int tsp_query_element(const struct tsp_query *q, struct tsp_element *out, struct error *err)
{
	static const char *const kinds[] = {
		[TSP_STATE] = "state", [TSP_ANNOTATION] = "annotation", [TSP_ARROW] = "arrow"};
	const json_t *element = member(q, "requested_element");
	const char *kind = json_string_value(json_object_get(element, "elementType"));
	int ret;

	if (!element)
		return fail(err, -ENODATA, "requested_element is missing");
	*out = (struct tsp_element){.kind = TSP_STATE, .entry = -1, .destination = -1};
	for (unsigned i = 0; kind && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcasecmp(kind, kinds[i]))
			out->kind = (enum tsp_element_kind)i;
	}
	ret = get_int(json_object_get(element, "time"), "time", INT64_MIN, INT64_MAX, &out->time,
		      err);
	if (!ret)
		ret = get_int(json_object_get(element, "duration"), "duration", 0, INT64_MAX,
			      &out->duration, err);
	if (ret)
		return -EINVAL;
	if (json_object_get(element, "entryId"))
		ret = get_int(json_object_get(element, "entryId"), "entryId", -1, INT64_MAX,
			      &out->entry, err);
	if (!ret && json_object_get(element, "destinationId"))
		ret = get_int(json_object_get(element, "destinationId"), "destinationId", -1,
			      INT64_MAX, &out->destination, err);
	return ret ? -EINVAL : 0;
}

bool tsp_query_search(const struct tsp_query *q, unsigned i, int64_t *column, const char **text)
{
	json_t *map = member(q, "table_search_expressions");
	void *at = json_object_iter(map);

	while (at && i--)
		at = json_object_iter_next(map, at);
	if (!at)
		return false;
	*column = strtoll(json_object_iter_key(at), NULL, 10);
	*text = json_string_value(json_object_iter_value(at));
	return *text != NULL;
}

const char *tsp_query_filter_strategy(const struct tsp_query *q)
{
	return json_string_value(json_object_get(member(q, "filter_query_parameters"), "strategy"));
}

const char *tsp_query_filter(const struct tsp_query *q, const char *key, unsigned i)
{
	const json_t *map =
		json_object_get(member(q, "filter_query_parameters"), "filter_expressions_map");

	return json_string_value(json_array_get(json_object_get(map, key), i));
}
