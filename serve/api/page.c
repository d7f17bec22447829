/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/page.h"

#define POLICY(script, style)                                                                      \
	"default-src 'none'; script-src '" script "'; style-src '" style                           \
	"'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "                     \
	"form-action 'none'; frame-ancestors 'none'"

#ifdef PAGE_DIR
/* The assembler takes the files in as they are. */
#define EMBED(symbol, file)                                                                        \
	__asm__(".section .rodata\n"                                                               \
		".balign 16\n" #symbol ":\n"                                                       \
		".incbin \"" PAGE_DIR "/" file "\"\n" #symbol "_end:\n"                            \
		".byte 0\n"                                                                        \
		".previous\n");                                                                    \
	extern const char symbol[] __attribute__((visibility("hidden")));                          \
	extern const char symbol##_end[] __attribute__((visibility("hidden")))

EMBED(page_index, "index.html");
EMBED(page_script, "app.js");
EMBED(page_style, "app.css");

bool page_is_built(void)
{
	return true;
}

struct page_text page_frame(void)
{
	return (struct page_text){page_index, page_index_end};
}

static void write_element(FILE *out, const char *begin, const char *data, const char *data_end,
			  const char *end)
{
	fputs(begin, out);
	fwrite(data, 1, (size_t)(data_end - data), out);
	fputs(end, out);
}

void page_write_style(FILE *out)
{
	write_element(out, "<style>", page_style, page_style_end, "</style>\n");
}

/* Before it has run there is nothing to be seen: without "blocking" a browser paints that, and what
 * the script does waits for it.  It is for scripts in the head. */
void page_write_script(FILE *out)
{
	write_element(out, "<script type=\"module\" blocking=\"render\">", page_script,
		      page_script_end, "</script>\n");
}

/* Of style and script that stand in the document the browser compares the hashes. */
const char *page_policy(void)
{
	return POLICY(PAGE_SCRIPT, PAGE_STYLE);
}
#else
static const char no_page[] = "<!doctype html><meta charset=utf-8><title>Sonde</title>\n"
			      "<p>This sonde was built without its page: npm or nodejs was "
			      "missing, or the packages that\n"
			      "the page is built with could not be fetched. Install nodejs and "
			      "npm, run make again where\n"
			      "it was built, and start sonde serve once more.\n";

bool page_is_built(void)
{
	return false;
}

struct page_text page_frame(void)
{
	return (struct page_text){no_page, no_page + sizeof(no_page) - 1};
}

void page_write_style(FILE *out)
{
	(void)out;
}

void page_write_script(FILE *out)
{
	(void)out;
}

const char *page_policy(void)
{
	return POLICY("none", "none");
}
#endif
