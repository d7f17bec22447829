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

/* @value in its unit with four significant digits. */
static void four_digits(char *buf, double value, const char *unit)
{
	int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;

	snprintf(buf, UNIT_TEXT, "%.*f %s", decimals, value, unit);
}

char *unit_length(char buf[static UNIT_TEXT], ns_t length, bool ticks_are_ns)
{
	double size = length < 0 ? -(double)length : (double)length;
	char *text = buf;

	if (length == 0) {
		snprintf(buf, UNIT_TEXT, "0");
		return buf;
	}
	if (!ticks_are_ns) {
		snprintf(buf, UNIT_TEXT, "%lld cy", (long long)length);
		return buf;
	}
	if (length < 0)
		*text++ = '-';
	if (size < 1000)
		snprintf(text, UNIT_TEXT - 1, "%.0f ns", size);
	else if (size < 999950)
		four_digits(text, size / 1e3, "us");
	else if (size < 999950000.0)
		four_digits(text, size / 1e6, "ms");
	else
		four_digits(text, size / 1e9, "s");
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
