/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON: see rows.h. */
#include "report/rows.h"

void json_machine(struct json *j, const char *key, const struct sonde_history *history, int64_t row)
{
	struct sonde_machine m;

	if (sonde_machine_get(history, row, &m))
		json_put_null(j, key);
	else
		json_str(j, key, m.name);
}

void json_machine_members(struct json *j, const struct sonde_history *history, int64_t row)
{
	struct sonde_machine m;

	sonde_machine_get(history, row, &m);
	json_str(j, "name", m.name);
	json_uint(j, "level", m.level);
	json_bool(j, "traced", m.traced);
	json_row(j, "vm_pid", m.vm_pid);
	json_bool(j, "pid_known", m.pid_known);
	json_str(j, "release", m.release);
	json_str(j, "tracer", m.tracer);
	json_str(j, "evidence", m.evidence);
}

void json_left_out(struct json *j, const struct sonde_history *history, int64_t most)
{
	struct sonde_left_out l;

	json_begin_array(j, "left_out");
	for (int64_t row = 0; row < most && !sonde_left_out_get(history, row, &l); row++) {
		json_begin_object(j, NULL);
		json_str(j, "name", l.name);
		json_str(j, "path", l.path);
		json_str(j, "reason", l.reason);
		json_end(j);
	}
	json_end(j);
}

void json_cpu(struct json *j, const char *key, const struct sonde_history *history, int64_t row)
{
	struct sonde_cpu cpu;

	if (sonde_cpu_get(history, row, &cpu)) {
		json_put_null(j, key);
		return;
	}
	json_begin_object(j, key);
	json_machine(j, "machine", history, cpu.machine);
	json_int(j, "cpu", cpu.number);
	json_end(j);
}

void json_thread(struct json *j, const char *key, const struct sonde_history *history, int64_t row)
{
	struct sonde_thread t;

	if (sonde_thread_get(history, row, &t)) {
		json_put_null(j, key);
		return;
	}
	json_begin_object(j, key);
	json_int(j, "row", row);
	json_machine(j, "machine", history, t.machine);
	json_int(j, "tid", t.tid);
	json_row(j, "pid", t.pid);
	json_str(j, "comm", t.comm);
	json_end(j);
}

void json_pid_ns(struct json *j, const char *key, const struct sonde_history *history, int64_t row)
{
	struct sonde_pid_ns ns;

	if (sonde_pid_ns_get(history, row, &ns)) {
		json_put_null(j, key);
		return;
	}
	json_begin_object(j, key);
	json_int(j, "row", row);
	json_machine(j, "machine", history, ns.machine);
	json_uint(j, "inum", ns.inum);
	json_uint(j, "level", ns.level);
	json_end(j);
}

static void json_cell(struct json *j, const struct sonde_column *column,
		      struct sonde_history *history, union sonde_cell cell)
{
	switch (column->type) {
	case SONDE_COL_SIGNED:
		if (cell.i == SONDE_SIGNED_UNKNOWN)
			json_put_null(j, column->name);
		else
			json_int(j, column->name, cell.i);
		break;
	case SONDE_COL_INT:
	case SONDE_COL_TIME:
	case SONDE_COL_PPM:
	case SONDE_COL_NS:
		json_int(j, column->name, cell.i);
		break;
	case SONDE_COL_BOOL:
		json_bool(j, column->name, cell.i);
		break;
	case SONDE_COL_STRING:
		json_str(j, column->name, cell.s);
		break;
	case SONDE_COL_MACHINE:
		json_machine(j, column->name, history, cell.i);
		break;
	case SONDE_COL_CPU:
		json_cpu(j, column->name, history, cell.i);
		break;
	case SONDE_COL_THREAD:
		json_thread(j, column->name, history, cell.i);
		break;
	case SONDE_COL_PID_NS:
		json_pid_ns(j, column->name, history, cell.i);
		break;
	case SONDE_COL_MODE:
		json_str(j, column->name, sonde_mode_name((enum sonde_mode)cell.i));
		break;
	}
}

void rows_json_row(struct json *j, struct sonde_history *history, const struct sonde_rows *rows,
		   size_t row)
{
	const struct sonde_table *a = sonde_rows_table(rows);

	json_begin_object(j, NULL);
	for (unsigned c = 0; c < a->nr_columns; c++)
		json_cell(j, &a->columns[c], history, sonde_rows_cell(rows, row, c));
	json_end(j);
}

void rows_json(struct json *j, const char *key, struct sonde_history *history,
	       const struct sonde_rows *rows)
{
	json_begin_array(j, key);
	for (size_t row = 0; row < sonde_rows_nr(rows); row++)
		rows_json_row(j, history, rows, row);
	json_end(j);
}
