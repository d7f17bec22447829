/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *unit_time(char buf[static UNIT_TEXT], ns_t t, bool ticks_are_ns)
{
	uint64_t size = t < 0 ? -(uint64_t)t : (uint64_t)t;
	struct text text = text_in(buf, UNIT_TEXT);

	if (!ticks_are_ns) {
		text_i64(&text, t);
	} else {
		text_str(&text, t < 0 ? "-" : "");
		text_u64(&text, size / NS_PER_SEC);
		text_char(&text, '.');
		text_u64_zeros(&text, size % NS_PER_SEC, 9);
	}
	text_end(&text, UNIT_TEXT);
	return buf;
}

char *unit_tick(char buf[static UNIT_TEXT], ns_t t, ns_t step, bool ticks_are_ns)
{
	size_t len;

	unit_time(buf, t, ticks_are_ns);
	if (!ticks_are_ns)
		return buf;
	len = strlen(buf);
	for (ns_t digit = 10; digit <= NS_PER_SEC && step % digit == 0; digit *= 10)
		buf[--len] = '\0';
	if (buf[len - 1] == '.')
		buf[--len] = '\0';
	snprintf(buf + len, UNIT_TEXT - len, " s");
	return buf;
}

/* A unit of time: @ns of them, and the least lengths that are shown with two, one and no digits
 * behind the point. */
struct time_unit {
	const char *name;
	uint64_t ns, two, one, none;
};

/* Beyond this a double may be an ns off. */
#define LENGTH_EXACT UINT64_C(1000000000000000)

/*
 * @length in that unit with four significant digits, rounded as printf() rounds the quotient.  That
 * says of half a digit which way the quotient's last bit went; all else is found without it.
 */
static void four_digits(struct text *text, uint64_t length, const struct time_unit *u)
{
	unsigned decimals = length < u->two ? 3 : length < u->one ? 2 : length < u->none ? 1 : 0;
	uint64_t scale = decimals == 3 ? 1000 : decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	uint64_t digit = u->ns / scale, rest = length % digit;
	uint64_t digits = length / digit + (2 * rest > digit);
	char printed[UNIT_TEXT];

	if (2 * rest == digit || length > LENGTH_EXACT) {
		snprintf(printed, sizeof(printed), "%.*f", (int)decimals,
			 (double)length / (double)u->ns);
		text_str(text, printed);
	} else {
		text_u64(text, digits / scale);
		if (decimals) {
			text_char(text, '.');
			text_u64_zeros(text, digits % scale, decimals);
		}
	}
	text_str(text, u->name);
}

char *unit_length(char buf[static UNIT_TEXT], ns_t length, bool ticks_are_ns)
{
	static const struct time_unit us = {" us", 1000, 10000, 99995, 999950};
	static const struct time_unit ms = {" ms", 1000000, 9999500, 99995000, 999950000};
	static const struct time_unit s = {" s", NS_PER_SEC, 9999500000, 99995000000, 999950000000};
	uint64_t size = length < 0 ? -(uint64_t)length : (uint64_t)length;
	struct text text = text_in(buf, UNIT_TEXT);

	if (!ticks_are_ns && length) {
		text_i64(&text, length);
		text_str(&text, " cy");
	} else {
		text_str(&text, length < 0 ? "-" : "");
		if (size < 1000) {
			text_u64(&text, size);
			text_str(&text, length ? " ns" : "");
		} else {
			four_digits(&text, size, size < us.none ? &us : size < ms.none ? &ms : &s);
		}
	}
	text_end(&text, UNIT_TEXT);
	return buf;
}

char *unit_share(char buf[static UNIT_TEXT], int64_t ppm)
{
	if (ppm > 0 && ppm < 500)
		snprintf(buf, UNIT_TEXT, "<0.1%%");
	else
		snprintf(buf, UNIT_TEXT, "%.1f%%", (double)ppm / 1e4);
	return buf;
}

char *unit_bytes(char buf[static UNIT_TEXT], uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	double value = (double)bytes / 1000;
	unsigned i = 0;

	if (bytes < 1000) {
		snprintf(buf, UNIT_TEXT, "%llu B", (unsigned long long)bytes);
		return buf;
	}
	while (value >= 999.5 && i + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		i++;
	}
	snprintf(buf, UNIT_TEXT, "%.*f %s", value < 10 ? 1 : 0, value, units[i]);
	return buf;
}

char *unit_count(char buf[static UNIT_TEXT], int64_t n)
{
	char digits[UNIT_TEXT];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)n);
	char *to = buf;

	for (size_t i = 0; i < len; i++) {
		*to++ = digits[i];
		if (digits[i] != '-' && i + 1 < len && (len - i - 1) % 3 == 0)
			*to++ = ',';
	}
	*to = '\0';
	return buf;
}

char *unit_real(char buf[static UNIT_TEXT], double value)
{
	snprintf(buf, UNIT_TEXT, "%.15g", value);
	if (strtod(buf, NULL) != value)
		snprintf(buf, UNIT_TEXT, "%.17g", value);
	return buf;
}
