/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits, wake-ups, steal and each vCPU's time, on a history made by hand.  vm-a/0, in ns:
 *
 *	1000000 app runs
 *	1100000 halts; 1110000 asleep; 1200000 woken, for vector 40; 1230000 has a CPU; 1250000 goes
 *		on in its kernel, which makes app ready at 1260000; 1280000 app runs
 *	1300000 preempted by burn; 1350000 the CPU idles, and it may not run until 1400000
 *	1500000 halts; its hypervisor polls; a timer, 1520000 (it has no CPU from 1505000 to 1510000)
 *	1600000 halts, and goes on at once, 1605000
 *	1700000 halts; 1710000 asleep, until the end
 *
 * Its guest's count of stolen time, in 100 us: 5 at 1290000, 6 at 1450000.
 */
#include "tests/unit/unit.h"

#include "analysis/sched/cpu_users.h"
#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

#include <errno.h>

enum { W_TIMER, W_DISK, W_NONE, W_DARK, W_LOST };

static const char *disk_evidence = "its guest"; /* how it was found what the disk's vector is */
static int64_t app_ready = THREAD_RUNNABLE;	/* its thread's state from its wake-up on */
static int64_t app_before = THREAD_SLEEPING;	/* ... and just before it */
static uint32_t app_waker;			/* who is seen to wake it; 0 nobody */
static bool says_lost = true;			/* the table "wake" has a column for it */

static void changes(struct history_writer *w)
{
	attr_t runs = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t on = small_attr(w, "vm-a", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t task = small_attr(w, "vm-a", "cpu0", "task", ATTR_ROW, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	attr_t why_off = small_attr(w, "vm-a", "cpu0", "why_off", ATTR_ENUM, 0);
	attr_t app = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	attr_t kvm_cpu = small_attr(w, "host0", "threads/2", "cpu", ATTR_NUMBER, 0);
	const struct small_change list[] = {
		{1000000, runs, C_APP + 1},
		{1000000, state, VCPU_ON_CPU},
		{1000000, on, 1},
		{1000000, task, APP + 1},
		{1000000, woken, W_TIMER + 1},
		{1000000, kvm_cpu, 1},
		{1000000, app, THREAD_RUNNING},
		{1100000, runs, C_HLT + 1},
		{1100000, woken, 0},
		{1100000, task, IDLE_0 + 1}, /* any idle task: nothing (0) would not be known */
		{1100000, app, THREAD_SLEEPING},
		{1110000, runs, C_IDLE + 1},
		{1110000, state, VCPU_WAITING},
		{1110000, on, 0},
		{1200000, state, VCPU_PREEMPTED},
		{1200000, app, (uint32_t)app_before},
		{1230000, state, VCPU_ON_CPU},
		{1230000, on, 1},
		{1230000, runs, C_HLT + 1},
		{1250000, runs, C_IRQ_OF_A + 1},
		{1250000, woken, W_DISK + 1},
		{1260000, app, app_ready},
		{1260000, waker, app_waker},
		{1280000, app, THREAD_RUNNING},
		{1280000, task, APP + 1},
		{1280000, runs, C_APP + 1},
		{1300000, state, VCPU_PREEMPTED},
		{1300000, on, 0},
		{1300000, why_off, OFF_SLICE},
		{1300000, runs, C_BURN_USER + 1},
		{1350000, why_off, OFF_QUOTA},
		{1350000, runs, C_IDLE + 1},
		{1400000, state, VCPU_ON_CPU},
		{1400000, on, 1},
		{1400000, runs, C_APP + 1},
		{1500000, runs, C_HLT + 1},
		{1500000, woken, 0},
		{1505000, state, VCPU_PREEMPTED},
		{1505000, why_off, OFF_SLICE},
		{1506000, why_off, OFF_THROTTLED},
		{1509000, why_off, OFF_READY},
		{1510000, state, VCPU_ON_CPU},
		{1520000, runs, C_APP + 1},
		{1520000, woken, W_TIMER + 1},
		{1600000, runs, C_HLT + 1},
		{1600000, woken, 0},
		{1605000, runs, C_APP + 1},
		{1605000, woken, W_NONE + 1},
		{1700000, runs, C_HLT + 1},
		{1700000, woken, 0},
		{1710000, state, VCPU_WAITING},
		{1710000, on, 0},
		{1710000, runs, C_IDLE + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/* The other CPU idles: verdicts are about all of them. */
static void changes_of_both_cpus(struct history_writer *w)
{
	history_writer_set(w, small_attr(w, "host0", "cpu1", "runs", ATTR_ROW, ATTR_SUMMED),
			   1000000, C_IDLE + 1);
	changes(w);
}

static void wakes(struct history_writer *w)
{
	static const struct column wake_columns[] = {{"cpu", COL_INT},	  {"cause", COL_INT},
						     {"vector", COL_INT}, {"from_cpu", COL_INT},
						     {"by", COL_INT},	  {"evidence", COL_STRING},
						     {"lost", COL_BOOL}};
	static const struct column vector_columns[] = {{"cpu", COL_INT},	{"vector", COL_INT},
						       {"cause", COL_INT},	{"irq", COL_STRING},
						       {"times", COL_INT},	{"agree", COL_INT},
						       {"evidence", COL_STRING}};
	const char *lost = says_lost ? "a loss" : "events were lost before it was seen to end";
	int64_t rows[][7] = {
		{VM_A_0, WAKE_TIMER, 236, 0, -1, small_string(w, "a timer"), false},
		{VM_A_0, WAKE_DEVICE, 40, 0, BURN, small_string(w, "a thread"), false},
		{VM_A_0, WAKE_NONE, -1, 0, -1, small_string(w, "at once"), false},
		{VM_AN_0, WAKE_UNKNOWN, 236, 0, -1, small_string(w, "its entry"), false},
		{VM_A_0, WAKE_UNKNOWN, -1, 0, -1, small_string(w, lost), true},
	};
	int64_t vector[] = {VM_A_0,
			    40,
			    WAKE_DISK,
			    small_string(w, "virtio1-req.0"),
			    9,
			    9,
			    small_string(w, disk_evidence)};
	int table = history_writer_table(w, "wake", wake_columns, says_lost ? 7 : 6);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		history_writer_row(w, table, rows[i]);
	history_writer_row(w, history_writer_table(w, "vector", vector_columns, 7), vector);
}

static void stats(struct history_writer *w)
{
	static const struct column columns[] = {{"machine", COL_INT},  {"at", COL_NS},
						{"cause", COL_STRING}, {"cpu", COL_INT},
						{"hz", COL_INT},       {"steal", COL_INT}};
	int64_t rows[][6] = {{VM_A, 1290000, small_string(w, "start"), 0, 10000, 5},
			     {VM_A, 1450000, small_string(w, "end"), 0, 10000, 6}};
	int table = history_writer_table(w, "stat", columns, 6);

	history_writer_row(w, table, rows[0]);
	history_writer_row(w, table, rows[1]);
}

/*
 * Another history.  vm-a/0 waits for a timer until 1200000 and is entered at 1210000; its first
 * interrupt wakes nobody, the second one, from 1300000 on with an exit in between, wakes app.  At
 * 1500000 it halts, is entered at 1610000, and its first interrupt wakes app, again with an exit in
 * between.  From 1700000 on another thread runs there; the interrupt from 1800000 on wakes app,
 * which runs at 1860000.
 *
 * A nested vCPU of which only L0 tells: waits from 1100000, its host goes on from 1150000 to
 * 1160000, and from 1250000 on; it is entered at 1290000.
 */
static void late_changes(struct history_writer *w)
{
	attr_t runs = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t on = small_attr(w, "vm-a", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t task = small_attr(w, "vm-a", "cpu0", "task", ATTR_ROW, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	attr_t app = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	attr_t dark = small_attr(w, "vm-a-n", "cpu0", "state", ATTR_ENUM, 0);
	attr_t dark_woken = small_attr(w, "vm-a-n", "cpu0", "woken", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, runs, C_IDLE + 1},
		{1000000, state, VCPU_ON_CPU},
		{1000000, on, 1},
		{1000000, task, IDLE_0 + 1},
		{1000000, woken, W_TIMER + 1},
		{1000000, app, THREAD_SLEEPING},
		{1000000, waker, C_IRQ_OF_A + 1},
		{1000000, dark, VCPU_ON_CPU},
		{1000000, dark_woken, W_TIMER + 1},
		{1100000, woken, 0},
		{1100000, state, VCPU_WAITING},
		{1100000, dark, VCPU_WAITING},
		{1100000, dark_woken, 0},
		{1150000, dark, VCPU_UNKNOWN},
		{1160000, dark, VCPU_WAITING},
		{1200000, state, VCPU_PREEMPTED},
		{1205000, state, VCPU_ON_CPU},
		{1205000, runs, C_HLT + 1},
		{1210000, woken, W_TIMER + 1},
		{1220000, runs, C_IRQ_OF_A + 1},
		{1230000, runs, C_APP + 1}, /* its idle task, say: no handler */
		{1250000, dark, VCPU_UNKNOWN},
		{1290000, dark, VCPU_ON_CPU},
		{1290000, dark_woken, W_DARK + 1},
		{1300000, runs, C_IRQ_OF_A + 1},
		{1310000, runs, C_INTR + 1},
		{1320000, runs, C_IRQ_OF_A + 1},
		{1330000, app, THREAD_RUNNABLE},
		{1340000, app, THREAD_RUNNING},
		{1340000, task, APP + 1},
		{1340000, runs, C_APP + 1},
		{1500000, runs, C_IDLE + 1},
		{1500000, task, IDLE_0 + 1},
		{1500000, app, THREAD_SLEEPING},
		{1500000, woken, 0},
		{1500000, state, VCPU_WAITING},
		{1600000, state, VCPU_ON_CPU},
		{1600000, runs, C_HLT + 1},
		{1610000, woken, W_TIMER + 1},
		{1620000, runs, C_IRQ_OF_A + 1},
		{1630000, runs, C_INTR + 1},
		{1640000, runs, C_IRQ_OF_A + 1},
		{1650000, app, THREAD_RUNNABLE},
		{1660000, app, THREAD_RUNNING},
		{1660000, task, APP + 1},
		{1660000, runs, C_APP + 1},
		{1700000, app, THREAD_SLEEPING},
		{1700000, task, KVM_AN + 1},
		{1800000, runs, C_IRQ_OF_A + 1},
		{1805000, runs, C_INTR + 1},
		{1810000, runs, C_IRQ_OF_A + 1},
		{1820000, app, THREAD_RUNNABLE},
		{1830000, runs, C_APP + 1}, /* the other thread, say */
		{1860000, app, THREAD_RUNNING},
		{1860000, task, APP + 1},
		/* It loses the vCPU, and goes on: nobody woke it. */
		{1900000, app, THREAD_RUNNABLE},
		{1900000, task, KVM_AN + 1},
		{1910000, runs, C_IRQ_OF_A + 1},
		{1920000, runs, C_APP + 1},
		{1930000, app, THREAD_RUNNING},
		{1930000, task, APP + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/* A third one.  vm-a/0 halts at 1100000 and sleeps from 1110000 on; from 1200000 on events of it
 * are lost. */
static void lost_changes(struct history_writer *w)
{
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, state, VCPU_ON_CPU},
		{1000000, woken, W_TIMER + 1},
		{1100000, woken, 0},
		{1110000, state, VCPU_WAITING},
		{1200000, state, VCPU_UNKNOWN},
		{1200000, woken, W_LOST + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/* A fourth one.  vm-a/0 is woken three times: at 1200000, and events are lost before it has a CPU;
 * at 1450000, and they are before it is entered; at 1700000, and where its CPU is is not known for
 * a while, but nothing is lost. */
static void host_losses(struct history_writer *w)
{
	static const struct column columns[] = {{"machine", COL_INT},
						{"cpu", COL_INT},
						{"begin", COL_NS},
						{"end", COL_NS},
						{"events", COL_INT}};
	/* As they were noticed; that of the VM's own trace is in no wake-up. */
	int64_t rows[][5] = {{VM_A, 0, 1550000, 1560000, 3},
			     {HOST, 1, 1480000, 1500000, 2},
			     {HOST, 0, 1220000, 1300000, -1}};
	int table = history_writer_table(w, "loss", columns, 5);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		history_writer_row(w, table, rows[i]);
}

static void lost_way_changes(struct history_writer *w)
{
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, state, VCPU_ON_CPU},
		{1000000, woken, W_TIMER + 1},
		{1100000, woken, 0},
		{1110000, state, VCPU_WAITING},
		{1200000, state, VCPU_PREEMPTED},
		{1220000, state, VCPU_UNKNOWN},
		{1300000, state, VCPU_ON_CPU},
		{1310000, woken, W_TIMER + 1},
		{1400000, woken, 0},
		{1410000, state, VCPU_WAITING},
		{1450000, state, VCPU_PREEMPTED},
		{1460000, state, VCPU_ON_CPU},
		{1480000, state, VCPU_UNKNOWN},
		{1480000, woken, W_TIMER + 1},
		{1500000, state, VCPU_ON_CPU},
		{1600000, woken, 0},
		{1610000, state, VCPU_WAITING},
		{1700000, state, VCPU_PREEMPTED},
		{1705000, state, VCPU_UNKNOWN},
		{1710000, state, VCPU_ON_CPU},
		{1730000, woken, W_TIMER + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/* A fifth one.  While another thread runs on vm-a/0, app is woken twice by handlers that took long:
 * one from 1100000 on, in which the host was at work, too, and one from 1600000 on, right after the
 * host. */
static void far_changes(struct history_writer *w)
{
	attr_t runs = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t on = small_attr(w, "vm-a", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t task = small_attr(w, "vm-a", "cpu0", "task", ATTR_ROW, 0);
	attr_t app = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, runs, C_APP + 1}, /* the other thread, say */
		{1000000, on, 1},
		{1000000, task, KVM_AN + 1},
		{1000000, app, THREAD_SLEEPING},
		{1000000, waker, C_IRQ_OF_A + 1},
		{1100000, runs, C_IRQ_OF_A + 1},
		{1300000, runs, C_INTR + 1},
		{1310000, runs, C_IRQ_OF_A + 1},
		{1400000, app, THREAD_RUNNABLE},
		{1420000, runs, C_APP + 1},
		{1450000, app, THREAD_RUNNING},
		{1450000, task, APP + 1},
		{1500000, app, THREAD_SLEEPING},
		{1500000, task, KVM_AN + 1},
		{1580000, runs, C_INTR + 1},
		{1600000, runs, C_IRQ_OF_A + 1},
		{1790000, app, THREAD_RUNNABLE},
		{1800000, runs, C_APP + 1},
		{1850000, app, THREAD_RUNNING},
		{1850000, task, APP + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/* A sixth one.  Of vm-a/0 nothing is known until its thread is woken, at 1100000. */
static void woken_changes(struct history_writer *w)
{
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, state, VCPU_UNKNOWN},	  {1000000, woken, W_TIMER + 1},
		{1100000, state, VCPU_PREEMPTED}, {1100000, woken, 0},
		{1150000, state, VCPU_ON_CPU},	  {1170000, woken, W_TIMER + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

/*
 * A seventh one, of a nested vCPU: its thread is made ready by vm-a/0, which had to be woken
 * itself. That is at 1150000, for 1180000; where vm-a/0 is, is not known for a while before that
 * thread has a CPU, at 1310000.  And at 1700000, for 1740000.
 */
static void below_changes(struct history_writer *w)
{
	attr_t state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t task = small_attr(w, "vm-a", "cpu0", "task", ATTR_ROW, 0);
	attr_t woken = small_attr(w, "vm-a", "cpu0", "woken", ATTR_ROW, 0);
	attr_t kvm = small_attr(w, "vm-a", "threads/5", "state", ATTR_ENUM, 0);
	attr_t nested = small_attr(w, "vm-a-n", "cpu0", "state", ATTR_ENUM, 0);
	attr_t entered = small_attr(w, "vm-a-n", "cpu0", "woken", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, state, VCPU_ON_CPU},
		{1000000, woken, W_TIMER + 1},
		{1000000, task, KVM_AN + 1},
		{1000000, kvm, THREAD_RUNNING},
		{1000000, nested, VCPU_ON_CPU},
		{1000000, entered, W_DARK + 1},
		{1050000, nested, VCPU_WAITING},
		{1050000, entered, 0},
		{1050000, kvm, THREAD_SLEEPING},
		{1050000, task, IDLE_0 + 1},
		{1100000, state, VCPU_WAITING},
		{1100000, woken, 0},
		{1150000, state, VCPU_PREEMPTED},
		{1160000, state, VCPU_ON_CPU},
		{1170000, woken, W_TIMER + 1},
		{1180000, kvm, THREAD_RUNNABLE},
		{1180000, nested, VCPU_PREEMPTED},
		{1220000, state, VCPU_UNKNOWN},
		{1300000, state, VCPU_ON_CPU},
		{1310000, kvm, THREAD_RUNNING},
		{1310000, task, KVM_AN + 1},
		{1310000, nested, VCPU_ON_CPU},
		{1330000, entered, W_DARK + 1},
		{1600000, nested, VCPU_WAITING},
		{1600000, entered, 0},
		{1600000, kvm, THREAD_SLEEPING},
		{1600000, task, IDLE_0 + 1},
		{1610000, state, VCPU_WAITING},
		{1610000, woken, 0},
		{1700000, state, VCPU_PREEMPTED},
		{1710000, state, VCPU_ON_CPU},
		{1720000, woken, W_TIMER + 1},
		{1740000, kvm, THREAD_RUNNABLE},
		{1740000, nested, VCPU_PREEMPTED},
		{1800000, kvm, THREAD_RUNNING},
		{1800000, task, KVM_AN + 1},
		{1800000, nested, VCPU_ON_CPU},
		{1820000, entered, W_DARK + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

static int setup_world(void (*changes_of)(struct history_writer *w), int64_t of_nested)
{
	const struct small_world world = {
		.options.ticks_are_ns = true,
		.of_nested = of_nested,
		.changes = changes_of,
		.tables = {wakes, stats, host_losses},
	};

	return small_world_setup(&world);
}

static int setup(void **state)
{
	(void)state;
	return setup_world(changes, KVM_AN);
}

static int setup_late(void **state)
{
	(void)state;
	return setup_world(late_changes, -1);
}

static int setup_lost(void **state)
{
	(void)state;
	return setup_world(lost_changes, -1);
}

static int setup_lost_in_words(void **state)
{
	says_lost = false;
	return setup_lost(state);
}

static int setup_unseen(void **state)
{
	app_ready = THREAD_UNKNOWN;
	return setup(state);
}

static int setup_unseen_before(void **state)
{
	app_ready = THREAD_RUNNABLE;
	app_before = THREAD_UNKNOWN;
	return setup(state);
}

static int setup_seen_again(void **state)
{
	app_waker = C_IRQ_OF_A + 1;
	return setup_unseen_before(state);
}

static int setup_lost_way(void **state)
{
	(void)state;
	return setup_world(lost_way_changes, -1);
}

static int setup_woken(void **state)
{
	(void)state;
	return setup_world(woken_changes, -1);
}

static int setup_far(void **state)
{
	(void)state;
	return setup_world(far_changes, -1);
}

static int setup_below(void **state)
{
	(void)state;
	return setup_world(below_changes, KVM_AN);
}

/* ---- asking --------------------------------------------------------------------------------- */

static struct sonde_rows *rows_of(const char *name, int64_t begin, int64_t end)
{
	struct sonde_error err = {0};
	struct sonde_rows *f;

	assert_int_equal(sonde_rows_get(&f, history, name, begin, end, &err), 0);
	return f;
}

static union sonde_cell cell(const struct sonde_rows *f, size_t row, const char *column)
{
	int c = sonde_rows_column(f, column);

	assert_true(c >= 0 && row < sonde_rows_nr(f));
	return sonde_rows_cell(f, row, (unsigned)c);
}

static void assert_row(const struct sonde_rows *f, size_t row, const char *const *columns,
		       const int64_t *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (cell(f, row, columns[i]).i != values[i])
			print_error("%s\n", columns[i]);
		assert_int_equal(cell(f, row, columns[i]).i, values[i]);
	}
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void what_a_wake_row_says_in_the_end(void **state)
{
	struct sonde_wake w;

	(void)state;
	assert_int_equal(sonde_wake_get(history, W_DISK, &w), 0);
	assert_int_equal(w.cause, SONDE_CAUSE_DISK);
	assert_string_equal(w.irq, "virtio1-req.0");
	assert_string_equal(w.evidence, "its guest");
	assert_int_equal(w.by, BURN);
	assert_int_equal(sonde_wake_get(history, W_TIMER, &w), 0);
	assert_int_equal(w.cause, SONDE_CAUSE_TIMER);
	assert_string_equal(w.irq, "");
	assert_int_equal(sonde_wake_get(history, W_LOST + 1, &w), -ENOENT);
}

static void each_wait_has_its_cause(void **state)
{
	static const char *const columns[] = {"at",	   "length", "vector", "polled",
					      "run_delay", "entry",  "until"};
	static const int64_t rows[][ARRAY_SIZE(columns)] = {
		{1110000, 90000, 40, false, 30000, 20000, 1250000},
		{1500000, 15000, 236, true, 0, 0, 1520000},
		{1710000, 290000, -1, false, -1, -1, 2000000}};
	static const char *const causes[] = {"disk", "timer", "unknown"};
	struct sonde_rows *f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_row(f, i, columns, rows[i], ARRAY_SIZE(columns));
		assert_string_equal(cell(f, i, "cause").s, causes[i]);
	}
	sonde_rows_free(f);
}

/* Windows that lie next to each other add up; a cause is known even where the window ends before.
 */
static void a_window_cuts_waits(void **state)
{
	struct sonde_rows *f = rows_of("wait", 1000000, 1150000);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "total").i, 40000);
	assert_string_equal(cell(f, 0, "cause").s, "disk");
	sonde_rows_free(f);
	f = rows_of("wait", 1150000, 2000000);
	assert_int_equal(sonde_rows_nr(f), 3);
	assert_int_equal(cell(f, 1, "total").i, 50000);
	assert_string_equal(cell(f, 1, "cause").s, "disk");
	sonde_rows_free(f);
}

/* It halts at 1100000 and sleeps from 1110000 on: a window that ends in between has no wait. */
static void a_wait_begins_with_its_sleep(void **state)
{
	static const char *const lists[] = {"wait", "wait_list"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct sonde_rows *f = rows_of(lists[i], 1050000, 1110000);

		assert_int_equal(sonde_rows_nr(f), 0);
		sonde_rows_free(f);
		f = rows_of(lists[i], 1050000, 1110001);
		assert_int_equal(sonde_rows_nr(f), 1);
		sonde_rows_free(f);
	}
	/* One that polls and never sleeps begins at once. */
	struct sonde_rows *f = rows_of("wait", 1490000, 1501000);

	assert_int_equal(sonde_rows_nr(f), 1);
	sonde_rows_free(f);
}

static void a_vcpus_time_adds_up(void **state)
{
	static const char *const columns[] = {"total",	   "user",	"kernel",
					      "halting",   "wait_disk", "queued",
					      "preempted", "throttled", "wait_unknown"};
	static const int64_t values[] = {1000000, 395000, 30000,  60000, 90000,
					 31000,	  1000,	  103000, 290000};
	static const int64_t windows[][2] = {
		{1000000, 2000000}, {1000000, 1000001}, {1115000, 1255000}, {1234567, 1765432}};
	struct sonde_rows *f = rows_of("vcpu_state", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(cell(f, 0, "vcpu").i, VM_A_0);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	sonde_rows_free(f);
	for (size_t w = 0; w < ARRAY_SIZE(windows); w++) {
		int64_t sum = 0;

		f = rows_of("vcpu_state", windows[w][0], windows[w][1]);
		for (unsigned c = 2; c < sonde_rows_table(f)->nr_columns; c++) {
			if (sonde_rows_table(f)->columns[c].type == SONDE_COL_NS)
				sum += sonde_rows_cell(f, 0, c).i;
		}
		assert_int_equal(sum, windows[w][1] - windows[w][0]);
		assert_int_equal(cell(f, 0, "total").i, sum);
		sonde_rows_free(f);
	}
}

static void a_wakeup_step_by_step(void **state)
{
	static const char *const columns[] = {"at",	     "total",		"level",
					      "host_wakeup", "run_delay",	"entry",
					      "guest",	     "guest_run_delay", "thread"};
	static const int64_t values[] = {1200000, 80000, 1, 0, 30000, 20000, 10000, 20000, APP};
	struct sonde_rows *f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	sonde_rows_free(f);
	f = rows_of("wakeup_histogram", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "from").i, 65536);
	assert_int_equal(cell(f, 0, "to").i, 131072);
	assert_int_equal(cell(f, 0, "count").i, 1);
	sonde_rows_free(f);
}

/* The vCPU had been woken for an interrupt before, and was awake still. */
static void a_wakeup_begins_with_its_own_interrupt(void **state)
{
	static const char *const columns[] = {"at",	     "total",		"level",
					      "host_wakeup", "run_delay",	"entry",
					      "guest",	     "guest_run_delay", "thread"};
	static const int64_t late[] = {1300000, 40000, 1, 0, 0, 0, 30000, 10000, APP};
	static const int64_t own[] = {1600000, 60000, 1, 0, 0, 10000, 40000, 10000, APP};
	struct sonde_rows *f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 3); /* one is the nested vCPU's */
	assert_row(f, 0, columns, own, ARRAY_SIZE(columns));
	assert_int_equal(cell(f, 1, "at").i, late[0]);
	assert_row(f, 1, columns, late, ARRAY_SIZE(columns));
	sonde_rows_free(f);
}

/* Nobody halted: no wait tells of it. */
static void a_thread_is_woken_while_its_vcpu_is_awake(void **state)
{
	static const char *const columns[] = {"at",    "total",		  "vcpu",  "level",
					      "guest", "guest_run_delay", "thread"};
	static const int64_t values[] = {1800000, 60000, VM_A_0, 1, 20000, 40000, APP};
	struct sonde_rows *f = rows_of("wakeup_awake_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	sonde_rows_free(f);
	f = rows_of("wakeup_awake", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "count").i, 1);
	assert_int_equal(cell(f, 0, "mean").i, 60000);
	assert_int_equal(cell(f, 0, "longest_at").i, 1800000);
	sonde_rows_free(f);
	f = rows_of("wakeup_awake_list", SMALL_BEGIN, 1860000);
	assert_int_equal(sonde_rows_nr(f), 0);
	sonde_rows_free(f);
}

static void handlers_that_took_long(void **state)
{
	static const char *const columns[] = {"at", "total", "guest", "guest_run_delay", "thread"};
	static const int64_t rows[][ARRAY_SIZE(columns)] = {{1100000, 350000, 300000, 50000, APP},
							    {1600000, 250000, 190000, 60000, APP}};
	struct sonde_rows *f = rows_of("wakeup_awake_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(f, i, columns, rows[i], ARRAY_SIZE(columns));
	sonde_rows_free(f);
}

/* What a history holds of attributes is room for those of CPUs: of a hundred thousand threads that
 * were woken nothing stays. */
static void wakeups_leave_no_threads_in_a_runs_cache(void **state)
{
	static const char *const names[] = {"wakeup_list", "wakeup_awake_list"};
	struct cpu_users *users;
	struct sonde_history *again;

	(void)state;
	assert_int_equal(sonde_history_again(&again, history, NULL), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct sonde_rows *f;

		assert_int_equal(sonde_rows_get(&f, again, names[i], SMALL_BEGIN, SMALL_END, NULL),
				 0);
		assert_true(sonde_rows_nr(f) > 0);
		sonde_rows_free(f);
	}
	assert_int_equal(cpu_users_get(&users, again), 0);
	assert_non_null(map_get(&users->cache.by_attr, again->cpu_attrs[VM_A_0][CPU_TASK]));
	assert_null(map_get(&users->cache.by_attr, sonde_attr_of_thread(again, APP, "state")));
	sonde_history_close(again);
}

/* What it waited goes on where it turns out not to have been woken; its thread is not seen. */
static void a_nested_vcpu_that_only_l0_saw(void **state)
{
	static const char *const columns[] = {"at",	   "length", "vector",
					      "run_delay", "entry",  "until"};
	static const int64_t values[] = {1100000, 150000, 236, -1, 40000, 1290000};
	struct sonde_rows *f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);
	size_t row = sonde_rows_nr(f) - 1;

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 3);
	assert_int_equal(cell(f, row, "vcpu").i, VM_AN_0);
	assert_row(f, row, columns, values, ARRAY_SIZE(columns));
	sonde_rows_free(f);
	f = rows_of("wakeup_list", 1200000, 1300000);
	assert_int_equal(sonde_rows_nr(f), 1 + 1);
	sonde_rows_free(f);
	f = rows_of("steal", SMALL_BEGIN, SMALL_END);
	for (row = 0; row < sonde_rows_nr(f); row++)
		assert_int_not_equal(cell(f, row, "vcpu").i, VM_AN_0);
	sonde_rows_free(f);
}

/* How it went on is not known: neither that it was woken nor that it was entered. */
static void a_wait_of_which_events_were_lost(void **state)
{
	static const char *const columns[] = {"at",	   "length", "vector",
					      "run_delay", "entry",  "until"};
	static const int64_t values[] = {1110000, 90000, -1, -1, -1, 1200000};
	struct sonde_rows *f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	assert_string_equal(cell(f, 0, "cause").s, "unknown");
	sonde_rows_free(f);
	f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 0);
	sonde_rows_free(f);
}

/* When the guest's thread was woken is not known, so neither whether the vCPU was for it. */
static void a_thread_whose_wakeup_was_not_seen(void **state)
{
	struct sonde_rows *f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 0);
	sonde_rows_free(f);
	f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 3);
	sonde_rows_free(f);
}

/* Nothing was known of it before, but then it was seen to be woken. */
static void a_thread_that_is_seen_to_be_woken(void **state)
{
	static const char *const columns[] = {"at", "guest", "guest_run_delay"};
	static const int64_t values[] = {1200000, 10000, 20000};
	struct sonde_rows *f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	sonde_rows_free(f);
}

/* It slept, since when is not known; it did not poll, as it had no CPU. */
static void a_wait_that_is_seen_from_its_end_on(void **state)
{
	static const char *const columns[] = {"at",	   "length", "polled",
					      "run_delay", "entry",  "until"};
	static const int64_t values[] = {1100000, 0, false, 50000, 20000, 1170000};
	struct sonde_rows *f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_row(f, 0, columns, values, ARRAY_SIZE(columns));
	assert_string_equal(cell(f, 0, "cause").s, "timer");
	sonde_rows_free(f);
}

/* When it began is that of the host's wake-up: where that one is not known, neither is this one. */
static void a_nested_wakeup_begins_with_its_hosts(void **state)
{
	static const char *const columns[] = {"at",	     "total",	  "vcpu",
					      "host_wakeup", "run_delay", "entry"};
	static const int64_t nested[] = {1700000, 120000, VM_AN_0, 40000, 60000, 20000};
	static const int64_t host[] = {1700000, 100000, VM_A_0, 0, 10000, 10000};
	struct sonde_rows *f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 2);
	assert_row(f, 0, columns, nested, ARRAY_SIZE(columns));
	assert_row(f, 1, columns, host, ARRAY_SIZE(columns));
	sonde_rows_free(f);
}

/* That it was woken is known, and by what; when it ran is not. */
static void a_wakeup_within_which_events_were_lost(void **state)
{
	static const char *const columns[] = {"at", "length", "run_delay", "entry", "until"};
	static const int64_t waits[][ARRAY_SIZE(columns)] = {
		{1110000, 90000, -1, -1, 1310000},
		{1410000, 40000, -1, -1, 1480000},
		{1610000, 90000, 10000, 20000, 1730000}};
	struct sonde_rows *f = rows_of("wait_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), ARRAY_SIZE(waits));
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		assert_row(f, i, columns, waits[i], ARRAY_SIZE(columns));
		assert_string_equal(cell(f, i, "cause").s, "timer");
	}
	sonde_rows_free(f);
	f = rows_of("wakeup_list", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "at").i, 1700000);
	sonde_rows_free(f);
	f = rows_of("wakeup", SMALL_BEGIN, SMALL_END);
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "count").i, 1);
	assert_int_equal(cell(f, 0, "longest").i, 30000);
	sonde_rows_free(f);
}

static void steal_is_held_against_the_guests_own(void **state)
{
	static const char *const columns[] = {"from",  "length", "guest", "unit",
					      "steal", "queued", "slice", "throttled"};
	static const int64_t between[] = {1290000, 160000, 100000, 100000, 100000, 0, 0, 100000};
	static const int64_t without[] = {1000000, 290000, -1, -1, 30000, 30000, 0, 0};
	struct sonde_rows *f = rows_of("steal", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_row(f, 0, columns, between, ARRAY_SIZE(columns));
	sonde_rows_free(f);
	f = rows_of("steal", SMALL_BEGIN, 1290000);
	assert_row(f, 0, columns, without, ARRAY_SIZE(columns));
	sonde_rows_free(f);
}

static void why_a_vcpu_was_off(void **state)
{
	/* A quota that an idle CPU shows counts from the begin on; one that the kernel tells of,
	 * from then on, and no longer than that. */
	static const char *const why[] = {"queued", "throttled", "throttled",
					  "slice",  "throttled", "queued"};
	struct sonde_rows *f = rows_of("preemption_list", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), ARRAY_SIZE(why));
	for (size_t i = 0; i < ARRAY_SIZE(why); i++)
		assert_string_equal(cell(f, i, "why").s, why[i]);
	assert_int_equal(cell(f, 4, "at").i, 1506000);
	assert_int_equal(cell(f, 4, "length").i, 3000);
	sonde_rows_free(f);
}

/* What is said of the wait for a disk. */
static void assert_told(const char *evidence, bool as_guess)
{
	struct sonde_rows *f;
	bool found = false;

	disk_evidence = evidence;
	assert_int_equal(setup_world(changes_of_both_cpus, KVM_AN), 0);
	f = rows_of("why", SMALL_BEGIN, SMALL_END);
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		const char *text = cell(f, row, "text").s;

		if (strcmp(cell(f, row, "kind").s, "wait") || !strstr(text, "for a disk"))
			continue;
		found = true;
		assert_int_equal(strstr(text, ", probably for a disk") != NULL, as_guess);
		assert_int_equal(strstr(text, " That is inferred: ") && strstr(text, evidence),
				 as_guess);
	}
	sonde_rows_free(f);
	small_history_teardown(NULL);
	disk_evidence = "its guest";
	assert_true(found);
}

/* What happened just before, and what most of a vector's interrupts were, are no more than
 * guesses. */
static void guesses_are_told_as_guesses(void **state)
{
	(void)state;
	assert_told("the interrupt followed the end of a block request", true);
	assert_told("the interrupt followed the work of a thread of the VMM's pool", true);
	assert_told("what a thread of the VMM's pool did before the interrupts", true);
	assert_told("what came before the interrupts in its host", true);
	assert_told("the handler that its guest ran", false);
	assert_told("a thread of the VMM sent the interrupt", false);
	assert_told("what its nested entry gave it", false);
}

int main(void)
{
	const struct CMUnitTest guesses[] = {
		cmocka_unit_test(guesses_are_told_as_guesses),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_wake_row_says_in_the_end),
		cmocka_unit_test(each_wait_has_its_cause),
		cmocka_unit_test(a_window_cuts_waits),
		cmocka_unit_test(a_wait_begins_with_its_sleep),
		cmocka_unit_test(a_vcpus_time_adds_up),
		cmocka_unit_test(a_wakeup_step_by_step),
		cmocka_unit_test(steal_is_held_against_the_guests_own),
		cmocka_unit_test(why_a_vcpu_was_off),
	};

	const struct CMUnitTest late[] = {
		cmocka_unit_test(a_wakeup_begins_with_its_own_interrupt),
		cmocka_unit_test(a_thread_is_woken_while_its_vcpu_is_awake),
		cmocka_unit_test(wakeups_leave_no_threads_in_a_runs_cache),
		cmocka_unit_test(a_nested_vcpu_that_only_l0_saw),
	};

	const struct CMUnitTest far[] = {
		cmocka_unit_test(handlers_that_took_long),
	};
	const struct CMUnitTest lost[] = {
		cmocka_unit_test(a_wait_of_which_events_were_lost),
	};
	const struct CMUnitTest seen_woken[] = {
		cmocka_unit_test(a_wait_that_is_seen_from_its_end_on),
	};
	const struct CMUnitTest unseen[] = {
		cmocka_unit_test(a_thread_whose_wakeup_was_not_seen),
	};
	const struct CMUnitTest seen_again[] = {
		cmocka_unit_test(a_thread_that_is_seen_to_be_woken),
	};
	const struct CMUnitTest lost_way[] = {
		cmocka_unit_test(a_wakeup_within_which_events_were_lost),
	};
	const struct CMUnitTest below[] = {
		cmocka_unit_test(a_nested_wakeup_begins_with_its_hosts),
	};

	return cmocka_run_group_tests(guesses, NULL, NULL) +
	       cmocka_run_group_tests(tests, setup, small_history_teardown) +
	       cmocka_run_group_tests(late, setup_late, small_history_teardown) +
	       cmocka_run_group_tests(far, setup_far, small_history_teardown) +
	       cmocka_run_group_tests(below, setup_below, small_history_teardown) +
	       cmocka_run_group_tests(lost_way, setup_lost_way, small_history_teardown) +
	       cmocka_run_group_tests(seen_woken, setup_woken, small_history_teardown) +
	       cmocka_run_group_tests(lost, setup_lost, small_history_teardown) +
	       cmocka_run_group_tests(lost, setup_lost_in_words, small_history_teardown) +
	       cmocka_run_group_tests(unseen, setup_unseen, small_history_teardown) +
	       cmocka_run_group_tests(unseen, setup_unseen_before, small_history_teardown) +
	       cmocka_run_group_tests(seen_again, setup_seen_again, small_history_teardown);
}
