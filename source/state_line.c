/* SPDX-License-Identifier: Apache-2.0 */
#include "source/state_line.h"

#include <string.h>

#define PREFIX "sonde: "

static const struct {
	const char *name;
	enum state_kind kind;
} kinds[] = {
	{"begin", STATE_BEGIN},	  {"clock", STATE_CLOCK}, {"pidns", STATE_PIDNS},
	{"cgroup", STATE_CGROUP}, {"task", STATE_TASK},	  {"vm", STATE_VM},
	{"vcpu", STATE_VCPU},	  {"stat", STATE_STAT},	  {"end", STATE_END},
	{"booted", STATE_BOOTED},
};

static bool equals(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

/* The next word, which spaces end; false when there is none. */
static bool next_word(const char **at, const char *end, const char **word, size_t *len)
{
	const char *p = *at;

	while (p < end && *p == ' ')
		p++;
	*word = p;
	while (p < end && *p != ' ')
		p++;
	*at = p;
	*len = (size_t)(p - *word);
	return *len > 0;
}

static void add_pair(struct state_line *l, const char *word, size_t len)
{
	const char *equal = memchr(word, '=', len);

	if (!equal || equal == word || l->nr == STATE_PAIRS_MAX)
		return;
	l->pairs[l->nr++] = (struct state_pair){
		.key = word,
		.key_len = (uint16_t)(equal - word),
		.value = equal + 1,
		.value_len = (uint16_t)(word + len - equal - 1),
	};
}

bool state_line_parse(struct state_line *out, const char *text, size_t len_bytes)
{
	const char *at, *end, *word;
	size_t len;

	out->kind = STATE_UNKNOWN;
	out->nr = 0;
	while (len_bytes && (text[len_bytes - 1] == '\n' || !text[len_bytes - 1]))
		len_bytes--;
	if (len_bytes > STATE_LINE_BYTES || len_bytes < strlen(PREFIX) ||
	    memcmp(text, PREFIX, strlen(PREFIX)) || memchr(text, '\n', len_bytes))
		return false;
	at = text + strlen(PREFIX);
	end = text + len_bytes;
	if (!next_word(&at, end, &word, &len))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (equals(word, len, kinds[i].name))
			out->kind = kinds[i].kind;
	}
	while (next_word(&at, end, &word, &len))
		add_pair(out, word, len);
	return true;
}

/* ftrace calls the text "buf", or, where the reader puts it together, "text"; LTTng "msg". */
bool state_line_text(const struct stream *s, const struct event *e, const char **text,
		     size_t *len_bytes)
{
	struct field_value value;

	bool direct =
		!trace_event_field(s, e, s->trace->format == TRACE_CTF ? "msg" : "buf", &value) &&
		value.cls == FIELD_STRING;

	if (!direct && (trace_event_field(s, e, "text", &value) || value.cls != FIELD_STRING))
		return false;
	if (!value.text)
		return false;
	*text = value.text;
	*len_bytes = value.len;
	return true;
}

bool state_line_read(struct state_line *out, const struct stream *s, const struct event *e)
{
	const char *text;
	size_t len_bytes;

	return state_line_text(s, e, &text, &len_bytes) && state_line_parse(out, text, len_bytes);
}

/* ---- values --------------------------------------------------------------------------------- */

static const struct state_pair *find(const struct state_line *l, const char *key)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (equals(l->pairs[i].key, l->pairs[i].key_len, key))
			return &l->pairs[i];
	}
	return NULL;
}

static bool parse_digits(const char *p, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v))
			return false;
	}
	*out = v;
	return len > 0;
}

static bool parse_signed(const char *p, size_t len, int64_t *out)
{
	bool negative = len && *p == '-';
	uint64_t v;

	if (!parse_digits(p + negative, len - negative, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)-v : (int64_t)v;
	return true;
}

int64_t state_int(const struct state_line *l, const char *key, int64_t otherwise)
{
	const struct state_pair *p = find(l, key);
	int64_t v;

	return p && parse_signed(p->value, p->value_len, &v) ? v : otherwise;
}

uint64_t state_uint(const struct state_line *l, const char *key, uint64_t otherwise)
{
	const struct state_pair *p = find(l, key);
	uint64_t v;

	return p && parse_digits(p->value, p->value_len, &v) ? v : otherwise;
}

unsigned state_list(const struct state_line *l, const char *key, int64_t *out, unsigned room)
{
	const struct state_pair *p = find(l, key);
	const char *at = p ? p->value : NULL, *end = p ? at + p->value_len : NULL;
	unsigned nr = 0;

	while (at && at <= end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t len = (size_t)((comma ? comma : end) - at);

		if (nr == room || !parse_signed(at, len, &out[nr]))
			return 0;
		nr++;
		at = comma ? comma + 1 : NULL;
	}
	return nr;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One byte of encoded text; a '%' with no two digits behind it is itself. */
static char decode_byte(const char **at, const char *end)
{
	const char *p = (*at)++;

	if (*p != '%' || end - p < 3 || hex_digit(p[1]) < 0 || hex_digit(p[2]) < 0)
		return *p;
	*at = p + 3;
	return (char)(hex_digit(p[1]) << 4 | hex_digit(p[2]));
}

bool state_text(const struct state_line *l, const char *key, char *out, size_t room)
{
	const struct state_pair *p = find(l, key);
	const char *at = p ? p->value : NULL, *end = p ? at + p->value_len : NULL;
	size_t used = 0;

	while (at < end && used + 1 < room) {
		char c = decode_byte(&at, end);

		if (!c)
			break;
		out[used++] = c;
	}
	out[used] = '\0';
	return p != NULL;
}

static bool all_are(const uint8_t uuid[16], uint8_t byte)
{
	for (unsigned i = 0; i < 16; i++) {
		if (uuid[i] != byte)
			return false;
	}
	return true;
}

bool state_uuid(const struct state_line *l, const char *key, uint8_t out[16])
{
	const struct state_pair *p = find(l, key);
	unsigned digits = 0;

	memset(out, 0, 16);
	for (unsigned i = 0; p && i < p->value_len; i++) {
		int v = hex_digit(p->value[i]);

		if (p->value[i] == '-')
			continue;
		if (v < 0 || digits == 32)
			return false;
		out[digits / 2] |= (uint8_t)(digits % 2 ? v : v << 4);
		digits++;
	}
	return digits == 32 && !all_are(out, 0) && !all_are(out, 0xff);
}

enum state_cause state_cause(const struct state_line *l)
{
	const struct state_pair *p = find(l, "cause");

	if (p && equals(p->value, p->value_len, "start"))
		return STATE_CAUSE_START;
	if (p && equals(p->value, p->value_len, "vm"))
		return STATE_CAUSE_VM;
	return p && equals(p->value, p->value_len, "end") ? STATE_CAUSE_END : STATE_CAUSE_OTHER;
}

/* ---- blocks --------------------------------------------------------------------------------- */

bool state_block_takes(struct state_block *b, const struct state_line *l, int32_t tid)
{
	if (l->kind == STATE_BEGIN) {
		b->open = state_uint(l, "version", STATE_VERSION) == STATE_VERSION;
		b->cause = state_cause(l);
		b->tid = tid;
		b->ignored += !b->open;
		return b->open;
	}
	if (!b->open || tid != b->tid) {
		b->ignored++;
		return false;
	}
	b->open = l->kind != STATE_END;
	return true;
}
