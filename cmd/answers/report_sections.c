/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/report_sections.h"
#include "report/json.h"
#include "sonde/tables.h"

#include <string.h>

const char *report_title(const char *name)
{
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	for (unsigned i = 0; i < nr; i++) {
		if (!strcmp(list[i]->name, name))
			return list[i]->title;
	}
	return NULL;
}

void report_sections_list(FILE *out)
{
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	for (unsigned i = 0; i < nr; i++)
		fprintf(out, "%-17s  %s\n", list[i]->name, list[i]->title);
}

void report_sections_json(FILE *out)
{
	static const char *const types[] = {
		[SONDE_COL_INT] = "int",       [SONDE_COL_SIGNED] = "int",
		[SONDE_COL_NS] = "ns",	       [SONDE_COL_TIME] = "time",
		[SONDE_COL_PPM] = "ppm",       [SONDE_COL_BOOL] = "bool",
		[SONDE_COL_STRING] = "string", [SONDE_COL_MACHINE] = "machine",
		[SONDE_COL_CPU] = "cpu",       [SONDE_COL_THREAD] = "thread",
		[SONDE_COL_PID_NS] = "pid_ns", [SONDE_COL_MODE] = "mode",
	};
	struct json j = {.out = out, .flat = 4};
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	json_begin_object(&j, NULL);
	for (unsigned i = 0; i < nr; i++) {
		json_begin_object(&j, list[i]->name);
		json_str(&j, "title", list[i]->title);
		json_str(&j, "help", list[i]->help);
		json_begin_object(&j, "columns");
		for (unsigned c = 0; c < list[i]->nr_columns; c++) {
			json_begin_object(&j, list[i]->columns[c].name);
			json_str(&j, "type", types[list[i]->columns[c].type]);
			json_str(&j, "help", list[i]->columns[c].help);
			json_end(&j);
		}
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
}
