/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_PAGE_H
#define SERVE_API_PAGE_H

#include "base/types.h"

#include <stdio.h>

/*
 * The parts of the page, as web/ built them, inside the program.  Who hands it out makes one
 * document of them: a file that a browser has to ask for beside it takes longer to come than to be
 * read.
 */
struct page_text {
	const char *data, *end;
};

/* The document without what stands below; of a page that was not built, why there is none. */
struct page_text page_frame(void);

/* Elements of the document, or nothing when the page was not built. */
void page_write_style(FILE *out);
void page_write_script(FILE *out);

/* False: the program was built where the page could not be. */
bool page_is_built(void);

/* What a browser may do with what this program sends (Content-Security-Policy): run this script and
 * no other, ask this server and nobody else, and let nobody frame it. */
const char *page_policy(void);

#endif
