/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, pictures and tables, on the history of small_history.h. */
#include "tests/unit/unit.h"

#include "analysis/rows.h"
#include "report/csv.h"
#include "report/rows.h"
#include "report/moment.h"
#include "report/picture.h"
#include "report/safe.h"
#include "tests/unit/small_history_test.h"

static char *text;
static size_t text_len;

static int teardown(void **state)
{
	free(text);
	return small_history_teardown(state);
}

static FILE *open_text(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &text_len);
}

static unsigned count_of(const char *needle)
{
	unsigned nr = 0;

	for (const char *s = text; (s = strstr(s, needle)); s++)
		nr++;
	return nr;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_layout(void **state)
{
	struct json j = {.out = open_text()};

	(void)state;
	json_begin_object(&j, NULL);
	json_int(&j, "a", INT64_MIN);
	json_begin_array(&j, "b");
	json_begin_object(&j, NULL);
	json_uint(&j, "c", UINT64_MAX);
	json_put_null(&j, "d");
	json_end(&j);
	json_bool(&j, NULL, true);
	json_end(&j);
	json_begin_array(&j, "empty");
	json_end(&j);
	json_row(&j, "row", -1);
	json_end(&j);
	fclose(j.out);
	assert_string_equal(text, "{\n"
				  "  \"a\": -9223372036854775808,\n"
				  "  \"b\": [\n"
				  "    {\"c\": 18446744073709551615, \"d\": null},\n"
				  "    true\n"
				  "  ],\n"
				  "  \"empty\": [],\n"
				  "  \"row\": null\n"
				  "}\n");
}

static void json_text_is_always_utf8(void **state)
{
	struct json j = {.out = open_text()};

	(void)state;
	json_str(&j, NULL, "a\"b\\c\n\033\xc3\xa9\xff\xc0\x80\xed\xa0\x80");
	fclose(j.out);
	assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u001b\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd"
				  "\\ufffd\\ufffd\"");
	j.out = open_text();
	json_str(&j, NULL, "\xe2\x80\xae\xe2\x80\x90");
	fclose(j.out);
	assert_string_equal(text, "\"\\u202e\xe2\x80\x90\"");
}

static void names_are_made_safe(void **state)
{
	char buf[64];

	(void)state;
	assert_string_equal(safe_text(buf, sizeof(buf), "\033[31mx\x7f\xc2\x9b\xff"), "?[31mx???");
	assert_string_equal(safe_xml(buf, sizeof(buf), "<a b=\"c\">&'"),
			    "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
	/* Nor do they turn a line round, or look like another without being it. */
	assert_string_equal(safe_text(buf, sizeof(buf),
				      "\xe2\x80\xae"
				      "x\xe2\x80\x8b\xf3\xa0\x80\x81\xc2\xad"),
			    "?x???");
	assert_string_equal(safe_text(buf, sizeof(buf), "\xe2\x80\x90\xc3\xa9\xf0\x9f\x90\xa7"),
			    "\xe2\x80\x90\xc3\xa9\xf0\x9f\x90\xa7");
	/* Never half an entity or half a character. */
	assert_string_equal(safe_xml(buf, 6, "ab&"), "ab");
	assert_string_equal(safe_text(buf, 3, "a\xc3\xa9"), "a");
}

static void csv_holds_no_formulas(void **state)
{
	static const char *const cells[][2] = {
		{"=cmd|'/c'!A1", "'=cmd|'/c'!A1"},
		{"=1,2", "\"'=1,2\""},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"-2+3", "'-2+3"},
		{"+1e", "'+1e"},
		{"-x", "'-x"},
		{"-", "-"},
		{"-12", "-12"},
		{"+0.5", "+0.5"},
		{"-.5e-3", "-.5e-3"},
		{"a=1", "a=1"},
		{"'=1", "'=1"},
		{"\t=1", "?=1"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
		FILE *out = open_text();

		csv_text(out, cells[i][0]);
		fclose(out);
		assert_string_equal(text, cells[i][1]);
	}
}

static void rows_as_json(void **state)
{
	struct json j = {.out = open_text()};
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "preemption", SMALL_BEGIN, SMALL_END, NULL),
			 0);
	rows_json(&j, NULL, history, f);
	fclose(j.out);
	sonde_rows_free(f);
	assert_non_null(strstr(text, "\"vcpu\": {\"machine\": \"vm-a\", \"cpu\": 0}"));
	assert_non_null(strstr(text, "\"comm\": \"burn\""));
	assert_non_null(strstr(text, "\"total\": 280000"));
}

static void rows_as_text(void **state)
{
	struct screen screen = {.out = open_text()};
	static const struct rows_view view = {.rows_max = 2};
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "machine_time", SMALL_BEGIN, SMALL_END, NULL),
			 0);
	assert_int_equal(rows_print(&screen, history, f, &view), 0);
	fclose(screen.out);
	sonde_rows_free(f);
	assert_non_null(strstr(text, "CPU time by machine"));
	assert_non_null(strstr(text, "... and 2 more"));
	assert_null(strstr(text, "SOFTIRQ")); /* a column of zeros is left out */
	assert_null(strstr(text, "\033"));
}

/* What has no name is told by its number; what has not even that, is unknown. */
static void processes_without_a_name(void **state)
{
	static const struct sonde_column columns[] = {
		{"pid", "PID", SONDE_COL_INT, ""},
		{"comm", "COMMAND", SONDE_COL_STRING, ""},
	};
	static const struct sonde_table table = {"test", "Processes", "", columns, 2};
	struct screen screen = {.out = open_text()};
	static const struct rows_view view = {.rows_max = 0};
	struct sonde_rows *f = calloc(1, sizeof(*f));

	(void)state;
	assert_non_null(f);
	f->table = &table;
	rows_add(f, (union sonde_cell[]){cell_int(4711), cell_str("sh")});
	rows_add(f, (union sonde_cell[]){cell_int(4712), cell_str("")});
	rows_add(f, (union sonde_cell[]){cell_int(-1), cell_str("")});
	assert_int_equal(rows_print(&screen, history, f, &view), 0);
	fclose(screen.out);
	sonde_rows_free(f);
	assert_non_null(strstr(text, "4711  sh\n"));
	assert_non_null(strstr(text, "4712  unnamed (pid 4712)\n"));
	assert_non_null(strstr(text, "-  unknown\n"));
}

/* ---- pictures ------------------------------------------------------------------------------ */

static void machines_rows_add_up_to_the_physical_ones(void **state)
{
	struct picture p;

	(void)state;
	assert_int_equal(picture_init(&p, history, SMALL_BEGIN, SMALL_END, 100,
				      PICTURE_CPUS | PICTURE_MACHINES, NULL),
			 0);
	assert_int_equal(p.nr_rows, 2 + 2 * SMALL_MACHINES);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		for (unsigned x = 0; x < p.width; x++) {
			uint32_t sum = 0;
			unsigned shown = 0;

			for (unsigned row = 2 + cpu; row < p.nr_rows; row += 2) {
				sum += picture_cell(&p, row, x);
				shown += picture_cell(&p, row, x) != 0;
			}
			assert_int_equal(sum, picture_cell(&p, cpu, x));
			assert_true(shown <= 1);
		}
	}
	picture_release(&p);
}

static void letters_tell_the_modes(void **state)
{
	struct picture p;
	FILE *out = open_text();

	(void)state;
	assert_int_equal(picture_init(&p, history, SMALL_BEGIN, SMALL_END, 20, PICTURE_CPUS, NULL),
			 0);
	picture_print(&p, out, false);
	fclose(out);
	picture_release(&p);
	/* 50000 ns per letter; the interrupt of 20000 ns is outweighed. */
	assert_non_null(strstr(text, "cpu 0  ..huuuuuhhuuuussssss\n"));
	assert_non_null(strstr(text, "cpu 1  gggggggggg          \n"));
}

static void colour_uses_half_blocks(void **state)
{
	struct picture p;
	FILE *out = open_text();

	(void)state;
	assert_int_equal(picture_init(&p, history, SMALL_BEGIN, SMALL_END, 20, PICTURE_CPUS, NULL),
			 0);
	picture_print(&p, out, true);
	fclose(out);
	picture_release(&p);
	assert_non_null(strstr(text, "\u258c"));
	assert_non_null(strstr(text, "\u2588"));
	assert_non_null(strstr(text, "\033[38;5;71m"));
}

static void svg_is_self_contained_and_safe(void **state)
{
	struct picture p;
	FILE *out = open_text();

	(void)state;
	assert_int_equal(picture_init(&p, history, SMALL_BEGIN, SMALL_END, 400,
				      PICTURE_CPUS | PICTURE_MACHINES | PICTURE_VCPUS, NULL),
			 0);
	picture_svg(&p, out);
	fclose(out);
	picture_release(&p);
	assert_true(!strncmp(text, "<svg ", 5));
	assert_non_null(strstr(text, "</svg>\n"));
	assert_int_equal(count_of("<rect"),
			 count_of("</rect>") + count_of("\"/>") - count_of("<line"));
	/* A thread of a guest calls itself "ESC[31mtask<&>". */
	assert_null(strstr(text, "\033"));
	assert_non_null(strstr(text, "?[31mtask&lt;&amp;&gt;"));
	assert_null(strstr(text, "<script"));
	assert_int_equal(count_of("http"), 1); /* the name of the SVG name space */
}

static void marks_on_the_axis(void **state)
{
	struct picture p = {.begin = 0, .end = NS_PER_SEC, .width = 1000};

	(void)state;
	assert_int_equal(picture_step(&p, 100), 100000000);
	assert_int_equal(picture_step(&p, 101), 200000000);
	assert_int_equal(picture_step(&p, 300), 500000000);
	assert_int_equal(picture_step(&p, 501), NS_PER_SEC);
}

/* ---- what the outermost machine is --------------------------------------------------------- */

static const char *says_hypervisor; /* "": nothing */

static void identities(struct history_writer *w)
{
	static const struct column columns[] = {
		{"machine", COL_INT}, {"key", COL_STRING}, {"value", COL_STRING}};
	int64_t row[] = {0, small_string(w, "hypervisor"), small_string(w, says_hypervisor)};

	if (*says_hypervisor)
		history_writer_row(w, history_writer_table(w, "identity", columns, 3), row);
}

static void nothing_calls_a_machine_physical_but_itself(void **state)
{
	static const char *const cases[][3] = {
		{"", "host", "CPUs of host0"},
		{"none", "physical machine", "Physical CPUs"},
		{"kvm", "itself a VM (kvm)", "vCPUs of host0"},
		{"unknown", "itself a VM (host unknown)", "vCPUs of host0"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sonde_history *of;
		char file[64], kind[80], cpus[80];

		(void)state;
		says_hypervisor = cases[i][0];
		assert_int_equal(small_history_write_with(file, 0, identities), 0);
		assert_int_equal(sonde_history_open(&of, file, NULL), 0);
		machine_kind_text(of, 0, true, kind, sizeof(kind));
		outermost_cpus_text(of, cpus, sizeof(cpus));
		assert_string_equal(kind, cases[i][1]);
		assert_string_equal(cpus, cases[i][2]);
		machine_kind_text(of, VM_A, true, kind, sizeof(kind));
		assert_string_equal(kind, "VM");
		sonde_history_close(of);
		unlink(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_calls_a_machine_physical_but_itself),
		cmocka_unit_test(json_layout),
		cmocka_unit_test(json_text_is_always_utf8),
		cmocka_unit_test(names_are_made_safe),
		cmocka_unit_test(csv_holds_no_formulas),
		cmocka_unit_test(rows_as_json),
		cmocka_unit_test(rows_as_text),
		cmocka_unit_test(processes_without_a_name),
		cmocka_unit_test(machines_rows_add_up_to_the_physical_ones),
		cmocka_unit_test(letters_tell_the_modes),
		cmocka_unit_test(colour_uses_half_blocks),
		cmocka_unit_test(svg_is_self_contained_and_safe),
		cmocka_unit_test(marks_on_the_axis),
	};

	return cmocka_run_group_tests(tests, small_history_setup, teardown);
}
