/* SPDX-License-Identifier: Apache-2.0 */
/* SQL over the history of small_history.h: values, what is passed down, what it costs, what is refused.
 */
#include "tests/unit/unit.h"

#include "sql/ready.h"
#include "sql/session.h"
#include "tests/unit/small_history.h"

#include <errno.h>
#include <string.h>

static char path[64];
static bool stop_now;
static struct sql_session *session;

static bool go_on(void *data)
{
	(void)data;
	return !stop_now;
}

static int setup(void **state)
{
	struct sonde_error why = {0};
	struct error err = {0};
	struct sonde_history *history;

	(void)state;
	if (small_history_write(path) || sonde_history_open(&history, path, &why))
		return -1;
	return sql_session_open(&session, history, SMALL_BEGIN, SMALL_END, go_on, NULL, &err);
}

static int teardown(void **state)
{
	(void)state;
	sql_session_close(session);
	return unlink(path);
}

/* cmocka's fail_msg() needs the macro that unit.h takes away. */
#define wrong(...) (print_error(__VA_ARGS__), print_error("\n"), assert_true(false))

/* ---- asking -------------------------------------------------------------------------------- */

/* The whole answer as text: cells with "|" between, lines with "\n"; NULL as "-". */
struct answer {
	char text[65536];
	size_t len;
	unsigned rows;
};

static int no_head(const char *const *names, unsigned nr, void *data)
{
	(void)names;
	(void)nr;
	(void)data;
	return 0;
}

static void put(struct answer *a, const char *text)
{
	a->len += (size_t)snprintf(a->text + a->len, sizeof(a->text) - a->len, "%s", text);
	assert_true(a->len < sizeof(a->text));
}

static int keep_row(const struct sql_value *values, unsigned nr, void *data)
{
	struct answer *a = data;
	char number[40];

	put(a, a->rows++ ? "\n" : "");
	for (unsigned i = 0; i < nr; i++) {
		put(a, i ? "|" : "");
		snprintf(number, sizeof(number), "%lld", (long long)values[i].i);
		put(a, values[i].kind == SQL_NULL      ? "-"
		       : values[i].kind == SQL_INTEGER ? number
						       : values[i].bytes);
	}
	return 0;
}

static int ask(const char *query, struct answer *a, struct error *err)
{
	struct sql_sink sink = {no_head, keep_row, a};
	int at;

	*a = (struct answer){0};
	*err = (struct error){0};
	return sql_session_query(session, query, &sink, &at, err);
}

static const char *answer(const char *query)
{
	static struct answer a;
	struct error err;

	if (ask(query, &a, &err))
		wrong("%s: %s", query, err.text);
	return a.text;
}

#define SAYS(query, wanted) assert_string_equal(answer(query), wanted)

static uint64_t cost(enum sql_cost which)
{
	return sql_session_history(session)->cost[which];
}

/* What the query reads. */
static uint64_t cost_of(const char *query, enum sql_cost which)
{
	uint64_t before = cost(which);

	answer(query);
	return cost(which) - before;
}

/* ---- values -------------------------------------------------------------------------------- */

static void rows_of_the_run(void **state)
{
	(void)state;
	SAYS("select name, parent, level, parent_row from machines",
	     "host0|-|0|-\nvm-a|host0|1|0\nvm-b|host0|1|0\nvm-a-n|vm-a|2|1");
	SAYS("select name from machines where row = 2", "vm-b");
	SAYS("select name from machines where row between 1 and 2 order by row desc", "vm-b\nvm-a");
	SAYS("select count(*) from machines where row = 4 or row = -1 or row = 1.5", "0");
	SAYS("select name, machine, number, host_tid from cpus where machine = 'vm-a'",
	     "vm-a/0|vm-a|0|100");
	SAYS("select tid, comm, container, vcpu, \"end\" from threads where name like 'burn%'",
	     "300|burn|burn:[4026532324]|-|-");
	SAYS("select container, level, inum from namespaces", "-|0|4026531836\n"
							      "burn:[4026532324]|1|4026532324");
	SAYS("select machine, cpu, begin, end, events from gaps", "vm-a|0|1600000|1650000|-");
	SAYS("select machine, bound, rate_ppb from clocks", "vm-a|25|-40");
	SAYS("select begin, end, length, ticks_are_ns from history", "1000000|2000000|1000000|1");
	SAYS("select mode, what, serves from contexts where row = 1", "hypervisor|HLT|vm-a/0");
}

static void states_are_the_intervals(void **state)
{
	(void)state;
	SAYS("select begin, end, length, value, text from states where path = 'host0/cpu0/runs'\n"
	     "and begin < 1300000 order by begin",
	     "1000000|1100000|100000|0|host0 idle\n"
	     "1100000|1150000|50000|1|host0 CPU 0/KVM[100]=vm-a/0 hypervisor HLT\n"
	     "1150000|1300000|150000|2|vm-a app[60] user");
	SAYS("select begin, text from states where kind = 'vcpu_state' and cpu = 'vm-a/0'\n"
	     "order by begin limit 3",
	     "1000000|waiting\n1100000|on_cpu\n1300000|preempted");
	SAYS("select machine, thread, text from states where kind = 'thread_state'\n"
	     "and thread_row = 4 and begin = 1250000",
	     "host0|burn[300]|runnable");
	SAYS("select value, text from states where kind = 'on' and cpu = 'vm-b/0' order by begin",
	     "1|host0/1");
	SAYS("select value, text from states where path = 'vm-a/cpu0/exit' and begin = 1590000",
	     "3|VMRUN");
	/* The time of all physical CPUs, to the nanosecond; and of a part. */
	SAYS("select sum(length) from states where kind = 'runs'", "2000000");
	SAYS("select sum(length), min(begin) from states(1120000, 1130001) where kind = 'runs'",
	     "20002|1000000");
}

static void facts_are_tables(void **state)
{
	(void)state;
	SAYS("select vcpu, parent, steal, vcpu_row from vcpu_time where vcpu = 'vm-a/0'",
	     "vm-a/0|host0|280000|2");
	/* Over a window, told in numbers or words. */
	SAYS("select steal from vcpu_time(1300000, 1350000) where vcpu = 'vm-a/0'", "50000");
	SAYS("select steal from vcpu_time('30%', '+350us') where vcpu = 'vm-a/0'", "50000");
	SAYS("select window_begin, window_end from vcpu_time(0, 1350000.0) limit 1",
	     "1000000|1350000");
	SAYS("select count(*) from vcpu_time(1350000, 1350000)", "0");
	SAYS("select machine, cpu, at, length, events from gap", "vm-a|0|1600000|50000|-");
}

/* ---- what is passed down ------------------------------------------------------------------- */

/* Each of these, and the same with what cannot be passed down ("+path"), must be one answer. */
static void passing_down_changes_no_answer(void **state)
{
	static const char *const bounds[] = {
		"999999",
		"1000000",
		"1150000",
		"1150000.5",
		"1999999",
		"2000000",
		"2000001",
		"-1",
		"1e300",
		"-1e300",
		"'1150000'",
		"'x'",
		"NULL",
		"x'00'",
		"9223372036854775807",
		"-9223372036854775807 - 1",
	};
	static const char *const operators[] = {"=", "<", "<=", ">", ">="};
	static const char *const columns[] = {"begin", "end"};
	static struct answer a, b;
	struct error err;
	char query[300];
	unsigned compared = 0, rows = 0;

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		for (size_t o = 0; o < ARRAY_SIZE(operators); o++) {
			for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
				static const char form[] =
					"select path, begin, end from states where kind = 'exit' "
					"and %s %s %s order by path, begin";
				snprintf(query, sizeof(query), form, columns[c], operators[o],
					 bounds[i]);
				assert_int_equal(ask(query, &a, &err), 0);
				/* In an expression the comparison is the same, but SQLite's alone.
				 */
				snprintf(query, sizeof(query),
					 "select path, begin, end from states where kind = 'exit' "
					 "and (%s %s %s or 1 = 2) is true order by path, begin",
					 columns[c], operators[o], bounds[i]);
				assert_int_equal(ask(query, &b, &err), 0);
				if (strcmp(a.text, b.text))
					wrong("%s\n%s\nnot\n%s", query, a.text, b.text);
				compared++;
				rows += a.rows;
			}
		}
	}
	assert_int_equal(compared, 160);
	assert_true(rows > 100);
}

static void choosing_attributes_changes_no_answer(void **state)
{
	static const char *const conditions[] = {
		"path = 'vm-a/cpu0/exit'",
		"path = 'vm-a/cpu0'",
		"path = '/vm-a//cpu0/exit'",
		"path = ''",
		"path glob 'vm-a/*'",
		"path glob '*/[st]*'",
		"path glob 'host0/threads/*'",
		"machine = 'vm-a'",
		"machine = 'VM-A'",
		"machine = 'vm-a' collate nocase",
		"machine = 'nobody'",
		"machine is null",
		"cpu = 'vm-a/0'",
		"cpu = 'vm-a/7'",
		"cpu_row = 2",
		"cpu_row = 99",
		"cpu_row = -1",
		"cpu_row is null",
		"thread_row = 4",
		"thread_row = 4000000000",
		"thread = 'burn[300]'",
		"kind = 'runs'",
		"kind = 'state'",
		"kind = 'thread_state'",
		"kind in ('runs', 'exit')",
		"attr = 3",
		"attr = -1",
		"attr = 4294967296",
		"machine_row = 0",
		"machine_row = '0'",
		"path = 5",
		"path = x'00'",
		"path = 'vm-a/cpu0/exit' and kind = 'on'",
		"path in ('vm-a/cpu0/exit', 'vm-a/cpu0/on')",
		"path = 'vm-a/cpu0/exit' and path = 'vm-a/cpu0/on'",
		"kind = 'exit' and cpu = 'vm-a/0' and machine = 'vm-a'",
	};
	static struct answer a, b;
	struct error err;
	char query[400];
	unsigned rows = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		snprintf(query, sizeof(query),
			 "select path, begin, value from states where %s order by path, begin",
			 conditions[i]);
		assert_int_equal(ask(query, &a, &err), 0);
		snprintf(query, sizeof(query),
			 "select path, begin, value from states where (%s or 1 = 2) is true "
			 "order by path, begin",
			 conditions[i]);
		assert_int_equal(ask(query, &b, &err), 0);
		if (strcmp(a.text, b.text))
			wrong("%s\n%s\nnot\n%s", conditions[i], a.text, b.text);
		rows += a.rows;
	}
	assert_true(rows > 100);
}

static void plans_tell_what_is_passed_down(void **state)
{
	(void)state;
	assert_non_null(strstr(answer("explain query plan select * from states where path = 'x' "
				      "and begin < 5 and end > 3 and value = 1"),
			       "path= begin< end>"));
	assert_non_null(
		strstr(answer("explain query plan select * from states where path glob 'x*' "
			      "and machine = 'y'"),
		       "machine= path~"));
	/* No sorting: the rows of one path come in order. */
	assert_null(strstr(answer("explain query plan select * from states where path = 'x' "
				  "order by begin"),
			   "ORDER BY"));
	assert_non_null(strstr(answer("explain query plan select * from states where kind = 'runs' "
				      "order by begin"),
			       "ORDER BY"));
	assert_null(strstr(answer("explain query plan select * from events order by time"),
			   "ORDER BY"));
	assert_non_null(
		strstr(answer("explain query plan select * from events where name glob 'a*' "
			      "and time >= 1 and cpu = 0"),
		       "time>= cpu= name~"));
}

static void costs_grow_with_what_is_asked(void **state)
{
	uint64_t all = cost_of("select count(*) from states", COST_INTERVALS);
	uint64_t attributes = cost_of("select count(*) from states", COST_ATTRIBUTES);

	(void)state;
	assert_true(all > 60 && attributes > 15);
	assert_int_equal(
		cost_of("select * from states where path = 'host0/cpu0/runs'", COST_ATTRIBUTES), 1);
	assert_int_equal(
		cost_of("select * from states where path = 'host0/cpu0/runs'", COST_INTERVALS), 9);
	assert_int_equal(cost_of("select * from states where path = 'host0/cpu0/runs' and "
				 "begin >= 1400000 and begin < 1500000",
				 COST_INTERVALS),
			 2);
	assert_int_equal(cost_of("select * from states where path = 'host0/cpu0/runs' and "
				 "begin <= 1420000 and end > 1420000",
				 COST_INTERVALS),
			 1);
	assert_int_equal(cost_of("select * from states(1420000, 1430000) where kind = 'runs'",
				 COST_INTERVALS),
			 2);
	assert_int_equal(cost_of("select * from states where kind = 'runs'", COST_ATTRIBUTES), 2);
	assert_int_equal(cost_of("select * from states where thread_row = 4", COST_ATTRIBUTES), 3);
	assert_int_equal(cost_of("select * from states where path = 'no/such'", COST_ATTRIBUTES),
			 0);
	assert_int_equal(cost_of("select * from states where begin > 'x'", COST_INTERVALS), 0);
	/* A LIMIT ends the reading. */
	assert_true(cost_of("select * from states limit 1", COST_ATTRIBUTES) <= 1);
	assert_int_equal(cost_of("select name from machines", COST_INTERVALS), 0);
}

static void analyses_are_computed_over_the_window_and_once(void **state)
{
	(void)state;
	assert_int_equal(cost_of("select * from steal(1300000, 1300123)", COST_ANALYSED), 123);
	assert_int_equal(cost_of("select * from steal(1300000, 1300123)", COST_TABLES), 0);
	/* Even for each row of another table. */
	assert_int_equal(
		cost_of("select * from machines m join thread_time t on t.machine = m.name",
			COST_TABLES),
		1);
	/* More windows than are kept, in one query, while others read them. */
	SAYS("with t(i) as (select 1 union all select i + 1 from t where i < 40)\n"
	     "select count(*), sum(v.steal) from t join vcpu_time v\n"
	     "on window_begin = 1000000 and window_end = 1300000 + 1000 * i where v.vcpu_row = 2",
	     "40|820000");
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

static void fails(const char *query, int code, const char *wanted)
{
	static struct answer a;
	struct error err;
	int ret = ask(query, &a, &err);

	if (ret != code || !strstr(err.text, wanted))
		wrong("%s: %d, \"%s\"; not %d, \"%s\"", query, ret, err.text, code, wanted);
}

static void wrong_queries_are_explained(void **state)
{
	struct answer a;
	struct error err;
	struct sql_sink sink = {no_head, keep_row, &a};
	int at;

	(void)state;
	fails("select begn from states", -EINVAL, "no such column: begn; sonde sql --schema");
	fails("select * from no_such", -EINVAL, "no such table: no_such");
	fails("select * frm states", -EINVAL, "syntax error");
	fails("", -EINVAL, "no statement");
	fails("-- nothing", -EINVAL, "no statement");
	fails("select 1; select 2", -EINVAL, "one statement at a time");
	fails("select 1; drop", -EINVAL, "one statement at a time");
	SAYS("select 1; -- and no more", "1");
	fails("select * from steal('noon')", -EINVAL, "\"noon\" is no time");
	fails("select sonde_time('noon')", -EINVAL, "\"noon\" is no time");
	a = (struct answer){0};
	assert_int_equal(sql_session_query(session, "select 1 + begn", &sink, &at, &err), -EINVAL);
	assert_int_equal(at, 11);
	/* Traces that are not there. */
	fails("select * from events", -EIO, "is not at /traces/x any more");
}

static void writing_is_refused(void **state)
{
	static const char *const queries[] = {
		"attach '/tmp/sonde-sql-attached.db' as x",
		"vacuum into '/tmp/sonde-sql-attached.db'",
		"create table t(a)",
		"create temp table t as select 1",
		"create view v as select 1",
		"create virtual table temp.x using sonde('/etc/passwd', 'steal')",
		"drop table machines",
		"alter table machines rename to m",
		"begin",
		"savepoint s",
		"pragma journal_mode = off",
		"pragma temp_store_directory = '/tmp'",
		"pragma writable_schema = 1",
		"select load_extension('/tmp/x.so')",
		"select sonde_open('/etc/passwd')",
		"insert into machines(name) values ('x')",
		"reindex",
		"analyze",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		fails(queries[i], -EACCES, "is refused");
	fails("delete from states", -EINVAL, "may not be modified");
	fails("update sqlite_temp_master set sql = ''", -EINVAL, "may not be modified");
	fails("update sqlite_temp_master set sql = '' returning 1", -EINVAL, "may not be modified");
	assert_int_equal(access("/tmp/sonde-sql-attached.db", F_OK), -1);
	SAYS("select count(*) from pragma_table_info('machines')", "11");
	SAYS("select sum(value) from json_each('[1, 2]')", "3");
}

static void queries_can_be_stopped_and_are_bounded(void **state)
{
	static const char endless[] =
		"with recursive t(i) as (select 1 union all select i + 1 from t) "
		"select count(*) from t";

	(void)state;
	stop_now = true;
	fails(endless, -EINTR, "interrupted");
	fails("select * from states", -EINTR, "interrupted");
	stop_now = false;
	fails("select zeroblob(1000000000)", -EINVAL, "too big");
	SAYS("select count(*) from machines", "4");
}

/* ---- functions ----------------------------------------------------------------------------- */

static void functions_answer(void **state)
{
	(void)state;
	SAYS("select sonde_time('+1ns'), sonde_time('50%'), sonde_time(NULL)", "1000001|1500000|-");
	SAYS("select sonde_length(1234567), sonde_length(NULL)", "1.235 ms|-");
	SAYS("select sonde_field('a=1 bc=-2 d=\"x y=3\" e=0x10 y=4 f=\"\" g', 'y')", "4");
	SAYS("select sonde_field('a=1 d=\"x \\\" y=3\" y=4', 'y')", "4");
	SAYS("select typeof(sonde_field('a=1 d=\"7\"', 'a')), sonde_field('d=\"x y\"', 'd')",
	     "integer|x y");
	SAYS("select sonde_field('a=1', 'b'), sonde_field('a=1', ''), sonde_field(NULL, 'a')",
	     "-|-|-");
	SAYS("select sonde_field('c={a=1 b=2} a=3', 'a')", "3");
	SAYS("select sonde_field('ip=18446744071579664384', 'ip'), typeof(sonde_field('a=0x10', "
	     "'a'))",
	     "18446744071579664384|integer");
	SAYS("select sonde_field('ip=0xffffffff81000000', 'ip'), sonde_field('a=010', 'a')",
	     "0xffffffff81000000|10");
}

static void ready_queries_run(void **state)
{
	static struct answer a;
	struct error err;

	(void)state;
	assert_true(nr_ready_queries >= 20);
	for (unsigned i = 0; i < nr_ready_queries; i++) {
		if (ask(ready_queries[i].text, &a, &err))
			wrong("%s: %s", ready_queries[i].name, err.text);
		assert_ptr_equal(ready_find(ready_queries[i].name), &ready_queries[i]);
	}
	assert_null(ready_find("no such"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_run),
		cmocka_unit_test(states_are_the_intervals),
		cmocka_unit_test(facts_are_tables),
		cmocka_unit_test(passing_down_changes_no_answer),
		cmocka_unit_test(choosing_attributes_changes_no_answer),
		cmocka_unit_test(plans_tell_what_is_passed_down),
		cmocka_unit_test(costs_grow_with_what_is_asked),
		cmocka_unit_test(analyses_are_computed_over_the_window_and_once),
		cmocka_unit_test(wrong_queries_are_explained),
		cmocka_unit_test(writing_is_refused),
		cmocka_unit_test(queries_can_be_stopped_and_are_bounded),
		cmocka_unit_test(functions_answer),
		cmocka_unit_test(ready_queries_run),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
