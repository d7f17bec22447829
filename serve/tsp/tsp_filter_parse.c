/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tsp/tsp_filter_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parser {
	struct filter_tree *tree;
	const char *at;
	unsigned depth;
	struct error *err;
};

static const struct {
	const char *name;
	enum filter_field field;
} fields[] = {
	{"label", FILTER_LABEL},     {"state", FILTER_LABEL},	  {"mode", FILTER_MODE},
	{"row", FILTER_ROW},	     {"machine", FILTER_MACHINE}, {"cpu", FILTER_CPU},
	{"thread", FILTER_THREAD},   {"process", FILTER_PROCESS}, {"container", FILTER_CONTAINER},
	{"tid", FILTER_TID},	     {"pid", FILTER_PID},	  {"duration", FILTER_DURATION},
	{"length", FILTER_DURATION}, {"start", FILTER_START},	  {"begin", FILTER_START},
	{"end", FILTER_END},
};

/* Longer ones first, where one begins like another. */
static const struct {
	const char *name;
	enum filter_op op;
} operators[] = {
	{"==", FILTER_EQUAL},	     {"!=", FILTER_UNEQUAL},	    {"<=", FILTER_AT_MOST},
	{">=", FILTER_AT_LEAST},     {"=", FILTER_EQUAL},	    {"<", FILTER_LESS},
	{">", FILTER_GREATER},	     {"contains", FILTER_CONTAINS}, {"matches", FILTER_MATCHES},
	{"present", FILTER_PRESENT},
};

static int bad(struct parser *p, const char *what)
{
	return fail(p->err, -EINVAL, "filter: %s at \"%.40s\"", what, p->at);
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	skip_blanks(p);
	if (strncmp(p->at, token, strlen(token)))
		return false;
	p->at += strlen(token);
	return true;
}

/* Where a word ends that is not in quotes: an operator, a blank, or a parenthesis that was not
 * opened in it, as in an expression like (a|b). */
static size_t word_length(const char *text)
{
	unsigned open = 0;
	size_t n = 0;

	for (; text[n] && !isspace((unsigned char)text[n]); n++) {
		if (text[n] == '\\' && text[n + 1])
			n++;
		else if (text[n] == '(')
			open++;
		else if (text[n] == ')' && !open--)
			break;
		else if (!open && (strchr("<>=", text[n]) || !strncmp(text + n, "!=", 2) ||
				   !strncmp(text + n, "&&", 2) || !strncmp(text + n, "||", 2)))
			break;
	}
	return n;
}

static int take_word(struct parser *p, char out[static FILTER_TEXT_MAX])
{
	char quote;
	size_t len;

	skip_blanks(p);
	quote = *p->at == '"' || *p->at == '\'' ? *p->at : '\0';
	p->at += quote != '\0';
	len = quote ? strcspn(p->at, quote == '"' ? "\"" : "'") : word_length(p->at);
	if (quote && !p->at[len])
		return bad(p, "a quote is missing");
	if (!len)
		return bad(p, "a word is missing");
	if (len >= FILTER_TEXT_MAX)
		return bad(p, "too long a word");
	memcpy(out, p->at, len);
	out[len] = '\0';
	p->at += len + (quote != '\0');
	return 0;
}

/* Operators that are words end where a word does. */
static bool take_operator(struct parser *p, enum filter_op *out)
{
	skip_blanks(p);
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t len = strlen(operators[i].name);

		if (strncmp(p->at, operators[i].name, len))
			continue;
		if (isalpha((unsigned char)*p->at) && p->at[len] &&
		    !isspace((unsigned char)p->at[len]) && !strchr(")\"'&|", p->at[len]))
			continue;
		p->at += len;
		*out = operators[i].op;
		return true;
	}
	return false;
}

static int add_node(struct parser *p, const struct filter_node *n)
{
	if (p->tree->nr == FILTER_NODES_MAX)
		return bad(p, "too many conditions");
	p->tree->nodes[p->tree->nr] = *n;
	return (int)p->tree->nr++;
}

static int add_pattern(struct parser *p, struct filter_node *n)
{
	if (p->tree->nr_patterns == FILTER_PATTERNS_MAX)
		return bad(p, "too many expressions");
	n->op = FILTER_MATCHES;
	n->pattern = (int)p->tree->nr_patterns;
	return pattern_parse(&p->tree->patterns[p->tree->nr_patterns++], n->text, p->err);
}

static void read_number(struct filter_node *n)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double number = strtod(n->text, &end);

	for (size_t i = 0; end != n->text && i < ARRAY_SIZE(units); i++) {
		if (!strcmp(end, units[i].name)) {
			n->is_number = true;
			n->number = number * units[i].ns;
		}
	}
}

/* FIELD OPERATOR [VALUE], or a word. */
static int parse_condition(struct parser *p)
{
	struct filter_node n = {.field = FILTER_ANY};
	char name[FILTER_TEXT_MAX];
	int ret = take_word(p, name);

	if (ret)
		return ret;
	if (!take_operator(p, &n.op)) {
		memcpy(n.text, name, sizeof(name));
		p->tree->uses_row = true;
		ret = add_pattern(p, &n);
		return ret ? ret : add_node(p, &n);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!strcasecmp(fields[i].name, name))
			n.field = fields[i].field;
	}
	if (n.field == FILTER_ANY)
		return fail(
			p->err, -EINVAL,
			"filter: there is no field \"%s\"; there are label, mode, row, machine, "
			"cpu, thread, process, container, tid, pid, duration, start, end",
			name);
	p->tree->uses_row |= n.field == FILTER_ROW;
	p->tree->uses_times |= n.field >= FILTER_DURATION;
	if (n.op != FILTER_PRESENT)
		ret = take_word(p, n.text);
	if (!ret && n.op == FILTER_MATCHES)
		ret = add_pattern(p, &n);
	read_number(&n);
	return ret ? ret : add_node(p, &n);
}

static int parse_or(struct parser *p);

static int parse_one(struct parser *p)
{
	int ret;

	if (++p->depth > FILTER_DEPTH_MAX)
		return bad(p, "too many levels");
	if (take(p, "(")) {
		ret = parse_or(p);
		if (ret >= 0 && !take(p, ")"))
			ret = bad(p, "\")\" is missing");
	} else if (take(p, "!")) {
		ret = parse_one(p);
		if (ret >= 0)
			ret = add_node(p, &(struct filter_node){.op = FILTER_NOT, .left = ret});
	} else {
		ret = parse_condition(p);
	}
	p->depth--;
	return ret;
}

/* @next is what @op joins. */
static int parse_chain(struct parser *p, const char *token, enum filter_op op,
		       int (*next)(struct parser *p))
{
	int left = next(p);

	while (left >= 0 && take(p, token)) {
		int right = next(p);

		if (right < 0)
			return right;
		left = add_node(p, &(struct filter_node){.op = op, .left = left, .right = right});
	}
	return left;
}

static int parse_and(struct parser *p)
{
	return parse_chain(p, "&&", FILTER_AND, parse_one);
}

static int parse_or(struct parser *p)
{
	return parse_chain(p, "||", FILTER_OR, parse_and);
}

int filter_parse(struct filter_tree *t, const char *text, struct error *err)
{
	struct parser p = {.tree = t, .at = text, .err = err};
	unsigned nr = t->nr, nr_patterns = t->nr_patterns;
	int root = parse_or(&p);

	skip_blanks(&p);
	if (root >= 0 && *p.at)
		root = bad(&p, "something that is not understood");
	if (root < 0) {
		t->nr = nr;
		t->nr_patterns = nr_patterns;
	}
	return root;
}
