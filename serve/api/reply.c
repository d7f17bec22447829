/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/reply.h"

#include <errno.h>
#include <stdlib.h>

int reply_begin(struct reply *r, const char *type)
{
	reply_release(r);
	r->status = 200;
	r->type = type;
	r->out = open_memstream(&r->body, &r->len_bytes);
	return r->out ? 0 : -ENOMEM;
}

void reply_end(struct reply *r)
{
	bool broken;

	if (!r->out)
		return;
	broken = ferror(r->out);
	broken |= fclose(r->out) != 0;
	r->out = NULL;
	if (broken) {
		reply_release(r);
		r->status = 503;
	}
}

void reply_fail(struct reply *r, unsigned status, const char *text)
{
	struct json j;

	if (reply_begin(r, "application/json")) {
		r->status = 503;
		return;
	}
	j = (struct json){.out = r->out};
	json_begin_object(&j, NULL);
	json_str(&j, "error", text);
	json_end(&j);
	reply_end(r);
	r->status = status;
}

void write_script_json(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	}
}

void reply_release(struct reply *r)
{
	if (r->out)
		fclose(r->out);
	free(r->body);
	*r = (struct reply){.type = "application/json"};
}
