/* SPDX-License-Identifier: Apache-2.0 */
/* All analyses, by name. */
#include "analysis/rows.h"

#include <errno.h>
#include <string.h>

static const struct table_def *const tables[] = {
#define TABLE(name) &name##_table,
#include "analysis/tables.def"
#undef TABLE
};

/* The same list, as the public interface shows it. */
static const struct sonde_table *const public_list[] = {
#define TABLE(name) &name##_table.public,
#include "analysis/tables.def"
#undef TABLE
};

const struct sonde_table *const *sonde_tables(unsigned *nr)
{
	*nr = ARRAY_SIZE(public_list);
	return public_list;
}

const struct sonde_table *table_of_topic(const char *topic, unsigned n)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i]->topic && !strcmp(tables[i]->topic, topic) && !n--)
			return &tables[i]->public;
	}
	return NULL;
}

static const struct table_def *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (!strcmp(tables[i]->public.name, name))
			return tables[i];
	}
	return NULL;
}

int sonde_rows_get(struct sonde_rows **out, struct sonde_history *history, const char *name,
		   int64_t begin, int64_t end, struct sonde_error *err)
{
	const struct table_def *a = find(name);
	struct error inner = {0};
	int ret;

	*out = NULL;
	query_begin(history, a ? a->public.name : name);
	ret = a ? table_rows(out, history, a, begin, end, &inner)
		: fail(&inner, -ENOENT, "there is no table \"%s\"", name);
	ret = query_end(history, ret, &inner);
	if (ret) {
		sonde_rows_free(*out);
		*out = NULL;
	}
	return query_error(err, ret, &inner);
}
