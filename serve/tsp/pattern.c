/* SPDX-License-Identifier: Apache-2.0 */
/* An expression becomes steps that are walked along all ways at once: a step stands at most once in
 * the list for a letter, so that a text costs no more than its letters times the steps. */
#include "serve/tsp/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 32	/* of parentheses */
#define REPEATS_MAX 100 /* of one thing, by {n,m} */

enum pattern_op {
	STEP_BYTE,
	STEP_SET,
	STEP_WAYS,     /* on at .a and at .b */
	STEP_BEGIN,    /* of the text */
	STEP_END,      /* of the text */
	STEP_EDGE,     /* of a word */
	STEP_NOT_EDGE, /* neither begins nor ends a word */
	STEP_FOUND,
};

struct parser {
	struct pattern *p;
	const char *at;
	unsigned depth;
	struct error *err;
};

static int refuse(struct parser *c, const char *what)
{
	return fail(c->err, -EINVAL, "regular expression: %s", what);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Makes room for @nr steps at @at.  Steps go on relative to themselves, and none goes from before
 * @at to behind it, so that all stay right. */
static int make_room(struct parser *c, unsigned at, unsigned nr)
{
	struct pattern *p = c->p;

	if (p->nr + nr > PATTERN_STEPS_MAX)
		return refuse(c, "too long");
	memmove(p->steps + at + nr, p->steps + at, (p->nr - at) * sizeof(*p->steps));
	p->nr += nr;
	return 0;
}

static int add_step(struct parser *c, enum pattern_op op, unsigned what)
{
	int ret = make_room(c, c->p->nr, 1);

	if (!ret)
		c->p->steps[c->p->nr - 1] = (struct pattern_step){(uint8_t)op, (uint8_t)what, 1, 1};
	return ret;
}

/* Puts ways to @a and @b before the steps from @at on. */
static int add_ways(struct parser *c, unsigned at, unsigned a, unsigned b)
{
	int ret = make_room(c, at, 1);

	if (!ret)
		c->p->steps[at] = (struct pattern_step){STEP_WAYS, 0, (int16_t)a, (int16_t)b};
	return ret;
}

/* ---- sets of bytes ------------------------------------------------------------------------- */

static void set_add(uint8_t set[static 32], unsigned byte)
{
	set[byte / 8] |= (uint8_t)(1 << byte % 8);
}

static bool set_has(const uint8_t set[static 32], unsigned byte)
{
	return set[byte / 8] >> byte % 8 & 1;
}

static bool is_word(unsigned byte)
{
	return byte == '_' || (byte < 128 && isalnum((int)byte));
}

static bool is_space(unsigned byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* \d and the like: adds what @letter stands for; false when it stands for itself. */
static bool set_add_class(uint8_t set[static 32], char letter)
{
	const char *known = strchr("dDwWsS", letter);

	if (!known || !letter)
		return false;
	for (unsigned byte = 1; byte < 256; byte++) {
		bool in = letter == 'd' || letter == 'D'   ? byte >= '0' && byte <= '9'
			  : letter == 'w' || letter == 'W' ? is_word(byte)
							   : is_space(byte);

		if (in == !isupper((unsigned char)letter))
			set_add(set, byte);
	}
	return true;
}

static int new_set(struct parser *c, uint8_t **out)
{
	struct pattern *p = c->p;
	int ret;

	if (p->nr_sets == PATTERN_SETS_MAX)
		return refuse(c, "too many sets");
	ret = add_step(c, STEP_SET, p->nr_sets);
	*out = p->sets[p->nr_sets++];
	memset(*out, 0, 32);
	return ret;
}

/* What a letter behind a backslash stands for. */
static int escaped(struct parser *c, unsigned *byte)
{
	static const char letters[] = "nrtfv", bytes[] = "\n\r\t\f\v";
	const char *known = strchr(letters, *c->at);

	if (!*c->at)
		return refuse(c, "ends with a \\");
	if (known)
		*byte = (unsigned char)bytes[known - letters];
	else if (is_word((unsigned char)*c->at))
		return refuse(c, "a \\ before a letter that is not known here");
	else
		*byte = (unsigned char)*c->at;
	c->at++;
	return 0;
}

/* One byte of a set, or a whole class (*byte is 256 then). */
static int parse_member(struct parser *c, uint8_t set[static 32], unsigned *byte)
{
	if (!*c->at)
		return refuse(c, "a [ without ]");
	if (*c->at != '\\') {
		*byte = (unsigned char)*c->at++;
		return 0;
	}
	c->at++;
	if (!set_add_class(set, *c->at))
		return escaped(c, byte);
	c->at++;
	*byte = 256;
	return 0;
}

/* Behind "[". */
static int parse_set(struct parser *c)
{
	bool negated = *c->at == '^';
	unsigned from, to;
	uint8_t *set;
	int ret = new_set(c, &set);

	c->at += negated;
	while (!ret && *c->at != ']') {
		ret = parse_member(c, set, &from);
		to = from;
		if (!ret && c->at[0] == '-' && c->at[1] && c->at[1] != ']') {
			c->at++;
			ret = parse_member(c, set, &to);
			if (!ret && (from > 255 || to > 255 || to < from))
				ret = refuse(c, "a range in [] that goes nowhere");
		}
		for (unsigned byte = from; !ret && byte <= to && byte < 256; byte++)
			set_add(set, byte);
	}
	if (ret)
		return ret;
	c->at++;
	for (unsigned i = 0; negated && i < 32; i++)
		set[i] = (uint8_t)~set[i];
	return 0;
}

/* ---- parts --------------------------------------------------------------------------------- */

static int parse_ways(struct parser *c);

/* Behind "(". */
static int parse_group(struct parser *c)
{
	int ret;

	if (c->at[0] == '?' && c->at[1] != ':')
		return refuse(c, "a (? that is not known here");
	if (c->at[0] == '?')
		c->at += 2;
	if (++c->depth > DEPTH_MAX)
		return refuse(c, "too many (");
	ret = parse_ways(c);
	if (ret)
		return ret;
	if (*c->at != ')')
		return refuse(c, "a ( without )");
	c->at++;
	c->depth--;
	return 0;
}

static int parse_any(struct parser *c)
{
	uint8_t *set;
	int ret = new_set(c, &set);

	if (ret)
		return ret;
	for (unsigned byte = 1; byte < 256; byte++) {
		if (byte != '\n' && byte != '\r')
			set_add(set, byte);
	}
	return 0;
}

static int parse_escape(struct parser *c)
{
	uint8_t *set, found[32] = {0};
	unsigned byte;
	int ret;

	if (*c->at == 'b' || *c->at == 'B')
		return add_step(c, *c->at++ == 'b' ? STEP_EDGE : STEP_NOT_EDGE, 0);
	if (set_add_class(found, *c->at)) {
		c->at++;
		ret = new_set(c, &set);
		if (!ret)
			memcpy(set, found, sizeof(found));
		return ret;
	}
	ret = escaped(c, &byte);
	return ret ? ret : add_step(c, STEP_BYTE, byte);
}

static int parse_part(struct parser *c)
{
	char letter = *c->at++;

	switch (letter) {
	case '(':
		return parse_group(c);
	case '[':
		return parse_set(c);
	case '.':
		return parse_any(c);
	case '^':
		return add_step(c, STEP_BEGIN, 0);
	case '$':
		return add_step(c, STEP_END, 0);
	case '\\':
		return parse_escape(c);
	case '*':
	case '+':
	case '?':
		return refuse(c, "nothing to repeat");
	default:
		return add_step(c, STEP_BYTE, (unsigned char)letter);
	}
}

/* ---- how often ----------------------------------------------------------------------------- */

/* {2}, {2,} or {2,5}; *most is 0 when there is no limit.  False when it is just a brace. */
static bool parse_braces(struct parser *c, unsigned *least, unsigned *most)
{
	unsigned numbers[2] = {0};
	const char *at = c->at + 1;
	bool second = false;

	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at) || (*at == ',' && !second); at++) {
		if (*at == ',')
			second = true;
		else if (numbers[second] <= REPEATS_MAX)
			numbers[second] = numbers[second] * 10 + (unsigned)(*at - '0');
	}
	if (*at != '}')
		return false;
	*least = numbers[0];
	*most = second ? numbers[1] : numbers[0];
	/* {2,0} and {0} are not worth a word of their own: more than what is allowed. */
	if ((second && at[-1] != ',' && !*most) || (!second && !*most))
		*most = REPEATS_MAX + 1;
	c->at = at + 1;
	return true;
}

/* Appends a copy of the @len steps at @from. */
static int copy_steps(struct parser *c, unsigned from, unsigned len)
{
	int ret = make_room(c, c->p->nr, len);

	if (!ret)
		memcpy(c->p->steps + c->p->nr - len, c->p->steps + from,
		       len * sizeof(*c->p->steps));
	return ret;
}

/* The @len steps at the end are wanted any number of times. */
static int repeat_any(struct parser *c, unsigned len)
{
	unsigned at = c->p->nr - len;
	int ret = add_ways(c, at, 1, len + 2);

	if (!ret)
		ret = add_step(c, STEP_WAYS, 0);
	if (!ret)
		c->p->steps[c->p->nr - 1].a = c->p->steps[c->p->nr - 1].b =
			(int16_t) - (int)(len + 1);
	return ret;
}

/* The steps from @from on are wanted @least to @most times. */
static int repeat(struct parser *c, unsigned from, unsigned least, unsigned most)
{
	unsigned len = c->p->nr - from;
	int ret = 0;

	if (least > REPEATS_MAX || most > REPEATS_MAX || (most && most < least))
		return refuse(c, "a {} that is too much, or goes nowhere");
	/* Each time a copy of its own: behind those that must be, those that may. */
	for (unsigned i = 1; i < least && !ret; i++)
		ret = copy_steps(c, from, len);
	if (!most) {
		if (!ret && least)
			ret = copy_steps(c, from, len);
		return ret ? ret : repeat_any(c, len);
	}
	if (!least)
		ret = add_ways(c, from, 1, len + 1);
	for (unsigned i = least ? least : 1; i < most && !ret; i++) {
		ret = copy_steps(c, from + !least, len);
		if (!ret)
			ret = add_ways(c, c->p->nr - len, 1, len + 1);
	}
	return ret;
}

static int parse_repeat(struct parser *c, unsigned from)
{
	unsigned least = 0, most = 0;

	switch (*c->at) {
	case '*':
		c->at++;
		break;
	case '+':
		least = 1;
		c->at++;
		break;
	case '?':
		most = 1;
		c->at++;
		break;
	case '{':
		if (parse_braces(c, &least, &most))
			break;
		return 0;
	default:
		return 0;
	}
	/* A lazy one finds the same texts. */
	c->at += *c->at == '?';
	if (*c->at && strchr("*+?", *c->at))
		return refuse(c, "nothing to repeat");
	return repeat(c, from, least, most);
}

static int parse_sequence(struct parser *c)
{
	while (*c->at && *c->at != '|' && *c->at != ')') {
		unsigned from = c->p->nr;
		int ret = parse_part(c);

		if (!ret)
			ret = parse_repeat(c, from);
		if (ret)
			return ret;
	}
	return 0;
}

static int parse_ways(struct parser *c)
{
	unsigned from = c->p->nr;
	int ret = parse_sequence(c);

	while (!ret && *c->at == '|') {
		unsigned len = c->p->nr - from, end;

		c->at++;
		/* The first way jumps over the second. */
		ret = add_ways(c, from, 1, len + 2);
		if (!ret)
			ret = add_step(c, STEP_WAYS, 0);
		end = c->p->nr;
		if (!ret)
			ret = parse_sequence(c);
		if (!ret)
			c->p->steps[end - 1].a = c->p->steps[end - 1].b =
				(int16_t)(c->p->nr - end + 1);
	}
	return ret;
}

int pattern_parse(struct pattern *p, const char *text, struct error *err)
{
	struct parser c = {.p = p, .at = text, .err = err};
	int ret;

	p->nr = p->nr_sets = 0;
	ret = parse_ways(&c);
	if (!ret && *c.at)
		ret = refuse(&c, "a ) without (");
	return ret ? ret : add_step(&c, STEP_FOUND, 0);
}

/* ---- a text -------------------------------------------------------------------------------- */

/* Steps that wait for the next letter. */
struct waiting {
	uint16_t steps[PATTERN_STEPS_MAX];
	unsigned nr;
};

struct walk {
	const struct pattern *p;
	uint32_t seen[PATTERN_STEPS_MAX]; /* the place in the text at which a step was entered, + 1
					   */
	uint32_t place;			  /* + 1 */
	bool at_begin, at_end, at_edge;	  /* what is true of that place */
	uint64_t cost;
};

/* All that can be reached from @step without a letter; true when that is the end of the pattern. */
static bool enter(struct walk *w, struct waiting *list, unsigned step)
{
	uint16_t open[2 * PATTERN_STEPS_MAX + 1];
	unsigned nr = 0;

	open[nr++] = (uint16_t)step;
	while (nr) {
		unsigned at = open[--nr];
		const struct pattern_step *s = &w->p->steps[at];

		if (w->seen[at] == w->place)
			continue;
		w->seen[at] = w->place;
		w->cost++;
		switch ((enum pattern_op)s->op) {
		case STEP_FOUND:
			return true;
		case STEP_WAYS:
			open[nr++] = (uint16_t)(at + (unsigned)(int)s->b);
			open[nr++] = (uint16_t)(at + (unsigned)(int)s->a);
			break;
		case STEP_BEGIN:
		case STEP_END:
		case STEP_EDGE:
		case STEP_NOT_EDGE:
			if (s->op == STEP_BEGIN ? w->at_begin
			    : s->op == STEP_END ? w->at_end
						: w->at_edge == (s->op == STEP_EDGE))
				open[nr++] = (uint16_t)(at + 1);
			break;
		case STEP_BYTE:
		case STEP_SET:
			list->steps[list->nr++] = (uint16_t)at;
			break;
		}
	}
	return false;
}

static bool takes(const struct pattern *p, const struct pattern_step *s, unsigned byte)
{
	return s->op == STEP_BYTE ? s->what == byte : set_has(p->sets[s->what], byte);
}

bool pattern_found(const struct pattern *p, const char *text, uint64_t *cost)
{
	struct walk w = {.p = p, .at_begin = true};
	struct waiting lists[2], *now = &lists[0], *next = &lists[1];
	bool found = false;

	now->nr = 0;
	for (const unsigned char *at = (const unsigned char *)text;; at++) {
		unsigned before = w.place ? at[-1] : 0;

		w.place++;
		w.at_begin = w.place == 1;
		w.at_end = !*at;
		w.at_edge = is_word(before) != is_word(*at);
		/* What the letter before led to, and the pattern from here on. */
		next->nr = 0;
		for (unsigned i = 0; i < now->nr && !found; i++) {
			w.cost++;
			if (takes(p, &p->steps[now->steps[i]], before))
				found = enter(&w, next, now->steps[i] + 1u);
		}
		if (!found)
			found = enter(&w, next, 0);
		if (found || !*at)
			break;
		now = next;
		next = now == &lists[0] ? &lists[1] : &lists[0];
	}
	*cost += w.cost;
	return found;
}
