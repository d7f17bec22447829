/* SPDX-License-Identifier: Apache-2.0 */
/* The page itself, with the model of its run inside: that is one question less before the first
 * picture, and its names and CPUs are there when the script begins. */
#define _GNU_SOURCE /* memmem */
#include "serve/api.h"
#include "serve/page.h"

#include <errno.h>
#include <string.h>

/* Where the model goes. */
static const char mark[] = "</body>";

int answer_index(struct call *c, struct error *err)
{
	const struct page_file *page = page_find("");
	size_t len = (size_t)(page->end - page->data);
	const char *at = memmem(page->data, len, mark, strlen(mark));
	struct reply model = {0};
	struct call ask = *c;
	FILE *out = c->reply->out;
	int ret;

	if (!at) { /* it was built without */
		fwrite(page->data, 1, len, out);
		return 0;
	}
	ask.reply = &model;
	ret = reply_begin(&model, "application/json");
	if (!ret)
		ret = answer_model(&ask, err);
	reply_end(&model);
	if (!ret && model.body) {
		fwrite(page->data, 1, (size_t)(at - page->data), out);
		fputs("<script type=\"application/json\" id=\"sonde-model\">", out);
		write_script_json(out, model.body, model.len_bytes);
		fputs("</script>", out);
		fwrite(at, 1, len - (size_t)(at - page->data), out);
	} else if (!ret) {
		ret = fail(err, -ENOMEM, "out of memory");
	}
	reply_release(&model);
	return ret;
}
