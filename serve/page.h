/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include "base/types.h"

/*
 * The files of the page, as web/ built them, inside the program.  They are found by their whole
 * name in a fixed list: no path of a request ever reaches the file system.
 */
struct page_file {
	const char *name; /* "" is the page itself */
	const char *type; /* MIME */
	const char *data, *end;
};

/* NULL when there is none of that name. */
const struct page_file *page_find(const char *name);

/* False: the program was built where the page could not be; "" then says so to browsers. */
bool page_is_built(void);

#endif
