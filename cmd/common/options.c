/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/options.h"
#include "base/number.h"
#include "cmd/common/duration.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 40
#define FIRST_LONG 256 /* getopt's answers to long options: beyond any letter */
#define OPERAND 1      /* its answer to what is none */

#define FIELD(field) offsetof(struct common, field)

const struct option_row common_rows[] = {
	{'i', "input", OPTION_TEXT, FIELD(input), "FILE", NULL,
	 "history to read (default: the only .sonde file here)", COMMON_INPUT},
	{'o', "output", OPTION_TEXT, FIELD(output), "FILE", NULL, "write to FILE", COMMON_OUTPUT},
	{0, "format", OPTION_CHOICE, FIELD(format), "FORMAT", "text|json",
	 "text (default) or json (docs/formats/json.md)", COMMON_FORMAT},
	{0, "format", OPTION_CHOICE, FIELD(format), "FORMAT", "text|json|csv",
	 "text (default), json (docs/formats/json.md) or csv", COMMON_FORMAT_CSV},
	{0, "time", OPTION_TEXT, FIELD(time), "A,B", NULL,
	 "only from A to B; either may be empty: +1.5s,+2s or 50%, or 12.25,12.5", COMMON_TIME},
	{0, "color", OPTION_CHOICE, FIELD(color), "WHEN", "auto|never|always",
	 "colours: auto (default: on a terminal), never or always", 0},
	{0, "no-pager", OPTION_FLAG, FIELD(no_pager), NULL, NULL, "do not use a pager", 0},
	{'v', "verbose", OPTION_COUNT, FIELD(verbose), NULL, NULL, "say more on stderr", 0},
	{'q', "quiet", OPTION_FLAG, FIELD(quiet), NULL, NULL, "only errors on stderr", 0},
	{'h', "help", OPTION_FLAG, FIELD(help), NULL, NULL, "this text", 0},
	{'V', "version", OPTION_FLAG, FIELD(version), NULL, NULL, "version of sonde", 0},
};
const unsigned nr_common_rows = ARRAY_SIZE(common_rows);

/* What getopt_long() wants, made from the tables. */
struct parser {
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 4];
	const struct option_row *rows[OPTIONS_MAX];
	void *values[OPTIONS_MAX];
	unsigned nr;
};

static void parser_add(struct parser *p, const struct option_row *row, void *values)
{
	size_t len = strlen(p->letters);

	assert(p->nr < OPTIONS_MAX);
	p->longs[p->nr] = (struct option){
		.name = row->name,
		.has_arg = row->arg ? required_argument : no_argument,
		.val = FIRST_LONG + (int)p->nr,
	};
	if (row->letter) {
		p->letters[len++] = row->letter;
		if (row->arg)
			p->letters[len++] = ':';
	}
	p->rows[p->nr] = row;
	p->values[p->nr++] = values;
}

static void parser_init(struct parser *p, const struct option_set *sets, unsigned nr_sets)
{
	memset(p, 0, sizeof(*p));
	strcpy(p->letters, "-:"); /* operands, too; and a missing value is no unknown option */
	for (unsigned s = 0; s < nr_sets; s++) {
		for (unsigned i = 0; i < sets[s].nr; i++) {
			if (option_taken(&sets[s], &sets[s].rows[i]))
				parser_add(p, &sets[s].rows[i], sets[s].values);
		}
	}
}

static int parser_find(const struct parser *p, int answer)
{
	if (answer >= FIRST_LONG)
		return answer - FIRST_LONG;
	for (unsigned i = 0; i < p->nr; i++) {
		if (p->rows[i]->letter == answer)
			return (int)i;
	}
	return -1;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t len = strlen(value);

	for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|') {
		if (strcspn(c, "|") == len && !strncmp(c, value, len))
			return true;
	}
	return false;
}

static int set_number(const struct option_row *row, uint64_t *out, const char *text, char *problem)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (end != text && !*end && !errno && *text != '-' && *out)
		return 0;
	/* 0 stands for an option that was not given. */
	if (end != text && !*end && !*out)
		snprintf(problem, OPTION_PROBLEM, "--%s: a number from 1 on is expected",
			 row->name);
	else
		snprintf(problem, OPTION_PROBLEM, "--%s: \"%s\" is not a number", row->name, text);
	return -EINVAL;
}

static int set_threads(const struct option_row *row, uint64_t *out, const char *text, char *problem)
{
	int ret = set_number(row, out, text, problem);

	if (ret || *out <= OPTION_THREADS_MAX)
		return ret;
	snprintf(problem, OPTION_PROBLEM, "--%s: at most %d are possible", row->name,
		 OPTION_THREADS_MAX);
	return -EINVAL;
}

static bool is_cpu(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) &&
	       strtoul(text, NULL, 10) <= INT_MAX;
}

static bool is_well_formed(const struct option_row *row, const char *text)
{
	const char *equals = strchr(text, '=');
	bool is_pair = equals && equals != text && equals[1];
	double seconds;
	int64_t number;

	switch (row->kind) {
	case OPTION_PAIRS:
		return is_pair;
	case OPTION_OFFSETS:
		return is_pair && number_parse(equals + 1, &number);
	case OPTION_CPUS:
		return is_cpu(text);
	case OPTION_TIME:
		return parse_duration(text, &seconds);
	default:
		return true;
	}
}

static int complain_form(const struct option_row *row, const char *text, char *problem)
{
	bool is_form = row->kind != OPTION_CPUS && row->kind != OPTION_TIME;

	snprintf(problem, OPTION_PROBLEM, "--%s: \"%.60s\" is not %s%.60s", row->name, text,
		 is_form ? "like " : "",
		 is_form		    ? row->arg
		 : row->kind == OPTION_CPUS ? "a CPU's number"
					    : "a time such as 10s or 200ms");
	return -EINVAL;
}

static int list_add(struct text_list *list, const char *item, char *problem)
{
	const char **grown = reallocarray(list->items, list->nr + 1, sizeof(*grown));

	if (!grown) {
		snprintf(problem, OPTION_PROBLEM, "out of memory");
		return -ENOMEM;
	}
	list->items = grown;
	list->items[list->nr++] = item;
	return 0;
}

static int set_value(const struct option_row *row, void *values, const char *text, char *problem)
{
	void *value = (char *)values + row->offset;

	if (row->arg && !is_well_formed(row, text))
		return complain_form(row, text, problem);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)value = true;
		return 0;
	case OPTION_COUNT:
		++*(unsigned *)value;
		return 0;
	case OPTION_THREADS:
		return set_threads(row, value, text, problem);
	case OPTION_NUMBER:
		return set_number(row, value, text, problem);
	case OPTION_LIST:
	case OPTION_PAIRS:
	case OPTION_OFFSETS:
	case OPTION_CPUS:
		return list_add(value, text, problem);
	case OPTION_CHOICE:
		if (!is_choice(row->choices, text)) {
			snprintf(problem, OPTION_PROBLEM, "--%s: \"%.60s\" is not one of %s",
				 row->name, text, row->choices);
			return -EINVAL;
		}
		*(const char **)value = text;
		return 0;
	case OPTION_TEXT:
	case OPTION_TIME:
		*(const char **)value = text;
		return 0;
	}
	return -EINVAL;
}

/* What getopt does not know may be a comment, with which SQL may begin. */
static bool is_comment(const char *word)
{
	return !strncmp(word, "--", 2) && (isspace((unsigned char)word[2]) || strchr(word, '\n'));
}

/* What is wrong with the option that getopt answered so. */
static int complain_option(int answer, const char *word, char *problem)
{
	/* A long option has been stepped over, a letter maybe not. */
	char letter[3] = {'-', (char)optopt, '\0'};
	bool is_long = !optopt || optopt >= FIRST_LONG;

	snprintf(problem, OPTION_PROBLEM, "%s %.100s",
		 answer == ':' ? "a value is missing after" : "unknown option",
		 is_long ? word : letter);
	return -EINVAL;
}

int options_parse(const struct option_set *sets, unsigned nr_sets, int argc, char **argv,
		  char problem[static OPTION_PROBLEM])
{
	struct parser p;
	int answer, nr = 0;

	parser_init(&p, sets, nr_sets);
	opterr = 0;
	optind = 0; /* from the start, also when called again */
	while ((answer = getopt_long(argc, argv, p.letters, p.longs, NULL)) >= 0) {
		int i = answer == ':' || answer == '?' ? -1 : parser_find(&p, answer);
		char *word = argv[optind - 1];

		if (answer == OPERAND || (answer == '?' && !optopt && is_comment(word)))
			argv[++nr] = word; /* over what has been read */
		else if (i < 0)
			return complain_option(answer, word, problem);
		else if (set_value(p.rows[i], p.values[i], optarg, problem))
			return -EINVAL;
	}
	memmove(argv + optind - nr, argv + 1, (size_t)nr * sizeof(*argv));
	return optind - nr;
}

void options_release(const struct option_set *set)
{
	for (unsigned i = 0; i < set->nr; i++) {
		if (option_is_list(&set->rows[i])) {
			struct text_list *list =
				(void *)((char *)set->values + set->rows[i].offset);

			free(list->items);
			*list = (struct text_list){0};
		}
	}
}
