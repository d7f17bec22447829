/* SPDX-License-Identifier: Apache-2.0 */
#include "report/paragraph.h"
#include "base/types.h"
#include "report/safe.h"

#include <string.h>

/* Lines that would leave less room than this for words are not broken. */
#define TEXT_WIDTH_MIN 20
#define PARAGRAPH_MAX 4096

/* Columns that UTF-8 text takes, for text without wide or combining characters. */
static size_t columns(const char *text, size_t len)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

/* A word's bytes; a number and the unit behind it are one word. */
static size_t word_bytes(const char *text)
{
	static const char *const units[] = {"s", "ms", "us", "ns", "cy"};
	size_t len = strcspn(text, " ");
	const char *next = text + len + 1;
	size_t more;

	if (!len || !text[len] || text[len - 1] < '0' || text[len - 1] > '9')
		return len;
	more = strcspn(next, " ,;:.)");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (more == strlen(units[i]) && !memcmp(next, units[i], more))
			return len + 1 + strcspn(next, " ");
	}
	return len;
}

void paragraph_print(const struct screen *screen, const char *lead, const char *text)
{
	size_t indent = columns(lead, strlen(lead));
	size_t width = screen->width > indent + TEXT_WIDTH_MIN ? screen->width - indent : SIZE_MAX;
	char safe[PARAGRAPH_MAX];
	const char *word;
	size_t used = 0;

	fputs(lead, screen->out);
	word = safe_text(safe, sizeof(safe), text);
	while (*word) {
		size_t len = word_bytes(word);
		size_t wide = columns(word, len);

		if (used && used + 1 + wide > width) {
			fprintf(screen->out, "\n%*s", (int)indent, "");
			used = 0;
		}
		if (used)
			fputc(' ', screen->out);
		fwrite(word, 1, len, screen->out);
		used += wide + (used > 0);
		word += len;
		word += strspn(word, " ");
	}
	fputc('\n', screen->out);
}
