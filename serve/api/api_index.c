/* SPDX-License-Identifier: Apache-2.0 */
/* The page in one document, with the model of its history inside: names and CPUs are there when the
 * script begins.  The rows of the first picture are a question of their own, which the document's
 * head has: a browser asks it while it reads the rest. */
#define _GNU_SOURCE /* memmem */
#include "serve/api/api.h"
#include "serve/api/first_picture.h"
#include "serve/api/page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Before this go question, style, model and script. */
static const char head_end[] = "</head>";

static void write_question(const struct call *c)
{
	FILE *out = c->reply->out;
	uint32_t attrs[FIRST_ATTRS];
	unsigned nr = first_attrs(c->history, attrs);

	if (!nr || c->length <= 0)
		return;
	fprintf(out,
		"<link rel=\"preload\" as=\"fetch\" crossorigin id=\"sonde-first\" "
		"href=\"api/rows?begin=0&amp;end=%" PRId64 "&amp;px=%d&amp;names=1&amp;attrs=",
		c->length, FIRST_PIXELS);
	for (unsigned i = 0; i < nr; i++)
		fprintf(out, "%s%u", i ? "," : "", attrs[i]);
	fputs("\">\n", out);
}

static int write_model(const struct call *c, struct error *err)
{
	struct reply model = {0};
	struct call ask = *c;
	int ret;

	ask.reply = &model;
	ret = reply_begin(&model, "application/json");
	if (!ret)
		ret = answer_model(&ask, err);
	reply_end(&model);
	if (!ret && model.body) {
		fputs("<script type=\"application/json\" id=\"sonde-model\">", c->reply->out);
		write_script_json(c->reply->out, model.body, model.len_bytes);
		fputs("</script>", c->reply->out);
	} else if (!ret) {
		ret = fail(err, -ENOMEM, "out of memory");
	}
	reply_release(&model);
	return ret;
}

/* The page from @from up to @mark, which is where the next part begins; without it, up to its end.
 */
static const char *copy_until(FILE *out, const char *from, const char *end, const char *mark)
{
	const char *at = memmem(from, (size_t)(end - from), mark, strlen(mark));

	if (!at)
		at = end;
	fwrite(from, 1, (size_t)(at - from), out);
	return at;
}

int answer_index(struct call *c, struct error *err)
{
	struct page_text frame = page_frame();
	FILE *out = c->reply->out;
	const char *at;
	int ret = 0;

	at = copy_until(out, frame.data, frame.end, head_end);
	if (page_is_built()) {
		write_question(c);
		page_write_style(out);
		ret = write_model(c, err);
		page_write_script(out);
	}
	fwrite(at, 1, (size_t)(frame.end - at), out);
	return ret;
}
