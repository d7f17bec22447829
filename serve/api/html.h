/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_HTML_H
#define SERVE_API_HTML_H

#include "base/error.h"
#include "sonde/history.h"

#include <stdio.h>

/*
 * The page as one file that needs no server, to attach to a ticket: the page's own script and
 * style, and the answers it would ask for, of [begin, end).  Every change of every CPU, vCPU and
 * thread in the window is in it, so that it can be zoomed to the last one; events are not.
 *
 * -EINVAL: the window has more changes than a browser should be given; -ENOTSUP: the program was
 * built without the page.
 */
int html_write(FILE *out, struct sonde_history *history, int64_t begin, int64_t end,
	       struct error *err);

#endif
