/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/workers/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int guard_make_key(char key[static GUARD_KEY_CHARS + 1])
{
	uint8_t bytes[GUARD_KEY_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		snprintf(key + i * 2, 3, "%02x", bytes[i]);
	return 0;
}

bool guard_host(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(host, names[i], len))
			continue;
		host += len;
		if (!*host)
			return true;
		len = strlen(host + 1);
		return *host == ':' && len > 0 && len <= 5 && strspn(host + 1, "0123456789") == len;
	}
	return false;
}

static bool is_scheme(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool letter = text[i] >= 'a' && text[i] <= 'z';

		if (!letter && (!i || !strchr("0123456789+.-", text[i])))
			return false;
	}
	return len > 0;
}

/* A scheme on its own lets all of its origins in: not one that anybody can have a page of. */
static bool is_of_the_web(const char *text)
{
	static const char *const schemes[] = {"http://", "https://", "file://", "data://",
					      "blob://"};

	for (unsigned i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		if (!strcmp(text, schemes[i]))
			return true;
	}
	return false;
}

bool guard_origin_valid(const char *text)
{
	const char *rest = strstr(text, "://");

	if (!rest || !is_scheme(text, (size_t)(rest - text)))
		return false;
	rest += 3;
	/* No path, no user, no list: an origin as browsers send it. */
	if (strcspn(rest, "/@,?#* \t\r\n") != strlen(rest))
		return false;
	return *rest || !is_of_the_web(text);
}

bool guard_origin_listed(const struct guard_origins *origins, const char *origin)
{
	for (unsigned i = 0; i < origins->nr; i++) {
		const char *one = origins->list[i];
		size_t len = strlen(one);

		if (!strcmp(one, origin))
			return true;
		if (len && one[len - 1] == '/' && !strncmp(one, origin, len))
			return true;
	}
	return false;
}

unsigned guard_headers(const struct guard_headers *h, const struct guard_origins *also)
{
	if (h->nr_hosts != 1 || !h->host || !guard_host(h->host))
		return 403;
	if (also && h->origin && guard_origin_listed(also, h->origin))
		return 0;
	if (h->origin && (strncmp(h->origin, "http://", 7) || strcmp(h->origin + 7, h->host)))
		return 403;
	if (h->fetch_site && strcmp(h->fetch_site, "same-origin") && strcmp(h->fetch_site, "none"))
		return 403;
	return h->has_body && !also ? 413 : 0;
}

const char *guard_path(const char *path, const char key[static GUARD_KEY_CHARS + 1])
{
	unsigned differs = 0;

	if (*path != '/' || strlen(path) < GUARD_KEY_CHARS + 2 || path[GUARD_KEY_CHARS + 1] != '/')
		return NULL;
	for (unsigned i = 0; i < GUARD_KEY_CHARS; i++)
		differs |= (unsigned)(path[i + 1] ^ key[i]);
	return differs ? NULL : path + GUARD_KEY_CHARS + 2;
}
