/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_WORKERS_GUARD_H
#define SERVE_WORKERS_GUARD_H

#include "base/types.h"

/*
 * Who may ask.  Any program of this machine, and any page that a browser on it shows, can send
 * requests to a port of 127.0.0.1; only who was given the URL shall be answered.
 *
 *   key     128 random bits, the first part of every path.  It keeps out other users' programs and
 *           pages that guess the port.
 *   Host    must name this machine: a page whose name was rebound to 127.0.0.1 sends its own.
 *   Origin  when there is one, must be the page's own; likewise Sec-Fetch-Site.
 *
 * All of this is asked of every request before anything else is looked at.
 *
 * Other people's viewers (the Trace Server Protocol, serve/tsp/tsp.h) are let in by the same rule:
 * the protocol is served behind the key.  Two things a user may loosen, for it alone:
 *
 *   --tsp         serves it without the key, too, at the path that viewers expect.  Off by default:
 *                 it lets every program of this machine, of any user, read the histories.
 *   --tsp-origin  names an origin whose pages may ask: a viewer that is a page of another server,
 * or a view inside an editor.  None by default.  Host stays asked for, and who sends an Origin that
 * is not named is refused with or without the key.  So is a browser that sends none for a page of
 * another site (Sec-Fetch-Site).
 */
#define GUARD_KEY_CHARS 32

/* What a request says of where it comes from; NULL = the header is not there. */
struct guard_headers {
	const char *host;
	unsigned nr_hosts;
	const char *origin;
	const char *fetch_site;
	bool has_body;
};

/* Origins beside the page's own. */
struct guard_origins {
	const char *const *list;
	unsigned nr;
};

int guard_make_key(char key[static GUARD_KEY_CHARS + 1]); /* 0 or -errno */

/* "127.0.0.1", "localhost" or "[::1]", with any port: a forwarded port has another number. */
bool guard_host(const char *host);

/* "http://localhost:3000"; or "vscode-webview://", which stands for every origin of that scheme and
 * must not be one that pages of the web have. */
bool guard_origin_valid(const char *text);

/* One of them. */
bool guard_origin_listed(const struct guard_origins *origins, const char *origin);

/* HTTP status to refuse with, 0 = may go on.  @also: NULL for what belongs to the page, which takes
 * no bodies either. */
unsigned guard_headers(const struct guard_headers *h, const struct guard_origins *also);

/* What follows "/KEY/" in @path, NULL when the key is wrong.  Takes as long for every wrong key. */
const char *guard_path(const char *path, const char key[static GUARD_KEY_CHARS + 1]);

#endif
