/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* timegm */
#include "libsonde/time_text.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{"ns", 1},	 {"us", 1000},	    {"µs", 1000},
	{"ms", 1000000}, {"s", NS_PER_SEC}, {"min", 60 * NS_PER_SEC},
};

/* A decimal number: whole part and nine digits after the point, exact. */
struct decimal {
	int64_t whole;
	int64_t billionths;
	bool has_point;
};

static bool parse_decimal(const char **text, struct decimal *out)
{
	const char *s = *text;
	int64_t place = 100000000;

	*out = (struct decimal){0};
	if (!isdigit((unsigned char)*s))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		if (__builtin_mul_overflow(out->whole, 10, &out->whole) ||
		    __builtin_add_overflow(out->whole, *s - '0', &out->whole))
			return false;
	}
	if (*s == '.') {
		out->has_point = true;
		for (s++; isdigit((unsigned char)*s); s++) {
			out->billionths += (*s - '0') * place;
			place /= 10;
		}
	}
	*text = s;
	return true;
}

static bool scale(const struct decimal *d, int64_t unit, int64_t *out)
{
	__int128 value = (__int128)d->whole * unit + (__int128)d->billionths * unit / NS_PER_SEC;

	*out = (int64_t)value;
	return value <= INT64_MAX;
}

/* A length of time: number and unit.  Without one, a number with a point is in seconds and one
 * without in nanoseconds. */
static bool parse_length(const char *text, int64_t *out)
{
	struct decimal d;

	if (!parse_decimal(&text, &d))
		return false;
	if (!*text)
		return scale(&d, d.has_point ? NS_PER_SEC : 1, out);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(text, units[i].name))
			return scale(&d, units[i].ns, out);
	}
	return false;
}

static bool parse_percent(const struct time_base *base, const char *text, ns_t *out)
{
	struct decimal d;
	__int128 part;

	if (!parse_decimal(&text, &d) || strcmp(text, "%") || d.whole > 100)
		return false;
	part = (__int128)(base->end - base->begin) *
	       ((__int128)d.whole * NS_PER_SEC + d.billionths);
	*out = base->begin + (ns_t)(part / NS_PER_SEC / 100);
	return true;
}

/* "hh:mm:ss[.frac]" into ns since midnight. */
static bool parse_clock(const char *text, int64_t *out)
{
	char *end;
	unsigned long hours = strtoul(text, &end, 10);
	unsigned long minutes;
	struct decimal seconds;
	const char *rest;
	int64_t ns;

	if (end == text || *end != ':' || !isdigit((unsigned char)end[1]))
		return false;
	minutes = strtoul(end + 1, &end, 10);
	if (*end != ':')
		return false;
	rest = end + 1;
	if (!parse_decimal(&rest, &seconds) || (*rest && strcmp(rest, "Z")) || hours > 23 ||
	    minutes > 59 || seconds.whole > 60 || !scale(&seconds, NS_PER_SEC, &ns))
		return false;
	*out = ((int64_t)hours * 60 + (int64_t)minutes) * 60 * NS_PER_SEC + ns;
	return true;
}

/* With a date, that day; without, the first such time of day not before the history's begin. */
static bool parse_wall(const struct time_base *base, const char *text, ns_t *out)
{
	const int64_t day_ns = 86400 * NS_PER_SEC;
	const char *clock = text;
	struct tm tm = {0};
	int64_t of_day;
	int64_t wall;

	if (strlen(text) > 10 && (text[10] == 'T' || text[10] == ' ')) {
		clock = strptime(text, "%Y-%m-%d", &tm);
		if (clock != text + 10)
			return false;
		clock++;
	}
	if (!parse_clock(clock, &of_day))
		return false;
	if (clock != text) {
		wall = (int64_t)timegm(&tm) * NS_PER_SEC + of_day;
	} else {
		int64_t begin = base->begin + base->wall_offset_ns;

		wall = begin - begin % day_ns + of_day;
		if (wall < begin - begin % NS_PER_SEC)
			wall += day_ns;
	}
	*out = wall - base->wall_offset_ns;
	return true;
}

static int parse_ticks(const struct time_base *base, const char *text, ns_t *out, struct error *err)
{
	char *end;
	uint64_t ticks;

	errno = 0;
	ticks = strtoull(text, &end, 0);
	if (end == text || *end || errno || *text == '-')
		return fail(err, -EINVAL, "\"tsc:%s\" is no time stamp: a number is expected",
			    text);
	if (!base->l0)
		return fail(err, -EINVAL,
			    "\"tsc:%s\" cannot be used: this history does not keep how its tracer "
			    "counted",
			    text);
	*out = clock_to_l0(base->l0, (ticks_t){ticks});
	return 0;
}

int time_parse(const struct time_base *base, const char *text, ns_t *out, struct error *err)
{
	int64_t length;

	if (!strncmp(text, "tsc:", 4))
		return parse_ticks(base, text + 4, out, err);
	if (text[0] == '+' && parse_length(text + 1, &length)) {
		*out = __builtin_add_overflow(base->begin, length, out) ? NS_MAX : *out;
		return 0;
	}
	if (text[0] == '-' && parse_length(text + 1, &length)) {
		*out = __builtin_sub_overflow(base->end, length, out) ? NS_MIN : *out;
		return 0;
	}
	if (parse_length(text, out) || parse_percent(base, text, out))
		return 0;
	if (strchr(text, ':')) {
		if (!base->wall_known)
			return fail(
				err, -EINVAL,
				"\"%s\" cannot be used: these traces do not tell the wall clock",
				text);
		if (parse_wall(base, text, out))
			return 0;
	}
	return fail(
		err, -EINVAL,
		"\"%s\" is no time: 1500000 (ns), 1.5, 12.3s, 120ms, +1.5s (from the beginning), "
		"-200ms (from the end), 50%%, tsc:N or 13:00:00.5 is expected",
		text);
}

bool time_is_bare(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* "; 99 is 99 ns ..." when a side of a window that went wrong has no unit. */
static void unit_hint(const struct time_base *base, const char *text, char *buf, size_t room)
{
	char side[64];

	*buf = '\0';
	if (!base->ticks_are_ns)
		return;
	for (; *text && !*buf; text += strcspn(text, ","), text += *text == ',') {
		snprintf(side, sizeof(side), "%.*s", (int)strcspn(text, ","), text);
		if (time_is_bare(side))
			snprintf(buf, room, "; %s is %s ns: write %ss for seconds", side, side,
				 side);
	}
}

/* "60,60.001": nobody means 60 ns beside 60.001 s. */
static bool mixes_units(const char *first, const char *second)
{
	struct decimal d;

	return time_is_bare(first) && parse_decimal(&second, &d) && d.has_point && !*second;
}

/* What sticks out of the history at either end is cut off. */
static int clip_window(const struct time_base *base, const char *text, ns_t *begin, ns_t *end,
		       struct error *err)
{
	char from[UNIT_TEXT], to[UNIT_TEXT];
	char hint[256];

	unit_hint(base, text, hint, sizeof(hint));
	/* First: with one side left out, the other one is compared with an end of the history. */
	if (*end <= base->begin || *begin >= base->end)
		return fail(err, -ERANGE,
			    "the window \"%s\" is outside the history, which lasts from %s to %s%s",
			    text, unit_time(from, base->begin, base->ticks_are_ns),
			    unit_time(to, base->end, base->ticks_are_ns), hint);
	if (*begin > *end)
		return fail(err, -ERANGE, "the window \"%s\" ends before it begins%s", text, hint);
	if (*begin == *end)
		return fail(err, -ERANGE, "the window \"%s\" is empty", text);
	*begin = *begin < base->begin ? base->begin : *begin;
	*end = *end > base->end ? base->end : *end;
	return 0;
}

int time_parse_window(const struct time_base *base, const char *text, ns_t *begin, ns_t *end,
		      struct error *err)
{
	const char *comma = text ? strchr(text, ',') : NULL;
	char first[64], hint[256];
	int ret = 0;

	*begin = base->traced_begin;
	*end = base->traced_end;
	if (!text)
		return 0;
	if (!comma || (size_t)(comma - text) >= sizeof(first))
		return fail(err, -EINVAL, "\"%s\" is no window of time: \"A,B\" is expected", text);
	memcpy(first, text, (size_t)(comma - text));
	first[comma - text] = '\0';
	if (*first)
		ret = time_parse(base, first, begin, err);
	if (!ret && comma[1])
		ret = time_parse(base, comma + 1, end, err);
	if (ret)
		return ret;
	if (!*first && *end <= *begin)
		*begin = base->begin;
	if (!comma[1] && *end <= *begin)
		*end = base->end;
	if (base->ticks_are_ns &&
	    (mixes_units(first, comma + 1) || mixes_units(comma + 1, first))) {
		unit_hint(base, text, hint, sizeof(hint));
		return fail(err, -ERANGE, "the window \"%s\" mixes nanoseconds and seconds%s", text,
			    hint);
	}
	return clip_window(base, text, begin, end, err);
}
