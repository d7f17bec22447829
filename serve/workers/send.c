/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/workers/send.h"

#include "serve/api/page.h"

#include <stdlib.h>
#include <string.h>

/* Pages of origins that the user let in may read the answer. */
static void add_origin(struct MHD_Response *r, const struct guard_origins *origins,
		       struct MHD_Connection *connection)
{
	const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");

	MHD_add_response_header(r, "Vary", "Origin");
	if (!origin || !guard_origin_listed(origins, origin))
		return;
	MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
	MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, DELETE");
	MHD_add_response_header(r, "Access-Control-Allow-Headers", "Content-Type, Accept");
	MHD_add_response_header(r, "Access-Control-Max-Age", "600");
	if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					"Access-Control-Request-Private-Network"))
		MHD_add_response_header(r, "Access-Control-Allow-Private-Network", "true");
}

static void add_headers(struct MHD_Response *r, const char *type)
{
	static const char *const fixed[][2] = {
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		MHD_add_response_header(r, fixed[i][0], fixed[i][1]);
	MHD_add_response_header(r, "Content-Security-Policy", page_policy());
	MHD_add_response_header(r, "Content-Type", type);
}

static void add_times(struct MHD_Response *r, const struct send_times *t)
{
	char text[120];

	snprintf(text, sizeof(text), "wait;dur=%.3f, answer;dur=%.3f, cpu;dur=%.3f",
		 (double)t->wait_ns / 1e6, (double)t->answer_ns / 1e6, (double)t->cpu_ns / 1e6);
	MHD_add_response_header(r, "Server-Timing", text);
}

enum MHD_Result send_bytes(struct MHD_Connection *connection, const struct guard_origins *also,
			   unsigned status, const char *type, const void *data, size_t len,
			   enum MHD_ResponseMemoryMode mode, const struct send_times *times)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)data, mode);
	enum MHD_Result result;

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free((void *)data);
		return MHD_NO;
	}
	add_headers(r, type);
	if (also)
		add_origin(r, also, connection);
	if (times)
		add_times(r, times);
	if (status == 405)
		MHD_add_response_header(r, "Allow", also ? "GET, POST, DELETE" : "GET, HEAD");
	if (status == 413)
		MHD_add_response_header(r, "Connection", "close");
	result = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return result;
}

enum MHD_Result refuse(struct MHD_Connection *connection, const struct guard_origins *also,
		       unsigned status)
{
	static const char *const words[] = {"bad request\n", "forbidden\n", "not found\n",
					    "not so\n",	     "too large\n", "busy\n"};
	static const unsigned statuses[] = {400, 403, 404, 405, 413, 503};
	const char *text = "error\n";

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		if (statuses[i] == status)
			text = words[i];
	}
	return send_bytes(connection, also, status, "text/plain; charset=utf-8", text, strlen(text),
			  MHD_RESPMEM_PERSISTENT, NULL);
}
