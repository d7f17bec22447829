/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page.h"

#include <string.h>

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

static const struct page_file files[] = {
	{"", "text/html; charset=utf-8", page_index, page_index_end},
	{"app.js", "text/javascript; charset=utf-8", page_script, page_script_end},
	{"app.css", "text/css; charset=utf-8", page_style, page_style_end},
};

bool page_is_built(void)
{
	return true;
}
#else
static const char no_page[] = "<!doctype html><meta charset=utf-8><title>Sonde</title>\n"
			      "<p>This sonde was built without its page: npm or nodejs was "
			      "missing, or the packages that\n"
			      "the page is built with could not be fetched. Install nodejs and "
			      "npm, run make again where\n"
			      "it was built, and start sonde serve once more.\n";

static const struct page_file files[] = {
	{"", "text/html; charset=utf-8", no_page, no_page + sizeof(no_page) - 1},
};

bool page_is_built(void)
{
	return false;
}
#endif

const struct page_file *page_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (!strcmp(files[i].name, name))
			return &files[i];
	}
	return NULL;
}
