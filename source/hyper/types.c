/* SPDX-License-Identifier: Apache-2.0 */
/* What the opcodes of the format are as events: names, kinds, fields. */
#include "source/hyper/reader.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define I(name, slot) {name, slot, SHOWN_INT}
#define U(name, slot) {name, slot, SHOWN_UINT}
#define SYM(name, slot) {name, slot, SHOWN_SYMBOL}
static const struct hyper_plan rows[] = {
	{HYPER_OP_SWITCH, EV_SCHED_SWITCH, "sched_switch", {I("prev_pid", 0), I("next_pid", 1), I("prev_state", 2)}, NULL},
	{HYPER_OP_SEND, EV_SYNC_REQUEST, "hypertrace_send", {U("nr", 0), U("a0", 1), U("a1", 2), U("a2", 3), U("a3", 4)}, NULL},
	{HYPER_OP_SENT, EV_SYNC_ACK, "hypertrace_sent", {U("nr", 0), U("a0", 1), U("a1", 2), U("a2", 3), U("a3", 4)}, NULL},
	{HT_TASK, EV_STATEDUMP_PROCESS, "task", {I("pid", 0), I("tgid", 1)}, NULL},
	{HT_WAKING, EV_SCHED_WAKING, "sched_waking", {I("pid", 0), I("target_cpu", 1)}, NULL},
	{HT_WAKEUP, EV_SCHED_WAKEUP, "sched_wakeup", {I("pid", 0), I("target_cpu", 1)}, NULL},
	{HT_WAKEUP_NEW, EV_SCHED_WAKEUP_NEW, "sched_wakeup_new", {I("pid", 0), I("target_cpu", 1)}, NULL},
	{HT_FORK, EV_FORK, "sched_process_fork", {I("parent_pid", 0), I("child_pid", 1), I("child_tgid", 3)}, NULL},
	{HT_EXEC, EV_EXEC, "sched_process_exec", {I("pid", 0)}, "filename"},
	{HT_EXIT, EV_EXIT, "sched_process_exit", {I("pid", 0)}, NULL},
	{HT_RENAME, EV_RENAME, "task_rename", {I("pid", 0)}, "newcomm"},
	{HT_MIGRATE, EV_SCHED_MIGRATE, "sched_migrate_task", {I("pid", 0), I("orig_cpu", 1), I("dest_cpu", 2)}, NULL},
	{HT_SYSCALL_ENTRY, EV_SYSCALL_ENTRY, "sys_enter", {I("id", 0)}, NULL},
	{HT_SYSCALL_EXIT, EV_SYSCALL_EXIT, "sys_exit", {I("id", 0), I("ret", 1)}, NULL},
	{HT_IRQ_ENTRY, EV_IRQ_ENTRY, "irq_handler_entry", {I("irq", 0)}, NULL},
	{HT_IRQ_EXIT, EV_IRQ_EXIT, "irq_handler_exit", {I("irq", 0)}, NULL},
	{HT_SOFTIRQ_RAISE, EV_SOFTIRQ_RAISE, "softirq_raise", {I("vec", 0)}, NULL},
	{HT_SOFTIRQ_ENTRY, EV_SOFTIRQ_ENTRY, "softirq_entry", {I("vec", 0)}, NULL},
	{HT_SOFTIRQ_EXIT, EV_SOFTIRQ_EXIT, "softirq_exit", {I("vec", 0)}, NULL},
	{HT_VECTOR_ENTRY, EV_VECTOR_ENTRY, "vector_entry", {I("vector", 0)}, NULL},
	{HT_VECTOR_EXIT, EV_VECTOR_EXIT, "vector_exit", {I("vector", 0)}, NULL},
	{HT_HRTIMER_START, EV_HRTIMER_START, "hrtimer_start", {U("hrtimer", 0), I("expires_in_ns", 3)}, NULL},
	{HT_HRTIMER_CANCEL, EV_HRTIMER_CANCEL, "hrtimer_cancel", {U("hrtimer", 0)}, NULL},
	{HT_HRTIMER_EXPIRE_ENTRY, EV_HRTIMER_EXPIRE_ENTRY, "hrtimer_expire_entry", {U("hrtimer", 0)}, NULL},
	{HT_HRTIMER_EXPIRE_EXIT, EV_HRTIMER_EXPIRE_EXIT, "hrtimer_expire_exit", {U("hrtimer", 0)}, NULL},
	{HT_BLOCK_ISSUE, EV_BLOCK_ISSUE, "block_rq_issue", {U("dev", 0), U("sector", 1), U("bytes", 2), U("write", 3)}, NULL},
	{HT_BLOCK_COMPLETE, EV_BLOCK_COMPLETE, "block_rq_complete", {U("dev", 0), U("sector", 1), U("bytes", 2), U("write", 3)}, NULL},
	{HT_NET_SEND, EV_NET_XMIT, "net_dev_xmit", {U("ifindex", 0), U("len", 1)}, NULL},
	{HT_NET_RECEIVE, EV_OTHER, "netif_receive_skb", {U("ifindex", 0), U("len", 1)}, NULL},
	{HT_FUNCTION, EV_OTHER, "function", {SYM("func", 0), U("cycles", 1), U("depth", 2)}, NULL},
	{HT_FUNCTION_ENTRY, EV_OTHER, "function_entry", {SYM("func", 0)}, NULL},
	{HT_FUNCTION_EXIT, EV_OTHER, "function_exit", {SYM("func", 0)}, NULL},
	{HT_MARK, EV_MARK, "mark", {I("kind", 0), U("id", 1)}, "text"},
	{HT_BOOT_LEVEL, EV_INITCALL, "boot_level", {U("level", 0)}, NULL},
	{HT_INITCALL_ENTRY, EV_INITCALL, "initcall_start", {SYM("func", 0)}, NULL},
	{HT_INITCALL_EXIT, EV_INITCALL, "initcall_finish", {SYM("func", 0), I("ret", 1)}, NULL},
	{HT_SHUTDOWN_PHASE, EV_OTHER, "shutdown_phase", {U("phase", 0)}, NULL}, /* words: the format's */
	{HT_NOTIFIER_ENTRY, EV_OTHER, "notifier_entry", {SYM("func", 0)}, NULL},
	{HT_NOTIFIER_EXIT, EV_OTHER, "notifier_exit", {SYM("func", 0)}, NULL},
	{HT_DEVICE_SHUTDOWN_ENTRY, EV_OTHER, "device_shutdown_entry", {{NULL, 0, 0}}, "device"},
	{HT_DEVICE_SHUTDOWN_EXIT, EV_OTHER, "device_shutdown_exit", {{NULL, 0, 0}}, "device"},
	{HT_PANIC, EV_OTHER, "panic", {{NULL, 0, 0}}, "message"},
};
/* clang-format on */

#define TYPES_MAX (ARRAY_SIZE(rows) + 256)

static int add(struct hyper *h, const struct hyper_plan *plan)
{
	struct trace *t = h->trace;
	struct event_type *type = &t->types[t->nr_types];
	struct field_desc *fields;
	unsigned nr = 0;

	while (plan->fields[nr].name)
		nr++;
	fields = arena_alloc(&h->arena, (nr + 1) * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++) {
		fields[i].name = plan->fields[i].name;
		fields[i].cls = plan->fields[i].shown == SHOWN_INT ? FIELD_INT : FIELD_UINT;
	}
	if (plan->text)
		fields[nr] = (struct field_desc){plan->text, FIELD_STRING};
	h->plans[t->nr_types] = *plan;
	h->type_of[plan->opcode] = (int16_t)t->nr_types;
	*type = (struct event_type){
		.name = plan->name,
		.id = plan->opcode,
		.kind = plan->kind,
		.syscall = -1,
		.system = "hypertrace",
		.fields = fields,
		.nr_fields = nr + (plan->text != NULL),
		.reader = &h->plans[t->nr_types],
	};
	t->nr_types++;
	return 0;
}

int hyper_types_init(struct hyper *h)
{
	int ret = 0;

	h->trace->types = arena_alloc(&h->arena, TYPES_MAX * sizeof(*h->trace->types));
	h->plans = arena_alloc(&h->arena, TYPES_MAX * sizeof(*h->plans));
	if (!h->trace->types || !h->plans)
		return -ENOMEM;
	memset(h->type_of, 0xff, sizeof(h->type_of));
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !ret; i++)
		ret = add(h, &rows[i]);
	return ret;
}

int hyper_types_add(struct hyper *h, uint8_t opcode, const char *name, const char *letters)
{
	static const char *const arg_names[HYPER_FIELDS] = {"arg0", "arg1", "arg2", "arg3", "arg4"};
	struct hyper_plan plan = {.opcode = opcode, .kind = EV_OTHER, .name = name};
	unsigned nr = 0;

	for (; *letters && nr < HYPER_FIELDS; letters++) {
		if (*letters == 'n') {
			plan.text = "text"; /* of two, the last */
			continue;
		}
		plan.fields[nr] = (struct hyper_field){arg_names[nr], (uint8_t)nr,
						       *letters == 'u' ? SHOWN_UINT : SHOWN_INT};
		nr++;
	}
	return add(h, &plan);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static const char *symbol_name(const struct hyper *h, uint64_t number)
{
	const uint32_t *at = map_get(&h->symbols, number);

	return at ? h->symbol_names[*at - 1] : NULL;
}

/* Text in a block: its length, then its bytes. */
static void text_value(const uint8_t *at, struct field_value *out)
{
	*out = (struct field_value){
		.cls = FIELD_STRING,
		.text = at ? (const char *)at + 1 : "",
		.len = at ? *at : 0,
	};
}

/* event.record of a task's is its flags, with process and name behind them. */
static bool task_value(const struct event *e, const char *name, struct field_value *out)
{
	if (e->kind != EV_STATEDUMP_PROCESS)
		return false;
	if (!strcmp(name, "type")) { /* as LTTng has it: 1 is a kernel thread */
		*out = (struct field_value){.cls = FIELD_INT,
					    .i = (*e->record & HT_TASK_KTHREAD) != 0};
		return true;
	}
	if (strcmp(name, "comm") || !e->arg[3])
		return false;
	*out = (struct field_value){.cls = FIELD_STRING, .text = event_str(e, 3)};
	out->len = strnlen(out->text, 16);
	return true;
}

int hyper_event_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out)
{
	const struct hyper *h = s->trace->reader;
	const struct hyper_plan *plan;

	if (e->kind == EV_LOST)
		return -ENOENT;
	plan = &h->plans[e->type];
	for (const struct hyper_field *f = plan->fields; f->name; f++) {
		if (strcmp(f->name, name))
			continue;
		*out = (struct field_value){.cls = f->shown == SHOWN_INT ? FIELD_INT : FIELD_UINT,
					    .i = e->arg[f->slot]};
		if (f->shown == SHOWN_SYMBOL)
			out->text = symbol_name(h, (uint64_t)e->arg[f->slot]);
		out->len = out->text ? strlen(out->text) : 0;
		return 0;
	}
	if (plan->text && !strcmp(plan->text, name)) {
		text_value(e->record, out);
		return 0;
	}
	return task_value(e, name, out) ? 0 : -ENOENT;
}

static void put_number(struct text *t, const struct hyper *h, const struct hyper_field *f,
		       int64_t value)
{
	const char *symbol = f->shown == SHOWN_SYMBOL ? symbol_name(h, (uint64_t)value) : NULL;

	if (symbol)
		text_str(t, symbol);
	else if (f->shown == SHOWN_INT)
		text_i64(t, value);
	else
		text_u64(t, (uint64_t)value);
}

static void put_text(struct text *t, const char *name, const struct field_value *v)
{
	text_str(t, name);
	text_str(t, "=\"");
	text_quotable(t, (const uint8_t *)v->text, v->len, false);
	text_char(t, '"');
}

size_t hyper_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	const struct hyper *h = s->trace->reader;
	const struct hyper_plan *plan = e->kind == EV_LOST ? NULL : &h->plans[e->type];
	struct text t = text_in(buf, room);
	struct field_value v;

	for (unsigned i = 0; plan && plan->fields[i].name; i++) {
		if (i)
			text_char(&t, ' ');
		text_str(&t, plan->fields[i].name);
		text_char(&t, '=');
		put_number(&t, h, &plan->fields[i], e->arg[plan->fields[i].slot]);
	}
	if (plan && plan->text) {
		text_value(e->record, &v);
		if (plan->fields[0].name)
			text_char(&t, ' ');
		put_text(&t, plan->text, &v);
	} else if (plan && task_value(e, "comm", &v)) {
		text_char(&t, ' ');
		put_text(&t, "comm", &v);
	}
	if (!plan) {
		text_str(&t, "lost=");
		text_i64(&t, e->arg[0]);
	}
	return text_end(&t, room);
}
