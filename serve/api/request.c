/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(struct request *r, const char *text)
{
	size_t len = strlen(text) + 1;
	char *at = r->text + r->used;

	if (len > sizeof(r->text) - r->used) {
		r->too_long = true;
		return "";
	}
	memcpy(at, text, len);
	r->used += len;
	return at;
}

void request_name(struct request *r, const char *name)
{
	r->name = keep(r, name);
}

void request_add(struct request *r, const char *name, const char *value)
{
	struct param *p = &r->params[r->nr_params];

	if (r->nr_params == REQUEST_PARAMS_MAX) {
		r->too_long = true;
		return;
	}
	p->name = keep(r, name);
	p->value = keep(r, value ? value : "");
	r->nr_params++;
}

const char *request_text(const struct request *r, const char *name)
{
	for (unsigned i = 0; i < r->nr_params; i++) {
		if (!strcmp(r->params[i].name, name))
			return r->params[i].value;
	}
	return NULL;
}

/* Reads a decimal number at *text, no blanks before it; false when there is none. */
static bool read_int(const char **text, int64_t *out)
{
	const char *digits = *text + (**text == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*out = strtoll(*text, &end, 10);
	*text = end;
	return !errno;
}

int request_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *out,
		struct error *err)
{
	const char *text = request_text(r, name);

	if (!text)
		return fail(err, -EINVAL, "%s is missing", name);
	if (!read_int(&text, out) || *text)
		return fail(err, -EINVAL, "%s is no number", name);
	if (*out < min || *out > max)
		return fail(err, -EINVAL, "%s is not between %lld and %lld", name, (long long)min,
			    (long long)max);
	return 0;
}

int request_list(const struct request *r, const char *name, uint32_t *out, unsigned room,
		 struct error *err)
{
	const char *text = request_text(r, name);
	unsigned nr = 0;

	if (!text)
		return fail(err, -EINVAL, "%s is missing", name);
	while (*text) {
		int64_t value;

		if (!read_int(&text, &value) || value < 0 || value > UINT32_MAX ||
		    (*text && *text++ != ','))
			return fail(err, -EINVAL, "%s is no list of numbers", name);
		if (nr == room)
			return fail(err, -EINVAL, "%s has more than %u numbers", name, room);
		out[nr++] = (uint32_t)value;
	}
	return (int)nr;
}

int request_window(const struct request *r, int64_t length, int64_t *begin, int64_t *end,
		   struct error *err)
{
	int ret = request_int(r, "begin", -length, 2 * length, begin, err);

	if (!ret)
		ret = request_int(r, "end", -length, 2 * length, end, err);
	if (!ret && *end <= *begin)
		ret = fail(err, -EINVAL, "end is not after begin");
	return ret;
}
