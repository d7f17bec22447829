/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal's screens are made of, without a terminal: window, lines, cells, filter, text
 * that is written, the tables of top; on the history of small_history.h. */
#include "tests/unit/unit.h"

#include "report/filter.h"
#include "report/moment.h"
#include "report/top.h"
#include "term/cells.h"
#include "term/lines.h"
#include "term/prompt.h"
#include "term/view.h"
#include "tests/unit/small_history_test.h"

/* ---- the window ---------------------------------------------------------------------------- */

static void view_stays_in_the_run(void **state)
{
	struct view v;

	(void)state;
	view_init(&v, 1000, 2000);
	assert_int_equal(v.begin, 1000);
	assert_int_equal(v.end, 2000);
	v.cursor = 1500;
	view_zoom(&v, 1, 2);
	assert_int_equal(v.end - v.begin, 500);
	assert_int_equal(v.begin, 1250);
	assert_int_equal(v.cursor, 1500);
	view_pan(&v, -10, 1);
	assert_int_equal(v.begin, 1000);
	assert_int_equal(v.cursor, 1250);
	view_pan(&v, 10, 1);
	assert_int_equal(v.end, 2000);
	view_zoom(&v, 100, 1);
	assert_int_equal(v.begin, 1000);
	assert_int_equal(v.end, 2000);
	view_show(&v, 5000, 100);
	assert_true(v.begin >= 1000 && v.end <= 2000 && v.begin < v.end);
	assert_true(v.cursor >= v.begin && v.cursor < v.end);
	view_move_cursor(&v, INT64_MAX);
	assert_int_equal(v.cursor, 1999);
	assert_true(v.end == 2000);
	view_move_cursor(&v, INT64_MIN);
	assert_int_equal(v.cursor, 1000);
	assert_int_equal(v.begin, 1000);
}

static void view_has_a_least_width(void **state)
{
	struct view v;

	(void)state;
	view_init(&v, 0, 1000000);
	v.span_min = 100;
	v.cursor = 500000;
	for (unsigned i = 0; i < 100; i++)
		view_zoom(&v, 7, 10);
	assert_int_equal(v.end - v.begin, 100);
	for (unsigned i = 0; i < 100; i++)
		view_zoom(&v, 10, 7);
	assert_int_equal(v.end - v.begin, 1000000);
	/* From the least of all windows on, zooming out still does something. */
	v.span_min = 1;
	view_show(&v, 10, 11);
	view_zoom(&v, 10, 7);
	assert_true(v.end - v.begin > 1);
	/* A run of nothing. */
	view_init(&v, 7, 7);
	view_zoom(&v, 7, 10);
	view_step(&v, 1, 80);
	assert_int_equal(v.begin, 7);
	assert_int_equal(v.cursor, 7);
}

/* Every column's first time is in that column, and a step leads to the next. */
static void view_columns(void **state)
{
	struct view v;

	(void)state;
	view_init(&v, 0, INT64_MAX / 2);
	for (unsigned columns = 1; columns < 300; columns += 7) {
		view_show(&v, 1000000007, 1000000007 + columns * 13 + 5);
		for (unsigned x = 0; x < columns; x++)
			assert_int_equal(view_column(&v, view_time(&v, x, columns), columns), x);
		v.cursor = v.begin;
		for (unsigned x = 1; x < columns; x++) {
			view_step(&v, 1, columns);
			assert_int_equal(view_column(&v, v.cursor, columns), x);
		}
	}
	/* At the right edge the window goes along. */
	view_show(&v, 1000, 1100);
	v.cursor = 1099;
	view_step(&v, 1, 100);
	assert_int_equal(v.cursor, 1100);
	assert_int_equal(v.begin, 1001);
	view_show(&v, 1000, 1100);
	v.cursor = 1000;
	view_step(&v, -1, 100);
	assert_int_equal(v.cursor, 999);
	assert_int_equal(v.begin, 999);
}

/* ---- lines --------------------------------------------------------------------------------- */

static int line_called(const struct lines *l, const char *label, const char *note)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (!strcmp(l->list[i].label, label) && !strcmp(l->list[i].note, note))
			return (int)i;
	}
	return -1;
}

static void lines_are_the_tree(void **state)
{
	struct lines l;
	int host, vm, nested;

	(void)state;
	lines_init(&l, history);
	assert_int_equal(lines_build(&l), 0);
	assert_string_equal(l.list[0].label, "CPUs of host0");
	assert_int_equal(l.list[1].kind, LINE_CPU);
	assert_string_equal(l.list[2].label, "CPU 1");
	host = line_called(&l, "host0", "host");
	vm = line_called(&l, "vm-a", "VM");
	nested = line_called(&l, "vm-a-n", "nested VM");
	assert_true(host == 3 && vm > host && nested > vm);
	assert_true(l.list[nested].depth > l.list[vm].depth);
	assert_true(line_called(&l, "vm-b", "VM, no trace") > nested);
	for (unsigned i = 0; i < l.nr; i++) {
		assert_int_equal(lines_find(&l, l.list[i].id), i);
		assert_int_equal(l.list[i].attr == SONDE_NO_ATTR,
				 l.list[i].kind == LINE_GROUP || l.list[i].kind == LINE_EXITS);
	}
	lines_release(&l);
}

static void lines_open_and_close(void **state)
{
	struct lines l;
	unsigned nr;

	(void)state;
	lines_init(&l, history);
	lines_build(&l);
	nr = l.nr;
	lines_toggle(&l, &l.list[line_called(&l, "vm-a", "VM")]);
	lines_build(&l);
	assert_true(l.nr < nr);
	assert_int_equal(line_called(&l, "vm-a-n", "nested VM"), -1);
	lines_toggle(&l, &l.list[line_called(&l, "vm-a", "VM")]);
	lines_build(&l);
	assert_int_equal(l.nr, nr);
	lines_open_all(&l, false);
	lines_build(&l);
	assert_int_equal(l.nr, 2);
	lines_toggle(&l, &l.list[1]); /* host0: its VMs, themselves closed */
	lines_build(&l);
	assert_true(line_called(&l, "vm-a", "VM") > 0);
	lines_release(&l);
}

static void lines_search_opens(void **state)
{
	struct lines l;
	int first, line;

	(void)state;
	lines_init(&l, history);
	lines_build(&l);
	lines_open_all(&l, false);
	lines_build(&l);
	line = lines_search(&l, "APP", 0, false);
	assert_true(line > 0);
	assert_int_equal(l.list[line].thread, APP);
	/* Again: there is no other. */
	assert_int_equal(lines_search(&l, "app", line, true), line);
	/* What is called just that comes first, then whatever has it in its name, one by one. */
	first = lines_search(&l, "vm-a", line, false);
	assert_string_equal(l.list[first].label, "vm-a");
	line = lines_search(&l, "vm-a", first, true);
	assert_true(line >= 0 && line != first);
	assert_true(lines_search(&l, "vm-a", line, true) != first);
	assert_int_equal(lines_search(&l, "nobody", 0, false), -1);
	assert_int_equal(lines_search(&l, "nobody", -1, false), -1);
	assert_int_equal(lines_search(&l, "nobody", 100000, false), -1);
	lines_release(&l);
}

static void busy_threads_come_first(void **state)
{
	struct lines l;
	int threads;

	(void)state;
	lines_init(&l, history);
	lines_build(&l);
	assert_int_equal(lines_busy(&l, SMALL_BEGIN, SMALL_END), 0);
	threads = line_called(&l, "Threads", "2");
	assert_true(threads > 0);
	lines_toggle(&l, &l.list[threads]);
	lines_build(&l);
	assert_int_equal(l.list[threads + 1].thread, BURN);
	lines_release(&l);
}

/* What a machine's and a container's lines show of a CPU are its own parts, and all of it. */
static void masked_lines_share_a_cpu(void **state)
{
	struct line cpu = {.kind = LINE_CPU, .only_machine = -1, .only_pid_ns = -1};
	struct line own = cpu, container = cpu;

	(void)state;
	container.only_pid_ns = NS_CONTAINER;
	for (uint32_t value = 0; value <= SMALL_CONTEXTS; value++) {
		unsigned shown = 0;

		assert_int_equal(line_value(history, &cpu, value), value);
		for (unsigned m = 0; m < SMALL_MACHINES; m++) {
			own.only_machine = m;
			shown += line_value(history, &own, value) == value;
		}
		/* Of what is not known (0) all lines show nothing, which is 0, too. */
		assert_int_equal(shown, value ? 1 : SMALL_MACHINES);
	}
	assert_int_equal(line_value(history, &container, C_BURN_USER + 1), C_BURN_USER + 1);
	assert_int_equal(line_value(history, &container, C_IDLE + 1), 0);
	assert_int_equal(line_value(history, &container, 4711), 0);
}

/* ---- cells --------------------------------------------------------------------------------- */

static void cells_are_the_historys(void **state)
{
	struct filter everything = {0};
	struct cells cells = {0};
	struct lines l;
	const struct line **shown, *line;
	char name[64];

	(void)state;
	lines_init(&l, history);
	lines_build(&l);
	shown = malloc(l.nr * sizeof(*shown));
	assert_non_null(shown);
	for (unsigned i = 0; i < l.nr; i++)
		shown[i] = &l.list[i];
	assert_int_equal(cells_query(&cells, history, shown, l.nr, SMALL_BEGIN, SMALL_END, 100), 0);
	line = &l.list[1];
	assert_int_equal(cells_value(&cells, history, line, 0), C_IDLE + 1);
	assert_int_equal(cells_value(&cells, history, line, 20), C_APP + 1);
	assert_int_equal(cells_value(&cells, history, line, 35), C_BURN_USER + 1);
	assert_int_equal(cells_value(&cells, history, line, 100), 0);
	assert_int_equal(value_look(history, line, C_APP + 1, false, &everything).letter, 'u');
	assert_int_equal(value_look(history, line, 0, false, &everything).color, -1);
	assert_true(value_look(history, line, C_APP + 1, false, &everything).color !=
		    value_look(history, line, C_APP + 1, true, &everything).color);
	assert_int_equal(value_look(history, line, 4711, false, &everything).letter, '?');
	value_name(history, line, C_APP + 1, name, sizeof(name));
	assert_string_equal(name, "app");
	value_name(history, line, C_IDLE + 1, name, sizeof(name));
	assert_string_equal(name, "");
	/* None at all. */
	assert_int_equal(cells_query(&cells, history, shown, 0, SMALL_BEGIN, SMALL_END, 10), 0);
	assert_int_equal(cells_value(&cells, history, line, 0), 0);
	free(shown);
	cells_release(&cells);
	lines_release(&l);
}

/* ---- the filter ---------------------------------------------------------------------------- */

static bool context_passes(const char *text, int64_t context)
{
	struct filter f;
	bool passes;

	assert_int_equal(filter_init(&f, history, text), 0);
	passes = filter_context(&f, context);
	assert_int_equal(filter_context(&f, context), passes); /* as remembered */
	filter_release(&f);
	return passes;
}

static void filter_language(void **state)
{
	static const struct {
		const char *text;
		int64_t context;
		bool passes;
	} cases[] = {
		{"", C_APP, true},
		{"   ", C_APP, true},
		{"app", C_APP, true},
		{"APP", C_APP, true},
		{"app", C_BURN_USER, false},
		{"-app", C_APP, false},
		{"-app", C_BURN_USER, true},
		{"-", C_APP, true}, /* a text; "vm-a" has it */
		{"machine:vm-a", C_APP, true},
		{"machine:vm-a", C_TASK, true}, /* vm-a-n has it in its name */
		{"machine=vm-a", C_TASK, false},
		{"machine=VM-A", C_APP, true},
		{"m:vm-b,vm-a", C_GUEST, true},
		{"m:vm-b,host", C_APP, false},
		{"m:", C_APP, true}, /* nothing is asked */
		{"thread:60", C_APP, true},
		{"thread=app[60]", C_APP, true},
		{"process=60", C_APP, true},
		{"process=6", C_APP, false},
		{"container:burn", C_BURN_USER, true},
		{"container:burn", C_APP, false},
		{"cpu:vm-a/0", C_HLT, true}, /* KVM for it */
		{"state:user", C_APP, true},
		{"state:user state:hypervisor", C_APP, false},
		{"state:user,hypervisor", C_HLT, true},
		{"state:\"system call\"", C_BURN_SYSCALL, true},
		{"state:syscall thread:burn", C_BURN_SYSCALL, true},
		{"state:openat", C_BURN_SYSCALL, true},
		{"state:syscall -thread:burn", C_BURN_SYSCALL, false},
		{"nonsense:app", C_APP, false}, /* no key: all of it is text */
		{"\"app", C_APP, true},
		{"app,burn", C_APP, false}, /* only values of keys are split */
		{"t:app,,", C_APP, true},
		{"app", -1, false},
		{"app", 4711, false},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		if (context_passes(cases[i].text, cases[i].context) == cases[i].passes)
			continue;
		print_error("\"%s\" of context %d\n", cases[i].text, (int)cases[i].context);
		assert_true(false);
	}
}

static void filter_of_states(void **state)
{
	struct filter f, none = {0};

	(void)state;
	assert_int_equal(filter_init(&f, history, "state:preempted cpu=vm-a/0"), 0);
	assert_true(filter_vcpu_state(&f, VM_A_0, VCPU_PREEMPTED));
	assert_false(filter_vcpu_state(&f, VM_A_0, VCPU_WAITING));
	assert_false(filter_vcpu_state(&f, VM_AN_0, VCPU_PREEMPTED));
	assert_false(filter_vcpu_state(&f, 4711, VCPU_PREEMPTED));
	filter_release(&f);
	assert_int_equal(filter_init(&f, history, "t:burn state:run"), 0);
	assert_true(filter_thread_state(&f, BURN, THREAD_RUNNING));
	assert_false(filter_thread_state(&f, BURN, THREAD_SLEEPING));
	assert_false(filter_thread(&f, BURN)); /* a thread alone has no state */
	filter_release(&f);
	assert_true(filter_thread(&none, -1));
	assert_true(filter_vcpu_state(&none, -1, 99));
}

/* ---- text that is written ------------------------------------------------------------------ */

static void prompt_takes_text(void **state)
{
	struct prompt p;

	(void)state;
	prompt_begin(&p, "", "ab c");
	assert_int_equal(prompt_key(&p, 0xe9), PROMPT_GOES_ON);
	assert_int_equal(prompt_key(&p, 0x1f600), PROMPT_GOES_ON);
	assert_string_equal(p.text, "ab c\303\251\360\237\230\200");
	prompt_key(&p, TTY_BACKSPACE);
	assert_string_equal(p.text, "ab c\303\251");
	prompt_key(&p, TTY_BACKSPACE);
	assert_string_equal(p.text, "ab c");
	prompt_key(&p, TTY_LEFT);
	prompt_key(&p, 1);
	assert_string_equal(p.text, "ab c");
	prompt_key(&p, 'w' & 0x1f);
	assert_string_equal(p.text, "ab ");
	assert_int_equal(prompt_key(&p, TTY_ENTER), PROMPT_ENTERED);
	assert_int_equal(prompt_key(&p, TTY_ESCAPE), PROMPT_LEFT);
	prompt_key(&p, 'u' & 0x1f);
	assert_string_equal(p.text, "");
	prompt_key(&p, TTY_BACKSPACE);
	for (unsigned i = 0; i < 2 * PROMPT_ROOM; i++)
		prompt_key(&p, 0x20ac);
	assert_true(strlen(p.text) < PROMPT_ROOM && strlen(p.text) % 3 == 0);
}

/* ---- moments ------------------------------------------------------------------------------- */

static void moments_in_words(void **state)
{
	char text[200];

	(void)state;
	vcpu_off_text(history, VM_A_0, 1350000, text, sizeof(text));
	assert_non_null(strstr(text, "instead of it burn[300] on host0"));
	vcpu_off_text(history, VM_A_0, 1200000, text, sizeof(text));
	assert_string_equal(text, "");
	container_text(history, BURN, text, sizeof(text));
	assert_true(*text);
	container_text(history, -1, text, sizeof(text));
	assert_string_equal(text, "");
}

/* ---- top ----------------------------------------------------------------------------------- */

static const struct top_row *top_row_of(const struct top *top, enum top_kind kind, const char *name)
{
	for (unsigned i = 0; i < top->nr; i++) {
		if (top->rows[i].kind == kind && !strcmp(top->rows[i].name, name))
			return &top->rows[i];
	}
	print_error("no row %s\n", name);
	assert_true(false);
	return NULL;
}

static int64_t sum_of(const struct top_row *row)
{
	int64_t sum = 0;

	for (unsigned p = 0; p < NR_TOP_PARTS; p++)
		sum += row->parts[p];
	return sum;
}

static void top_adds_up(void **state)
{
	struct top top;
	struct error err = {0};
	const struct top_row *row;

	(void)state;
	assert_int_equal(top_make(&top, history, SMALL_BEGIN, SMALL_END, TOP_BY_CPU, 100, &err), 0);
	for (unsigned i = 0; i < top.nr; i++) {
		if (top.rows[i].kind != TOP_THREAD)
			assert_int_equal(sum_of(&top.rows[i]), top.rows[i].all_ns);
	}
	row = top_row_of(&top, TOP_CPU, "host0/0");
	assert_int_equal(row->parts[TOP_WAIT], 100000);
	row = top_row_of(&top, TOP_VCPU, "vm-a/0");
	assert_int_equal(row->parts[TOP_OFF], 280000);
	assert_string_equal(row->off_by.text, "burn[300]");
	assert_int_equal(row->off_by.time_ns, 280000);
	row = top_row_of(&top, TOP_THREAD, "burn[300]");
	assert_int_equal(row->parts[TOP_RUN], 380000);
	assert_int_equal(top.lost, -1); /* there is a place where nobody counted */
	top_release(&top);
}

static void top_is_of_its_window(void **state)
{
	struct top top;
	struct error err = {0};
	const struct top_column *columns;
	char cell[64];
	unsigned nr;

	(void)state;
	assert_int_equal(top_make(&top, history, 1320000, 1380000, TOP_BY_KEPT, 1, &err), 0);
	assert_int_equal(top_row_of(&top, TOP_CPU, "host0/0")->parts[TOP_RUN], 60000);
	assert_int_equal(top.rows[top.nr - 1].kind, TOP_THREAD);
	assert_int_equal(top.rows[top.nr - 2].kind, TOP_VCPU);
	assert_true(top.threads > 1);
	columns = top_columns(TOP_VCPU, &nr);
	for (unsigned i = 0; i < nr; i++) {
		if (!strcmp(columns[i].name, "total_steal"))
			assert_string_equal(top_cell(top_row_of(&top, TOP_VCPU, "vm-a/0"),
						     &columns[i], cell, sizeof(cell)),
					    "100.0%");
		if (!strcmp(columns[i].name, "stolen_by"))
			assert_string_equal(top_cell(top_row_of(&top, TOP_VCPU, "vm-a/0"),
						     &columns[i], cell, sizeof(cell)),
					    "100.0% burn[300]");
		if (!strcmp(columns[i].name, "run"))
			assert_string_equal(top_cell(top_row_of(&top, TOP_VCPU, "vm-a/0"),
						     &columns[i], cell, sizeof(cell)),
					    "-");
	}
	top_release(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(view_stays_in_the_run),
		cmocka_unit_test(view_has_a_least_width),
		cmocka_unit_test(view_columns),
		cmocka_unit_test(lines_are_the_tree),
		cmocka_unit_test(lines_open_and_close),
		cmocka_unit_test(lines_search_opens),
		cmocka_unit_test(busy_threads_come_first),
		cmocka_unit_test(masked_lines_share_a_cpu),
		cmocka_unit_test(cells_are_the_historys),
		cmocka_unit_test(filter_language),
		cmocka_unit_test(filter_of_states),
		cmocka_unit_test(prompt_takes_text),
		cmocka_unit_test(moments_in_words),
		cmocka_unit_test(top_adds_up),
		cmocka_unit_test(top_is_of_its_window),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
