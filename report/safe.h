/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_SAFE_H
#define REPORT_SAFE_H

#include <stddef.h>

/*
 * Names of threads and machines come out of guests, who may put anything into them: escape
 * sequences that take over a terminal, markup that ends up in a page.
 */

/* Copies @text; control characters, those that nobody sees, and bytes that are not UTF-8 become
 * '?'.  Returns @buf. */
char *safe_text(char *buf, size_t room, const char *text);

/* The same, and "<", ">", "&" and quotes as XML entities. */
char *safe_xml(char *buf, size_t room, const char *text);

#endif
